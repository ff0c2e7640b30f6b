/* HTML in small pieces: escaped texts, tables, and numbers with their names. The page puts them
 * together. */
#include "kvstat/draw/html.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kvstat/report/cells.h"
#include "lib/base/err.h"
#include "lib/facts/judge.h"
#include "lib/json/jsonout.h"

/* Cut here, so that one text never takes more memory than this. */
#define TEXT_MAX 4096

void html_text(FILE *out, const char *text)
{
    char clean[TEXT_MAX];
    figure_cut_text(clean, sizeof(clean), text);
    jsonout_clean(clean);
    err_make_harmless(clean);
    for (const char *c = clean; *c; c++)
        switch (*c) {
        case '&':
            fputs("&amp;", out);
            break;
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        case '\'':
            fputs("&#39;", out);
            break;
        default:
            fputc(*c, out);
        }
}

void html_element(FILE *out, const char *tag, const char *class, const char *text)
{
    fprintf(out, class[0] ? "<%s class=\"%s\">" : "<%s>", tag, class);
    html_text(out, text);
    fprintf(out, "</%s>\n", tag);
}

void html_svg(FILE *out, const char *svg, size_t len, const char *description)
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

void html_table_begin(FILE *out, const char *const *titles, size_t columns, size_t texts)
{
    fprintf(out, "<div class=\"box%s\"><table>\n<thead><tr>", columns == 2 ? " narrow" : "");
    for (size_t i = 0; i < columns; i++)
        fprintf(out, "<th scope=\"col\"%s>%s</th>", i + texts >= columns ? " class=\"text\"" : "",
                titles[i]);
    fputs("</tr></thead>\n<tbody>\n", out);
}

void html_table_end(FILE *out)
{
    fputs("</tbody></table></div>\n", out);
}

void html_value(FILE *out, const char *name, enum figure_unit unit, double v, bool few)
{
    char shown[CELL], exact[FIGURE_TEXT];
    if (!isfinite(v)) {
        fputs("<span class=\"none\" title=\"", out);
        html_text(out, name);
        fputs(" is not known\">&ndash;</span>", out);
        return;
    }
    figure_format_number(exact, v);
    fprintf(out, "<data%s title=\"", few ? " class=\"few\"" : "");
    html_text(out, name);
    fprintf(out, "\" value=\"%s\">", exact);
    bool whole = unit == FIGURE_UNIT_NONE && v == trunc(v) && v >= 0 && v < 1e15;
    html_text(out, whole ? cell_count(shown, (uint64_t)v) : cell_value(shown, unit, v));
    fputs("</data>", out);
}

void html_cell(FILE *out, const struct figure_part *part, enum figure_what what,
               enum figure_statistic statistic)
{
    const struct figure *f = figure_in(part, what);
    struct figure_id id = part->figure->id;
    char name[FIGURE_NAME];
    double v = NAN;
    bool few = false;
    id.what = (uint16_t)what;
    id.statistic = (uint8_t)statistic;
    if (f)
        v = statistic == FIGURE_VALUE ? figure_number(f) : figure_statistic(f, statistic);
    if (f && f->form == FIGURE_FORM_DISTRIBUTION && statistic >= FIGURE_P50 &&
        statistic <= FIGURE_P9999)
        few = !judge_enough(hist_count(f->hist), hist_percentiles[statistic - FIGURE_P50].ppm);
    enum figure_unit unit = statistic == FIGURE_COUNT ? FIGURE_UNIT_NONE : figure_unit(what);
    fputs("<td>", out);
    html_value(out, figure_name(name, &id), unit, v, few);
    fputs("</td>", out);
}
