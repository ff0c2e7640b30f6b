/* sharegpt.h - requests of a dataset of conversations, as texts or as numbers of tokens. */
#ifndef KVGEN_SOURCE_SHAREGPT_H
#define KVGEN_SOURCE_SHAREGPT_H

#include <stdbool.h>
#include <stdint.h>

#include "kvgen/source/arrival_times.h"
#include "kvgen/source/inputs.h"
#include "kvgen/source/source.h"
#include "kvgen/workload.h"

struct source_sharegpt_opts {
    const struct workload *workload;
    double chars_per_token;     /* for texts; above 0 */
    double request_rate;        /* requests a second; 0: all at once, or at their own times */
    uint64_t max_conversations; /* of each cycle; 0: all */
    struct pace_opts pace;      /* speedup: of a dataset that has times */
    bool speedup_given;         /* refused where there are none */
    uint64_t seed;
    uint32_t users; /* whose names the conversations get in turn */
    int qos;        /* enum trace_qos of every request; negative: drawn per request */
};

/*
 * Takes in (closes it, also on failure): a JSON array or JSON lines of {"conversations": [{"from":
 * "human" | "gpt", "value": text}]}, where each human text with the gpt text behind it is a turn,
 * or of
 * {"input_toks": n, "output_toks": n}, one turn of just these lengths. An element without a turn is
 * skipped and counted; an input without any turn is -EINVAL. At most workload->max_conversations
 * are held at once; the next turn is that of any of them, by the seed.
 *
 * Where the first element has an arrival_time_ns and there is no request_rate, the dataset is one
 * of arrivals: every element has one, none earlier than the one before in its file (else -EINVAL),
 * and its turns are asked then, in the order of the file.
 */
int source_sharegpt_open(struct source **out, struct inputs *in,
                         const struct source_sharegpt_opts *o, struct err *e);

#endif
