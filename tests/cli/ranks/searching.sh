# searching.sh - for tests of kvreplay-mpi --autoscale, which source it: a trace of N users, and a search over drives.
# shellcheck shell=sh
mpirun=${mpirun:?needs_mpi comes first}
cd "$TMP" || exit 1

# The trace of N users over a second: each reads its object every 50 ms.
cat >gen <<'END'
#!/bin/sh
exec awk -v n="$1" 'BEGIN {
    print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request,QoS,Class,Tokens,Arrival,Duration_us"
    for (u = 0; u < n; u++) printf "0,Write,100000,Tier-2,s%d,Prefill,,,prepop,,,\n", u
    for (i = 0; i < 20 * n; i++) {
        t = i * 0.05 / n
        printf "%.6f,Read,100000,Tier-2,s%d,Decode,%d,interactive,user,,%.6f,\n", t, i % n, i, t
        printf "%.6f,Generate,0,,,,%d,interactive,,10,%.6f,1000\n", t, i, t
    }
}'
END
chmod +x gen
# search RANKS OPTIONS...: on drives of 20 MB/s, each of which 10 users keep busy, and 20 keep waiting for 100 ms.
search() {
    n=$1
    shift
    rm -f s.json
    timeout 100 "$mpirun" -np "$n" "$BIN/kvreplay-mpi" --each "./gen {N}" --step-warmup 50ms --step-duration 300ms --config spin=0 \
        --config lateness_budget=10s --cpu-mem 1MiB --tier-engine 2=sim:bw=20MB/s --summary s.json -o r.csv.zst "$@" 2>stderr
}
