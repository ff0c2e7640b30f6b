#!/bin/sh
# plot.t - --plot draws four panels (six of a result) in 1200 x 800 as SVG or PNG, of results, traces and files without
# rows, whatever the name of the file, of two runs over each other, and leaves nothing behind when gnuplot is not
# there. Bugs looked like a title that ran a command, or an empty picture for a file of one row.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
kvstat=$BIN/kvstat
dozen=$DATA/kvstat_dozen.csv
echo 'set terminal' | gnuplot 2>&1 | grep -q pngcairo || skip_all 'gnuplot with svg and pngcairo is not installed'

# size FILE: width and height of a PNG.
size() { od -An -tu1 -j16 -N8 "$1" | awk '{ print $3 * 256 + $4, $7 * 256 + $8 }'; }

exits 'SVG' 0 "$kvstat" --full --plot "$TMP/a.svg" "$dozen"
stdout_like 'beside the report' '^Bottleneck'
stdout_unlike 'without a series in it' '^Each '
is 'nothing is complained of' "$(cat "$TMP/stderr")" ''
like 'an SVG fills what it is shown in, a phone too' "$(cat "$TMP/a.svg")" '^ viewBox="0 0 1200 800"'
unlike 'so it has no size of its own' "$(head -n 4 "$TMP/a.svg")" 'width="1200"'
for text in '>kvstat_dozen.csv<' '>replay, 43 rows over 1.15 s' 'Service time of whole objects' 'time \[ms\]' \
    'percentile \[%\]' \
    Throughput 'throughput \[MiB/s\]' 'Contents of the tiers' 'contents \[MiB\]' 'Hit rate of all lookups' \
    'hit rate \[%\]' 'since the start' 'time \[s\]' 'Tier-2 read' 'Tier-0 write' 'Tier-2 response'; do
    like "$text" "$(cat "$TMP/a.svg")" "$text"
done
unlike 'nothing of tiers that were not written' "$(cat "$TMP/a.svg")" 'Tier-2 write'
ok 'it is small' test "$(wc -c <"$TMP/a.svg")" -lt 200000
exits 'PNG' 0 "$kvstat" --json --plot "$TMP/a.png" "$dozen"
is 'size' "$(size "$TMP/a.png")" '1200 800'
stdout_like 'the series that it chose is not reported' '^  "series": null'
exits 'a pipe with a name' 0 sh -c "cat \"\$2\" | \"\$1\" --plot \"\$3\" /dev/fd/0" - "$kvstat" "$dozen" "$TMP/pipe.svg"
ok 'is drawn too' test -s "$TMP/pipe.svg"
printf 'Round,Bandwidth_GiB_s\n1,1\n' >"$TMP/few.csv"
exits 'rounds that lack columns' 2 "$kvstat" --plot "$TMP/few.svg" "$TMP/few.csv"
stderr_like 'are refused' '^kvstat: .*few\.csv: holds nothing to draw$'
exits 'rounds with an option that means nothing' 2 "$kvstat" --skip-bad-rows --plot "$TMP/few.svg" "$TMP/few.csv"
exits 'a warm-up' 0 "$kvstat" --warmup 300ms --plot "$TMP/w.svg" "$dozen"
is 'is a band in the five panels over time' "$(grep -c '>warm-up<' "$TMP/w.svg")" 5
like 'times stand beside waits' "$(tr '\n' ' ' <"$TMP/w.svg")" 'Times of Tier-2.*Waits for Tier-2'
like 'and the title says whether to believe it' "$(tr '\n' ' ' <"$TMP/w.svg")" '; validity unknown'
echo '{"validity": [{"figures": "device", "tier": "Tier-2", "op": "Read", "state": "unreliable", "why": "it moved"}]}' >"$TMP/moved.json"
exits 'a run of which one tier moved' 0 "$kvstat" --run "$TMP/moved.json" --plot "$TMP/moved.svg" "$dozen"
like 'is not to be believed' "$(tr '\n' ' ' <"$TMP/moved.svg")" '; validity unreliable'
is 'and in none without' "$(grep -c 'warm-up' "$TMP/a.svg")" 0
exits 'intervals of its own' 0 "$kvstat" --csv --interval 500ms --plot "$TMP/b.svg" "$dozen"
is 'which are reported' "$(csv_figure "$TMP/stdout" series.t_s | wc -l)" 3
not_ok 'make another picture' cmp -s "$TMP/a.svg" "$TMP/b.svg"

