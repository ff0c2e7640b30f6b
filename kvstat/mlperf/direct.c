/* Beside groups: what the results file of the MLPerf Storage KV-cache benchmark needs and groups do
 * not have: bytes and times without demotions, and the host's part of each time. It is only filled
 * for kvstat --mlperf. */
#include "kvstat/mlperf/direct.h"

#include <errno.h>
#include <stdlib.h>

struct direct *direct_create(void)
{
    return calloc(1, sizeof(struct direct));
}

void direct_free(struct direct *d)
{
    if (!d)
        return;
    for (unsigned t = 0; t < TRACE_TIERS; t++)
        for (unsigned w = 0; w < DIRECT_WAYS; w++)
            for (unsigned i = 0; i < DIRECT_TIMES; i++)
                hist_free(d->tier[t][w].time[i]);
    free(d);
}

static int record(struct hist **h, int64_t ns)
{
    if (!*h && !(*h = hist_create()))
        return -ENOMEM;
    return hist_record(*h, ns);
}

int direct_add(struct direct *d, const struct trace_row *row)
{
    bool moves = row->op == TRACE_READ || row->op == TRACE_WRITE;
    int rc = 0;
    if (row->class == TRACE_SYSTEM && row->phase != TRACE_EVICT &&
        (row->op == TRACE_READ || row->op == TRACE_MISS) &&
        __builtin_add_overflow(d->prefix_bytes, row->size, &d->prefix_bytes))
        return -EOVERFLOW;
    if (!moves || row->tier == TRACE_NO_TIER || row->phase == TRACE_EVICT)
        return 0;
    unsigned way = row->op == TRACE_READ ? DIRECT_READ : DIRECT_WRITE;
    struct hist **time = d->tier[row->tier][way].time;
    d->tier[row->tier][way].ops++;
    if (__builtin_add_overflow(d->tier[row->tier][way].bytes, row->size,
                               &d->tier[row->tier][way].bytes))
        return -EOVERFLOW;
    if (row->latency_ns != TRACE_NONE)
        rc = record(&time[DIRECT_SERVICE], row->latency_ns);
    if (rc == 0 && row->latency_ns != TRACE_NONE && row->device_ns != TRACE_NONE) {
        int64_t device_ns = row->device_ns < row->latency_ns ? row->device_ns : row->latency_ns;
        rc = record(&time[DIRECT_DEVICE], device_ns);
        if (rc == 0)
            rc = record(&time[DIRECT_HOST], row->latency_ns - device_ns);
    }
    return rc;
}

int direct_merge(struct direct *into, const struct direct *from)
{
    int rc = 0;
    bool over = __builtin_add_overflow(into->prefix_bytes, from->prefix_bytes, &into->prefix_bytes);
    for (unsigned t = 0; t < TRACE_TIERS; t++)
        for (unsigned w = 0; w < DIRECT_WAYS; w++) {
            into->tier[t][w].ops += from->tier[t][w].ops;
            over |= __builtin_add_overflow(into->tier[t][w].bytes, from->tier[t][w].bytes,
                                           &into->tier[t][w].bytes);
            for (unsigned i = 0; i < DIRECT_TIMES && rc == 0; i++) {
                struct hist **h = &into->tier[t][w].time[i];
                const struct hist *more = from->tier[t][w].time[i];
                if (more && !*h && !(*h = hist_create()))
                    return -ENOMEM;
                rc = more ? hist_merge(*h, more) : 0;
            }
        }
    return over ? -EOVERFLOW : rc;
}
