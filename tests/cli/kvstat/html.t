#!/bin/sh
# html.t - --html writes one page that needs nothing but itself: balanced tags, nothing from elsewhere, texts of the files as
# texts wherever they stand, the numbers of the JSON under their names, pictures when gnuplot is there. Bugs looked like a
# user's name that ran as a script, or a page that lost a table when a tier had no reads.
. "${0%/*}/../../lib.sh"
kvstat=$BIN/kvstat
dozen=$DATA/kvstat_dozen.csv
command -v python3 >/dev/null || skip_all 'python3, which reads the page, is not installed'

# read_pages NAME...: reads $TMP/NAME.html into files beside it. NAME.tags: "whole", or what is not balanced, unknown or asks for something;
# NAME.texts: what a reader sees; NAME.numbers: a line "name value shown" for each number; NAME.pictures: the SVGs, which must be
# well-formed.
cat >"$TMP/page.py" <<'END'
import base64, html.parser, re, sys, xml.dom.minidom
VOID = {"meta", "img", "br", "hr"}
KNOWN = set("html head meta title style body main footer section h1 h2 h3 p div table thead tbody tr th td dl dt dd code "
            "span strong data i figure img".split())
class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.bad, self.texts, self.numbers, self.svg, self.data = [], [], [], [], [], None
    def handle_starttag(self, tag, attrs):
        if tag not in KNOWN:
            self.bad.append("unknown tag " + tag)
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name.startswith("on"):
                self.bad.append("script in " + tag)
            if name in ("href", "action", "srcset", "poster") or (name == "src" and not value.startswith("data:image/svg+xml;base64,")):
                self.bad.append(f"{tag} asks for {value[:40]}")
            if name == "src" and value.startswith("data:image/svg+xml;base64,"):
                self.svg.append(base64.b64decode(value.split(",", 1)[1], validate=True).decode())
            if name == "style" and not re.fullmatch(r"width:[0-9.]+%", value):
                self.bad.append("style " + value)
        self.data = dict(attrs) if tag == "data" else self.data
    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.bad.append("</" + tag + "> closes another tag")
        if tag == "data":
            self.data = None
    def handle_data(self, text):
        if "style" in self.open:
            if re.search(r"url\(|@import", text):
                self.bad.append("style asks for something")
            return
        self.texts.append(text)
        if self.data:
            self.numbers.append((self.data["title"], self.data["value"], text))
for name in sys.argv[1:]:
    p = Page()
    p.feed(open(name + ".html", encoding="utf-8").read())
    p.close()
    p.bad += ["not closed: " + tag for tag in p.open]
    with open(name + ".tags", "w") as out:
        print("\n".join(p.bad) or "whole", file=out)
    with open(name + ".texts", "w") as out:
        print("".join(p.texts), file=out)
    with open(name + ".numbers", "w") as out:
        for number in p.numbers:
            print(*number, sep="\t", file=out)
    with open(name + ".pictures", "w") as out:
        for svg in p.svg:
            tree = xml.dom.minidom.parseString(svg)
            assert not tree.getElementsByTagName("script")
            texts = [t.firstChild.data for t in tree.getElementsByTagName("text") if t.firstChild]
            print(tree.documentElement.getAttribute("viewBox"), *texts, file=out)
END
read_pages() { (cd "$TMP" && told python3 page.py "$@"); }
page() { cat "$TMP/$1.$2"; }
# without_gnuplot: kvstat makes no pictures, where it is the page that is looked at.
mkdir "$TMP/bin" "$TMP/out"
without_gnuplot() { PATH="$TMP/bin" "$kvstat" "$@"; }

exits 'a page' 0 "$kvstat" --profile latency --html "$TMP/a.html" "$dozen"
stdout_like 'beside the report' 'Bottleneck|Time went'
read_pages a
is 'its tags are balanced, and it needs nothing from elsewhere' "$(page a tags)" whole
output_like "$TMP/a.html" 'it is for phones too' '<meta name="viewport" content="width=device-width'
output_like "$TMP/a.html" 'for dark screens' '@media\(prefers-color-scheme:dark\)'
output_like "$TMP/a.html" 'and for paper' '@media print'
texts=$(page a texts)
for text in Verdict INCONCLUSIVE storage_read_p95 Validity 'Where the time went' Throughput Tiers Requests Cache Groups \
    'Tier-2 Read Decode' 'How it was run' kvstat_dozen.csv 'kvstat --profile latency --html'; do
    like "it has $text" "$texts" "$text"
