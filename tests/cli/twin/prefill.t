#!/bin/sh
# prefill.t - with a model of compute a request's first token comes when what it found was loaded and the rest computed.
#
# One user, no queue: load + link + overhead + prefill, done here on paper from the constants of each model and tier, to
# the microsecond; for misses, hits and partial hits in each tier, for windows, experts and latents. Several engines,
# classes, given times. Without --gpu-profile and --prefill every digest is as it was before they came. A bug looked
# like a missed turn that cost nothing, a prefill that began before its loads were over, or a rank's bytes on the
# host's link.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
models=$DATA/models

# ---- a closed form ----

# Requests of 12 blocks, 16 blocks (12 of them hit) and the same again (16 hit); the last one has 300 tokens of its own.
cat >"$TMP/blocks.jsonl" <<'END'
{"timestamp": 0, "input_length": 6144, "output_length": 9, "hash_ids": [1,2,3,4,5,6,7,8,9,10,11,12]}
{"timestamp": 500000, "input_length": 8192, "output_length": 9, "hash_ids": [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]}
{"timestamp": 900000, "input_length": 8192, "output_length": 9, "hash_ids": [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]}
{"timestamp": 1300000, "input_length": 8492, "output_length": 9, "hash_ids": [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]}
END
# first_tokens TRACE: cached tokens, new tokens, and microseconds from arrival to the end of the prefill, a request a line.
first_tokens() {
    awk -F, '
        $2 == "Read" && $6 == "Decode" && !done[$7] {cached[$7] += $11}
        $2 == "Generate" && $6 == "Prefill" {done[$7] = 1
            printf "%d %d %.3f\n", cached[$7], $11, ($1 - $12) * 1e6 + $13}' "$1"
}
# on_paper P D FULL WINDOWED W RANKS BYTES TIER: the same for the requests above. BYTES: of a block of 512 tokens on the
# host. TIER: 0, or the host's, which reads at 8 GB/s with 50 us, before the link of 64 GB/s and 20 ms.
on_paper() {
    awk -v P="$1" -v d="$2" -v full="$3" -v windowed="$4" -v W="$5" -v TP="$6" -v bytes="$7" -v tier="$8" '
        function area(h, m) {
            if (h + m <= W) return h * m + m * m / 2
            if (h >= W) return W * m
            return (W * W - h * h) / 2 + W * (h + m - W)
        }
        function t(h, m) {
            return (2 * P * m + 4 * d * (full * (h * m + m * m / 2) + windowed * area(h, m))) / (0.5 * 989e12 * TP)
        }
        function line(blocks, m, us) {
            us = t(512 * blocks, m) * 1e6
            if (tier > 0 && blocks > 0)
                us += blocks * (bytes / 8e9 * 1e6 + 50) + blocks * bytes / 64e9 * 1e6 + 20000
            printf "%d %d %.3f\n", 512 * blocks, m, us
        }
        BEGIN {line(0, 6144); line(12, 2048); line(16, 1); line(16, 300)}'
}
# close_to FILE FILE: equal but for a microsecond in the last column.
close_to() {
    paste -d' ' "$1" "$2" | awk '{d = $3 - $6; if ($1 != $4 || $2 != $5 || d > 1 || d < -1) {print; bad = 1}}
        END {exit bad || NR != 4}'
}
# MODEL, OPTIONS, P, d, full and windowed layers, window, ranks, bytes of a block
while read -r model options p d full windowed window ranks bytes; do
    on=$model words=$(echo "$options" | tr '_' ' ')
    [ -e "$models/$model.json" ] && on=$models/$model.json
    for tier in 0 1 2; do
        gpu=0 cpu=0 storage=none
        case $tier in 0) gpu=80 ;; 1) cpu=200 ;; 2) storage=200 ;; esac
        speed=
        [ $tier -gt 0 ] && speed="--tier-model $tier=read:8GB/s,read-lat:50us"
        with "$words $speed" "$BIN/kvgen" --input "$TMP/blocks.jsonl" --model "$on" --gpu-profile h100 \
            --gpu-mem $gpu --cpu-mem $cpu --storage-capacity $storage -o "$TMP/trace.csv" --no-notes 2>"$TMP/err"
        first_tokens "$TMP/trace.csv" >"$TMP/got"
        on_paper "$p" "$d" "$full" "$windowed" "$window" "$ranks" "$bytes" $tier >"$TMP/want"
        ok "$model $options, Tier-$tier: as on paper" close_to "$TMP/got" "$TMP/want"
    done
done <<'END'
llama3.1-8b --seed_1 6979321856 4096 32 0 0 1 67108864
llama3.1-70b-instruct --tensor-parallel_4 68451041280 8192 80 0 0 4 167772160
gemma-3-27b --seed_1 25598361600 4096 10 52 1024 1 260046848
gpt-oss-120b --seed_1 4551966720 4096 18 18 128 1 23592960
qwen3-30b-a3b-instruct-2507 --seed_1 2730491904 4096 48 0 0 1 50331648
deepseek-v3 --tensor-parallel_8 35697917952 20480 61 0 0 8 35979264
deepseek-v3 --tensor-parallel_8_--mla-tp_replicate 35697917952 20480 61 0 0 8 35979264
END

