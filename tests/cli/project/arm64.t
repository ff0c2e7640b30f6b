#!/bin/sh
# arm64.t - the programs compiled for arm64 by make arm64-build and run under qemu-user write the same bytes as those of
# this machine: five traces with their digests, and the reports of a result. A bug looked like a trace that depends on
# whether char is signed, or on how the C library of one processor rounds.
# builds: plain
. "${0%/*}/../../lib.sh"

arm64=$TOP/build/arm64
command -v aarch64-linux-gnu-gcc >/dev/null || skip_all 'aarch64-linux-gnu-gcc is not here (./install-deps.sh --cross)'
command -v qemu-aarch64 >/dev/null || skip_all 'qemu-aarch64 is not here (./install-deps.sh --cross)'
for program in kvgen kvreplay kvstat; do
    [ -x "$arm64/bin/$program" ] || skip_all 'there is no arm64 build here (make arm64-build)'
    [ -z "$(find "$TOP/lib" "$TOP/$program" -name '*.[ch]' -newer "$arm64/bin/$program")" ] ||
        skip_all 'the arm64 build is older than the sources (make arm64-build)'
done
cd "$TMP" || exit 1

on_arm64() { # PROGRAM ARGUMENTS...
    program=$1
    shift
    qemu-aarch64 -L "$arm64/sysroot" "$arm64/bin/$program" "$@"
}
digest() { sed -n 's/.*digest \([0-9a-f]*\)$/\1/p' "$1"; }

same_trace() { # NAME OPTIONS...
    name=$1
    shift
    exits "$name" 0 "$BIN/kvgen" "$@" -o here.csv
    digest stderr >here.digest
    exits "$name, on arm64" 0 on_arm64 kvgen "$@" -o there.csv
    like "$name: a digest" "$(digest stderr)" '^[0-9a-f]{32}$'
    is "$name: the same digest" "$(digest stderr)" "$(cat here.digest)"
    ok "$name: the same rows" cmp here.csv there.csv
}
same_trace 'simulated users' --num-users 20 --duration 30
same_trace 'gamma arrivals' --num-users 20 --duration 60 --arrival gamma --config arrival_cv=3 --request-rate 3
same_trace 'Poisson arrivals, timed tiers' --num-users 20 --duration 60 --arrival poisson --request-rate 3 \
    --generation-mode fast --gpu-mem-gb 4 --cpu-mem-gb 8 --tier-model 0=hbm3 --tier-model 1=ddr5 \
    --tier-model 2=nvme-gen4
same_trace 'documents, tensor parallel' --model llama3.1-70b-instruct --num-users 30 --duration 30 --enable-rag \
    --num-gpus 2 --tensor-parallel 2 --gpu-mem-gb 16 --cpu-mem-gb 32 --storage-capacity-gb 100
same_trace 'recorded blocks' --input "$DATA/mooncake_first4000.jsonl.zst" --max-requests 500 --config eviction=s3fifo \
    --gpu-mem-gb 4 --cpu-mem-gb 8 --storage-capacity-gb 50
same_trace 'recorded sessions' --input "$DATA/agentic_60.tar.zst" --num-users 4 --duration 300 --model tiny-1b \
    --config eviction=lfu --gpu-mem-gb 1 --cpu-mem-gb 1 --storage-capacity-gb 5

same_report() { # NAME OPTIONS...
    name=$1
    shift
    exits "$name" 0 "$BIN/kvstat" "$@"
    mv stdout here.report
    exits "$name, on arm64" 0 on_arm64 kvstat "$@"
    ok "$name: the same" cmp here.report stdout
    ok "$name: not empty" test -s stdout
}
same_report 'report of a result' "$DATA/kvstat_dozen.csv"
same_report 'its CSV' --csv --profile latency "$DATA/kvstat_dozen.csv"
same_report 'report of a trace' here.csv

exits 'a replay on arm64, every byte verified' 0 on_arm64 kvreplay --limit 300 --nvme objects --config ioengine=psync \
    --verify full -o result.csv here.csv
is 'a result for each row' "$(grep -c ',ok$' result.csv)" 300
done_testing
