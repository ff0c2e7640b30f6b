#!/bin/sh
# Damage of every kind to the input of every source: one line "kvgen: file[:line]: why" and status 2, or rows
# that are skipped and counted where a format tolerates them; never a crash, a hang or a file left behind. A bug
# looked like a signal, several lines of words, or a run that took half an input for a whole one.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
single_threaded

OUT=$TMP/out.csv
# $TMP/bad is given to the source; how it ends must be in order.
try() { # name source
    rm -f "$OUT"
    "$BIN/kvgen" --source "$2" --input "$TMP/bad" -o "$OUT" >/dev/null 2>"$TMP/err"
    try_rc=$?
    rm -f "$TMP/why"
    case $try_rc in
    0) # nothing to complain, or counted
        [ -s "$OUT" ] || echo "no output" >"$TMP/why"
        if grep -q '^kvgen: ' "$TMP/err" && ! grep -q '^kvgen: .*bad:[0-9]*: .*rows skipped: [1-9]' "$TMP/err"; then
            echo "words without a count" >"$TMP/why"
        fi
        ;;
    2)
        grep -Eq '^kvgen: .*bad[:(]' "$TMP/err" || echo "no file named" >"$TMP/why"
        [ "$(wc -l <"$TMP/err")" -eq 1 ] || echo "not one line" >"$TMP/why"
        [ ! -e "$OUT" ] || echo "a file left" >"$TMP/why"
        ;;
    *) echo "status $try_rc" >"$TMP/why" ;;
    esac
    if [ -e "$TMP/why" ]; then
        tap_line 1 "$1" || diag "$(cat "$TMP/why" "$TMP/err")"
    else
        tap_line 0 "$1"
    fi
}
fails() { # name source: the same, and it must be refused
    try "$1" "$2"
    if [ "$try_rc" -ne 2 ]; then tap_line 1 "$1: is refused" || diag "status $try_rc"; fi
}

good() { # source: two lines or so of it
    case $1 in
    mooncake) printf '{"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": [1, 2]}\n{"timestamp": 1, "input_length": 600, "output_length": 5, "hash_ids": [1, 3]}\n' ;;
    bailian) printf '{"chat_id": 1, "parent_chat_id": -1, "timestamp": 0.5, "input_length": 30, "output_length": 5, "type": "text", "turn": 1, "hash_ids": [1, 2]}\n' ;;
    lmcache) printf '{"timestamp": 1.5, "request_id": "a", "model_name": "m", "chunk_size": 256, "seq_len": 600, "chunk_hashes": ["0xab", "0xcd"]}\n' ;;
    agentic) printf '{"id": "x", "block_size": 64, "hash_id_scope": "local", "requests": [{"t": 0, "type": "s", "in": 99, "out": 2, "hash_ids": [1]}]}\n' ;;
    sharegpt) printf '[{"id": "x", "conversations": [{"from": "human", "value": "abcd"}, {"from": "gpt", "value": "efgh"}]}]\n' ;;
    burst) printf 'Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,ChatGPT,10,1,11,API log\n6,ChatGPT,10,1,11,API log\n' ;;
    azure) printf 'TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9799600,4808,10\n2023-11-16 18:17:04.0,10,1\n' ;;
    trace) printf 'Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\n0,Write,10,Tier-2,a,Prefill\n1,Read,10,Tier-2,a,Decode\n' ;;
    fio) printf 'fio version 3 iolog\n0 x add\n0 x open\n5 x write 0 4096\n6 x read 0 4096\n' ;;
    oplog) printf 'op\tbytes\tfile\tstart\nPUT\t10\ta\t2025-01-01T00:00:00Z\nGET\t10\ta\t2025-01-01T00:00:01Z\n' ;;
    esac
}
# A number in the source's row that counts something.
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

