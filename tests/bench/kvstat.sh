#!/bin/sh
# kvstat.sh - the speed of kvstat and of general tools on the same file: `zstd -dc | mawk` with only counts and sums by
# tier and operation, and DuckDB with counts, sums and percentiles of sizes by tier, operation and phase. The best of
# three runs each, in rows a second, on CSV and on .csv.zst. Judges nothing.
#
# ROWS (10,000,000), THREADS (2) and KEEP (a folder that keeps the files for the next time) may be set. DuckDB runs when
# node finds it:  npm install @duckdb/node-api  in any folder above, or with NODE_PATH set.
set -eu
export LC_ALL=C
top=$(cd "$(dirname "$0")/../.." && pwd)
case ${BUILD:=build} in
/*) bin=$BUILD/bin ;;
*) bin=$top/$BUILD/bin ;;
esac
# shellcheck source=tests/bench/builds/cases.sh
. "$top/tests/bench/builds/cases.sh"
ROWS=${ROWS:-10000000}
THREADS=${THREADS:-2}
folder=${KEEP:-$(mktemp -d "${TMPDIR:-/tmp}/kvtrace-bench.XXXXXX")}
[ -n "${KEEP:-}" ] || trap 'rm -rf "$folder"' EXIT INT TERM
zst=$folder/$ROWS.csv.zst
csv=$folder/$ROWS.csv
[ -s "$zst" ] || user_rows "$bin" "$ROWS" "$zst" 2>"$folder/log"
[ -s "$csv" ] || zstd -dcq "$zst" >"$csv"

now() { date +%s%N; }

# best COMMAND...: ns of the fastest of three runs.
best() {
    least=
    for run in 1 2 3; do
        begin=$(now)
        "$@" >"$folder/out.$run" 2>"$folder/err" || return 1
        ns=$(($(now) - begin))
        if [ -z "$least" ] || [ "$ns" -lt "$least" ]; then least=$ns; fi
    done
    echo "$least"
}
rate() { echo "$1 $ROWS" | awk '{ printf "%.2f", $2 / $1 * 1000 }'; }
ratio() { echo "$1 $2" | awk '{ printf "%.2f", $1 / $2 }'; }

# Finds the columns by name, as kvstat does.
sums="
    NR == 1 {
        for (i = 1; i <= NF; i++) column[\$i] = i
        tier = column[\"Tier\"]; op = column[\"Operation\"]; size = column[\"Object_Size_Bytes\"]
        next
    }
    { key = \$tier \" \" \$op; n[key]++; bytes[key] += \$size }
    END { for (key in n) print key, n[key], bytes[key] }"
awk_csv() { mawk -F, "$sums" "$csv"; }
awk_zst() { zstd -dcq "$zst" | mawk -F, "$sums"; }
kvstat_csv() { "$bin/kvstat" --config threads="$THREADS" "$csv"; }
kvstat_zst() { "$bin/kvstat" --config threads="$THREADS" "$zst"; }
duck() {
    THREADS=$THREADS node -e "
        const duckdb = require(\"@duckdb/node-api\")
        const run = async () => {
            const db = await duckdb.DuckDBInstance.create(\":memory:\", { threads: process.env.THREADS })
            const c = await db.connect()
            const r = await c.runAndReadAll(\`select Tier, Operation, Phase, count(*), sum(Object_Size_Bytes),
                min(Object_Size_Bytes), max(Object_Size_Bytes), avg(Object_Size_Bytes),
                approx_quantile(Object_Size_Bytes, [0.5, 0.9, 0.95, 0.99, 0.999, 0.9999])
                from read_csv(\\x27\${process.argv[1]}\\x27) group by all\`)
            console.log(r.getRows().length)
        }
        run().catch(e => { console.error(String(e)); process.exit(1) })" "$1"
}
duck_csv() { duck "$csv"; }
duck_zst() { duck "$zst"; }

echo "$ROWS rows, $(wc -c <"$csv") bytes as CSV, $(wc -c <"$zst") as .csv.zst; $THREADS threads; million rows a second"
for form in csv zst; do
    ours=$(best "kvstat_$form")
    echo "$form: kvstat $(rate "$ours")"
    if command -v mawk >/dev/null; then
        other=$(best "awk_$form")
        echo "$form: mawk $(rate "$other"), kvstat is $(ratio "$other" "$ours") times as fast"
    else
        echo "$form: mawk is not here"
    fi
    if command -v node >/dev/null && node -e 'require("@duckdb/node-api")' 2>/dev/null; then
        if other=$(best "duck_$form"); then
            echo "$form: DuckDB $(rate "$other"), kvstat is $(ratio "$other" "$ours") times as fast"
        else
            echo "$form: DuckDB failed: $(head -n 1 "$folder/err")"
        fi
    else
        echo "$form: DuckDB is not here (npm install @duckdb/node-api)"
    fi
done
if [ -x /usr/bin/time ]; then
    /usr/bin/time -f 'memory of kvstat: %M KiB' "$bin/kvstat" --config threads="$THREADS" "$zst" >"$folder/out"
fi
