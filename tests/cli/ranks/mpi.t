#!/bin/sh
# mpi.t - kvreplay-mpi: ranks start together, and rank 0 has one result and one summary of all, without a shared file system.
# Ranks that differ are refused before anything is written, by host; an error or a signal at one ends all; what a killed one
# leaves is whole to its last second. A bug looked like a rank that waited for ever, percentiles that were averages, a result
# that had the rows of one rank only, or a processor that a waiting rank kept busy.
# builds: plain
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
needs_mpi

trace=$TMP/t.csv.zst
"$BIN/kvgen" --users 8 --duration 10 --seed 5 -o "$trace" 2>/dev/null
simulated='--tier-engine 0=sim:bw=40GB/s --tier-engine 1=sim:bw=30GB/s --tier-engine 2=sim:bw=10GB/s,lat=1ms'
# ranks N ARGUMENTS...
ranks() {
    n=$1
    shift
    with "$simulated" timeout 60 "$mpirun" -np "$n" "$BIN/kvreplay-mpi" "$@"
}
"$BIN/kvstat" --json "$trace" >"$TMP/trace.json"
rows=$(json "$TMP/trace.json" .rows)
bytes() { jq '[.groups[] | select(.by.op == "Read" or .by.op == "Write") | .bytes] | add' "$1"; }

# ---- one result ----

exits "four ranks" 0 ranks 4 --timing served --workers 8 --speed 20 --summary "$TMP/s.json" -o "$TMP/all.csv.zst" "$trace"
stderr_like "which rank 0 tells" '^4 ranks on 1 host: .* rows in .*, 0 failed$'
stderr_like "with their start" '^started within .* of each other \(clocks known to .*\)'
is "nothing else stays" "$(find "$TMP" -name 'kvreplay-*')" ''
exits "one result" 0 "$BIN/kvstat" --json -o "$TMP/all.json" "$TMP/all.csv.zst"
is "has all rows" "$(json "$TMP/all.json" .rows)" $((4 * rows))
is "and all bytes" "$(bytes "$TMP/all.json")" $((4 * $(bytes "$TMP/trace.json")))
"$BIN/kvreplay" --progress none --null -o "$TMP/one.csv" "$trace" 2>/dev/null
is "requests of the ranks are apart" "$(json "$TMP/all.json" .requests.count)" $((4 * $("$BIN/kvstat" --json "$TMP/one.csv" | json /dev/stdin .requests.count)))
"$BIN/kvstat" "$TMP/all.csv.zst" >"$TMP/all.text" 2>&1
like "it is not called odd" "$(cat "$TMP/all.text")" '^Validity +'
unlike "it is whole" "$(cat "$TMP/all.text")" 'made of several files|incomplete'
json_like "$TMP/s.json" <<'END'
the ranks   | .ranks.list[].rank | 0 1 2 3
their clock | .ranks.list[1] | (.offset_us | type == "number") and .offset_error_us > 0 | true
their drift | .ranks.list[3].drift_ppm | type | number
the spread  | .ranks.start_spread_us > 0 and .ranks.start_spread_us < 1e6 | true
their own   | .ranks.list[2].summary.rows.ok > 0 | true
the sum     | ([.ranks.list[].summary.rows.ok] | add) == .rows.ok | true
the slowest | [.ranks.list[].summary.rows_per_s] as $r | $r[.ranks.slowest.rank] == ($r | min) and .ranks.slowest.times_median >= 1 and .ranks.slowest.by == "rows_per_s" | true
they are even | .ranks.imbalance | 1
END
# Percentiles of all rows, as kvstat takes them from the file: bit for bit.
json "$TMP/s.json" '.groups[] | [.tier, .op, .ops, .service_us.p50, .service_us.p95, .service_us.p99, .service_us.mean] | tostring' >"$TMP/groups.mpi"
"$BIN/kvstat" --by tier,op --json "$TMP/all.csv.zst" | jq -r '.groups[] | select(.by.tier) |
    [.by.tier, .by.op, .ops, .service_us.p50, .service_us.p95, .service_us.p99, .service_us.mean] | tostring' | tr '\n' ' ' >"$TMP/groups.stat"
is "percentiles are those of all rows" "$(tr ' ' '\n' <"$TMP/groups.mpi" | sort)" "$(tr ' ' '\n' <"$TMP/groups.stat" | grep . | sort)"

# kvstat --ranks has the same figures of it, and a table of the ranks.
exits "by rank" 0 "$BIN/kvstat" --ranks --json -o "$TMP/by.json" "$TMP/all.csv.zst"
json_like "$TMP/by.json" <<'END'
the ranks    | .ranks.list[].rank | 0 1 2 3
their rows   | ([.ranks.list[].rows] | add) == .rows | true
their bytes  | ([.ranks.list[].bytes] | add) == ([.groups[] | select(.by.op == "Read" or .by.op == "Write") | .bytes] | add) | true
none missing | .ranks.missing | length | 0
the spread   | .ranks.start_spread_us > 0 and .ranks.start_spread_us < 1e6 | true
the slowest  | .ranks.slowest.times_median >= 1 | true
END
# A rank's P95 is that of all its phases: many fast reads of a prefill, and a slow one of the decode, which comes last.
awk 'BEGIN { print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"; print "0,Write,10000000,Tier-2,a,Prefill"
    for (i = 0; i < 60; i++) print "0,Read,4096,Tier-2,a,Prefill"; print "0,Read,10000000,Tier-2,a,Decode" }' >"$TMP/phases.csv"
