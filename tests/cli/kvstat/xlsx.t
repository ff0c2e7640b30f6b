#!/bin/sh
# xlsx.t - --xlsx writes a spreadsheet with a sheet for each section, the numbers of the CSV as numbers under the same
# names, and bold headers. Bugs looked like numbers that a spreadsheet takes for texts, or a group in another run's row.
# static.t tests a build without libxlsxwriter.
. "${0%/*}/../../lib.sh"
kvstat=$BIN/kvstat
dozen=$DATA/kvstat_dozen.csv
command -v python3 >/dev/null || skip_all 'python3, which reads the spreadsheets, is not here'
"$kvstat" --xlsx "$TMP/a.xlsx" "$dozen" >"$TMP/text" 2>"$TMP/stderr"
! grep -q 'no libxlsxwriter' "$TMP/stderr" || skip_all 'this build has no libxlsxwriter'

# read_books NAME...: $TMP/NAME.cells has the cells of $TMP/NAME.xlsx, "SHEET ROW COLUMN KIND VALUE", tab-separated; KIND n, s or S
# (bold). $book is the name that the functions below look at.
read_books() {
    (cd "$TMP" && python3 - "$@") <<'EOF'
import re, sys, zipfile
import xml.etree.ElementTree as tree
ns = {"m": "http://schemas.openxmlformats.org/spreadsheetml/2006/main"}
for name in sys.argv[1:]:
    out = open(name + ".cells", "w")
    book = zipfile.ZipFile(name + ".xlsx")
    assert book.testzip() is None
    read = lambda part: tree.fromstring(book.read(part))
    text_of = lambda item: "".join(t.text or "" for t in item.iter("{%s}t" % ns["m"]))
    texts = [text_of(item) for item in read("xl/sharedStrings.xml").findall("m:si", ns)]
    styles = read("xl/styles.xml")
    bold = [f.find("m:b", ns) is not None for f in styles.find("m:fonts", ns)]
    style = [bold[int(x.get("fontId"))] for x in styles.find("m:cellXfs", ns)]
    for i, sheet in enumerate(read("xl/workbook.xml").find("m:sheets", ns)):
        for c in read("xl/worksheets/sheet%d.xml" % (i + 1)).iter("{%s}c" % ns["m"]):
            letters, row = re.match("([A-Z]+)([0-9]+)", c.get("r")).groups()
            column = 0
            for letter in letters:
                column = 26 * column + ord(letter) - 64
            value = c.find("m:v", ns).text
            kind = "n"
            if c.get("t") == "s":
                value, kind = texts[int(value)], "S" if style[int(c.get("s", 0))] else "s"
            print(sheet.get("name"), row, column, kind, value, sep="\t", file=out)
EOF
}
sheets() { cut -f1 "$TMP/$book.cells" | uniq | tr '\n' ' '; }
# at SHEET NAME ROW: the cell below the header NAME, "KIND VALUE".
at() {
    awk -F '\t' -v sheet="$1" -v name="$2" -v row="$3" '$1 == sheet && $2 == 1 && $5 == name { column = $3 }
        $1 == sheet { cell[$2, $3] = $4 " " $5 } END { print cell[row, column] }' "$TMP/$book.cells"
}