exits 'a trace' 0 "$kvstat" --plot "$TMP/t.svg" "$DATA/mlperf_trace_first400.csv.zst"
for text in 'Size of objects' 'Throughput asked for' 'Operations, all tiers'; do like "$text" "$(cat "$TMP/t.svg")" \
    "$text"; done
head -n 1 "$dozen" >"$TMP/header"
exits 'no rows' 0 "$kvstat" --plot "$TMP/h.svg" "$TMP/header"
like 'says so' "$(cat "$TMP/h.svg")" 'no reads and writes'
sed -n '1p; 3p' "$dozen" >"$TMP/row"
exits 'one row' 0 "$kvstat" --plot "$TMP/r.svg" "$TMP/row"
awk -F, -v OFS=, 'NR > 1 { $17 = 0 } { print }' "$dozen" >"$TMP/zero"
exits 'times of 0 on a log axis' 0 "$kvstat" --plot "$TMP/z.svg" "$TMP/zero"
exits 'from a pipe' 0 "$kvstat" --plot "$TMP/p.svg" - <"$dozen"
like 'named so' "$(cat "$TMP/p.svg")" '>standard input<'

cp "$dozen" "$TMP/a'b\"\`touch $(basename "$TMP")\`\$(x)_{y}.csv"
exits 'a name with all sorts of quotes' 0 "$kvstat" \
    --plot "$TMP/q'\`q\`.svg" "$TMP/a'b\"\`touch $(basename "$TMP")\`\$(x)_{y}.csv"
not_ok 'runs nothing' test -e "$(basename "$TMP")"
like 'and is drawn as it is' "$(cat "$TMP/q'\`q\`.svg")" '\$\(x\)_\{y\}\.csv'

# The title says what was run: model, users, target, validity; texts of a file stay texts.
cat >"$TMP/run.json" <<'END'
{"program": "kvreplay", "model": {"name": "m<8>&\"b'"}, "options": {"num-users": 50},
 "tiers": [{"tier": "Tier-2", "engine": "io_uring", "target": "/mnt/<nvme>/kv", "device": "vda", "simulated": false}]}
END
exits 'a run with a summary' 0 "$kvstat" --run "$TMP/run.json" --plot "$TMP/s.svg" "$dozen"
like 'is named in the title' "$(cat "$TMP/s.svg")" \
    'kvstat_dozen.csv: m&lt;8>&amp;"b.*, 50 users, /mnt/&lt;nvme>/kv on vda<'
if command -v python3 >/dev/null; then
    ok 'and is well-formed XML' python3 -c 'import sys, xml.dom.minidom as d; d.parse(sys.argv[1])' "$TMP/s.svg"
fi

# A stall of one operation of 2 s among a thousand of 1 ms: no percentile shows it.
{
    head -n 1 "$dozen"
    awk 'BEGIN {
        for (i = 0; i < 4000; i++) {
            at = i / 1000
            printf "%.3f,Read,1000,Tier-2,k%d,Decode,,,,,,,,%.3f,%.3f,%.3f,%d,%d,ok\n", at, i, at, at, at, \
                i == 1500 ? 2000000 : 1000, i == 1500 ? 2000000 : 900
        }
    }'
} >"$TMP/stall.csv"
mkdir -p "$TMP/caught"
printf '#!/bin/sh\ncat >"%s/caught/script"\nexec cat "%s/a.svg"\n' "$TMP" "$TMP" >"$TMP/caught/gnuplot" && chmod +x "$TMP/caught/gnuplot"
exits 'a stall of 2 s' 0 env PATH="$TMP/caught:$PATH" "$kvstat" --plot "$TMP/stall.svg" "$TMP/stall.csv"
like 'has a title of its own' "$(cat "$TMP/caught/script")" "^set key title 'Times of Tier-2: P95, and the worst'"
ok 'and a point at its height' awk "/^set key title/ { times = /Times of/ } times && \$2 > 1950 && \$2 < 2050 { found = 1 }
    END { exit !found }" "$TMP/caught/script"

