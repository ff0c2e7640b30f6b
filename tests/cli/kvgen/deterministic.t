#!/bin/sh
# One seed is one file: byte for byte, twice, and with any number of threads; another seed is another.
# A bug looked like a digest that changed with --threads or between runs.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

gen() {
    told "$BIN/kvgen" --model llama3.1-8b --num-users 50 --duration 600 --gpu-mem-gb 16 --cpu-mem-gb 32 "$@"
    sed -n 's/.*digest \([0-9a-f]*\)$/\1/p' "$TMP/err"
}
a=$(gen --seed 1 --threads 1 -o "$TMP/a.csv.zst")
b=$(gen --seed 1 --threads 2 -o "$TMP/b.csv.zst")
c=$(gen --seed 1 --threads 2 -o "$TMP/c.csv.zst")
d=$(gen --seed 1 --threads 1 -o "$TMP/d.csv")
e=$(gen --seed 2 --threads 2 -o "$TMP/e.csv.zst")
f=$(gen --seed 1 --threads 5 --frames one -o "$TMP/f.csv.zst")
like "the digest is printed" "$a" '^[0-9a-f]{32}$'
is "two threads, same digest" "$b" "$a"
is "plain, same digest" "$d" "$a"
is "one frame, same digest" "$f" "$a"
isnt "another seed, another digest" "$e" "$a"
ok "two threads, same bytes" cmp "$TMP/a.csv.zst" "$TMP/b.csv.zst"
ok "twice, same bytes" cmp "$TMP/b.csv.zst" "$TMP/c.csv.zst"
is "c is b" "$c" "$b"
zstd -qdc "$TMP/a.csv.zst" >"$TMP/a.csv"
ok "unpacked, the plain file" cmp "$TMP/a.csv" "$TMP/d.csv"
ok "one frame, the plain file" sh -c 'zstd -qdc "$1" | cmp - "$2"' - "$TMP/f.csv.zst" "$TMP/d.csv"
ok "zstd finds it whole" zstd -qt "$TMP/a.csv.zst"
if command -v xxhsum >/dev/null 2>&1; then
    is "the digest is XXH3-128 of the rows" "$(tail -n +2 "$TMP/d.csv" | xxhsum -H2 - | sed 's/ .*//')" "$a"
fi

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

# The users drawn, written and given back: the same trace.
one=$(gen --seed 7 --dump-users "$TMP/users.csv" -o "$TMP/one.csv")
two=$(gen --seed 7 --users-file "$TMP/users.csv" -o "$TMP/two.csv")
is "--users-file of --dump-users gives the same trace" "$two" "$one"
is "a users file has its header and a row a user" "$(wc -l <"$TMP/users.csv" | tr -d ' ')" 51
for how in closed "poisson --request-rate 20"; do
    # shellcheck disable=SC2086
    one=$(gen --arrival $how -o "$TMP/one.csv")
    # shellcheck disable=SC2086
    two=$(gen --arrival $how -o "$TMP/two.csv")
    is "--arrival $how repeats" "$two" "$one"
    isnt "--arrival $how is another trace" "$one" "$a"
done
done_testing
