#!/bin/sh
# malloc.t - memory that ends anywhere ends a program with a message, never with a crash or a hang. One allocation after
# another fails, in a run of its own (tests/faults/fail_malloc.c). A bug looked like 2,073 crashes in 9,838 runs of
# kvstat, most of them inside a library that does not look at what malloc returns.
# STEP=1 tries every allocation, not every 61st.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
! sanitized || skip_all 'sanitizers have an allocator of their own'
lib=${BIN%/bin}/tests/faults/fail_malloc.so
[ -e "$lib" ] || skip_all "$lib was not built (make unit)"
"$BIN/kvgen" --num-users 2 --duration 2 --summary "$TMP/g.json" -o "$TMP/t.csv.zst" 2>/dev/null
[ -n "$(LD_PRELOAD=$lib FAIL_MALLOC=1:1000000 "$BIN/kvgen" --version 2>&1)" ] || skip_all 'this libc takes no preloaded malloc'

awk 'BEGIN {
    print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request,User,QoS,Class,Tokens,Arrival,Duration_us"
    for (i = 1; i < 7; i++) for (t = 1; t < 3; t++) {
        printf "0.%d,Write,5000,Tier-%d,k%d,Prefill,%d,u%d,batch,user,1,0.%d,\n", i, t, i, i, i, i
        printf "0.%d,Read,5000,Tier-%d,k%d,Decode,%d,u%d,batch,user,1,0.%d,\n", i, t, i, i, i, i
    }
}' >"$TMP/small.csv"
"$BIN/kvreplay" --nvme "$TMP/d" --summary "$TMP/s.json" -o "$TMP/r.csv.zst" "$TMP/small.csv" 2>/dev/null

# Memory that ends must not take a part of the report away in silence: what ends with 0 is whole. Lengths differ by a few
# bytes, as times do.
whole=$("$BIN/kvstat" --json "$TMP/r.csv.zst" | jq '[paths] | length')
n=0
short=
while [ $((n += ${STEP:-61})) -lt 2000 ]; do
    LD_PRELOAD=$lib FAIL_MALLOC_ONE=$n "$BIN/kvstat" --json "$TMP/r.csv.zst" >"$TMP/one" 2>/dev/null || continue
    [ "$(jq '[paths] | length' "$TMP/one" 2>&1)" = "$whole" ] || short="$short $n"
done
is "kvstat: a report that ends with 0 has all its $whole members" "$short" ""

# survives NAME COMMAND...: the command works, and does not crash when memory ends.
survives() {
    name=$1
    shift
    exits "$name: works" 0 "$@"
    ok "$name: no crash" env LD_PRELOAD="$lib" FAIL_MALLOC="${FIRST:-1}:${STEP:-61}" "$@"
    diag "$(cat "$TMP/.tap")"
}
survives "kvgen, users" "$BIN/kvgen" --num-users 2 --duration 2 --enable-rag --summary "$TMP/o.json" -o "$TMP/o.csv.zst"
survives "kvgen, sessions" "$BIN/kvgen" --max-requests 20 --input "$DATA/agentic_60.tar.zst" -o none
survives "kvgen, conversations" "$BIN/kvgen" --max-requests 20 --input "$DATA/sharegpt_dummy_250.json.zst" -o none
survives "kvgen, a curve" "$BIN/kvgen" --curve "$TMP/o.csv" --max-requests 20 --input "$DATA/mooncake_first200.jsonl" -o none
survives "kvgen, a trace" "$BIN/kvgen" --source trace --input "$TMP/t.csv.zst" --format fio -o "$TMP/o.iolog"
survives "kvgen, a configuration" "$BIN/kvgen" --config "$TOP/examples/kvtrace.yaml" --max-requests 1 -o none
survives "kvgen, a model" "$BIN/kvgen" --model "$DATA/models/gemma-3-27b.json" --show-model
survives "kvreplay, memory" "$BIN/kvreplay" --tier-engine 2=mem --summary "$TMP/o.json" -o "$TMP/o.csv.zst" "$TMP/small.csv"
survives "kvreplay, io_uring" "$BIN/kvreplay" --nvme "$TMP/d" -o "$TMP/o.csv" "$TMP/small.csv"
survives "kvreplay, threads, served" "$BIN/kvreplay" --nvme "$TMP/d" --ioengine psync --timing served --speed 1000 --workers 2 \
    -o "$TMP/o.csv" "$TMP/small.csv"
survives "kvreplay, a slab" "$BIN/kvreplay" --nvme "$TMP/d" --layout slab -o "$TMP/o.csv" "$TMP/small.csv"
survives "kvreplay, several targets" "$BIN/kvreplay" --target "$TMP/d" --target "$TMP/e" -o "$TMP/o.csv" "$TMP/small.csv"
survives "kvstat, text" "$BIN/kvstat" "$TMP/r.csv.zst"
survives "kvstat, JSON" "$BIN/kvstat" --json --run "$TMP/s.json" --by user --reuse "$TMP/r.csv.zst"
survives "kvstat, CSV" "$BIN/kvstat" --csv --interval 0.1 "$TMP/r.csv.zst"
# Without gnuplot, whose memory is its own.
exits "kvstat, a page: works" 0 env PATH="$TMP" "$BIN/kvstat" --html "$TMP/o.html" "$TMP/r.csv.zst"
ok "kvstat, a page: no crash" env PATH="$TMP" LD_PRELOAD="$lib" FAIL_MALLOC="${FIRST:-1}:${STEP:-61}" "$BIN/kvstat" \
    --html "$TMP/o.html" "$TMP/r.csv.zst"
survives "kvstat, a comparison" "$BIN/kvstat" --compare "$TMP/r.csv.zst" "$TMP/r.csv.zst"
survives "kvstat, a summary" "$BIN/kvstat" "$TMP/g.json"
survives "kvprecond" "$BIN/kvprecond" --size 1M --summary "$TMP/o.json" "$TMP/p"
survives "kvprecond, a stream" "$BIN/kvprecond" --mode stream --size 1M --chunk-size 128K --buffered --fadvise dontneed \
    --summary "$TMP/o.json" "$TMP/p"
survives "kvprecond, several targets" "$BIN/kvprecond" --size 1M --target "$TMP/p" --target "$TMP/q"
done_testing
