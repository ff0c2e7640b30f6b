#!/bin/sh
# worth.t - --worth: the same requests at the same times with all tiers, without some, and without any; what each tier
# does to the time to the first token; from which length on loading beats computing.
#
# Break-even lengths and the bandwidth that is needed are checked against the formulas. A tier that helps, one that does
# nothing and one that makes it worse are each called so. A bug looked like variants that served other requests, a
# variant that was simulated twice, or a price that nobody gave.
# builds: plain (small_loads.t runs its code)
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

worth() { told "$BIN/kvgen" --gpu-profile h100 -o none --worth --summary "$TMP/told.json" "$@"; }
verdict() { json "$TMP/told.json" ".worth.tiers[] | select(.tier == \"Tier-$1\") | .verdict"; }

# ---- the same requests ----

worth --users 6 --max-requests 60 --duration 0 --gpu-mem 4 --cpu-mem 6 --tier-model 2=nvme-gen4
json_like "$TMP/told.json" <<'END'
the variants                     | .worth.variants[].name | all tiers without Tier-1 without Tier-2 GPU memory only no cache
all serve the same requests      | [.worth.variants[] | [.requests, .input_tokens]] | unique | length | 1
with all tiers they come out as in the run itself | .worth.variants[0].first_token_ms.all == .prefill.first_token_ms.all | true
nothing is saved without a cache | .worth.variants[-1].saved_gpu_s | 0
no price, no cost                | [.worth.variants[].cost_per_million_input_tokens] | unique[] | null
no target, no share              | [.worth.variants[].within_target[]] | unique[] | null
END
cp "$TMP/told.json" "$TMP/first.json"
worth --users 6 --max-requests 60 --duration 0 --gpu-mem 4 --cpu-mem 6 --tier-model 2=nvme-gen4
is "again: the same" "$(json "$TMP/told.json" .worth)" "$(json "$TMP/first.json" .worth)"

worth --users 3 --max-requests 10 --duration 0 --gpu-mem 60 --cpu-mem 0 --storage-capacity none
is "equal variants are simulated once" "$(json "$TMP/told.json" '.worth.variants[].name')" "all tiers no cache"

# ---- an engine's cache ----

for cache in vllm lmcache sglang copies; do
    told "$BIN/kvgen" -o none --worth --summary "$TMP/told.json" --gpu-profile h100 --cache $cache --model tiny-1b \
        --params 1e9 --users 6 --max-requests 40 --duration 0 --gpu-mem 1GiB --cpu-mem 2GiB --storage-capacity 20GiB \
        --tier-model 2=nvme-gen4
    case $cache in
    copies) names="all tiers without Tier-1 without Tier-2 GPU memory only no cache" ;;
    *) names="all tiers without Tier-2 GPU memory only no cache" ;;
    esac
    json_like "$TMP/told.json" <<END
$cache: what it runs | .worth.variants[].name | $names
$cache: the same requests | [.worth.variants[] | [.requests, .input_tokens]] | unique | length | 1
$cache: with all tiers they come out as in the run itself | .worth.variants[0].first_token_ms.all == .prefill.first_token_ms.all | true
$cache: GPU time is saved | .worth.variants[0].saved_gpu_s > 0 | true
$cache: nothing is saved without a cache | .worth.variants[-1].saved_gpu_s | 0
END
done
ok "files can be all that is below" grep -q '^  without Tier-1' "$TMP/err"

# ---- gain, no gain, worse ----

