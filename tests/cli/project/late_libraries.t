#!/bin/sh
# late_libraries.t - libcurl, libzmq and libxlsxwriter bring many others: the programs are not linked with them, a run that needs
# one loads it, and says so where this machine has none. A bug looked like a start that took as long as a short run.
# builds: plain
. "$(dirname "$0")/../../lib.sh"

mkdir "$TMP/none" "$TMP/d"
printf 'Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\n0.0,Write,4096,Tier-2,a,Prefill\n' >"$TMP/t.csv"
# without PART NAME PROGRAM ARGUMENTS...: the run of a machine on which that library is no library.
without() {
    part=$1 name=$2 program=$3
    shift 3
    file=$(grep -o "KVTRACE_${part}_FILE=[^ ]*" "${BIN%/bin}/flags") || {
        ok "$name # SKIP built without it" true
        return
    }
    file=${file#*=}
    : >"$TMP/none/$file"
    unlike "$program is not linked with $name" "$(ldd "$BIN/$program")" "$name"
    exits "$program: a run that needs $name" 2 env LD_LIBRARY_PATH="$TMP/none" "$BIN/$program" "$@"
    stderr_like 'says so' "^$program: $file: .*(too short|invalid)"
}
without S3 libcurl kvreplay --target 's3://bucket/x?endpoint=http://127.0.0.1:1' -o none "$TMP/t.csv"
without ZMQ libzmq kvgen --input tcp://127.0.0.1:1 --duration 1 -o none
without XLSX libxlsxwriter kvstat --xlsx "$TMP/x.xlsx" "$TMP/t.csv"
export LD_LIBRARY_PATH="$TMP/none"
ok 'kvreplay without them' "$BIN/kvreplay" --target "$TMP/d" -o "$TMP/r.csv" "$TMP/t.csv"
ok 'kvgen' "$BIN/kvgen" --input "$TMP/t.csv" -o none
ok 'kvstat' "$BIN/kvstat" "$TMP/r.csv"
done_testing