done

# Each number goes by its name in the JSON and has its value, digit by digit; what is shown is that value, rounded.
"$kvstat" --csv --profile latency "$dozen" >"$TMP/long.csv"
csv_rows "$TMP/long.csv" | sort -u >"$TMP/names"
page a numbers | sed -E 's|^groups\.-/|groups.|' >"$TMP/numbers"
ok 'many numbers' test "$(lines "$TMP/numbers")" -gt 200
is 'each is that of the JSON' "$(awk -F '\t' 'NR == FNR { value[$1] = $2; next } value[$1] != $2' "$TMP/names" "$TMP/numbers")" ''
is 'and shown as such' "$(awk -F '\t' '
    NR == FNR { unit[$1] = $5; next }
    {
        split($3, shown, " ")
        scale["us"] = 1e3; scale["ms"] = 1e6; scale["s"] = 1e9; scale["ns"] = 1; scale["B"] = 1
        scale["KiB"] = 1024; scale["MiB"] = 1048576; scale["GiB"] = 1073741824; scale["%"] = 0.01
        to = shown[2]; sub(/\/s$/, "", to); sub(/\/s$/, "", shown[1]); gsub(/,/, "", shown[1])
        from = unit[$1]; sub(/\/s$/, "", from)
        if (from == "bytes") from = "B"
        a = shown[1] * (to in scale ? scale[to] : 1)
        b = $2 * (from in scale && from != "share" ? scale[from] : 1)
        if (to == "") b = $2
        if (a - b > 0.006 * (b < 0 ? -b : b) + 1e-4 || b - a > 0.006 * (b < 0 ? -b : b) + 1e-4) print
    }' "$TMP/names" "$TMP/numbers")" ''

# What a file says is text on the page, wherever it stands: file, user, model, target, command, notes, reasons.
hostile="$TMP/<img src=x onerror=alert(2)>&\"'.csv"
awk -F, -v OFS=, 'NR > 1 { $8 = "\"<script>alert(1)</script>&\"\"" NR % 2 "\"" } { print }' "$dozen" >"$hostile"
cat >"$TMP/run.json" <<'END'
{"program": "kvreplay", "version": "<b>9</b>", "command": ["kvreplay", "<script>x</script> it's", "</dl></main>"],
 "host": {"name": "<h1>", "kernel": "&amp;"}, "model": {"name": "m</title><script>"}, "options": {"num-users": 50},
 "notes": ["a <note> & \"more\" ' \u001b[31m"], "tiers": [{"tier": "Tier-2", "engine": "<io>",
 "target": "/mnt/<nvme>&\"'", "device": "v\"da", "simulated": false, "flags": ["<f>"]}, {"tier": "Tier-0", "simulated": true}],
 "validity": [{"figures": "device", "state": "unreliable", "why": "<i>moved</i>"}]}
END
printf 'Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,User\n0.0,Read,1,Tier-2,k,Decode,\377\001<\n' >"$TMP/odd.csv"
exits 'texts with markup in them' 0 "$kvstat" --by user,op --run "$TMP/run.json" --html "$TMP/h.html" "$hostile"
exits 'in a comparison too' 0 "$kvstat" --compare "$hostile" --html "$TMP/hc.html" "$hostile"
exits 'a user that is no text' 0 without_gnuplot --by user --html "$TMP/odd.html" "$TMP/odd.csv"
read_pages h hc odd
is 'texts are no markup' "$(page h tags)" whole
is 'nor are they in a comparison' "$(page hc tags)" whole
like 'what is no text is made one' "$(page odd texts)" '^[?][?]<'
texts=$(page h texts)
for text in '<img src=x onerror=alert\(2\)>&"' '<script>alert\(1\)</script>&"0' 'm</title><script>' '<b>9</b>' '<h1>' '&amp;' \
    "kvreplay '<script>x</script> it'.*s' '</dl></main>'" "a <note> & \"more\" ' [?]\[31m" '/mnt/<nvme>&"' 'v"da' '<i>moved</i>' '50 users'; do
    like "$text is text" "$texts" "$text"
