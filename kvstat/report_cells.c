/* How single figures look in the text report: short, with their unit, and a dash for what is not
 * known. */
#include "kvstat/report_cells.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kvstat/figures.h"
#include "lib/units.h"

#define COLUMNS 110

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

const char *cell_bytes(char *buf, double bytes)
{
    if (!isfinite(bytes))
        snprintf(buf, CELL, "-");
    else
        units_format_bytes(buf, CELL, bytes);
    return buf;
}

const char *cell_seconds(char *buf, double s)
{
    if (!isfinite(s))
        snprintf(buf, CELL, "-");
    else
        units_format_duration(buf, CELL, s * 1e9);
    return buf;
}

const char *cell_time(char *buf, double ns, bool supported)
{
    if (ns < 59.9e9)
        units_format_duration(buf, CELL, ns);
    else
        snprintf(buf, CELL, "%.0f s", ns / 1e9);
    if (!supported) {
        size_t len = strlen(buf);
        snprintf(buf + len, CELL - len, "*");
    }
    return buf;
}

const char *cell_percentile(char *buf, const struct hist *h, uint32_t ppm)
{
    if (hist_count(h) * (uint64_t)(1000000 - ppm) < 1000000) {
        snprintf(buf, CELL, "-");
        return buf;
    }
    return cell_time(buf, (double)hist_percentile(h, ppm), figures_supported(h, ppm));
}

const char *cell_label(char *buf, const struct group_key *k, unsigned by)
{
    char user[80];
    snprintf(user, sizeof(user), "%.*s", (int)(k->user.len < 79 ? k->user.len : 79),
             k->user.len ? k->user.p : "");
    err_make_harmless(user);
    const struct {
        unsigned bit;
        const char *text;
    } part[] = {{GROUPS_TIER, trace_tier_text(k->tier)},
                {GROUPS_OP, k->op < TRACE_OPS ? trace_op_text(k->op) : ""},
                {GROUPS_PHASE, trace_phase_text(k->phase)},
                {GROUPS_QOS, trace_qos_text(k->qos)},
                {GROUPS_CLASS, trace_class_text(k->class)},
                {GROUPS_USER, user},
                {GROUPS_STATUS, k->status == TRACE_NO_STATUS ? "" : trace_status_text(k->status)}};
    buf[0] = '\0';
    for (size_t i = 0; i < sizeof(part) / sizeof(part[0]); i++) {
        size_t len = strlen(buf);
        if (by & part[i].bit)
            snprintf(buf + len, LABEL - len, "%s%s", len ? " " : "",
                     part[i].text[0] ? part[i].text : "-");
    }
    return buf;
}

void cell_verdict(FILE *out, const char *sentence)
{
    size_t column = (size_t)fprintf(out, "\nVerdict:") - 1;
    while (*sentence) {
        size_t len = strcspn(sentence, " ");
        if (column + 1 + len > COLUMNS) {
            fputc('\n', out);
            column = 0;
        }
        fprintf(out, "%s%.*s", column ? " " : "", (int)len, sentence);
        column += len + (column ? 1 : 0);
        sentence += len + strspn(sentence + len, " ");
    }
    fputc('\n', out);
}
