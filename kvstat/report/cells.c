/* How single figures look in the text report: short, with their unit, and a dash for an unknown
 * value. */
#include "kvstat/report/cells.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/units.h"
#include "lib/text/text.h"

const char *cell_count(char *buf, uint64_t count)
{
    return units_format_count(buf, CELL, count);
}

const char *cell_rows(char *buf, uint64_t count)
{
    char number[32];
    snprintf(buf, CELL, "%s row%s", units_format_count(number, sizeof(number), count),
             units_plural(count));
    return buf;
}

const char *cell_number(char *buf, double v)
{
    double a = fabs(v);
    char count[32];
    if (!isfinite(v))
        snprintf(buf, CELL, "-");
    else if (a >= 999.5 && a < 1e18)
        snprintf(buf, CELL, "%s%s", v < 0 ? "-" : "",
                 units_format_count(count, sizeof(count), (uint64_t)llround(a)));
    else if (v == 0)
        snprintf(buf, CELL, "0");
    else if (a < 0.0005 || a >= 1e18)
        snprintf(buf, CELL, "%.2e", v);
    else
        snprintf(buf, CELL, "%.*f", a < 1 ? 3 : a < 10 ? 2 : a < 100 ? 1 : 0, v);
    return buf;
}

const char *cell_share(char *buf, double v)
{
    if (!isfinite(v))
        snprintf(buf, CELL, "-");
    else
        snprintf(buf, CELL, "%.2f %%", 100 * v);
    return buf;
}

const char *cell_percent(char *buf, double v)
{
    if (!isfinite(v))
        snprintf(buf, CELL, "-");
    else
        snprintf(buf, CELL, "%.1f %%", 100 * v);
    return buf;
}

const char *cell_bytes(char *buf, double bytes)
{
    return isfinite(bytes) ? units_format_bytes(buf, CELL, bytes) : cell_number(buf, bytes);
}

const char *cell_seconds(char *buf, double s)
{
    return isfinite(s) ? units_format_duration(buf, CELL, s * 1e9) : cell_number(buf, s);
}

/* Chooses the unit in which v has at most three digits before the point, and converts *v to it. */
static const char *unit_of(double *v, double step, const char *const unit[7])
{
    size_t i = 0;
    for (; i < 6 && fabs(*v) >= 999.5; i++)
        *v /= step;
    return unit[i];
}

const char *cell_size(char *buf, double bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    const char *unit = unit_of(&bytes, 1024, units);
    cell_number(buf, bytes);
    if (isfinite(bytes))
        text_append(buf, CELL, " %s", unit);
    return buf;
}

const char *cell_decimal(char *buf, double bytes)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
    const char *unit = unit_of(&bytes, 1000, units);
    if (!isfinite(bytes))
        return cell_number(buf, bytes);
    snprintf(buf, CELL, "%.3g %s", bytes, unit);
    return buf;
}

const char *cell_time(char *buf, double ns, bool supported)
{
    if (ns < 59.9e9)
        units_format_duration(buf, CELL, ns);
    else
        snprintf(buf, CELL, "%.0f s", ns / 1e9);
    if (!supported)
        text_append(buf, CELL, "*");
    return buf;
}

const char *cell_of_s(char *buf, double s)
{
    return cell_time(buf, s * 1e9, true);
}

const char *cell_of_us(char *buf, double us)
{
    return cell_time(buf, us * 1e3, true);
}