# ---- two runs ----

exits 'a comparison' 0 "$kvstat" --compare "$TMP/stall.csv" --plot "$TMP/both.svg" "$dozen"
stdout_like 'beside the comparison' '^Base '
for text in 'base: stall.csv' 'new: kvstat_dozen.csv' 'base read' 'new read' 'base worst' 'new worst' \
    'Response time of Tier-2: P95, and the worst' 'Service time of whole objects of Tier-2'; do
    like "$text" "$(cat "$TMP/both.svg")" ">$text"
done
exits 'of two traces' 0 "$kvstat" --compare "$DATA/mlperf_trace_first400.csv.zst" --plot "$TMP/both.svg" \
    "$DATA/mlperf_trace_first400.csv.zst"
like 'has their sizes' "$(cat "$TMP/both.svg")" 'Size of objects of Tier-2'
exits 'of several bases' 2 "$kvstat" --compare "$dozen" --compare "$dozen" --plot "$TMP/both.svg" "$dozen"
stderr_like 'is refused' '^kvstat: --plot: takes one run on each side'

# ---- what the other programs measure ----

"$BIN/kvgen" --input "$DATA/mooncake_first200.jsonl" --curve "$TMP/curve.csv" --config curve_optimal=true -o none \
    --summary "$TMP/curve.json" 2>/dev/null
exits 'a hit-rate curve' 0 "$kvstat" --plot "$TMP/c.svg" "$TMP/curve.csv"
is 'is drawn, not reported' "$(cat "$TMP/stdout" "$TMP/stderr")" ''
for text in 'curve\.csv: hit rate by capacity, [0-9,]+ lookups' 'hit rate \[%\]' 'capacity of the cache' 'of objects' \
    'of bytes at best' ' [MG]iB'; do
    like "$text" "$(cat "$TMP/c.svg")" "$text"
done
exits 'its script' 0 env PATH="$TMP/caught:$PATH" "$kvstat" --plot "$TMP/k.svg" "$TMP/curve.csv"
is 'marks the knee that kvgen found' \
    "$(sed -n "s/^set arrow 1 from first \\([0-9.e+]*\\),.*/\\1/p" "$TMP/caught/script" | awk '{ printf "%.0f", $1 * 1048576 / 1000 }')" \
    "$(json "$TMP/curve.json" .curve.knee.capacity_bytes | awk '{ printf "%.0f", $1 / 1000 }')"
like 'in words too' "$(cat "$TMP/c.svg")" '>knee: [0-9.]+ [MG]iB, [0-9.]+ %<'
sed '2,$s/^\([0-9]*,[0-9]*\),[^,]*,[^,]*,[^,]*/\1,0,0,0/' "$TMP/curve.csv" >"$TMP/flat.csv"
exits 'a curve without hits' 0 "$kvstat" --plot "$TMP/f.svg" "$TMP/flat.csv"
unlike 'has no knee' "$(cat "$TMP/f.svg")" 'knee'
cut -d, -f1-5 "$TMP/curve.csv" >"$TMP/bare.csv"
exits 'without the bound' 0 "$kvstat" --plot "$TMP/c.svg" "$TMP/bare.csv"
unlike 'there is no line of it' "$(cat "$TMP/c.svg")" 'at best'
cat >"$TMP/rounds.csv" <<'EOF'
Round,Start_s,Seconds,Bytes,Bandwidth_GiB_s,IOPS,Latency_mean_us,Latency_p99_us,Steady
1,0.000,60.000,100,3.1,3208.5,9974.1,15120.3,0
2,60.000,60.000,100,2.0,2000.5,9974.1,15120.3,0
3,120.000,60.000,100,1.9,1900.5,9974.1,15120.3,0
4,180.000,60.000,100,1.9,1900.5,9974.1,15120.3,0
5,240.000,60.000,100,1.9,1900.5,9974.1,15120.3,0
6,300.000,60.000,100,1.9,1900.5,9974.1,15120.3,1
EOF
exits 'rounds' 0 "$kvstat" --plot "$TMP/r.png" "$TMP/rounds.csv"
is 'size' "$(size "$TMP/r.png")" '1200 800'
exits 'as SVG' 0 "$kvstat" --plot "$TMP/r.svg" "$TMP/rounds.csv"
for text in 'rounds\.csv: 6 rounds of 60 s, steady' 'bandwidth \[GiB/s\]' 'writes \[1/s\]' 'latency \[ms\]' 'p99' \
    'mean of the last 5' 'steady from here'; do
    like "$text" "$(cat "$TMP/r.svg")" "$text"