done
like 'what was simulated stands in front' "$texts" '; on /mnt/<nvme>.*; Tier-0 SIMULATED$'

# ---- pictures ----

exits 'a trace' 0 "$kvstat" --html "$TMP/t.html" "$DATA/mlperf_trace_first400.csv.zst"
exits 'without gnuplot' 0 without_gnuplot --html "$TMP/n.html" "$dozen"
head -n 1 "$dozen" >"$TMP/header"
exits 'no rows' 0 "$kvstat" --html "$TMP/e.html" "$TMP/header"
read_pages t n e
is 'a page of a trace is whole' "$(page t tags)" whole
gnuplot=no
if echo 'set terminal' | gnuplot 2>&1 | grep -q svg; then
    gnuplot=yes
    is 'six pictures are part of the page' "$(page a pictures | grep -c '^0 0 600 400 ')" 6
    like 'of the times, too' "$(page a pictures)" 'Times of Tier-2: P95, and the worst'
    is 'a trace has four' "$(page t pictures | wc -l)" 4
fi
is 'without gnuplot there are none' "$(page n pictures)" ''
like 'and the page says so' "$(page n texts)" 'no pictures, for gnuplot is not installed .*apt install gnuplot-nox'
is 'it is whole' "$(page n tags)" whole
is 'no rows make a page too' "$(page e tags)" whole

# ---- comparisons ----

sed 's/,20000,/,30000,/' "$dozen" >"$TMP/new.csv"
exits 'a comparison' 0 "$kvstat" --compare "$dozen" --html "$TMP/c.html" "$TMP/new.csv"
exits 'trials on one side' 0 without_gnuplot --compare "$dozen" --compare "$dozen" --html "$TMP/c3.html" "$TMP/new.csv"
exits 'pooled' 0 without_gnuplot --merge --html "$TMP/m.html" "$dozen" "$dozen"
read_pages c c3 m
is 'its tags' "$(page c tags)" whole
"$kvstat" --json --compare "$dozen" "$TMP/new.csv" >"$TMP/c.json"
jq -r '.compare.figures[] | .name as $n |
    to_entries[] | select(.value | type == "number") | "\($n).\(.key)\t\(.value)"' "$TMP/c.json" | sort >"$TMP/names"
page c numbers | cut -f1,2 | sort -u >"$TMP/numbers"
ok 'many numbers' test "$(lines "$TMP/numbers")" -gt 50
is 'each is that of the JSON' "$(awk -F '\t' 'NR == FNR { value[$1] = $2; next } !($1 in value) || value[$1] + 0 != $2 + 0' \
    "$TMP/names" "$TMP/numbers")" ''
like 'the answer is on it' "$(page c texts)" "$(json "$TMP/c.json" .compare.sentence | cut -c 1-30)"
if [ $gnuplot = yes ]; then
    like 'both runs are in its pictures' "$(page c pictures)" 'Response time of Tier-2: P95, and the worst.*base read.*new read'
fi
like 'trials on one side have no pictures, which is said' "$(page c3 texts)" 'Pictures show one run of each side'
like 'pooled files are counted' "$(page m texts)" '2 files pooled'

# ---- refusals ----

exits 'trials' 2 "$kvstat" --html "$TMP/x.html" "$dozen" "$dozen"
stderr_like 'are refused' '^kvstat: --html: shows one report'
exits 'a folder' 2 "$kvstat" --html "$TMP/x.html" "$TMP/out" "$dozen"
exits 'two outputs to one place' 2 "$kvstat" --html - "$dozen"
stderr_like 'are refused' '^kvstat: --html: would mix with the report'
exits 'a page alone' 0 without_gnuplot --html - -o "$TMP/report" "$dozen"
stdout_like 'goes to standard output' '^<!DOCTYPE html>$'
exits 'the input' 2 "$kvstat" --html "$TMP/new.csv" "$TMP/new.csv"
exits 'a disk that is full' 1 sh -c "ulimit -f 8; exec \"\$1\" --html \"\$2\" \"\$3\"" - "$kvstat" "$TMP/out/x.html" "$dozen"
is 'leaves nothing behind' "$(ls "$TMP/out")" ''
done_testing
