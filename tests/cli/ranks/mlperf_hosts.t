#!/bin/sh
# mlperf_hosts.t - examples/mlperf.sh --hosts: the ranks of the benchmark run on several hosts, here this machine by two names,
# and the tree of the benchmark is made here: option_N/trial_T/rank_R and a summary.json with the sums over ranks. All ranks of
# a trial start at one time. A host that fails is named. A bug looked like a rank that had the trace of another, or started
# when its trace was ready.
# builds: plain
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
cd "$TMP" || exit 1
export KVTRACE_BIN="$BIN"

# An ssh that notes the host; one of them takes the trace, and no more.
mkdir bin
cat >bin/ssh <<'END'
#!/bin/sh
while [ "$1" = -o ]; do shift 2; done
echo "$1" >>ssh.log
case $1:$2 in broken:kvreplay*)
    echo "ssh: no route" >&2
    exit 255
    ;;
esac
exec sh -c "$2"
END
chmod +x bin/ssh
mlperf() { env PATH="$TMP/bin:$PATH" "$TOP/examples/mlperf.sh" -m tiny-1b -u 2 -t 1 -w option_1 --lead 6 --storage-capacity-gb 0.5 "$@"; }

exits "three ranks on two hosts, two trials" 0 mlperf --hosts one,two --ranks 3 --trials 2 -o out "$TMP/kv"
stdout_like "the table" '^option_1 +[0-9.]+ +[0-9.]+ '
stdout_like "of all ranks" '3 ranks; not an official'
run=$(ls -d out/kv_cache/tiny-1b/run/*)
is "a file for each rank" "$(cd "$run" && find . -name 'kvcache_results_*.json' | sed 's|/kvcache_.*||; s|^\./||' | sort | paste -sd ' ' -)" \
    'option_1/trial_0/rank_0 option_1/trial_0/rank_1 option_1/trial_0/rank_2 option_1/trial_1/rank_0 option_1/trial_1/rank_1 option_1/trial_1/rank_2'
is "the summary has all ranks" "$(json "$run/summary.json" '[.. | .total_ranks? // empty] | max')" 3
is "sums over ranks" "$(jq '.options["1"].aggregated_read_bandwidth_gbps * 1e6 | round' "$run/summary.json")" \
    "$(jq -s '[.[].summary.cache_stats.tier_storage_read_bandwidth_gbps] | add / 2 * 1e6 | round' "$run"/option_1/trial_*/rank_*/*.json)"
is "each rank has its own load" "$(cat "$run"/option_1/trial_0/rank_*/*.json | jq .seed | paste -sd ' ' -)" '42 43 44'
is "ranks go round the hosts" "$(sort ssh.log | uniq -c | awk '{ print $1, $2 }' | paste -sd ' ' -)" '12 one 6 two'
is "the ranks of a trial start together" "$(jq -s 'map(.start.at_unix_s) | unique | length' out/option_1-trial_1-rank_?.kvreplay.json)" 1
is "the next trial later" "$(jq -s 'map(.start.at_unix_s) | unique | length' out/option_1-trial_?-rank_0.kvreplay.json)" 2
is "they are parts of one run" "$(jq -c .ranks.rank out/option_1-trial_0-rank_?.kvreplay.json | paste -sd ' ' -)" '0 1 2'
is "nothing stays" "$(find /tmp -maxdepth 1 -name 'kvtrace-*-rank_*' -newer bin/ssh 2>/dev/null; find kv -name '*.kv' 2>/dev/null)" ''

exits "a host fails" 3 mlperf --hosts one,broken --trials 1 -o out2 "$TMP/kv"
stderr_like "it is named" 'option_1-trial_0-rank_1 on broken: kvreplay failed: ssh: no route'
exits "no DIR" 2 "$TOP/examples/mlperf.sh" --hosts one,two --storage-capacity-gb 1
stderr_like "is asked for" '--hosts: name DIR and --storage-capacity-gb'
exits "no capacity" 2 "$TOP/examples/mlperf.sh" --hosts one,two "$TMP/kv"
exits "--print" 0 mlperf --hosts one,two --trials 1 -o out3 --print "$TMP/kv"
stdout_like "shows how they start" "^ssh two \"kvreplay --part 1/2 --start-at \\\$start --target .*/kv/rank_\\{rank\\}"
not_ok "and runs nothing" test -e out3
done_testing
