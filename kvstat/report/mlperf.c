/* The results file of the MLPerf Storage KV-cache benchmark: of its many members those that its
 * aggregator reads, from a replay. */
#include <math.h>

#include "kvstat/report/report.h"

#define P95_PPM 950000u

static const struct group *find(const struct figures *f, enum trace_op op)
{
    return groups_find(agg_by_tier_op(f->scan->agg), TRACE_STORAGE, (uint8_t)op);
}

/* What is not known is left out: the aggregator does not know null. */
static void put_known(struct jsonout *j, const char *key, double v)
{
    if (isfinite(v))
        jsonout_f64(j, key, v);
}

/* The benchmark says gbps and means GiB/s. Nothing moved is 0. */
static double bandwidth(const struct figures *f, const struct group *g)
{
    return g && g->moved ? figures_gib_per_s(f, g, GROUPS_TIER | GROUPS_OP) : 0;
}

static double device_p95_ms(const struct group *g)
{
    if (!g || !g->metric[GROUP_DEVICE] || hist_count(g->metric[GROUP_DEVICE]) == 0)
        return NAN;
    return (double)hist_percentile(g->metric[GROUP_DEVICE], P95_PPM) / 1e6;
}

bool report_mlperf(struct jsonout *j, const struct figures *f)
{
    const struct group *read = find(f, TRACE_READ), *write = find(f, TRACE_WRITE);
    if (!f->result)
        return false;
    jsonout_text_value(j, "note", "written by kvstat from a replay: not an official MLPerf result");
    jsonout_object(j, "summary");
    put_known(j, "avg_throughput_tokens_per_sec", f->generated_tokens_per_s);
    put_known(j, "storage_throughput_tokens_per_sec", f->storage_tokens_per_s);
    jsonout_object(j, "cache_stats");
    put_known(j, "cache_hit_rate", f->lookup[FIGURES_ALL].hit_rate);
    jsonout_i64(j, "storage_entries", f->scan->occupancy.tier[TRACE_STORAGE].objects);
    jsonout_f64(j, "tier_storage_read_bandwidth_gbps", bandwidth(f, read));
    jsonout_f64(j, "tier_storage_write_bandwidth_gbps", bandwidth(f, write));
    put_known(j, "storage_read_device_p95_ms", device_p95_ms(read));
    put_known(j, "storage_write_device_p95_ms", device_p95_ms(write));
    jsonout_end(j);
    jsonout_end(j);
    return true;
}