exits 'one file' 0 "$kvstat" --xlsx "$TMP/a.xlsx" "$dozen"
ok 'the report is printed as well' cmp "$TMP/stdout" "$TMP/text"
is 'nothing is complained of' "$(cat "$TMP/stderr")" ''
# The others that are looked at below.
exits 'trials, with a series of none' 0 "$kvstat" --json --xlsx "$TMP/b.xlsx" "$dozen" "$dozen"
exits 'a series' 0 "$kvstat" --interval 500ms --xlsx "$TMP/c.xlsx" "$dozen"
sed 's/,u1,/,a.ops.b=1+1,/' "$dozen" >"$TMP/user.csv"
exits 'by user' 0 "$kvstat" --by user --xlsx "$TMP/d.xlsx" "$TMP/user.csv"
mkdir "$TMP/runs" && cp "$dozen" "$DATA/mlperf_measured_k.json" "$TMP/runs"
exits 'a folder' 0 "$kvstat" --xlsx "$TMP/e.xlsx" "$TMP/runs"
mkdir "$TMP/other"
ln -s other/linked.xlsx "$TMP/link.xlsx"
: >"$TMP/other/linked.xlsx"
exits 'a link' 0 "$kvstat" --xlsx "$TMP/link.xlsx" "$dozen"
is 'stays one' "$(readlink "$TMP/link.xlsx")" other/linked.xlsx
ok 'all can be read, and what the link names' read_books a b c d e other/linked
book=a
is 'its sheets' "$(sheets)" 'summary tiers phases groups '
is 'headers are bold' "$(awk -F '\t' '$2 == 1' "$TMP/$book.cells" | cut -f4 | sort -u)" S
is 'nothing else is' "$(awk -F '\t' '$2 > 1 && $4 == "S"' "$TMP/$book.cells" | wc -l)" 0
is 'a number' "$(at summary elapsed_s 2)" 'n 1.153'
is 'a text' "$(at summary bottleneck.what 2)" 's generation'
is 'not known is empty' "$(at summary cache.lookups.rag.hit_rate 2)" ''
is 'a tier' "$(at tiers tier 4) $(at tiers read.ops 4) $(at tiers read.service_us.max 4)" 's Tier-2 n 12 n 20000'
is 'a phase' "$(at phases phase 3) $(at phases bytes 3)" 's Decode n 25165824'
row=$(awk -F '\t' '$1 == "groups" && $5 == "Tier-2/Read/Decode" { print $2 }' "$TMP/$book.cells")
is 'a group' "$(at groups ops "$row") $(at groups service_us.p90 "$row")" 'n 12 n 19996.672'
# Every figure of the CSV stands in one cell, numbers as numbers.
"$kvstat" --csv "$dozen" >"$TMP/long.csv"
csv_rows "$TMP/long.csv" | awk -F '\t' '$2 != "" { print ($2 ~ /^-?[0-9.]+(e[-+0-9]+)?$/ ? "n" : "s") }' |
    sort | uniq -c >"$TMP/csv"
awk -F '\t' '$2 > 1 && !($1 != "summary" && $3 <= 2) { print $4 }' "$TMP/$book.cells" | sort | uniq -c >"$TMP/xlsx"
ok 'all figures of the CSV' diff "$TMP/csv" "$TMP/xlsx"

book=b
is 'trials have a sheet of their own' "$(sheets)" 'summary tiers phases groups trials '
is 'a figure of it' "$(at trials name 2) $(at trials count 2) $(at trials mean 2) $(at trials sd 2)" \
    's elapsed_s n 2 n 1.153 n 0'
"$kvstat" --json "$dozen" >"$TMP/dozen.json"
is 'a row for each run and group' "$(awk -F '\t' '$1 == "groups" && $3 == 1' "$TMP/$book.cells" | wc -l)" \
    $((2 * $(json "$TMP/dozen.json" '.groups | length') + 1))
book=c
is 'a series has one too' "$(sheets)" 'summary tiers phases groups series '
"$kvstat" --csv --interval 500ms "$dozen" >"$TMP/long.csv"
lookups=$(csv_figure "$TMP/long.csv" series.lookups | sed -n 2p)
is 'a row an interval' "$(at series t_s 3) $(at series lookups 3)" "n 0.5 n $lookups"
is 'with what each tier did' "$(at series tiers.Tier-2.read.ops 2) $(at series tiers.Tier-2.contents_bytes 3)" 'n 5 n 2097152'
output_like "$TMP/d.cells" 'a name with dots is one name, and no formula' '^groups	[0-9]+	2	s	a\.ops\.b=1\+1$'
book=e
is 'a folder is a row a run' "$(at summary kind 3) $(at summary cache.lookups.all.hit_rate 3 | awk '{ printf "%.9f", $2 }')" \
    "s mlperf $(json "$DATA/mlperf_measured_k.json" '.seeds["1"].cache_hit_rate')"

exits 'a folder that is not there' 1 "$kvstat" --xlsx "$TMP/none/a.xlsx" "$dozen"
stderr_like 'is said' '^kvstat: .*none/a\.xlsx: '
is 'and no report printed' "$(wc -c <"$TMP/stdout")" 0
is 'nothing is left beside' "$(find "$TMP" -name '*.tmp')" ''
exits 'another kind of file' 2 "$kvstat" --xlsx "$TMP/a.xls" "$dozen"
stderr_like 'is refused' '^kvstat: --xlsx: .*\.xlsx'
exits 'a folder that is not there' 1 "$kvstat" --xlsx "$TMP/none/x.xlsx" "$dozen"
is 'is told in one line' "$(lines "$TMP/stderr")" 1
for option in "--compare $dozen" --verify-trace; do
    with "$option" exits "$option" 2 "$kvstat" --xlsx "$TMP/f.xlsx" "$dozen"
done
done_testing