# ---- conversations: missed turns, engines, classes ----

# One user with think times above all prefills: no queue. The first turn is cold; later ones find the turn before, or
# without any tier compute it again.
one_user() { told "$BIN/kvgen" --users 1 --duration 60s --generation-mode none --gpu-profile h100:load_overhead_ms=0 \
    --disable-prefix-caching --input-len 1000 --no-notes "$@"; }
one_user --gpu-mem 200 --cpu-mem 0 --storage-capacity none -o "$TMP/all.csv" --summary "$TMP/all.json"
is "a turn finds the one before" "$(first_tokens "$TMP/all.csv" | awk '{print $1, $2}' | sort -u | tr '\n' ';')" "0 1000;1000 1000;"
one_user --gpu-mem 0.001 --cpu-mem 0 --storage-capacity none -o "$TMP/none.csv" --summary "$TMP/none.json"
is "a missed turn is computed again" "$(first_tokens "$TMP/none.csv" | awk '{print $1, $2}' | sort -u | tr '\n' ';')" "0 1000;0 2000;"
last=$(first_tokens "$TMP/none.csv" | sort -n -k3 | tail -n 1 | cut -d' ' -f3)
is "the summary has the time to the first token" "$(json "$TMP/none.json" '.prefill.first_token_ms.all.max * 1000 | round')" \
    "$(printf '%.0f' "$last")"
is "tokens are counted" "$(json "$TMP/none.json" '.prefill | .cached_tokens + .new_tokens')" \
    "$(awk -F, '$2 == "Generate" && $6 == "Prefill" {n += $11} END {print n}' "$TMP/none.csv")"
is "no prefill without a first token" "$(json "$TMP/all.json" '.prefill.requests - .prefill.first_token_ms.all.count')" 0

# Prefills of one engine do not overlap; with more engines as many run as there are. A waiting request of a higher
# class goes first.
busy() { told "$BIN/kvgen" --users 60 --duration 20s --gpu-profile h100 --generation-mode fast --gpu-mem 20 --input-len 4000 --no-notes "$@"; }
overlap() {
    awk -F, '$2 == "Generate" && $6 == "Prefill" {printf "%.9f 1\n%.9f -1\n", $1, $1 + $13 / 1e6 - 1e-8}' "$1" |
        sort -n -k1,1 -k2,2 | awk '{n += $2; if (n > most) most = n} END {print most}'
}
busy -o "$TMP/one.csv" --summary "$TMP/one.json"
is "one engine, one prefill at a time" "$(overlap "$TMP/one.csv")" 1
busy --engines 3 -o "$TMP/three.csv" --summary "$TMP/three.json"
is "three engines, three" "$(overlap "$TMP/three.csv")" 3
busy --users 14 --duration 60s -o "$TMP/few.csv" --summary "$TMP/few.json"
ok "higher classes wait less" test "$(json "$TMP/few.json" '.prefill.first_token_ms | .interactive.mean < .responsive.mean and .responsive.mean < .batch.mean')" = true
is "a user stays on one engine" "$(json "$TMP/three.json" .compute.engines)" 3
is "Tier-0 is as large as all engines' pools" "$(json "$TMP/three.json" 'tier("Tier-0").capacity_bytes')" $((60 << 30))

# ---- given times, nodes, the columns ----

cat >"$TMP/session.json" <<'END'
{"block_size": 64, "hash_id_scope": "local", "requests": [
 {"t": 0, "in": 6400, "out": 10, "api_time": 3.0, "hash_ids": [1, 2, 3, 4]},
 {"t": 5, "in": 64000, "out": 10, "api_time": 0.5, "hash_ids": [1, 2, 3, 4, 5]}]}
END
told "$BIN/kvgen" --input "$TMP/session.json" --users 1 --gpu-profile h100 -o "$TMP/session.csv" --no-notes
is "a given time goes to decode less prefill, at least 0" "$(awk -F, '$2 == "Generate" {t[$6, $7] = $13}
    END {print (t["Prefill", 1] + t["Decode", 1]) / 1e6, t["Decode", 2] + 0}' "$TMP/session.csv")" "3 0"
told "$BIN/kvgen" --users 5 --duration 20s --prefill-only --gpu-profile h100 -o "$TMP/node.csv" --no-notes
is "a node that prefills has no Decode rows" "$(awk -F, '$2 == "Generate" {print $6}' "$TMP/node.csv" | sort -u)" Prefill
told "$BIN/kvgen" --users 5 --duration 60s --enable-rag --gpu-profile h100 -o "$TMP/rag.csv" --no-notes
ok "RAG queries have no prefill" awk -F, "\$2 == \"Generate\" {n[\$6]++} END {exit !(n[\"Prefill\"] > 0 && n[\"Decode\"] > n[\"Prefill\"])}" "$TMP/rag.csv"
told "$BIN/kvgen" --users 5 --duration 20s -o "$TMP/plain.csv" --no-notes
is "without a model of compute no Generate row has a phase" "$(awk -F, '$2 == "Generate" {print $6 "."}' "$TMP/plain.csv" | sort -u)" .

