# twin.awk - the tables and the curve of twin.sh, as text (form=text) or as a section of the HTML page (form=html).
# drive and model, in the environment, are the names to show; users is their number, in words.
# Input: lines of a name, a tab and a value ("-": not known). sim.: of the simulation, run.: of the replay, stat.: of kvstat.
BEGIN {
    FS = "\t"
    drive = ENVIRON["drive"]
    model = ENVIRON["model"]
}
{ v[$1] = $2 }

function escaped(text) {
    gsub(/&/, "\\&amp;", text)
    gsub(/</, "\\&lt;", text)
    gsub(/>/, "\\&gt;", text)
    return text
}
function known(name) { return (name in v) && v[name] != "-" }
# Four digits; thousands stay numbers that people read.
function shown(x) { return x >= 9999.5 ? sprintf("%.0f", x) : sprintf("%.4g", x) }
# A percentile as kvstat shows it: * with fewer than ten samples above it, - with none.
function percentile(x, samples, above, scale) {
    if (x == "-" || x == "" || samples * above < 1) return "-"
    if (samples * above < 10) few = 1
    return shown(x * scale) (samples * above < 10 ? "*" : "")
}

# ---- tables: columns of 12, the first one of 28 ----

function table(titles,   i, n, title) {
    n = split(titles, title, "|")
    if (form == "html") {
        printf "<div class=\"box\"><table>\n<thead><tr>"
        for (i = 1; i <= n; i++) printf "<th scope=\"col\">%s</th>", escaped(title[i])
        print "</tr></thead>\n<tbody>"
        return
    }
    printf "%-28s", title[1]
    for (i = 2; i <= n; i++) printf " %12s", title[i]
    print ""
}
function row(cells,   i, n, cell) {
    n = split(cells, cell, "|")
    printf form == "html" ? "<tr><th scope=\"row\">%s</th>" : "%-28s", form == "html" ? escaped(cell[1]) : cell[1]
    for (i = 2; i <= n; i++) printf form == "html" ? "<td>%s</td>" : " %12s", cell[i]
    print form == "html" ? "</tr>" : ""
}
function table_end() { print form == "html" ? "</tbody></table></div>" : "" }
function paragraph(text) {
    if (form == "html") print "<p>" escaped(text) "</p>"
    else print text
}
function heading(text) { if (form == "html") print "<h2>" escaped(text) "</h2>" }

# ---- simulated and replayed ----

# Of marked figures it is marked, too.
function difference(a, b) {
    return a == "-" || b == "-" || a + 0 == 0 ? "-" : sprintf("%+.1f %%", (b / a - 1) * 100) ((a b) ~ /\*/ ? "*" : "")
}
function compared(name, sim, sim_count, run, run_count, scale,   i, p, above, a, b) {
    for (i = 1; i <= 2; i++) {
        p = i == 1 ? "p50" : "p95"
        above = i == 1 ? 0.5 : 0.05
        a = percentile(v[sim "." p], v[sim_count], above, scale)
        b = percentile(v[run "." p], v[run_count], above, scale)
        if (!known(sim "." p) && !known(run "." p)) continue
        row(name " P" substr(p, 2) " ms|" a "|" b "|" difference(a, b))
    }
}
function put_comparison(   moved) {
    heading("Simulated and replayed")
    table(users " of " model "|simulated|replayed|difference")
    compared("storage read", "sim.tiers.Tier-2.read.latency_us", "sim.tiers.Tier-2.read.latency_us.count",
        "run.tiers.Tier-2.read.service_us", "run.tiers.Tier-2.read.service_us.count", 0.001)
    compared("storage write", "sim.tiers.Tier-2.write.latency_us", "sim.tiers.Tier-2.write.latency_us.count",
        "run.tiers.Tier-2.write.service_us", "run.tiers.Tier-2.write.service_us.count", 0.001)
    compared("request, storage", "sim.requests.storage_ms", "sim.requests.storage_ms.count", "stat.requests.storage_ms",
        "stat.requests.storage_ms.count", 1)
    compared("first token", "sim.prefill.first_token_ms.all", "sim.prefill.first_token_ms.all.count",
        "stat.requests.ttft_ms", "stat.requests.ttft_ms.count", 1)
    compared("request, end to end", "sim.requests.end_to_end_ms", "sim.requests.end_to_end_ms.count",
        "stat.requests.end_to_end_ms", "stat.requests.end_to_end_ms.count", 1)
    if (known("sim.trace.simulated_s") && v["sim.trace.simulated_s"] > 0 && v["run.elapsed_s"] > 0) {
        moved = (v["sim.tiers.Tier-2.read_bytes"] + v["sim.tiers.Tier-2.write_bytes"]) / v["sim.trace.simulated_s"] / 1e9
        v["moved"] = (v["run.tiers.Tier-2.read.bytes"] + v["run.tiers.Tier-2.write.bytes"]) / v["run.elapsed_s"] / 1e9
        row("storage moved GB/s|" shown(moved) "|" shown(v["moved"]) "|" difference(moved, v["moved"]))
    }
    table_end()
}

