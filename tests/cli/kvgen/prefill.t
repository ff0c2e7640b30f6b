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
single_threaded
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
    on=$model
    [ -e "$models/$model.json" ] && on=$models/$model.json
    for tier in 0 1 2; do
        gpu=0 cpu=0 storage=none
        case $tier in 0) gpu=80 ;; 1) cpu=200 ;; 2) storage=200 ;; esac
        speed=
        [ $tier -gt 0 ] && speed="--tier-model $tier=read:8GB/s,read-lat:50us"
        # shellcheck disable=SC2086
        "$BIN/kvgen" --input "$TMP/blocks.jsonl" --model "$on" --gpu-profile h100 $(echo "$options" | tr '_' ' ') $speed \
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
