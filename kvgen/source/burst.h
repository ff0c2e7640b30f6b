/* burst.h - requests of a CSV of arrivals and token counts: BurstGPT, and the Azure LLM traces. */
#ifndef KVGEN_SOURCE_BURST_H
#define KVGEN_SOURCE_BURST_H

#include <stdint.h>

#include "kvgen/source/file_source.h"
#include "kvgen/source/inputs.h"
#include "kvgen/source/source.h"
#include "kvgen/workload.h"
#include "lib/trace/trace.h"

struct source_burst_opts {
    const struct workload *workload; /* must outlive the source */
    enum inputs_kind kind;           /* INPUTS_BURST or INPUTS_AZURE */
    struct file_source_opts files;
    uint64_t seed;
    enum trace_qos qos; /* of every request; TRACE_NO_QOS: drawn for each */
};

/*
 * Takes in, also on failure, and reads the first request. Columns are found by name:
 * INPUTS_BURST: Timestamp (seconds), Request tokens, Response tokens;
 * INPUTS_AZURE: TIMESTAMP (see iso_time.h), ContextTokens, GeneratedTokens.
 * A row with a bad number is skipped and counted. -EINVAL with *e if the header lacks a column, if
 * no row is good, or if times go back within a file.
 */
int source_burst_open(struct source **out, struct inputs *in, const struct source_burst_opts *o,
                      struct err *e);

#endif
