#!/bin/sh
# Damage of every kind to the input of every source: one line "kvgen: file[:line]: why" and status 2, or bad rows that
# are skipped and counted where the format allows it. Never a crash, a hang or a file left behind. A bug looked like a
# death by signal, an error of several lines, or half an input that was taken for a whole one.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

# damaged: what is wrong with how a run ended that read $TMP/bad; nothing when it ended in order.
damaged() {
    case $status in
    0) # the input was taken, and rows that were not are counted
        [ -s "$TMP/out.csv" ] || echo "no output"
        if grep -v ' (--block-size sets the size)$' "$TMP/err" | grep -q '^kvgen: ' && ! grep -q '^kvgen: .*bad:[0-9]*: .*rows skipped: [1-9]' "$TMP/err"; then
            echo "a complaint without a count"
        fi
        ;;
    2)
        grep -Eq '^kvgen: .*bad[:(]' "$TMP/err" || echo "no file named"
        [ "$(lines "$TMP/err")" -eq 1 ] || echo "not one line"
        [ ! -e "$TMP/out.csv" ] || echo "a file left"
        ;;
    *) echo "status $status" ;;
    esac
}
in_order() { # NAME SOURCE: a run over $TMP/bad is refused in order, or takes it in order; sets status
    rm -f "$TMP/out.csv"
    "$BIN/kvgen" --source "$2" --input "$TMP/bad" -o "$TMP/out.csv" >/dev/null 2>"$TMP/err"
    status=$?
    wrong=$(damaged)
    [ -z "$wrong" ]
    tap_line $? "$1" || diag "$wrong: $(cat "$TMP/err")"
}
refused() { # NAME SOURCE: a run over $TMP/bad is refused in order
    in_order "$1" "$2"
    if [ "$status" -ne 2 ]; then tap_line 1 "$1: is refused" || diag "status $status"; fi
}

mooncake_line() { # TIMESTAMP BLOCKS
    printf '{"timestamp": %s, "input_length": 600, "output_length": 5, "hash_ids": [%s]}\n' "$1" "$2"
}
good() { # SOURCE: an input that it takes
    case $1 in
    mooncake)
        mooncake_line 0 '1, 2'
        mooncake_line 1 '1, 3'
        ;;
    bailian)
        printf '{"chat_id": 1, "parent_chat_id": -1, "timestamp": 0.5, "input_length": 30, "output_length": 5, '
        printf '"type": "text", "turn": 1, "hash_ids": [1, 2]}\n'
        ;;
    lmcache)
        printf '{"timestamp": 1.5, "request_id": "a", "model_name": "m", "chunk_size": 256, "seq_len": 600, '
        printf '"chunk_hashes": ["0xab", "0xcd"]}\n'
        ;;
    agentic)
        printf '{"id": "x", "block_size": 64, "hash_id_scope": "local", '
        printf '"requests": [{"t": 0, "type": "s", "in": 99, "out": 2, "hash_ids": [1]}]}\n'
        ;;
    sharegpt)
        printf '[{"id": "x", "conversations": [{"from": "human", "value": "abcd"}, '
        printf '{"from": "gpt", "value": "efgh"}]}]\n'
        ;;
    burst)
        printf 'Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n'
        printf '%d,ChatGPT,10,1,11,API log\n' 5 6
        ;;
    azure)
        printf 'TIMESTAMP,ContextTokens,GeneratedTokens\n'
        printf '2023-11-16 18:17:03.9799600,4808,10\n2023-11-16 18:17:04.0,10,1\n'
        ;;
    trace)
        printf 'Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\n'
        printf '0,Write,10,Tier-2,a,Prefill\n1,Read,10,Tier-2,a,Decode\n'
        ;;
    fio) printf 'fio version 3 iolog\n0 x add\n0 x open\n5 x write 0 4096\n6 x read 0 4096\n' ;;
    oplog)
        printf 'op\tbytes\tfile\tstart\n'
        printf 'PUT\t10\ta\t2025-01-01T00:00:00Z\nGET\t10\ta\t2025-01-01T00:00:01Z\n'
        ;;
    esac
}
# number SOURCE: a pattern for a number in its row that counts something.
number() {
    case $1 in
    mooncake | bailian) echo '"input_length": [0-9]*' ;;
    lmcache) echo '"seq_len": [0-9]*' ;;
    agentic) echo '"in": [0-9]*' ;;
    sharegpt) echo 'nothing' ;;
    burst) echo '10,1,11' ;;
    azure) echo '10,1$' ;;
    trace | oplog) echo '10' ;;
    fio) echo '4096' ;;
    esac
}

