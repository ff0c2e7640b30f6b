/* HTML in small pieces: the frame, escaped texts, pictures, tables, and numbers with their names.
 * Pages put them together. A page has no script and asks for nothing from elsewhere; the style is
 * plain, for light and dark screens, phones and paper. */
#include "kvstat/draw/html.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kvstat/report/cells.h"
#include "lib/base/err.h"
#include "lib/base/memory.h"
#include "lib/json/jsonout.h"

/* Cut here, so that one text never takes more memory than this. */
#define TEXT_MAX 4096

static const char style[] =
    ":root{color-scheme:light dark;--bg:#fff;--fg:#1b1f24;--soft:#59636e;--line:#d1d9e0;"
    "--card:#f6f8fa;--good:#116329;--bad:#b3202b;--doubt:#7d4e00}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0 auto;padding:1rem;max-width:75rem;background:var(--bg);color:var(--fg);"
    "font:1rem/1.5 system-ui,sans-serif}\n"
    "h1{font-size:1.5rem;margin:.5rem 0;overflow-wrap:anywhere}h2{font-size:1.2rem;margin:2rem 0 "
    ".5rem}h3{font-size:1rem;overflow-wrap:anywhere}\n"
    "p,dd,code{overflow-wrap:anywhere}.sub,.note,.none,.few{color:var(--soft)}.note{font-size:"
    ".875rem}\n"
    ".box{overflow-x:auto;border:1px solid var(--line);border-radius:.5rem;margin:.75rem 0}\n"
    "table{border-collapse:collapse;width:100%;font-size:.875rem;font-variant-numeric:tabular-"
    "nums}\n"
    "th,td{padding:.3rem .6rem;text-align:right;white-space:nowrap}th:first-child{text-align:left;"
    "font-weight:500}\n"
    ".narrow{max-width:34rem}thead th.text{text-align:left}\n"
    "thead th{background:var(--card);font-weight:600}tbody tr+tr>*{border-top:1px solid var(--"
    "line)}\n"
    "td.text{text-align:left;white-space:normal;min-width:14rem}\n"
    ".good{color:var(--good)}.bad{color:var(--bad)}.doubt{color:var(--doubt)}.verdict strong{font-"
    "size:1.4rem}\n"
    ".bar{display:flex;height:1.5rem;border-radius:.4rem;overflow:hidden;background:var(--card)}\n"
    ".key{display:inline-block;width:.8rem;height:.8rem;margin-right:.5rem;border-radius:.2rem}\n"
    ".c0{background:#999}.c1{background:#cc79a7}.c2{background:#e69f00}.c3{background:#009e73}"
    ".c4{background:#f0e442}.c5{background:#56b4e9}.c6{background:#0072b2}.c7{background:#332288}"
    ".c8{background:#88ccee}.c9{background:#d55e00}.c10{background:#555}\n"
    ".plots{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(28rem,100%),1fr));gap:"
    "1rem}\n"
    "figure{margin:0;border:1px solid var(--line);border-radius:.5rem;overflow:hidden}\n"
    "figure img{display:block;width:100%;height:auto}\n"
    "dl{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:.2rem 1rem;font-size:"
    ".9rem}dt{grid-column:1;color:var(--soft)}dd{grid-column:2;margin:0}\n"
    "@media(max-width:30rem){dl{display:block}dt{margin-top:.4rem}body{padding:.75rem}th,td{"
    "padding:"
    ".3rem .4rem}th:first-child{white-space:normal}}\n"
    "@media(prefers-color-scheme:dark){:root{--bg:#0d1117;--fg:#e6edf3;--soft:#9198a1;--line:"
    "#3d444d;--card:#151b23;--good:#56d364;--bad:#ff7b72;--doubt:#e3b341}figure img{filter:invert("
    ".93) hue-rotate(180deg)}}\n"
    "@page{size:A4;margin:15mm}\n"
    "@media print{:root{--bg:#fff;--fg:#000;--soft:#444;--line:#bbb;--card:#eee;--good:#116329;"
    "--bad:#b3202b;--doubt:#7d4e00}body{max-width:none;padding:0;font-size:10pt}table{font-size:"
    "7.5pt}th,td{padding:.1rem .25rem;white-space:normal}.box{overflow:visible}.plots{grid-"
    "template-columns:1fr 1fr}.bar,figure,tr{break-inside:avoid}h2,h3{break-after:avoid}.tables{"
    "break-before:page}dl{font-size:8pt;break-inside:avoid}figure "
    "img{filter:none}i{print-color-adjust:exact}}\n";

