#!/bin/sh
# kvtrace twin: simulation and replay of one run beside each other, whose figures are those of kvgen and kvreplay. A bug
# looked like a difference between two different runs.
# builds: plain
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
cd "$TMP" || exit 1
mkdir disk
echo mine >disk/file
exits 'on a folder' 0 timeout 120 "$BIN/kvtrace" twin disk tiny-1b 3 -t 3 -g fast --drive "$DATA/drive_model.json" \
    --storage-capacity-gb 4 -o out
stdout_like 'both beside each other' '^3 users of tiny-1b +simulated +replayed +difference$'
# figure FILE PATH PERCENTILE: in ms, marked as kvstat does: * with fewer than ten samples above it, - with none.
figure() {
    json "$1" "$2 | .count, .$3" | awk -v above="$([ "$3" = p50 ] && echo 0.5 || echo 0.05)" '{
        print $1 * above < 1 ? "-" : sprintf("%.4g", $2 / 1000) ($1 * above < 10 ? "*" : "") }'
}
for what in 'read P50' 'read P95' 'write P50' 'write P95'; do
    op=${what% *} p=$(echo "${what#* }" | tr P p)
    is "storage $what" "$(awk -v name="storage $what ms" 'index($0, name) == 1 { print $5, $6 }' stdout)" \
        "$(figure out/twin.kvgen.json "tier(\"Tier-2\").$op.latency_us" "$p") $(figure out/twin.kvreplay.json \
            "tier(\"Tier-2\").$op.service_us" "$p")"
done
stdout_like 'few samples are told' '^\* fewer than ten samples lie above this percentile'
if [ "$(json out/twin.kvreplay.json 'tier("Tier-2").read.service_us.count >= 20')" = true ] &&
    [ "$(json out/twin.kvstat.json '.requests.end_to_end_ms.count >= 20')" = true ]; then
    stdout_like 'the answer is the last line' '^The twin of disk/kvtrace is [0-9.]+ % off in the P95 of storage reads and [0-9.]+ %'
else
    stdout_like 'the answer is the last line' '^Too few reads \([0-9]+\) or requests \([0-9]+\) for a P95 of disk/kvtrace: run longer'
fi
unlike 'nothing of compute without a GPU' "$(cat stdout)" 'computing|computed'
is 'one run: the same reads and writes' "$(json out/twin.kvreplay.json 'tier("Tier-2").read.ops, tier("Tier-2").write.ops')" \
    "$(json out/twin.kvgen.json 'tier("Tier-2").read_ops, tier("Tier-2").write_ops')"
like 'a page' "$(head -c 200 out/twin.html)" '<!DOCTYPE html>'
is 'what others have there stays, alone' "$(ls -A disk) $(cat disk/file)" 'file mine'

# ---- with a model of compute: what the cache is worth, in text and on the page ----

exits 'with a GPU' 0 timeout 120 "$BIN/kvtrace" twin disk tiny-1b 4 -t 4 -g fast --drive "$DATA/drive_model.json" \
    --cpu-mem-gb 4 --storage-capacity-gb 4 --gpu-profile h100 --params 1e9 --engines 2 -o gpu
# row NAME: its cells, of the text and of the page.
row() { awk -v name="$1" 'index($0, name " ") == 1 { $0 = substr($0, length(name) + 1); $1 = $1; print; exit }' stdout; }
html() { sed -n "s|^<tr><th scope=\"row\">$1</th><td>\(.*\)</td></tr>\$|\1|p" gpu/twin.html | head -n 1 | sed 's|</td><td>| |g'; }
first_token() { # FILE PATH
    json "$1" "$2 | .count, .p50, .p95" | awk '{ printf "%.4g%s ", $2, $1 < 20 ? "*" : ""
        print $1 < 20 ? "-" : sprintf("%.4g", $3) ($1 < 200 ? "*" : "") }'
}
is 'first token, simulated and replayed' "$(row 'first token P50 ms' | cut -d' ' -f1,2)" \
    "$(first_token gpu/twin.kvgen.json .prefill.first_token_ms.all | cut -d' ' -f1) $(first_token gpu/twin.kvstat.json .requests.ttft_ms | cut -d' ' -f1)"
for option in 'all tiers' 'without Tier-1' 'no cache'; do
    is "first token: $option" "$(row "$option" | cut -d' ' -f2,3)" "$(first_token gpu/twin.kvgen.json \
        ".worth.variants[] | select(.name == \"$option\") | .first_token_ms.all")"
    is "... and on the page" "$(html "$option")" "$(row "$option")"
