/* burst.h - requests of a CSV of arrivals and token counts: BurstGPT and Azure's LLM traces.
 */
#ifndef KVGEN_SOURCE_BURST_H
#define KVGEN_SOURCE_BURST_H

#include <stdint.h>

#include "kvgen/source/arrival_times.h"
#include "kvgen/source/inputs.h"
#include "kvgen/source/source.h"
#include "kvgen/workload.h"

struct source_burst_opts {
    const struct workload *workload;
    enum inputs_kind kind; /* INPUTS_BURST or INPUTS_AZURE: the columns that are wanted */
    struct pace_opts pace;
    uint64_t seed;
    int qos; /* enum trace_qos of every request; negative: drawn per request */
};

/*
 * Takes in (closes it, also on failure) and reads the first request. Columns by name: Timestamp
 * (seconds), Request tokens, Response tokens; or TIMESTAMP (ISO, see iso_time.h), ContextTokens,
 * GeneratedTokens. A row with a bad number is skipped and counted; times that go back within a file
 * are -EINVAL, as are a header without these columns and an input without any good row.
 */
int source_burst_open(struct source **out, struct inputs *in, const struct source_burst_opts *o,
                      struct err *e);

#endif