exits "phases" 0 timeout 60 "$mpirun" -np 2 "$BIN/kvreplay-mpi" --tier-engine 2=sim:bw=200MB/s --cpu-mem 64MiB -o "$TMP/p.csv" "$TMP/phases.csv"
exits "of ranks" 0 "$BIN/kvstat" --ranks --json -o "$TMP/p.json" "$TMP/p.csv"
under_30_ms='([1-9][0-9]{0,3}|[12][0-9]{4})(\.[0-9]+)?'
like "count as one" "$(json "$TMP/p.json" '.ranks.list[].read_p95_us')" "^$under_30_ms $under_30_ms\$"
figures() { jq -S 'del(.ranks, .validity, .run, .bottleneck, .command, .started) | del(.. | .final_bytes?, .final_objects?)' "$1"; }
figures "$TMP/by.json" >"$TMP/by.same"
figures "$TMP/all.json" >"$TMP/all.same"
ok "with the same figures" diff "$TMP/by.same" "$TMP/all.same"
exits "as text" 0 "$BIN/kvstat" --ranks --full "$TMP/all.csv.zst"
stdout_like "with the table" '^ +3 .* good'
exits "with another file" 2 "$BIN/kvstat" --ranks "$TMP/all.csv.zst" "$TMP/all.csv.zst"
stderr_like "it is refused" 'is the result of all ranks of a run: give it alone'

exits "shares of the keys" 0 ranks 3 --split keys --full --summary "$TMP/keys.json" -o "$TMP/keys.csv" "$trace"
stderr_like "the slowest is named" '^slowest: rank [0-2] on .*, the median rank has [0-9.]+ times its rows/s$'
is "--full: a line for each rank" "$(grep -Ec '^ +[0-2] +- +[0-9]+ +[0-9]+ +[0-9.]+  ' "$TMP/stderr")" 3
is "rank 0, with rows without a key, has more rows" "$(json "$TMP/keys.json" '.ranks.imbalance > 1')" true
is "every row once" "$("$BIN/kvstat" --json "$TMP/keys.csv" 2>/dev/null | json /dev/stdin .rows)" "$rows"
exits "results of their own" 0 ranks 2 -o "$TMP/own-{rank}.csv.zst" --summary "$TMP/own.json" "$trace"
exits "are parts of a run" 0 "$BIN/kvstat" --ranks "$TMP/own-0.csv.zst" "$TMP/own-1.csv.zst"
exits "one rank" 0 ranks 1 --part 0/1 -o "$TMP/single.csv" "$trace"
printf '%s\n' Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase 0,Write,65536,Tier-2,a,Prefill 0,Read,65536,Tier-2,a,Decode >"$TMP/small.csv"
exits "a directory" 0 timeout 60 "$mpirun" -np 2 "$BIN/kvreplay-mpi" --target "$TMP/store" --keep -o "$TMP/d.csv" "$TMP/small.csv"
is "has one for each rank" "$(find "$TMP/store" -name '*.kv' | wc -l) $(find "$TMP/store" -mindepth 1 -maxdepth 1 | sort | sed 's|.*/||' | tr '\n' ' ')" '2 rank-0 rank-1 '

# ---- refused, before anything is written ----

# refused NAME WHAT COMMAND... :: COMMAND...: of two ranks.
refused() {
    name=$1 what=$2
    shift 2
    by_rank "$@" >"$TMP/stdout" 2>"$TMP/stderr"
    status=$?
    is "$name: exit status" "$status" "${wanted-2}"
    stderr_like "$name: is told" "$what"
    is "$name: once" "$(grep -c '^kvreplay-mpi: ' "$TMP/stderr")" 1
    not_ok "$name: nothing is written" test -e "$TMP/no"
}
set -- "$BIN/kvreplay-mpi" --null -o "$TMP/no"
refused "other options" 'rank 1 on .*: version or options: not the same as those of rank 0 on' "$@" "$trace" :: "$@" --inflight 3 "$trace"
version=$("$BIN/kvreplay" --version | grep -Eo '[0-9]+\.[0-9]+\.[0-9]+' | head -n 1)
start=$(echo "${version%?}" | sed "s/[.]/[.]/g")
LC_ALL=C sed "s/${start}[0-9]/${version%?}x/g" "$BIN/kvreplay-mpi" >"$TMP/other-mpi"
chmod +x "$TMP/other-mpi"
refused "another version" 'rank 1 on .*: version or options: not the same as those of rank 0 on' "$@" "$trace" :: "$TMP/other-mpi" --null -o "$TMP/no" "$trace"
mkdir "$TMP/a" "$TMP/b"
cp "$TMP/small.csv" "$TMP/a/t.csv"
{ cat "$TMP/small.csv"; echo 0,Read,65536,Tier-2,a,Decode; } >"$TMP/b/t.csv"
refused "another trace" 'rank 1 on .*: the trace: not the same' env -C "$TMP/a" "$@" t.csv :: env -C "$TMP/b" "$@" t.csv
refused "standard input" 'only rank 0 would have it' "$@" - :: "$@" -
refused "a configuration from there" '--config -: only rank 0 has standard input: name a file$' "$@" --config - "$trace" :: "$@" --config - "$trace"
printf 'kvreplay:\n  spin: long\n' >"$TMP/spin.yaml"
refused "a file that is wrong" 'spin\.yaml:2: kvreplay\.spin: long: expected' \
    "$@" --timing trace --config "$TMP/spin.yaml" "$trace" :: "$@" --timing trace --config "$TMP/spin.yaml" "$trace"
