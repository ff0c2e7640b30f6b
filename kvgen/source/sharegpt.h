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
    enum trace_qos qos; /* of every request; TRACE_NO_QOS: drawn for each conversation */
    bool back_to_back;  /* --compat mlperf, see below */
};

/*
 * Takes in, also on failure: a JSON array or JSON lines of
 *   {"conversations": [{"from": role, "value": text}]}, where a human text with an answer right
 *   behind it is a turn; messages in place of conversations, and role and content in place of from
 *   and value, mean the same. What becomes no turn is counted by reason. Or
 *   {"input_toks": n, "output_toks": n}, which is one turn of these lengths.
 * An element without a turn is skipped and counted; -EINVAL with *e if all are. At most
 * workload->max_conversations are held at once, those that wait for an answer included; the seed
 * picks which of the others has the next turn. A turn waits for the answer to the one before it:
 * where no turn can be asked at the time that request_rate has for it, it is asked at the next
 * answer.
 *
 * If the first element has an arrival_time_ns and request_rate is 0, all elements must have one,
 * and none may be earlier than the one before in its file (else -EINVAL). Conversations then start
 * at these times, in the order of the file, and their later turns are asked when the one before is
 * answered.
 *
 * back_to_back: turns wait for nothing. All turns of one conversation are asked, then those of
 * another that the seed picks; a user and a class are drawn for each.
 */
int source_sharegpt_open(struct source **out, struct inputs *in,
                         const struct source_sharegpt_opts *o, struct err *e);

#endif
