#!/bin/sh
# handover.sh - Do fio and sai3-bench measure the same as kvreplay?
#
# Usage: handover.sh [OPTION]... DIR
#
#   DIR, -d DIR  directory for objects, on the drive
#   -m MODEL     the model (default: llama3.1-8b; see kvgen --list-models)
#   -u USERS     number of simultaneous users (default: 50)
#   -t TIME      length of the run (default: 60)
#   -o OUT       directory for traces and results (default: kvtrace-handover)
#   --storage-capacity SIZE     capacity for the cache (default: a third of the free
#                space, because each client has its own copy)
#   --print      show the pipelines, run nothing
#
# Each client replays one trace, and the figures are compared. sai3-bench and fio are used
# if installed. Each client gets the same operations at the same times, in its own format,
# from kvgen --format. Notes below the figures say what a client cannot do.
#
# Example:
#   examples/handover.sh -m tiny-1b -u 4 -t 10 /mnt/nvme/kv
case $0 in */*) . "${0%/*}/common.sh" ;; *) . ./common.sh ;; esac

takes='-m -u -d -o -t --storage-capacity'
common_options "$@"
if [ -z "$target" ]; then die 2 "-d DIR is needed (try --help)"; fi
need kvgen kvreplay kvstat
results "$out" "$target"
if [ -z "$storage" ]; then storage=$(room "$target" | awk '{ print $1 / 3 }'); fi
# fio's job is run in a folder, and sai3-bench takes a whole name.
top=$target
if ! printing; then
    top=$(CDPATH='' cd -- "$target" && pwd && echo .)
    top=${top%"$newline."}
fi
target=$top/kvtrace-handover
for file in "$target" "$target.fio" "$target.sai3"; do
    if [ -e "$file" ] || [ -L "$file" ]; then die 3 "$file already exists"; fi
done
free_runs handover kvreplay
for file in fio.log fio.txt fio.json handover.tsv.zst sai3.log sai3.txt; do free "$out/$file"; done

# 1. The trace: all on storage, so that every client has the same to do.
load handover "$users" "$seconds" --model "$model" --gpu-mem 0 --cpu-mem 0 --storage-capacity "$(sized "$storage")" \
    --generation-mode none
trace=$out/handover.trace.csv.zst

# 2. kvreplay, at the trace's times.
execute kvreplay handover --timing trace
if printing; then
    typed kvstat --by op "$out/kvreplay.result.csv.zst"
    tell "fio"
    typed mkdir "$target.fio"
    typed kvgen --input "$trace" --format fio -o "$target.fio/handover.iolog"
    printf '(cd -- %s && fio handover.fio)\n' "$(quote "$target.fio")"
    tell "sai3-bench"
    typed mkdir "$target.sai3"
    typed kvgen --input "$trace" --format sai3 --lint -o "$out/handover.tsv.zst"
    typed sai3-bench replay --op-log "$out/handover.tsv.zst" --target "file://$target.sai3/"
    typed rm -r "$target.fio" "$target.sai3"
    exit 0
fi

# 3. fio. Its job uses names of its own folder.
if command -v fio >/dev/null; then
    writes "$out/fio.log" "$out/fio.txt" "$out/fio.json"
    make_or_die "$target.fio"
    kvgen --input "$trace" --format fio --progress none -o "$target.fio/handover.iolog" 2>"$out/fio.log" ||
        die 3 "kvgen --format fio failed: $(last_line "$out/fio.log")"
    (on_signals; CDPATH='' cd -- "$target.fio" && fio --output-format=json+ handover.fio) >"$out/fio.txt" 2>>"$out/fio.log" ||
        die 3 "fio failed: $(last_line "$out/fio.log")"
    sed -n '/^{/,$p' <"$out/fio.txt" >"$out/fio.json" # words may stand before it
    drop_folder "$target.fio"
fi

# 4. sai3-bench. Its report is its own: it is shown as it is.
if command -v sai3-bench >/dev/null; then
    writes "$out/handover.tsv.zst" "$out/sai3.log" "$out/sai3.txt"
    make_or_die "$target.sai3"
    kvgen --input "$trace" --format sai3 --lint --progress none -o "$out/handover.tsv.zst" 2>"$out/sai3.log" ||
        say "$suite: sai3-bench would lose some of the trace: $(grep -c -e '--lint:' <"$out/sai3.log") remarks in $out/sai3.log"
    kvgen --input "$trace" --format sai3 --progress none -o "$out/handover.tsv.zst" 2>>"$out/sai3.log" ||
        die 3 "kvgen --format sai3 failed: $(last_line "$out/sai3.log")"
    sai3-bench replay --op-log "$out/handover.tsv.zst" --target "file://$target.sai3/" >"$out/sai3.txt" 2>&1 ||
        die 3 "sai3-bench failed: $(last_line "$out/sai3.txt")"
    drop_folder "$target.sai3"
fi

# 5. Side by side: operations, bytes, and times in ms from start to completion.
line() { printf '%-10s %-7s %10s %12s %10s %10s %10s\n' "$@"; }
of_kvreplay() { # Read, Write
    kvstat --by op --json "$out/kvreplay.result.csv.zst" | pick "groups.$1.ops" "groups.$1.bytes" \
        "groups.$1.service_us.mean" "groups.$1.service_us.p95" "groups.$1.service_us.p99" |
        awk 'NR > 2 && $1 != "-" { $1 = sprintf("%.3f", $1 / 1000) } { print }' | paste_line kvreplay "$1"
}
of_fio() { # Read, Write
    awk -v side="$(echo "$1" | tr RW rw)" '
        function value(line) { sub(/^[^:]*: */, "", line); sub(/,$/, "", line); return line + 0 }
        /^      "[a-z_]*" : \{/ { inside = $1 == "\"" side "\"" }
        !inside { next }
        /^        "[a-z_]*" : \{/ { part = $1 }
        /^        "total_ios"/ { ios = value($0) }
        /^        "io_bytes"/ { bytes = value($0) }
        part == "\"lat_ns\"" && /"mean"/ { mean = value($0) }
        part == "\"clat_ns\"" && /"95\.0+"/ { p95 = value($0) }
        part == "\"clat_ns\"" && /"99\.0+"/ { p99 = value($0) }
        END { printf "%.0f\n%.0f\n%.3f\n%.3f\n%.3f\n", ios, bytes, mean / 1e6, p95 / 1e6, p99 / 1e6 }' <"$out/fio.json" | paste_line fio "$1"
}
# paste_line CLIENT KIND: a row of those and of five figures, one a line.
paste_line() {
    client=$1 kind=$2
    { read -r ops && read -r bytes && read -r mean && read -r p95 && read -r p99; } || return 0
    line "$client" "$kind" "$ops" "$bytes" "$mean" "$p95" "$p99"
}
line client kind operations bytes mean P95 P99
of_kvreplay Read
of_kvreplay Write
if [ -s "$out/fio.json" ]; then
    of_fio Read
    of_fio Write
fi
if [ -s "$out/sai3.txt" ]; then
    echo
    echo "sai3-bench says:"
    tail -n 30 <"$out/sai3.txt" | readable_lines | sed 's/^/  /'
fi
echo
echo "kvreplay: waits for what an operation needs, verifies contents, knows requests and tiers."
if command -v fio >/dev/null; then
    echo "fio: no objects, no creation and deletion of files, no requests; times at depth are not exact. Its figures are of"
    echo "  pieces of at most 1 MiB, kvreplay's of whole objects."
else
    echo "fio: not installed."
fi
if command -v sai3-bench >/dev/null; then
    echo "sai3-bench: waits for no other operation (kvgen --settle moves them apart), reads whole objects, knows no requests."
else
    echo "sai3-bench: not installed."
fi

# The answer: the mean read of each client, and the bytes that each has.
mean() { if [ -s "$1" ]; then "$2" Read | awk '$5 > 0 { print $5 " ms" }'; fi; }
answer="One trace, by kvreplay a mean read of $(mean "$out/kvreplay.result.csv.zst" of_kvreplay | grep . || echo 'nothing')"
if [ -s "$out/fio.json" ]; then answer="$answer, by fio $(mean "$out/fio.json" of_fio | grep . || echo nothing) a piece"; fi
if [ -s "$out/sai3.txt" ]; then answer="$answer; sai3-bench's own report is above"; fi
echo "$answer: kvreplay's figures are the ones to decide by."
