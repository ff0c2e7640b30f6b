/* Judges the figures of one report by a profile's criteria. Criteria on operations that a file does
 * not hold do not apply; one whose value a file does not carry leaves the verdict open, since a
 * check that could not be made was not passed. */
#include "kvstat/report/verdict.h"

#include <math.h>

#define P95_PPM 950000u

const char *const assess_profile_names[] = {"none", "latency", "throughput"};

static const struct group *find(const struct figures *f, enum trace_tier tier, enum trace_op op)
{
    return groups_find(agg_by_tier_op(f->scan->agg), (uint8_t)tier, (uint8_t)op);
}

static double p95_ms(const struct group *g, enum group_metric m)
{
    if (!g || !g->metric[m] || hist_count(g->metric[m]) == 0)
        return NAN;
    return (double)hist_percentile(g->metric[m], P95_PPM) / 1e6;
}

static uint64_t samples_of(const struct group *g, enum group_metric m)
{
    return g && g->metric[m] ? hist_count(g->metric[m]) : 0;
}

static void judge(struct assess *a, struct assess_criterion c)
{
    if (isnan(c.actual))
        c.verdict = ASSESS_UNKNOWN;
    else if (c.relation[0] == '<')
        c.verdict = c.actual < c.target ? ASSESS_PASS : ASSESS_FAIL;
    else
        c.verdict = c.actual > c.target ? ASSESS_PASS : ASSESS_FAIL;
    a->criterion[a->count++] = c;
}

static void judge_device(struct assess *a, const struct figures *f, enum trace_op op,
                         const char *name, double limit_ms)
{
    const struct group *g = find(f, TRACE_STORAGE, op);
    if (g)
        judge(a, (struct assess_criterion){.name = name,
                                           .unit = "ms",
                                           .relation = "<",
                                           .target = limit_ms,
                                           .actual = p95_ms(g, GROUP_DEVICE),
                                           .samples = samples_of(g, GROUP_DEVICE),
                                           .service = p95_ms(g, GROUP_SERVICE)});
}

/* The slower of the CPU tier's reads and writes, as the benchmark judges it. */
static void judge_cpu(struct assess *a, const struct figures *f, double limit_ms)
{
    const struct group *read = find(f, TRACE_CPU, TRACE_READ);
    const struct group *write = find(f, TRACE_CPU, TRACE_WRITE);
    double of_reads = p95_ms(read, GROUP_SERVICE), of_writes = p95_ms(write, GROUP_SERVICE);
    double p95 = fmax(of_reads, of_writes);
    const struct group *slower = of_reads >= of_writes || isnan(of_writes) ? read : write;
    if (read || write)
        judge(a, (struct assess_criterion){.name = "cpu_p95",
                                           .unit = "ms",
                                           .relation = "<",
                                           .target = limit_ms,
                                           .actual = p95,
                                           .samples = samples_of(slower, GROUP_SERVICE),
                                           .service = p95});
}

static void judge_latency(struct assess *a, const struct figures *f, const struct assess_limits *l)
{
    judge_device(a, f, TRACE_WRITE, "storage_write_device_p95", l->write_device_p95_ms);
    judge_device(a, f, TRACE_READ, "storage_read_device_p95", l->read_device_p95_ms);
    judge_cpu(a, f, l->cpu_p95_ms);
    if (f->lookup[FIGURES_ALL].lookups > 0)
        judge(a, (struct assess_criterion){.name = "hit_rate",
                                           .unit = "share",
                                           .relation = ">",
                                           .target = l->hit_rate,
                                           .actual = f->lookup[FIGURES_ALL].hit_rate,
                                           .service = NAN});
}

/* Operations that all failed moved nothing: 0, not unknown. What a trace asks for is no bandwidth.
 */
static void judge_bandwidth(struct assess *a, const struct figures *f, enum trace_op op,
                            const char *name)
{
    const struct group *g = find(f, TRACE_STORAGE, op);
    double rate = NAN;
    if (!g)
        return;
    if (f->result)
        rate = g->moved ? figures_gib_per_s(f, g, GROUPS_TIER | GROUPS_OP) : 0;
    judge(a, (struct assess_criterion){.name = name,
                                       .unit = "GiB/s",
                                       .relation = ">",
                                       .target = 0,
                                       .actual = rate,
                                       .service = NAN});
}

static enum assess_verdict verdict_of(const struct assess *a)
{
    enum assess_verdict v = a->count ? ASSESS_PASS : ASSESS_UNKNOWN;
    for (size_t i = 0; i < a->count; i++) {
        if (a->criterion[i].verdict == ASSESS_FAIL)
            return ASSESS_FAIL;
        if (a->criterion[i].verdict == ASSESS_UNKNOWN)
            v = ASSESS_UNKNOWN;
    }
    return v;
}

bool assess_passed(const struct assess *a)
{
    return a->verdict == ASSESS_PASS && a->valid;
}

void assess_figures(struct assess *a, enum assess_profile profile,
                    const struct assess_limits *limits, const struct figures *f)
{
    *a = (struct assess){.profile = profile, .valid = f->run->valid != 0, .figure_of_merit = NAN};
    if (profile == ASSESS_LATENCY) {
        judge_latency(a, f, limits);
    } else {
        judge_bandwidth(a, f, TRACE_READ, "storage_read_bandwidth");
        judge_bandwidth(a, f, TRACE_WRITE, "storage_write_bandwidth");
        a->figure_of_merit = f->result ? f->generated_tokens_per_s : NAN;
    }
    a->verdict = verdict_of(a);
}