refused "--part" '--part: does not apply with ranks of MPI' "$@" --part 0/2 "$trace" :: "$@" --part 0/2 "$trace"
refused "served shares" '--split keys: spreads requests' \
    "$@" --split keys --timing served --workers 2 "$trace" :: "$@" --split keys --timing served --workers 2 "$trace"
: >"$TMP/file"
wanted=3 refused "a target that cannot be used" 'rank 1 on .*file' \
    "$BIN/kvreplay-mpi" --target "$TMP/fine" -o "$TMP/no" "$TMP/small.csv" :: "$BIN/kvreplay-mpi" --target "$TMP/file/x" -o "$TMP/no" "$TMP/small.csv"

# ---- one rank takes longer ----

# A bug looked like rank 0 that was busy while it waited, and gave up after ten seconds.
for i in 0 1; do
    printf '%s\n' Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase 0,Write,4096,Tier-1,a,Prefill $((i * 11)),Write,4096,Tier-1,b,Prefill >"$TMP/len-$i.csv"
done
exits "one rank runs 11 s longer" 0 ranks 2 --timing trace --config spin=0 --summary "$TMP/len.json" -o "$TMP/len.csv" "$TMP/len-{rank}.csv"
is "it is waited for" "$(json "$TMP/len.json" '(.ranks.missing | length), .rows.ok')" '0 4'

# ---- one rank ends ----

# An operation each 10 ms for a minute.
{
    echo Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase
    seq 0 5999 | awk '{ printf "%.2f,Write,4096,Tier-1,k%d,Prefill\n", $1 * 0.01, $1 }'
} >"$TMP/long.csv"
# rank_1: waits until the ranks of the last run have more than a hundred rows, and prints the process of rank 1.
have_rows() {
    set -- "$TMP"/kvreplay-*-rank-[012].csv.zst
    [ $# = 3 ] || return 1
    for file; do [ "$(zstd -dcq "$file" 2>/dev/null | grep -c ,Write,)" -gt 100 ] || return 1; done
}
rank_1() {
    for _ in $(seq 200); do
        have_rows && break
        sleep 0.2
    done
    pgrep -f "$BIN/kvreplay-mpi.*$TMP" | while read -r pid; do
        if tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null | grep -Eq '^(OMPI_COMM_WORLD_RANK|PMI_RANK)=1$'; then echo "$pid"; fi
    done | head -n 1
}
ranks 3 --timing trace --config spin=0 -o "$TMP/stop.csv" --summary "$TMP/stop.json" "$TMP/long.csv" >"$TMP/stop.out" 2>&1 &
run=$!
pid=$(rank_1)
kill -s TERM "$pid"
wait $run
is "a signal to one rank ends all" "$?" 143
is "and all rows are there" "$(json "$TMP/stop.json" '(.ranks.list | map(.summary.rows.ok) | map(. > 0) | all), (.ranks.missing | length)')" 'true 0'
ok "in one result" "$BIN/kvstat" --json -o "$TMP/stop.stat" "$TMP/stop.csv"

ranks 3 --timing trace --config spin=0 -o "$TMP/killed.csv" "$TMP/long.csv" >"$TMP/killed.out" 2>&1 &
run=$!
pid=$(rank_1)
kill -s KILL "$pid"
wait $run
isnt "a killed rank is no success" "$?" 0
spool=$(find "$TMP" -name 'kvreplay-*-rank-1.csv.zst')
"$BIN/kvstat" --json -o "$TMP/spool.json" "$spool" 2>"$TMP/err"
ok "its spool is read to the last second" test "$(json "$TMP/spool.json" .rows)" -gt 100
like "and called incomplete" "$(cat "$TMP/err")" 'incomplete: the run was killed'
for i in 0 2; do
    file=$(find "$TMP" -name "kvreplay-*-rank-$i.csv.zst")
    "$BIN/kvstat" --json -o "$TMP/other.json" "$file" 2>/dev/null
    ok "so is that of rank $i" test "$(json "$TMP/other.json" .rows)" -gt 100
done
done_testing