set -- --users 8 --max-requests 50 --duration 0 --config input_len=8000 --disable-prefix-caching
worth "$@" --gpu-mem 20 --cpu-mem 0 --tier-model 2=read:20GB/s,write:20GB/s
is "a fast tier is a gain" "$(verdict 2)" gain
like "in words" "$(cat "$TMP/err")" '^Tier-2: gain. It makes the mean time to the first token [0-9]+ % shorter'
is "in 80 columns" "$(awk 'length > 80' "$TMP/err")" ""
worth "$@" --gpu-mem 200 --cpu-mem 0 --tier-model 2=read:20GB/s,write:20GB/s
is "where all fits into GPU memory there is no gain" "$(verdict 2)" "no gain"
like "in words" "$(cat "$TMP/err")" '^Tier-2: no gain\.'
worth "$@" --gpu-mem 20 --cpu-mem 0 --tier-model 2=read:300MB/s,write:300MB/s
is "a slow tier makes it worse" "$(verdict 2)" worse
like "in words" "$(cat "$TMP/err")" '^Tier-2: worse. It makes the mean time to the first token [0-9]+ % longer'
is "and never beats computing" "$(json "$TMP/told.json" '.worth.tiers[0].break_even_tokens > 100000 or .worth.tiers[0].break_even_tokens == null')" true

# One mean hides that interactive requests, which the engine takes first, wait for the drive.
worth --users 12 --max-requests 80 --duration 0 --seed 1 --model tiny-1b --params 1e9 --cache vllm --config engine_order=priority \
    --gpu-mem 2GiB --cpu-mem 1GiB --tier-model 2=read:600MB/s,write:2GB/s
