/* sharegpt.h - requests of a dataset of conversations, given as texts or as token counts. */
#ifndef KVGEN_SOURCE_SHAREGPT_H
#define KVGEN_SOURCE_SHAREGPT_H

#include <stdbool.h>
#include <stdint.h>

#include "kvgen/source/file_source.h"
#include "kvgen/source/inputs.h"
#include "kvgen/source/source.h"
#include "kvgen/workload.h"
#include "lib/trace/trace.h"

struct source_sharegpt_opts {
    const struct workload *workload; /* must outlive the source */
    double chars_per_token;          /* to estimate the tokens of texts; above 0 */
    double request_rate; /* requests a second; 0: all at once, or at the times of the dataset */
    uint64_t max_conversations; /* of each cycle; 0: all */
    struct file_source_opts files;
    bool speedup_given; /* -EINVAL if the dataset has no times */
    uint64_t seed;
    uint32_t users;     /* conversations go round among that many names */
    enum trace_qos qos; /* of every request; TRACE_NO_QOS: drawn for each */
};

/*
 * Takes in, also on failure: a JSON array or JSON lines of
 *   {"conversations": [{"from": "human" | "gpt", "value": text}]}, where a human text with the gpt
 *   text right behind it is a turn, or
 *   {"input_toks": n, "output_toks": n}, which is one turn of these lengths.
 * An element without a turn is skipped and counted; -EINVAL with *e if all are. At most
 * workload->max_conversations are held at once; the seed picks which of them has the next turn.
 *
 * If the first element has an arrival_time_ns and request_rate is 0, all elements must have one,
 * and none may be earlier than the one before in its file (else -EINVAL). Conversations then start
 * at these times, in the order of the file.
 */
int source_sharegpt_open(struct source **out, struct inputs *in,
                         const struct source_sharegpt_opts *o, struct err *e);

#endif