void html_begin(FILE *out, const char *title)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
          out);
    html_text(out, title);
    fprintf(out, " - kvstat</title>\n<style>\n%s</style>\n</head>\n<body>\n<main>\n", style);
}

void html_end(FILE *out, int argc, char *const *argv)
{
    fputs("</main>\n<footer>\n<p class=\"note\">Made by kvstat " KVTRACE_VERSION ": <code>", out);
    for (int i = 0; i < argc; i++) {
        fputs(i ? " " : "", out);
        html_text(out, argv[i]);
    }
    fputs("</code></p>\n</footer>\n</body>\n</html>\n", out);
}

void html_text(FILE *out, const char *text)
{
    static const char markup[] = "&<>\"'";
    static const char *const entities[] = {"amp", "lt", "gt", "quot", "#39"};
    char clean[TEXT_MAX];
    figure_cut_text(clean, sizeof(clean), text);
    jsonout_clean(clean);
    err_make_harmless(clean);
    for (const char *c = clean; *c; c++) {
        const char *special = strchr(markup, *c);
        if (special)
            fprintf(out, "&%s;", entities[special - markup]);
        else
            fputc(*c, out);
    }
}

void html_element(FILE *out, const char *tag, const char *class, const char *text)
{
    fprintf(out, class[0] ? "<%s class=\"%s\">" : "<%s>", tag, class);
    html_text(out, text);
    fprintf(out, "</%s>\n", tag);
}

/* Writes a picture whose SVG is part of the page. */
static void html_svg(FILE *out, const char *svg, size_t len, const char *description)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *in = (const unsigned char *)svg;
    /* As a picture of its own nothing in it can reach the page. */
    fputs("<img alt=\"", out);
    html_text(out, description);
    fputs("\" src=\"data:image/svg+xml;base64,", out);
    for (size_t i = 0; i < len; i += 3) {
        uint32_t three = (uint32_t)in[i] << 16 | (i + 1 < len ? (uint32_t)in[i + 1] << 8 : 0) |
                         (i + 2 < len ? in[i + 2] : 0);
        fputc(digit[three >> 18], out);
        fputc(digit[three >> 12 & 63], out);
        fputc(i + 1 < len ? digit[three >> 6 & 63] : '=', out);
        fputc(i + 2 < len ? digit[three & 63] : '=', out);
    }
    fputs("\">\n", out);
}

int html_picture(FILE *out, html_draw_fn draw, const void *what, const char *description,
                 struct err *e)
{
    char *svg = NULL;
    size_t len = 0;
    FILE *memory = memory_stream(&svg, &len);
    if (!memory)
        return err_nomem(e, "plot");
    int rc = draw(memory, what, e);
    if (fclose(memory) != 0 && rc == 0)
        rc = err_nomem(e, "plot");
    if (rc == 0) {
        fputs("<figure>", out);
        html_svg(out, svg, len, description);
        fputs("</figure>\n", out);
    }
    free(svg);
    return rc;
}

void html_no_pictures(FILE *out)
{
    fputs("<p>There are no pictures, for gnuplot is not installed (Debian, Ubuntu: "
          "<code>apt install gnuplot-nox</code>; Fedora: <code>dnf install gnuplot</code>)."
          "</p>\n",
          out);
}

void html_shown(FILE *out, const char *name, double v, const char *shown)
{
    char exact[FIGURE_TEXT];
    if (!isfinite(v)) {
        fputs("<span class=\"none\" title=\"", out);
        html_text(out, name);
        fputs(" is not known\">&ndash;</span>", out);
        return;
    }
    figure_format_number(exact, v);
    fputs("<data title=\"", out);
    html_text(out, name);
    fprintf(out, "\" value=\"%s\">", exact);
    html_text(out, shown);
    fputs("</data>", out);
}

void html_value(FILE *out, const char *name, enum figure_unit unit, double v, bool few)
{
    char shown[CELL];
    bool whole = unit == FIGURE_UNIT_NONE && v == trunc(v) && v >= 0 && v < 1e15;
    if (isfinite(v) && few)
        fputs("<span class=\"few\">", out);
    html_shown(out, name, v, whole ? cell_count(shown, (uint64_t)v) : cell_value(shown, unit, v));
    if (isfinite(v) && few)
        fputs("</span>", out);
}