by_class=$(json "$TMP/told.json" ".worth | . as \$w | .tiers[0].mean_change_by_class | to_entries[] | .key as \$class |
    (.value - (\$w.variants[0].first_token_ms[\$class].mean / \$w.variants[1].first_token_ms[\$class].mean - 1)) | fabs < 1e-9")
is "change by class: of the mean of the variants" "$by_class" "true true true"
ok "classes are told where they differ from the verdict" test "$(json "$TMP/told.json" '.worth.tiers[0] |
    .verdict == "gain" and .mean_change_by_class.interactive > 0.02 and .mean_change_by_class.batch < -0.02')" = true
like "in words" "$(cat "$TMP/err")" '^  By class: interactive \+[0-9]+ %, responsive \+[0-9]+ %, batch -[0-9]+ %\.$'
fewer=$(json "$TMP/told.json" '.worth.variants | 100 * (1 - .[0].prefill_gpu_s / .[1].prefill_gpu_s) | round')
like "GPU time that is saved" "$(cat "$TMP/err")" "^  Prefill takes $fewer % fewer GPU seconds with it\.\$"
is "in 80 columns" "$(awk 'length > 80' "$TMP/err")" ""

# ---- on paper ----

worth --users 1 --max-requests 2 --duration 0 --model llama3.1-8b --cpu-mem 0 --tier-model 2=read:6GB/s,read-lat:100us
is "bandwidth needed: b eta F / 2 P" "$(json "$TMP/told.json" '.worth.bandwidth_needed_bytes_per_s / 1e7 | round')" 464
# D(n) = t(0, n) - t_L - bytes(n) / B, with 1 / B = 1 / 6 GB/s + 1 / 64 GB/s: below 0 in front of the break-even.
even=$(json "$TMP/told.json" '.worth.tiers[0].break_even_tokens')
ok "break-even ($even): loading takes no longer, and one token less would" awk -v n="$even" '
    function D(n) {return (2 * 6979321856 * n + 4 * 32 * 4096 * n * n / 2) / (0.5 * 989e12) - 0.0201 - 131072 * n * (1 / 6e9 + 1 / 64e9)}
    BEGIN {exit !(D(n) >= 0 && D(n - 1) < 0)}' /dev/null
worth --users 1 --max-requests 2 --duration 0 --model llama3.1-70b-instruct --tensor-parallel 4 --gpu-mem 40
is "70B on four: all ranks' bytes" "$(json "$TMP/told.json" '.worth.bandwidth_needed_bytes_per_s / 1e7 | round')" 473
is "a tier without a speed is named" "$(json "$TMP/told.json" '.worth.tiers[1].timed')" false

# A measured drive: 2.5 GB/s for one object of 64 MiB and more alone, whatever the most it gives.
worth --users 1 --max-requests 2 --duration 0 --model llama3.1-8b --cpu-mem 0 --tier-model 2="$DATA/drive_model.json"
rate=$(jq '[.points[] | select(.in_flight == 1 and .read_share == 1)] | max_by(.size_bytes).bytes_per_s' "$DATA/drive_model.json")
even=$(json "$TMP/told.json" '.worth.tiers[0].break_even_tokens')
ok "a measured drive's break-even ($even), at $rate bytes/s" awk -v n="$even" -v rate="$rate" '
    function D(n) {return (2 * 6979321856 * n + 4 * 32 * 4096 * n * n / 2) / (0.5 * 989e12) - 0.02 - 131072 * n * (1 / rate + 1 / 64e9)}
    BEGIN {exit !(D(n) >= 0 && D(n - 1) < 0)}' /dev/null
is "it is told as measured" "$(json "$TMP/told.json" '.worth.tiers[0].measured')" true
ok "the curve crosses there" test "$(json "$TMP/told.json" "[.worth.curve[] | (.loaded_ms.\"Tier-2\" <= .computed_ms) == (.tokens >= $even)] | all")" = true
is "it computes as the formula" "$(json "$TMP/told.json" '.worth.curve[] | select(.tokens == 32768) | .computed_ms * 1000 | round')" 1494180
worth --users 2 --max-requests 30 --duration 0 --gpu-mem 60 --cpu-mem 1 --price gpu=2.5/h --tier-model 2="$DATA/drive_model.json"

# ---- the text ----

# GOLDEN=write writes it. Read it.
sed -n '/^Time to first token/,$p' "$TMP/err" >"$TMP/worth.txt"
[ "${GOLDEN-}" != write ] || cp "$TMP/worth.txt" "$TOP/tests/golden/worth.txt"
ok "variants that come out alike are told once" diff "$TOP/tests/golden/worth.txt" "$TMP/worth.txt"
is "no line is longer than 80 columns" "$(awk 'length > 80' "$TMP/err")" ""

# ---- targets and prices ----

worth --users 4 --max-requests 40 --duration 0 --gpu-mem 75 --cpu-mem 0 --storage-capacity none \
    --config ttft_target=responsive=1h --config ttft_target=interactive=1us --price gpu=3600/h
is "share within the target" "$(json "$TMP/told.json" '.worth.variants[0].within_target | .responsive, .interactive, .batch')" "1 0 null"
ok "cost: GPU seconds of prefill by input tokens" test "$(json "$TMP/told.json" '.worth.variants[1] |
    (.cost_per_million_input_tokens / (.prefill_gpu_s / .input_tokens * 1e6) - 1) | fabs < 1e-9')" = true
while IFS='|' read -r options want; do
    with "$options" exits "$options is refused" 2 "$BIN/kvgen" --gpu-profile h100 --users 1 --duration 1s -o none
    stderr_like "... with the reason" "$want"
done <<'END'
--worth --price 3|--price: "3" is not gpu=N/h
--worth --price disk=3/h|--price: "disk=3/h" is not
--worth --config ttft_target=fast=1s|--config ttft_target: "fast=1s" is not
--price gpu=1/h|--price: needs --worth
END
exits "a price without all that it takes" 2 "$BIN/kvgen" --users 1 --duration 1s -o none --price gpu=1/h
stderr_like "... names all of it at once" '^kvgen: --price: needs --worth, and an engine: --gpu-profile, or --cache of an engine'
exits "a target without an engine" 2 "$BIN/kvgen" --users 1 --duration 1s -o none --config ttft_target=batch=1s
stderr_like "... says what it takes" '^kvgen: --config ttft_target: applies only to a simulated serving engine: --gpu-profile, or --cache vllm'
exits "--worth without an engine is refused" 2 "$BIN/kvgen" --users 1 --duration 1s -o none --worth
stderr_like "... with the reason" '--worth: applies only to a simulated serving engine: --gpu-profile'
exits "blocks" 0 "$BIN/kvgen" --gpu-profile h100 --input "$DATA/mooncake_first200.jsonl" --limit 10 --gpu-mem 8 -o none --worth
stderr_like "... too" '^  no cache'
done_testing
