/* limit.h - what ends the number of users: the part of a request's time that grows most from the
 * largest load that holds to the smallest that does not. */
#ifndef KVGEN_ANSWER_LIMIT_H
#define KVGEN_ANSWER_LIMIT_H

#include "kvgen/answer/trial.h"

enum limit {
    LIMIT_NONE, /* every load holds */
    LIMIT_PREFILL,
    LIMIT_DECODE,
    LIMIT_GPU_MEMORY,
    LIMIT_STORAGE_READS,
    LIMIT_STORAGE_WRITES,
    LIMIT_HOST_LINK
};

/* held: NULL: no load holds, and what takes longest counts. failed: NULL: all hold. Both run whole.
 * Where waiting grows, requests wait for memory if every second one was refused once, else for the
 * GPU: that computes prompts or answers, whichever takes more of its time. */
enum limit limit_find(const struct step_setup *steps, const struct trial *held,
                      const struct trial *failed);
const char *limit_name(enum limit l); /* as in JSON */
const char *limit_text(enum limit l); /* for people */

#endif