# ---- what the cache is worth ----

function option_row(name, of, count, gpu_s) {
    row(name "|" (known(of ".mean") ? shown(v[of ".mean"]) : "-") "|" percentile(v[of ".p50"], count, 0.5, 1) "|" \
        percentile(v[of ".p95"], count, 0.05, 1) "|" gpu_s)
}
function put_options(   i, n, name, of) {
    heading("Time to first token by option")
    paragraph("Prefill " (v["sim.worth.times"] == "measured" ? "measured" : "by calculation") \
        "; same requests at the same times, with and without tiers.")
    table("time to first token, ms|mean|P50|P95|GPU s")
    n = split("all tiers|without Tier-1|without Tier-2|GPU memory only|no cache", name, "|")
    for (i = 1; i <= n; i++) {
        of = "sim.worth.variants." name[i]
        if (known(of ".first_token_ms.all.count"))
            option_row(name[i], of ".first_token_ms.all", v[of ".first_token_ms.all.count"], sprintf("%.4g", v[of ".prefill_gpu_s"]))
    }
    if (known("stat.requests.ttft_ms.mean"))
        option_row("all tiers, replayed", "stat.requests.ttft_ms", v["stat.requests.ttft_ms.count"], "-")
    table_end()
}
function change(of) { return known(of) ? sprintf("%+.1f %%", v[of] * 100) : "-" }
function put_break_even(   t, of, text) {
    for (t = 1; t <= 2; t++) {
        of = "sim.worth.tiers.Tier-" t
        if (!known(of ".verdict")) continue
        paragraph("Tier-" t ": " v[of ".verdict"] ". It changes the mean time to the first token by " change(of ".mean_change") \
            ": interactive " change(of ".mean_change_by_class.interactive") ", responsive " \
            change(of ".mean_change_by_class.responsive") ", batch " change(of ".mean_change_by_class.batch") ".")
        text = "Loading from Tier-" t " "
        if (known(of ".bytes_per_s")) text = text sprintf("at %.3g GB/s ", v[of ".bytes_per_s"] / 1e9)
        if (v[of ".measured"] == "true") text = text "(measured) "
        text = text (known(of ".break_even_tokens") ? "beats computing from " v[of ".break_even_tokens"] " tokens on." : "never beats computing.")
        paragraph(text)
    }
    if (form != "html") print ""
}

# ---- the curve: one prompt, all computed or all loaded ----

