/* limit.h - what ends the number of users: the part of a request's time that grows most from the
 * largest load that holds to the smallest that does not. Plain values, no threads. */
#ifndef KVGEN_ANSWER_LIMIT_H
#define KVGEN_ANSWER_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "kvgen/answer/trial.h"

enum limit {
    LIMIT_NONE, /* every load holds */
    LIMIT_PREFILL,
    LIMIT_DECODE,
    LIMIT_GPU_MEMORY,
    LIMIT_HOST_MEMORY,
    LIMIT_STORAGE_READS,
    LIMIT_STORAGE_WRITES,
    LIMIT_HOST_LINK
};

/* Where a request's time goes. */
enum limit_part {
    LIMIT_PART_GPU, /* waits for it, or is computed */
    LIMIT_PART_FILES,
    LIMIT_PART_LINK,
    LIMIT_PART_MEMORY, /* preempted */
    LIMIT_PARTS
};

/* The figures of a simulation that tell the limit. */
struct limit_load {
    uint64_t requests;
    double part_ns[LIMIT_PARTS]; /* means of a request */
    bool stuck, still;           /* trial.h */
    bool refused;                /* every second request was, once, for lack of memory, */
    bool too_long;               /* or too many were for good */
    bool writes;                 /* more bytes than reads */
    bool prefill;                /* takes more of the GPU's time than decoding */
};

struct limit_load limit_load_of(const struct step_setup *steps, const struct trial *t);
/* Whether the drive ends them. */
enum limit_drive {
    LIMIT_DRIVE_NOT, /* one that takes no time holds no more */
    LIMIT_DRIVE_MAY,
    LIMIT_DRIVE_DOES /* the same load is held without it, or with one that takes no time */
};
/* held: NULL: no load holds, and what takes longest counts. failed: NULL: all hold. Where waiting
 * grows, requests wait for memory if every second one was refused once, else for the GPU: that
 * computes prompts or answers, whichever takes more of its time. Where some stand still for ever,
 * without a drive being the cause, requests push out of host memory what these wait for. */
enum limit limit_find(const struct limit_load *held, const struct limit_load *failed,
                      enum limit_drive drive);
const char *limit_name(enum limit l); /* as in JSON */
const char *limit_text(enum limit l); /* for people, 20 columns at most */

#endif