done
is 'and replayed' "$(row 'all tiers, replayed' | cut -d' ' -f2,3)" "$(first_token gpu/twin.kvstat.json .requests.ttft_ms)"
for n in 2 14; do
    point=$(json gpu/twin.kvgen.json ".worth.curve[$n] | .tokens, .computed_ms, .loaded_ms.\"Tier-1\", .loaded_ms.\"Tier-2\"" |
        awk '{ printf "%d %.4g %.4g %.4g", $1, $2, $3, $4 }')
    is "the curve: ${point%% *} tokens" "$(row "${point%% *}")" "${point#* }"
    is "... and on the page" "$(html "${point%% *}")" "${point#* }"
done
even=$(json gpu/twin.kvgen.json '.worth.tiers[] | select(.tier == "Tier-2") | .break_even_tokens')
stdout_like 'the verdict, and what one mean hides' \
    '^Tier-2: (gain|no gain|worse)\. .* by [-+][0-9.]+ %: interactive [-+0-9.% ]+, responsive [-+0-9.% ]+, batch [-+0-9.% ]+\.$'
stdout_like 'the break-even' "^Loading from Tier-2 at [0-9.]+ GB/s \(measured\) beats computing from $even tokens on\.\$"
picture=$(sed -n '/<svg/,/<\/svg>/p' gpu/twin.html)
is 'one line for computing and one for each tier' "$(echo "$picture" | grep -c '<polyline')" 3
like 'the break-even is marked' "$picture" ">$even tokens</text>"
ok 'the page is whole' sh -c 'tail -n 1 gpu/twin.html | grep -q "</html>" && grep -q "<h2>Pictures</h2>" gpu/twin.html'

exits 'a doubtful measurement' 0 sh -c "sed 's/\"valid\": true/\"valid\": false/' '$DATA/drive_model.json' >bad.json &&
    timeout 120 '$BIN/kvtrace' twin disk tiny-1b 2 -t 1 -g none --drive bad.json --storage-capacity-gb 4 -o out"
stdout_like 'is told' '^Caution: the measurement of the drive is unreliable'
exits 'memory holds all' 0 timeout 120 "$BIN/kvtrace" twin disk tiny-1b 1 -t 1 --cpu-mem-gb 1 --drive "$DATA/drive_model.json" \
    --storage-capacity-gb 4 -o out
stdout_like 'is told' '^No read reached disk/kvtrace'
exits 'an operand too few' 2 "$BIN/kvtrace" twin disk tiny-1b
exits 'no number of users' 2 "$BIN/kvtrace" twin disk tiny-1b many
exits 'no such measurement' 2 "$BIN/kvtrace" twin disk tiny-1b 1 --drive nowhere.json
stderr_like 'why' '^kvtrace twin: nowhere.json: cannot open'
exits 'no measurement' 2 "$BIN/kvtrace" twin disk tiny-1b 1 --drive disk
stderr_like 'why' '^kvtrace twin: --drive: disk: not a measurement of a drive; kvtrace model DIR -o drive.json makes one$'
for wrong in out/twin.result.csv.zst out/twin.kvreplay.json; do
    exits "a result: $wrong" 2 "$BIN/kvtrace" twin disk tiny-1b 1 --drive "$wrong" -o wrong
    stderr_like 'is no measurement' "^kvtrace twin: --drive: $wrong: not a measurement of a drive"
    exits "with --print, too: $wrong" 2 "$BIN/kvtrace" twin --print disk tiny-1b 1 --drive "$wrong"
done

# What is wrong is told before the drive is measured, which takes minutes.
while IFS='|' read -r name model options want; do
    with "$options" exits "$name" 2 "$BIN/kvtrace" twin disk "$model" 1 -o wrong
    stderr_like "$name: why" "^kvtrace twin: .*$want"
    stderr_unlike "$name: before the measurement" 'measuring'
done <<'END'
an unknown model|nomodel||nomodel: unknown model
an unknown GPU|tiny-1b|--gpu-profile h1000|"h1000": unknown profile
a model without parameters|tiny-1b|--gpu-profile h100|give --params N
engines of no GPU|tiny-1b|--engines 2|--engines: needs --gpu-profile or --prefill
no measured prefills|tiny-1b|--prefill nowhere.json|nowhere.json: cannot open
an unknown mode|tiny-1b|-g slow|'slow' is not one of
no size|tiny-1b|--gpu-mem-gb much|'much' is not a size
END
done_testing
