#!/bin/sh
# One seed gives one file, byte for byte, each time and with any number of threads; another seed gives another file.
# A bug looked like a digest that changed with --config threads or between runs.
# builds: plain address thread
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

# digest_of OPTIONS...: a run's digest.
digest_of() {
    with "$(rows_only "$@")" told "$BIN/kvgen" --model llama3.1-8b --num-users 50 --duration 600 --gpu-mem-gb 16 \
        --cpu-mem-gb 32 "$@"
    sed -n 's/.*digest \([0-9a-f]*\)$/\1/p' "$TMP/err"
}
digest=$(digest_of --seed 1 --config threads=1 -o "$TMP/one_thread.csv.zst")
like "the digest is printed" "$digest" '^[0-9a-f]{32}$'
is "two threads, same digest" "$(digest_of --seed 1 --config threads=2 -o "$TMP/two_threads.csv.zst")" "$digest"
is "again, same digest" "$(digest_of --seed 1 --config threads=2 -o "$TMP/again.csv.zst")" "$digest"
is "plain, same digest" "$(digest_of --seed 1 --config threads=1 -o "$TMP/plain.csv")" "$digest"
is "one frame, same digest" "$(digest_of --seed 1 --config threads=5 --config frames=one -o "$TMP/one_frame.csv.zst")" "$digest"
isnt "another seed, another digest" "$(digest_of --seed 2 --config threads=2 -o "$TMP/other.csv")" "$digest"
ok "two threads, same bytes" cmp "$TMP/one_thread.csv.zst" "$TMP/two_threads.csv.zst"
ok "twice, same bytes" cmp "$TMP/two_threads.csv.zst" "$TMP/again.csv.zst"
zstd -qdc "$TMP/one_thread.csv.zst" >"$TMP/unpacked.csv"
ok "unpacked, the plain file" cmp "$TMP/unpacked.csv" "$TMP/plain.csv"
ok "one frame, the plain file" sh -c "zstd -qdc \"\$1\" | cmp - \"\$2\"" - "$TMP/one_frame.csv.zst" "$TMP/plain.csv"
ok "zstd finds it whole" zstd -qt "$TMP/one_thread.csv.zst"
is "the digest is XXH3-128 of the rows" "$(tail -n +2 "$TMP/plain.csv" | xxhsum -H2 - | sed 's/ .*//')" "$digest"

# Users have streams of their own: what 50 users ask is part of what 60 users ask.
few=$TMP/few.csv many=$TMP/many.csv
"$BIN/kvgen" --num-users 5 --duration 30 --generation-mode none -o "$few" 2>/dev/null
"$BIN/kvgen" --num-users 6 --duration 30 --generation-mode none -o "$many" 2>/dev/null
own() { awk -F, '$8 ~ /user_000[0-4]/ && $2 == "Generate" {print $1, $8, $11}' "$1"; }
own "$few" >"$TMP/few.own"
own "$many" >"$TMP/many.own"
ok "one more user changes nobody's requests" cmp "$TMP/few.own" "$TMP/many.own"
ok "(and there are some)" test -s "$TMP/few.own"
ok "the sixth is there" grep -q user_0005 "$many"

# Users that were drawn, written and read back give the same trace.
drawn=$(digest_of --seed 7 --dump-users "$TMP/users.csv" -o "$TMP/other.csv")
is "--users-file of --dump-users gives the same trace" \
    "$(digest_of --seed 7 --users-file "$TMP/users.csv" -o "$TMP/other.csv")" "$drawn"
is "a users file has its header and a row a user" "$(lines "$TMP/users.csv")" 51
for how in open "poisson --request-rate 20" "gamma --request-rate 20 --config arrival_cv=4"; do
    once=$(with "--arrival $how" digest_of --seed 1 -o "$TMP/other.csv")
    is "--arrival $how repeats" "$(with "--arrival $how" digest_of --seed 1 -o "$TMP/other.csv")" "$once"
    isnt "--arrival $how is another trace" "$once" "$digest"
done
done_testing
