#!/bin/sh
# against_engine.t - examples/against-engine.sh runs four hierarchies and says in its exit status whether one of them is
# within 5 % of the reference. A bug looked like a PASS where the reference and the runs have nothing in common.
# builds: plain
. "${0%/*}/../../lib.sh"
cd "$TMP" || exit 1
mkdir -p programs/bin
ln -s "$BIN/kvgen" "$BIN/kvstat" programs/bin
printf '#!/bin/sh\nshift 2\nexec "%s" --config spin=0 --tier-engine 0=null --tier-engine 1=null --tier-engine 2=sim:lat=1us "$@"\n' "$BIN/kvreplay" \
    >programs/bin/kvreplay
chmod +x programs/bin/kvreplay
against() {
    against=$1 status=$2
    shift 2
    exits "$against" "$status" env BUILD="$TMP/programs" "$TOP/examples/against-engine.sh" -f "$DATA/sharegpt_dummy_250.json.zst" \
        -m tiny-1b -n 40 -g 1 -u 4 -d objects -o out --storage-capacity-gb 2 "$@"
}
# What the hit rate of this load is, from the trace itself.
echo '[{"cache_hit": "not told"}]' >nothing.json
against 'all four hierarchies beside nothing in common' 4 -r nothing.json
is 'each has its table' "$(grep -c '^Reference - ' stdout)" 4
stdout_like 'which is said' '^INCONCLUSIVE: '
rate=$(json out/nvme_only.json .cache.lookups.all.hit_rate)
requests() { awk -v rate="$1" 'BEGIN { for (i = 0; i < 1000; i++) printf "%s{\"cache_hit\": %s}", i ? ",\n" : "[", (i < 1000 * rate ? "true" : "false"); print "]" }'; }
requests "$rate" >same.json
requests "$(awk -v rate="$rate" 'BEGIN { print rate * 0.9 }')" >other.json
against 'the same hit rate' 0 -w nvme_only -r same.json
stdout_like 'passes' '^PASS: within 5 % of same.json '
against 'another one' 1 -w nvme_only,gpu_cpu_nvme -r other.json
stdout_like 'does not' '^FAIL: no hierarchy '
against 'a hierarchy that is none' 2 -w drum -r same.json
against 'without a reference' 2
done_testing
