/* Counts rows while the results of the ranks are put together (collect.c). */
#include "kvreplay/many/totals.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/hist.h"
#include "lib/base/units.h"

enum totals_time {
    TOTALS_SERVICE,
    TOTALS_RESPONSE,
    TOTALS_DEVICE,
    TOTALS_TIMES
};

struct totals_group {
    uint64_t ops, bytes, failed;
    int64_t first_ns, last_ns;
    struct hist *time[TOTALS_TIMES]; /* NULL: none */
};

struct totals {
    int64_t warmup_ns;
    struct totals_group group[TRACE_TIERS][TRACE_OPS];
};

struct totals *totals_create(int64_t warmup_ns)
{
    struct totals *t = calloc(1, sizeof(*t));

    if (t)
        t->warmup_ns = warmup_ns;
    return t;
}

void totals_free(struct totals *t)
{
    for (unsigned i = 0; t && i < TRACE_TIERS; i++)
        for (unsigned op = 0; op < TRACE_OPS; op++)
            for (unsigned k = 0; k < TOTALS_TIMES; k++)
                hist_free(t->group[i][op].time[k]);
    free(t);
}

static int add_time(struct totals_group *g, enum totals_time k, int64_t ns)
{
    if (ns == TRACE_NONE)
        return 0;
    if (!g->time[k])
        g->time[k] = hist_create();
    return g->time[k] ? hist_record(g->time[k], ns) : -ENOMEM;
}

int totals_add(struct totals *t, const struct trace_row *row)
{
    if (row->tier == TRACE_NO_TIER || row->start_ns == TRACE_NONE ||
        row->latency_ns == TRACE_NONE || row->start_ns < t->warmup_ns)
        return 0;
    struct totals_group *g = &t->group[row->tier][row->op];
    int64_t end_ns = row->start_ns + row->latency_ns;
    g->ops++;
    if (row->status != TRACE_OK) {
        g->failed++;
        return 0;
    }
    if (g->ops - g->failed == 1) {
        g->first_ns = row->start_ns;
        g->last_ns = end_ns;
    }
    g->first_ns = row->start_ns < g->first_ns ? row->start_ns : g->first_ns;
    g->last_ns = end_ns > g->last_ns ? end_ns : g->last_ns;
    g->bytes += row->size;
    int rc = add_time(g, TOTALS_SERVICE, row->latency_ns);
    if (rc == 0 && row->due_ns != TRACE_NONE)
        rc = add_time(g, TOTALS_RESPONSE, end_ns - row->due_ns);
    return rc == 0 ? add_time(g, TOTALS_DEVICE, row->device_ns) : rc;
}

/* Bytes a second; NAN: no time went by. */
static double rate(const struct totals_group *g)
{
    return g->last_ns > g->first_ns ? (double)g->bytes * 1e9 / (double)(g->last_ns - g->first_ns)
                                    : NAN;
}

void totals_json(struct jsonout *j, const struct totals *t)
{
    static const char *const name[TOTALS_TIMES] = {"service_us", "response_us", "device_us"};

    jsonout_array(j, "groups");
    for (unsigned i = 0; i < TRACE_TIERS; i++) {
        for (unsigned op = 0; op < TRACE_OPS; op++) {
            const struct totals_group *g = &t->group[i][op];
            if (g->ops == 0)
                continue;
            jsonout_object(j, NULL);
            jsonout_text_value(j, "tier", trace_tier_text((enum trace_tier)i));
            jsonout_text_value(j, "op", trace_op_text((enum trace_op)op));
            jsonout_u64(j, "ops", g->ops);
            jsonout_u64(j, "bytes", g->bytes);
            jsonout_u64(j, "not_ok", g->failed);
            jsonout_f64(j, "gib_per_s", rate(g) / (double)UNITS_GIB);
            for (unsigned k = 0; k < TOTALS_TIMES; k++)
                jsonout_hist(j, name[k], g->time[k], 1e3);
            jsonout_end(j);
        }
    }
    jsonout_end(j);
}

void totals_text(FILE *out, const struct totals *t)
{
    static const uint32_t ppm[] = {500000, 950000, 990000};

    for (unsigned i = 0; i < TRACE_TIERS; i++) {
        for (unsigned op = 0; op < TRACE_OPS; op++) {
            const struct totals_group *g = &t->group[i][op];
            char ops[32], bytes[32], per_s[32], p[3][32];
            if (!g->time[TOTALS_SERVICE])
                continue;
            for (unsigned k = 0; k < 3; k++)
                units_format_duration(p[k], sizeof(p[k]),
                                      (double)hist_percentile(g->time[TOTALS_SERVICE], ppm[k]));
            if (isnan(rate(g)))
                snprintf(per_s, sizeof(per_s), "-");
            else
                units_format_rate(per_s, sizeof(per_s), rate(g));
            fprintf(out, "%s %s: %s, %s, %s; p50 %s, p95 %s, p99 %s\n",
                    trace_tier_text((enum trace_tier)i), trace_op_text((enum trace_op)op),
                    units_format_count(ops, sizeof(ops), g->ops),
                    units_format_bytes(bytes, sizeof(bytes), (double)g->bytes), per_s, p[0], p[1],
                    p[2]);
        }
    }
}