done
# Rounds that were disturbed are none of the last five.
awk -F, -v OFS=, 'NR == 1 { print $0, "Disturbed"; next } { print $0, $1 == 3 }' "$TMP/rounds.csv" >"$TMP/disturbed.csv"
exits 'six rounds, one of them disturbed' 0 "$kvstat" --plot "$TMP/r.svg" "$TMP/disturbed.csv"
like 'has a mean' "$(cat "$TMP/r.svg")" 'mean of the last 5'
sed 2d "$TMP/disturbed.csv" >"$TMP/four.csv"
exits 'five, one of them disturbed' 0 "$kvstat" --plot "$TMP/r.svg" "$TMP/four.csv"
unlike 'has none' "$(cat "$TMP/r.svg")" 'mean of the last 5'
sed '6,$d' "$TMP/rounds.csv" >"$TMP/few.csv"
exits 'fewer than five' 0 "$kvstat" --plot "$TMP/r.svg" "$TMP/few.csv"
like 'are not steady' "$(cat "$TMP/r.svg")" 'few\.csv: 4 rounds of 60 s, not steady'
sed '2,$d' "$TMP/rounds.csv" >"$TMP/none.csv"
exits 'no round' 2 "$kvstat" --plot "$TMP/n.svg" "$TMP/none.csv"
stderr_like 'is said' '^kvstat: .*none\.csv: holds nothing to draw'
echo '7,1' >>"$TMP/few.csv"
exits 'a row too short' 2 "$kvstat" --plot "$TMP/n.svg" "$TMP/few.csv"
stderr_like 'is named' '^kvstat: .*few\.csv:6: 2 fields, the header has 9'
exits 'a report of it' 2 "$kvstat" --json --plot "$TMP/n.svg" "$TMP/rounds.csv"
stderr_like 'is refused' '^kvstat: --json: means nothing with --plot of'

# ---- refusals ----

mkdir "$TMP/bin" "$TMP/out"
exits 'without gnuplot' 1 env PATH="$TMP/bin" "$kvstat" --plot "$TMP/out/n.svg" "$dozen"
stderr_like 'is said' '^kvstat: --plot: gnuplot is not installed: install the package gnuplot-nox \(Debian.*Fedora: dnf install gnuplot'
exits 'before anything is read' 1 env PATH="$TMP/bin" "$kvstat" --plot "$TMP/out/n.svg" "$TMP/missing.csv"
stderr_like 'is said' 'gnuplot is not installed'
printf '#!/bin/sh\necho "no terminal today" >&2\nexit 1\n' >"$TMP/bin/gnuplot" && chmod +x "$TMP/bin/gnuplot"
exits 'a gnuplot that fails' 1 env PATH="$TMP/bin:$PATH" "$kvstat" --plot "$TMP/out/n.svg" "$dozen"
stderr_like 'is quoted' '^kvstat: --plot: gnuplot failed: no terminal today'
exits 'a disk that is full' 1 sh -c "ulimit -f 40; exec \"\$1\" --plot \"\$2\" \"\$3\"" - "$kvstat" "$TMP/out/n.svg" "$dozen"
stderr_like 'is said' '^kvstat: .*/out/n\.svg: cannot write: '
is 'nothing is left behind' "$(ls "$TMP/out")" ''
exits 'a folder that is not there' 1 "$kvstat" --plot "$TMP/none/n.svg" "$dozen"
exits 'another kind of file' 2 "$kvstat" --plot "$TMP/x.jpg" "$dozen"
stderr_like 'is refused' '^kvstat: --plot: .*\.svg or \.png'
exits 'several files' 2 "$kvstat" --plot "$TMP/x.svg" "$dozen" "$dozen"
done_testing