function point(i, what) { return v["sim.worth.curve." i "." what] }
function has(tier) { return known("sim.worth.curve.0.loaded_ms.Tier-" tier) }
function put_curve_table(   i, t, titles, cells) {
    titles = "tokens of context|computed"
    for (t = 0; t <= 2; t++) if (has(t)) titles = titles "|Tier-" t
    table(titles)
    for (i = 0; known("sim.worth.curve." i ".tokens"); i += 2) {
        cells = point(i, "tokens") "|" shown(point(i, "computed_ms"))
        for (t = 0; t <= 2; t++) if (has(t)) cells = cells "|" shown(point(i, "loaded_ms.Tier-" t))
        row(cells)
    }
    table_end()
}
# Both axes are logarithmic; a line of zeros (Tier-0 where t0 is 0) cannot be drawn.
function x_of(tokens) { return 60 + 560 * log(tokens / x_low) / log(x_high / x_low) }
function y_of(ms) { return 360 - 330 * log(ms / y_low) / log(y_high / y_low) }
function see(ms) {
    if (ms <= 0) return
    if (!y_low || ms < y_low) y_low = ms
    if (ms > y_high) y_high = ms
}
function put_line(what, colour, label,   i, started) {
    if (point(0, what) <= 0) return
    printf "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" points=\"", colour
    for (i = 0; i <= last; i++) printf "%.1f,%.1f ", x_of(point(i, "tokens")), y_of(point(i, what))
    print "\"/>"
    printf "<line x1=\"70\" x2=\"90\" y1=\"%d\" y2=\"%d\" stroke=\"%s\" stroke-width=\"2\"/><text x=\"96\" y=\"%d\">%s</text>\n",
        legend, legend, colour, legend + 4, label
    legend += 18
}
# At the time of computing there, between the two points around it.
function put_mark(tokens, colour,   i, share, ms) {
    if (tokens == "-" || tokens < x_low || tokens > x_high) return
    for (i = 0; i + 1 < last && point(i + 1, "tokens") < tokens; i++) continue
    share = log(tokens / point(i, "tokens")) / log(point(i + 1, "tokens") / point(i, "tokens"))
    ms = point(i, "computed_ms") * exp(share * log(point(i + 1, "computed_ms") / point(i, "computed_ms")))
    printf "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"360\" stroke=\"%s\" stroke-dasharray=\"4 3\"/>", x_of(tokens), x_of(tokens), y_of(ms), colour
    printf "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\"/>", x_of(tokens), y_of(ms), colour
    printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%d tokens</text>\n", x_of(tokens) - 6, y_of(ms) - 6, tokens
}
function put_curve(   i, t, decade, colour) {
    split("#777777 #009e73 #0072b2", colour, " ")
    for (last = 0; known("sim.worth.curve." (last + 1) ".tokens"); last++) continue
    x_low = point(0, "tokens")
    x_high = point(last, "tokens")
    for (i = 0; i <= last; i++) {
        see(point(i, "computed_ms"))
        for (t = 0; t <= 2; t++) if (has(t)) see(point(i, "loaded_ms.Tier-" t))
    }
    print "<figure><svg viewBox=\"0 0 640 400\" role=\"img\" aria-label=\"Time to first token against the length of the context\" " \
        "font-size=\"12\" fill=\"currentColor\">"
    print "<path d=\"M60 30V360H620\" fill=\"none\" stroke=\"currentColor\"/>"
    for (decade = 0.001; decade <= y_high; decade *= 10)
        if (decade >= y_low)
            printf "<path d=\"M60 %.1fH620\" stroke=\"currentColor\" opacity=\".2\"/><text x=\"54\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
                y_of(decade), y_of(decade) + 4, decade
    for (i = 0; i <= last; i += 4)
        printf "<text x=\"%.1f\" y=\"376\" text-anchor=\"middle\">%d</text>\n", x_of(point(i, "tokens")), point(i, "tokens")
    print "<text x=\"340\" y=\"394\" text-anchor=\"middle\">tokens of context</text><text x=\"54\" y=\"18\">ms to the first token</text>"
    legend = 44
    put_line("computed_ms", "#d55e00", "computed")
    for (t = 0; t <= 2; t++) if (has(t)) put_line("loaded_ms.Tier-" t, colour[t + 1], "loaded from Tier-" t)
    for (t = 1; t <= 2; t++) if (has(t)) put_mark(v["sim.worth.tiers.Tier-" t ".break_even_tokens"], colour[t + 1])
    print "</svg></figure>"
}

# ---- all of it ----

function off(name, sim, run,   a, b) {
    a = v["sim." sim]
    b = v[run]
    return sprintf("%.1f %% off in the P95 of %s", b > a ? (b / a - 1) * 100 : (1 - b / a) * 100, name)
}
END {
    if (form == "html") print "<section>\n<h1>The twin of " escaped(drive) "</h1>"
    put_comparison()
    if (known("sim.worth.times")) {
        put_options()
        put_break_even()
        heading("One prompt, computed or loaded")
        if (form == "html") put_curve()
        paragraph("One prompt alone, all of it computed or all of it loaded: ms to the first token.")
        put_curve_table()
    }
    if (few) paragraph("* fewer than ten samples lie above this percentile; a longer run (-t) has more.")
    if (form == "html") print "</section>"
    else if (!known("sim.tiers.Tier-2.read.latency_us.p95") || !known("run.tiers.Tier-2.read.service_us.p95"))
        printf "No read reached %s: the memory held all, and nothing was checked.\n", drive
    else if (v["run.tiers.Tier-2.read.service_us.count"] < 20 || v["stat.requests.end_to_end_ms.count"] < 20)
        printf "Too few reads (%d) or requests (%d) for a P95 of %s: run longer (-t).\n",
            v["run.tiers.Tier-2.read.service_us.count"], v["stat.requests.end_to_end_ms.count"], drive
    else
        printf "The twin of %s is %s and %s.\n", drive,
            off("storage reads", "tiers.Tier-2.read.latency_us.p95", "run.tiers.Tier-2.read.service_us.p95"),
            off("requests", "requests.end_to_end_ms.p95", "stat.requests.end_to_end_ms.p95")
}