const char *cell_value(char *buf, enum figure_unit unit, double v)
{
    static const char *const suffix[] = {[FIGURE_UNIT_PER_S] = "/s",
                                         [FIGURE_UNIT_TOKENS_PER_S] = " tok/s",
                                         [FIGURE_UNIT_BYTES_PER_S] = "/s",
                                         [FIGURE_UNIT_GIB_PER_S] = "/s"};
    if (!isfinite(v)) {
        snprintf(buf, CELL, "-");
        return buf;
    }
    switch (unit) {
    case FIGURE_UNIT_SHARE:
        return cell_share(buf, v);
    case FIGURE_UNIT_S:
        return cell_of_s(buf, v);
    case FIGURE_UNIT_MS:
        return cell_time(buf, v * 1e6, true);
    case FIGURE_UNIT_US:
        return cell_of_us(buf, v);
    case FIGURE_UNIT_BYTES:
        return cell_bytes(buf, v);
    case FIGURE_UNIT_BYTES_PER_S:
        cell_bytes(buf, v);
        break;
    case FIGURE_UNIT_GIB_PER_S:
        cell_bytes(buf, v * (double)UNITS_GIB);
        break;
    case FIGURE_UNIT_NONE:
        return cell_number(buf, v);
    case FIGURE_UNIT_PER_S:
    case FIGURE_UNIT_TOKENS_PER_S:
        cell_number(buf, v);
        break;
    }
    text_append(buf, CELL, "%s", suffix[unit]);
    return buf;
}

const char *cell_label(char *buf, const struct figure_id *id)
{
    struct figure_id brief = *id;
    char text[GROUP_TEXTS][80];
    for (unsigned t = 0; t < GROUP_TEXTS; t++) {
        figure_cut_text(text[t], sizeof(text[t]), id->text[t] ? id->text[t] : "");
        err_make_harmless(text[t]);
        brief.text[t] = text[t];
    }
    return figure_label(buf, LABEL, &brief, ' ');
}

/* The columns of a character, after Unicode's East Asian Width (UAX #11), by whole blocks. */
static int columns_of(uint32_t c)
{
    static const struct {
        uint32_t first, last;
        int columns;
    } block[] = {{0x0300, 0x036f, 0},   {0x200b, 0x200f, 0},  {0xfe00, 0xfe0f, 0},
                 {0x1100, 0x115f, 2},   {0x2e80, 0xa4cf, 2},  {0xac00, 0xd7a3, 2},
                 {0xf900, 0xfaff, 2},   {0xfe30, 0xfe6f, 2},  {0xff00, 0xff60, 2},
                 {0x1f300, 0x1faff, 2}, {0x20000, 0x3fffd, 2}};
    for (size_t i = 0; i < sizeof(block) / sizeof(block[0]); i++)
        if (c >= block[i].first && c <= block[i].last)
            return block[i].columns;
    return 1;
}

int cell_columns(const char *text)
{
    int columns = 0;
    for (const unsigned char *p = (const unsigned char *)text; *p;) {
        /* A byte that begins no character counts as one. */
        unsigned more = *p >= 0xf0 ? 3 : *p >= 0xe0 ? 2 : *p >= 0xc0 ? 1 : 0;
        uint32_t c = more ? *p & (0x3fu >> more) : *p;
        for (p++; more > 0 && (*p & 0xc0) == 0x80; more--)
            c = c << 6 | (*p++ & 0x3fu);
        columns += columns_of(c);
    }
    return columns;
}

int cell_pad(const char *text, int columns)
{
    return columns + (int)strlen(text) - cell_columns(text);
}

/* Writes words from column on, in lines of at most CELL_COLUMNS that begin with indent blanks. */
static void put_words(FILE *out, const char *text, size_t column, size_t indent)
{
    bool first = true;
    while (*text) {
        size_t len = strcspn(text, " ");
        if (!first && column + 1 + len > CELL_COLUMNS) {
            fprintf(out, "\n%*s", (int)indent, "");
            column = indent;
            first = true;
        }
        fprintf(out, "%s%.*s", first ? "" : " ", (int)len, text);
        column += len + !first;
        first = false;
        text += len + strspn(text + len, " ");
    }
    fputc('\n', out);
}

void cell_paragraph(FILE *out, const char *title, const char *text)
{
    size_t column = (size_t)fprintf(out, "%-13s", title);
    put_words(out, text, column, column);
}

void cell_verdict(FILE *out, const char *sentence)
{
    size_t column = (size_t)fprintf(out, "\nVerdict: ") - 1;
    put_words(out, sentence, column, 0);
}