# ---- what is refused ----

while IFS='|' read -r name options want; do
    with "$options" exits "$name" 2 "$BIN/kvgen" -o none
    stderr_like "... with the reason" "$want"
done <<'END'
--compat mlperf|--gpu-profile h100 --compat mlperf|--gpu-profile: does not apply with --compat mlperf
a decode node|--gpu-profile h100 --decode-only|--gpu-profile: does not apply with --decode-only
a model without an MLP|--gpu-profile h100 --model tiny-1b|tiny-1b does not tell how many parameters.*--params
other GPUs than the engines have|--gpu-profile h100 --engines 2 --num-gpus 3|--num-gpus: 3, but 2 engines with 1 GPU each
engines without compute|--engines 2|--engines: needs --gpu-profile or --prefill
parameters without compute|--params 7e9|--params: needs --gpu-profile or --prefill
an unknown profile|--gpu-profile h10|did you mean h20
a share above 1|--gpu-profile h100:eta=2|"h100:eta=2": eta: "2" is not a number from 0.001 to 1
no type|--gpu-profile h100:type=int8|type: bf16 or fp8
nothing behind the name|--gpu-profile h100:|"h100:": nothing behind the :
no key of a profile|--gpu-profile h100:speed=1|"h100:speed=1": expected eta=SHARE
END
exits "--params fills in" 0 "$BIN/kvgen" --gpu-profile h100 --model tiny-1b --params 1e9 --users 2 --duration 5s -o none

# ---- measured times ----

point() { printf '%s{"cached": %s, "new": %s, "ms": %s}' "$4" "$1" "$2" "$3"; }
{ printf '{"points": ['; point 0 1000 38 ''; point 0 8000 262 ', '; point 0 32000 1436 ', '; point 30000 500 46 ', '; echo ']}'; } >"$TMP/good.json"
exits "measured points" 0 "$BIN/kvgen" --prefill "$TMP/good.json" --users 2 --duration 5s -o none --summary "$TMP/told.json"
stderr_like "it says so" 'first token .*prefill measured'
is "and in the summary" "$(json "$TMP/told.json" '.compute.times, .compute.gpu')" 'measured null'
bad() { # NAME JSON WANT
    printf '%s' "$2" >"$TMP/$1.json"
    exits "$1" 2 "$BIN/kvgen" --prefill "$TMP/$1.json" --users 2 --duration 5s -o none
    stderr_like "... by name" "^kvgen: .*$1.json: $3"
}
bad few '{"points": [{"cached": 0, "new": 10, "ms": 1}]}' 'points: .*found 1'
bad misfit "$(sed 's/262/700/' "$TMP/good.json")" 'point . .*measured .*, but the formula fitted to all points gives .* ms, more than 20 % off; check this point'
bad alike '{"points": [{"cached": 0, "new": 10, "ms": 1}, {"cached": 0, "new": 10, "ms": 1}, {"cached": 0, "new": 10, "ms": 1}, {"cached": 0, "new": 10, "ms": 1}]}' \
    'points: they do not tell'
bad negative "$(sed 's/262/-1/' "$TMP/good.json")" 'point 2: ms: expected a number above 0'
bad half "$(sed 's/"new": 500/"new": 500.5/' "$TMP/good.json")" 'point 4: new: expected a number of tokens, at least 1'
bad unnamed "$(sed 's/"cached": 30000/"hit": 30000/' "$TMP/good.json")" 'point 4: cached: expected a number of tokens'
for key in eta=0.4 t0_ms=3 type=fp8; do
    exits "$key of a profile beside measured times" 2 "$BIN/kvgen" --prefill "$TMP/good.json" --gpu-profile h100:$key -o none
    stderr_like "... with the reason" "${key%=*}= does not apply with --prefill, whose times are measured"
done
exits "a link beside them" 0 "$BIN/kvgen" --prefill "$TMP/good.json" --gpu-profile h100:link_gb_s=40 --users 2 --duration 5s -o none

# ---- without it, everything is as before ----

while read -r digest options; do
    with "$options" "$BIN/kvgen" --users 30 --duration 60s --model tiny-1b -o "$TMP/same.csv" --summary "$TMP/same.json" 2>/dev/null
    is "as before: ${options:-defaults}" "$(json "$TMP/same.json" '.trace.digest, has("prefill"), has("compute")')" \
        "$digest false false"
done <<'END'
ba04aece8e1a4306c1a06f0d82d16410
412cde49b8b38fefcb11c9cb6d58121a --tier-model 2=nvme-gen4 --cpu-mem 1GiB --gpu-mem 2GiB
06541b817c30c92161b1294e31731043 --compat mlperf
2df735899eb84826d00f6b7b605b7a16 --enable-rag --granularity block:256
a3c9f206c035f659d2c6d8dd99321f87 --arrival poisson --request-rate 5 --promote on-hit --gpu-mem 2GiB
END
done_testing