for kind in mooncake bailian lmcache agentic sharegpt burst azure trace fio oplog; do
    source=$kind
    case $kind in fio | oplog) source=trace ;; esac
    good "$kind" >"$TMP/good"
    cp "$TMP/good" "$TMP/bad"
    in_order "$kind: as it should be" "$source"
    is "$kind: which is taken" "$status" 0
    : >"$TMP/bad"
    refused "$kind: nothing" "$source"
    head -c 15 "$TMP/good" >"$TMP/bad"
    refused "$kind: cut in the first line" "$source"
    head -c $(($(wc -c <"$TMP/good") - 12)) "$TMP/good" >"$TMP/bad"
    in_order "$kind: cut in the last line" "$source"
    zstd -qc "$TMP/good" | head -c 40 >"$TMP/bad"
    refused "$kind: cut zstd" "$source"
    head -c 4096 "$BIN/kvgen" >"$TMP/bad"
    refused "$kind: binary" "$source"
    head -c 5000 /dev/zero >"$TMP/bad"
    refused "$kind: zeros" "$source"
    { cat "$TMP/good" && printf '\000\001\002\377\376\n'; } >"$TMP/bad"
    in_order "$kind: binary behind it" "$source"
    sed 's/$/\r/' "$TMP/good" >"$TMP/bad"
    in_order "$kind: CR LF" "$source"
    is "$kind: CR LF is taken" "$status" 0
    { printf '\357\273\277' && cat "$TMP/good"; } >"$TMP/bad"
    in_order "$kind: a byte-order mark" "$source"
    is "$kind: a byte-order mark is taken" "$status" 0
    { cat "$TMP/good" && head -c 3000000 /dev/zero | tr '\0' '['; } >"$TMP/bad"
    in_order "$kind: an endless line" "$source"
    for number in -1 99999999999999999999999 1e999 0x10 '"7"' NaN null '[]' '{}' true; do
        case $kind in
        sharegpt) continue ;;
        mooncake | bailian | lmcache | agentic)
            member=$(number "$kind" | sed 's/ .*//')
            sed "\$s/\\($member\\) [0-9]*/\\1 $number/" "$TMP/good" >"$TMP/bad"
            ;;
        *) sed "\$s/$(number "$kind" | sed 's/,.*//')/$number/" "$TMP/good" >"$TMP/bad" ;;
        esac
        in_order "$kind: a number that is $number" "$source"
    done
done

# Only JSON can have these.
deep() { # DEPTH OPENING CLOSING
    awk -v depth="$1" -v opening="$2" -v closing="$3" 'BEGIN {
        for (i = 0; i < depth; i++) printf "%s", opening
        for (i = 0; i < depth; i++) printf "%s", closing }'
}
for kind in mooncake lmcache agentic; do
    good $kind | sed "\$s/\\[[0-9\"]/[$(deep 20000 '[' ']'),&/" >"$TMP/bad"
    refused "$kind: nested too deep" $kind
    good $kind | sed '$s/}$/, "x": "\\ud800"}/' >"$TMP/bad"
    in_order "$kind: half a character" $kind
    good $kind | sed 's/"hash_ids": \[/"hash_ids": [[],/;s/"chunk_hashes": \[/"chunk_hashes": ["xyz",/' >"$TMP/bad"
    refused "$kind: no identifiers" $kind
    for none in 7 1.5 '"7"' '""' '{}' true; do
        good $kind | sed "\$s/\(\"[a-z]*_\(ids\|hashes\)\": \)\[[^]]*\]/\1$none/" >"$TMP/bad"
        refused "$kind: identifiers that are no list but $none" $kind
        like "$kind: and says so of $none" "$(cat "$TMP/err")" '(hash_ids|chunk_hashes) is not a list'
    done
    good $kind | tr -d '}' >"$TMP/bad"
    refused "$kind: brackets missing" $kind
done
good agentic | sed 's/"requests": .*/"requests": 7}/' >"$TMP/bad"
refused "agentic: requests that are no list" agentic
good agentic | sed 's/"requests": \[.*/"requests": [{"t": 0, "type": "subagent", "requests": {}}]}/' >"$TMP/bad"
refused "agentic: nor those of a sub-agent" agentic
good bailian | sed 's/"timestamp": 0.5/"timestamp": 1e300/' >"$TMP/bad"
refused "a time beyond the clock" bailian
printf '[{"conversations": [{"from": 7, "value": {}}]}, 5, "x", null]' >"$TMP/bad"
refused "sharegpt: nothing but wrong types" sharegpt

# An output that is the input is refused, and the input stays as it was.
good trace >"$TMP/in.csv"
cp "$TMP/in.csv" "$TMP/same.csv"
ln -s same.csv "$TMP/link.csv"
for how in "-o $TMP/same.csv" "-o $TMP/link.csv" "-o none --retier --curve $TMP/same.csv" \
    "-o none --summary $TMP/same.csv" "--format libcachesim -o $TMP/same.csv"; do
    with "$how" exits "the input as output, $how: status 2" 2 "$BIN/kvgen" --input "$TMP/same.csv"
    stderr_like "$how: says so" '^kvgen: .*(same|link).csv: is read \(the input\), and '
    ok "$how: nothing happened to it" cmp "$TMP/in.csv" "$TMP/same.csv"
done
exits "one file for two outputs: status 2" 2 "$BIN/kvgen" --input "$TMP/in.csv" -o "$TMP/two.csv" \
    --summary "$TMP/./two.csv"
stderr_like "one file for two outputs: says so" '^kvgen: .*two.csv: is named for two outputs \(--output, --'
done_testing
