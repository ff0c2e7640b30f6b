/* End of a replay: judges from the evidence whether the run is valid, and notes figures that cannot
 * be the target's. The summary writes the judgement down. */
#include "kvreplay/validity.h"

#include <stdarg.h>
#include <stdio.h>

#include "lib/base/units.h"

#define VALIDITY_ENOUGH       64e6 /* bytes, to judge a share or a rate by */
#define VALIDITY_MOVED        0.9  /* share of the bytes that a direct run moves at least */
#define VALIDITY_NEAR_CEILING 0.7

static void validity_why(struct validity *v, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void validity_why(struct validity *v, const char *format, ...)
{
    va_list args;
    v->valid = false;
    if (v->whys == VALIDITY_TEXTS)
        return;
    va_start(args, format);
    vsnprintf(v->why[v->whys++], sizeof(v->why[0]), format, args);
    va_end(args);
}

static void validity_note(struct validity *v, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void validity_note(struct validity *v, const char *format, ...)
{
    va_list args;
    if (v->notes == VALIDITY_TEXTS)
        return;
    va_start(args, format);
    vsnprintf(v->note[v->notes++], sizeof(v->note[0]), format, args);
    va_end(args);
}

/* A direct run moves every byte of the application over the device. op: reads or writes. */
static void note_moved(struct validity *v, const struct evidence *ev, enum trace_op op)
{
    bool read = op == TRACE_READ;
    uint64_t asked =
        read ? ev->counts->read_bytes[TRACE_STORAGE] : ev->counts->write_bytes[TRACE_STORAGE];
    uint64_t seen = read ? ev->after.read_bytes - ev->before.read_bytes
                         : ev->after.write_bytes - ev->before.write_bytes;

    if (!ev->counted || (double)asked < VALIDITY_ENOUGH ||
        (double)seen >= VALIDITY_MOVED * (double)asked)
        return;
    validity_note(v, "the device %s %.0f %% of the bytes that Tier-2 asked for: the rest %s%s",
                  read ? "read" : "wrote", 100 * (double)seen / (double)asked,
                  read ? "came from a cache" : "stayed in one, or was never written",
                  ev->fell_back ? "; see fallbacks" : "");
}

/* No drive is faster than its link. */
static void note_link(struct validity *v, const struct evidence *ev, enum trace_op op)
{
    struct counts_group sum;
    char rate[32], link[32];

    if (!ev->link_bytes_per_s)
        return;
    if (counts_sum(ev->counts, TRACE_STORAGE, op, &sum) == 0 &&
        (double)sum.bytes >= VALIDITY_ENOUGH && counts_rate(&sum) > (double)ev->link_bytes_per_s)
        validity_note(v,
                      "Tier-2 %s at %s are more than the device's link carries (%s): a cache was "
                      "measured",
                      op == TRACE_READ ? "reads" : "writes",
                      units_format_rate(rate, sizeof(rate), counts_rate(&sum)),
                      units_format_rate(link, sizeof(link), (double)ev->link_bytes_per_s));
    counts_group_release(&sum);
}

static void note_ceiling(struct validity *v, const struct evidence *ev)
{
    double share = evidence_of_ceiling(ev);

    if (ev->ceiling.rows_per_s <= 0)
        return;
    if (!ev->ceiling.same_host)
        validity_note(v, "the ceiling was measured on another host: not compared");
    else if (share < 0)
        validity_note(v, "the ceiling was measured with another trace, or a trace was not read to "
                         "its end: not compared");
    else if (share >= VALIDITY_NEAR_CEILING)
        validity_note(v,
                      "%.0f %% of the client's own ceiling (%.0f rows/s): this is the speed of the "
                      "client as much as of the target",
                      100 * share, ev->ceiling.rows_per_s);
}

void validity_judge(struct validity *v, const struct evidence *ev, int64_t asked_budget_ns)
{
    const struct counts *n = ev->counts;
    int64_t p99 = hist_percentile(n->lateness, 990000);
    char a[32], b[32];

    *v = (struct validity){.valid = true, .budget_ns = asked_budget_ns};
    if (asked_budget_ns == VALIDITY_BUDGET_AUTO) {
        /* Late by a hundredth of what is measured, the tool changes no figure by more. */
        int64_t hundredth = (int64_t)(counts_service_mean_ns(n) / 100);
        v->budget_ns = hundredth > VALIDITY_BUDGET_NS ? hundredth : VALIDITY_BUDGET_NS;
    }
    if (ev->timed && p99 > v->budget_ns)
        validity_why(
            v,
            "the tool itself was late, as on busy processors: P99 of client lateness %s, budget %s",
            units_format_duration(a, sizeof(a), (double)p99),
            units_format_duration(b, sizeof(b), (double)v->budget_ns));
    if (n->corrupt)
        validity_why(v, "%llu corrupt row%s", (unsigned long long)n->corrupt,
                     units_plural(n->corrupt));
    if (n->failed)
        validity_why(v, "%llu failed row%s", (unsigned long long)n->failed,
                     units_plural(n->failed));
    if (n->reads_before_write)
        validity_why(v, "%llu read%s before %s write", (unsigned long long)n->reads_before_write,
                     units_plural(n->reads_before_write),
                     n->reads_before_write == 1 ? "its" : "their");
    if (ev->interrupted)
        validity_why(v, "the run was stopped before the end of the trace");

    if (ev->lagged)
        validity_note(v, "the target was slower than the trace: furthest behind %s, limit %s",
                      units_format_duration(a, sizeof(a), (double)n->lag_max_ns),
                      units_format_duration(b, sizeof(b), (double)ev->lag_limit_ns));
    note_moved(v, ev, TRACE_READ);
    note_moved(v, ev, TRACE_WRITE);
    note_link(v, ev, TRACE_READ);
    note_link(v, ev, TRACE_WRITE);
    note_ceiling(v, ev);
    if (ev->dedup_ratio > 1)
        validity_note(v,
                      "--dedup-ratio %g: header checks of Tier-2 cannot tell the blocks of an "
                      "object apart that are alike",
                      ev->dedup_ratio);
}