for s in mooncake bailian lmcache agentic sharegpt burst azure trace fio oplog; do
    source=$s
    case $s in fio | oplog) source=trace ;; esac
    good "$s" >"$TMP/good"
    run() { "$1" "$2" "$source"; }
    cp "$TMP/good" "$TMP/bad"
    run try "$s: as it should be"
    is "$s: which is taken" "$try_rc" 0
    : >"$TMP/bad"
    run fails "$s: nothing"
    head -c 15 "$TMP/good" >"$TMP/bad"
    run fails "$s: cut in the first line"
    head -c $(($(wc -c <"$TMP/good") - 12)) "$TMP/good" >"$TMP/bad"
    run try "$s: cut in the last line"
    zstd -qc "$TMP/good" | head -c 40 >"$TMP/bad"
    run fails "$s: cut zstd"
    head -c 4096 "$BIN/kvgen" >"$TMP/bad"
    run fails "$s: binary"
    head -c 5000 /dev/zero >"$TMP/bad"
    run fails "$s: zeros"
    { cat "$TMP/good" && printf '\000\001\002\377\376\n'; } >"$TMP/bad"
    run try "$s: binary behind it"
    sed 's/$/\r/' "$TMP/good" >"$TMP/bad"
    run try "$s: CR LF"
    is "$s: CR LF is taken" "$try_rc" 0
    { printf '\357\273\277' && cat "$TMP/good"; } >"$TMP/bad"
    run try "$s: a byte-order mark"
    is "$s: a byte-order mark is taken" "$try_rc" 0
    { cat "$TMP/good" && head -c 3000000 /dev/zero | tr '\0' '['; } >"$TMP/bad"
    run try "$s: an endless line"
    for n in -1 99999999999999999999999 1e999 0x10 '"7"' NaN null '[]' '{}' true; do
        case $s in
        sharegpt) continue ;;
        mooncake | bailian | lmcache | agentic) sed "\$s/\\($(number "$s" | sed 's/ .*//')\\) [0-9]*/\\1 $n/" "$TMP/good" >"$TMP/bad" ;;
        *) sed "\$s/$(number "$s" | sed 's/,.*//')/$n/" "$TMP/good" >"$TMP/bad" ;;
        esac
        run try "$s: a number that is $n"
    done
done

# What only JSON can do.
deep() { # depth open close
    awk -v n="$1" -v o="$2" -v c="$3" 'BEGIN {for (i = 0; i < n; i++) printf "%s", o; for (i = 0; i < n; i++) printf "%s", c}'
}
for s in mooncake lmcache agentic; do
    good $s | sed "\$s/\\[[0-9\"]/[$(deep 20000 '[' ']'),&/" >"$TMP/bad"
    fails "$s: nested too deep" $s
    good $s | sed '$s/}$/, "x": "\\ud800"}/' >"$TMP/bad"
    try "$s: half a character" $s
    good $s | sed 's/"hash_ids": \[/"hash_ids": [[],/;s/"chunk_hashes": \[/"chunk_hashes": ["xyz",/' >"$TMP/bad"
    fails "$s: no identifiers" $s
    for none in 7 1.5 '"7"' '""' '{}' true; do
        good $s | sed "\$s/\(\"[a-z]*_\(ids\|hashes\)\": \)\[[^]]*\]/\1$none/" >"$TMP/bad"
        fails "$s: identifiers that are no list but $none" $s
        like "$s: and says so of $none" "$(cat "$TMP/err")" '(hash_ids|chunk_hashes) is not a list'
    done
    good $s | tr -d '}' >"$TMP/bad"
    fails "$s: brackets missing" $s
done
good agentic | sed 's/"requests": .*/"requests": 7}/' >"$TMP/bad"
fails "agentic: requests that are no list" agentic
good agentic | sed 's/"requests": \[.*/"requests": [{"t": 0, "type": "subagent", "requests": {}}]}/' >"$TMP/bad"
fails "agentic: nor those of a sub-agent" agentic
good bailian | sed 's/"timestamp": 0.5/"timestamp": 1e300/' >"$TMP/bad"
fails "a time beyond the clock" bailian
printf '[{"conversations": [{"from": 7, "value": {}}]}, 5, "x", null]' >"$TMP/bad"
fails "sharegpt: nothing but wrong types" sharegpt

# An output that is the input is refused, and the input stays as it was.
good trace >"$TMP/in.csv"
cp "$TMP/in.csv" "$TMP/same.csv"
ln -s same.csv "$TMP/link.csv"
for how in "-o $TMP/same.csv" "-o $TMP/link.csv" "-o none --retier --curve $TMP/same.csv" "-o none --summary $TMP/same.csv" \
    "--format libcachesim -o $TMP/same.csv"; do
    # shellcheck disable=SC2086
    exits "the input as output, $how: status 2" 2 "$BIN/kvgen" --input "$TMP/same.csv" $how
    like "$how: says so" "$(cat "$TMP/stderr")" '^kvgen: .*(same|link).csv: is the input'
    ok "$how: nothing happened to it" cmp "$TMP/in.csv" "$TMP/same.csv"
done
exits "one file for two outputs: status 2" 2 "$BIN/kvgen" --input "$TMP/in.csv" -o "$TMP/two.csv" --summary "$TMP/./two.csv"
like "one file for two outputs: says so" "$(cat "$TMP/stderr")" '^kvgen: .*two.csv: is to hold two outputs'
done_testing
