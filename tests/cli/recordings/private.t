#!/bin/sh
# Nothing private is in any output: traces of both forms with their provenance, captures, summaries, messages, results and
# reports are decoded, and every number and text in them is compared with the token ids, names and hashes of the sample
# (tests/recordings.py). The same search finds each of these where an output is given one. A bug looked like a session's
# name in a user column, or a block hash that a known prompt could be looked up by.
# builds: plain
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
command -v python3 >/dev/null || skip_all 'no python3, which decodes the outputs'

# search NAME WANTED FILE...: the files are looked through for what the sample and the key of the hashes plant. found does it,
# for all at once, and checks what each of them shows.
search() {
    printf '%s|%s\n' "$1" "$2" >>"$TMP/searches"
    shift 2
    printf '%s\n' --- "$sample" "$TMP/key" -- "$@" >>"$TMP/searched"
}
found() {
    python3 "$TOP/tests/recordings.py" private <"$TMP/searched" >"$TMP/found"
    while IFS='|' read -r name wanted <&3; do
        IFS= read -r shown <&4 || shown='(nothing: the search failed)'
        if [ -n "$wanted" ]; then like "$name" "$shown" "$wanted"; else is "$name" "$shown" ''; fi
    done 3<"$TMP/searches" 4<"$TMP/found"
}
generate() { "$BIN/kvgen" -m tiny-1b --names "$TMP/key" --summary "$TMP/s.json" --input "$sample" "$@"; }
printf 'planted-key-of-names-0123456789\n' >"$TMP/key"
replayed=''
for sample in "$DATA"/recordings/dynamo* "$DATA"/recordings/*.zmqrec "$DATA"/recordings/*.lct \
    "$DATA"/recordings/*.strace "$DATA"/recordings/trtllm*; do
    name=${sample##*/} out=$TMP/${sample##*/}
    mkdir "$out"
    # Requests are no events, and those of Mooncake and SATF keep no name.
    names="--names $TMP/key" events="--object-bytes 1MiB"
    capture="--capture $out/capture.jsonl.zst"
    case $name in
    *request-trace*) events='' capture='' ;;
    *mooncake*.jsonl | *.satf.json) names='' events='' capture='' ;;
    esac
    if ! with "$names $events $capture" "$BIN/kvgen" -m tiny-1b --summary "$out/s.json" --input "$sample" -o "$out/out.csv" \
        >"$out/out.txt" 2>"$out/err.txt"; then
        if grep -q 'without zlib' "$out/err.txt"; then continue; fi
        not_ok "$name: kvgen" "$(cat "$out/err.txt")"
    fi
    with "$names $events" "$BIN/kvgen" -m tiny-1b --input "$sample" -o "$out/out.csv.zst" 2>>"$out/err.txt"
    least=4
    # The rows of one sample of an engine and form go on to the other programs, which know nothing of where they come from.
    case " $replayed " in *" ${name%%[-_]*}.${name##*.} "*) ;; *)
        replayed="$replayed ${name%%[-_]*}.${name##*.}" least=9
        "$BIN/kvreplay" --null --timing asap --summary "$out/r.json" -o "$out/result.csv.zst" "$out/out.csv" >>"$out/out.txt" 2>&1
        "$BIN/kvstat" --json "$out/result.csv.zst" >"$out/report.json" 2>>"$out/err.txt"
        "$BIN/kvstat" --full "$out/result.csv.zst" >"$out/report.txt" 2>>"$out/err.txt"
        ;;
    esac
    set --
    for file in out.csv out.csv.zst s.json out.txt err.txt r.json result.csv.zst report.json report.txt capture.jsonl.zst; do
        if [ -s "$out/$file" ]; then set -- "$@" "$out/$file"; fi
    done
    ok "$name: there are outputs" test $# -ge $least
    search "$name: none of them shows what was planted" '' "$@"
done

# One of each that is let through is found, where programs would have put it.
sample=$DATA/recordings/vllm-0.33.0-bytes.zmqrec
exits "an output" 0 generate -o "$TMP/out.csv" --capture "$TMP/capture.jsonl"
leaks=0
plant() { # NAME WANTED FILE SED-EXPRESSION: found in the file once it is edited
    leaks=$((leaks + 1))
    leak=$TMP/leak-$leaks.${3#*.}
    sed "$4" "$TMP/$3" >"$leak"
    ok "$1: it is there" test "$(cmp -s "$TMP/$3" "$leak"; echo $?)" -eq 1
    search "$1 is found" "$2" "$leak"
}
plant "a token id in a column" '^910001$' out.csv '3s/,[0-9]*,/,910001,/'
plant "a token id in a text" '^910001$' out.csv '3s/block_/block_ 910001 /'
plant "a token id in a capture" '^910001$' capture.jsonl '2s/"tokens":16/"tokens":910001/'
plant "a token id in a provenance" '^910001$' out.csv '2s/""format"":1/""format"":910001/'
plant "a name in a column" '^planted' out.csv '3s/publisher_/planted-session-1_/'
plant "a name in a capture" '^planted' capture.jsonl '2s/"rank":/"planted-tenant":1,&/'
plant "a name in a summary" '^planted' s.json 's/"kv-events"/"planted-host-node7"/'
hash=$(python3 -c '
import sys
sys.path.insert(0, sys.argv[1])
import recordings
for head, frames in recordings.zmq_messages(open(sys.argv[2], "rb").read()):
    for event in recordings.decode(frames[2])[0][1]:
        print(event["block_hashes"][0].hex())
        sys.exit()' "$TOP/tests" "$sample")
plant "a block's hash in a key" '^[0-9a-f]{16,}' out.csv "3s/block_[0-9a-f]*/block_$hash/"
plant "half of a hash in a capture" '^[0-9a-f]{16,}' capture.jsonl "2s/\"[0-9a-f]\{32\}\"/\"$(echo "$hash" | cut -c49-64)\"/"
zstd -qf "$leak" -o "$leak.zst"
search "what is compressed is found" '^[0-9a-f]{16,}' "$leak.zst"
found
done_testing
