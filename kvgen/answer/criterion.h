/* criterion.h - when users are served well enough: what makes a request good, and how many good
 * ones a load needs. Plain values, no threads. */
#ifndef KVGEN_ANSWER_CRITERION_H
#define KVGEN_ANSWER_CRITERION_H

#include <stdbool.h>
#include <stdint.h>

#include "kvgen/serve/engine_run.h"
#include "lib/trace/trace.h"

/* A prompt that takes longer than the target by itself may take this many thousandths of its time
 * alone. */
#define CRITERION_ALONE_PERMILLE 1100

/* Requests that decide about a load: at least so many, at least so many of each class, and at most
 * so many in search of a rare class. With fewer than that a class is not judged by itself. With 400
 * the standard error of a share of 95 % is 1.1 points. */
enum {
    CRITERION_REQUESTS = 400,
    CRITERION_CLASS_REQUESTS = 20,
    CRITERION_REQUESTS_MAX = 1600
};

struct criterion {
    int64_t first_token_ns, token_ns; /* targets: until the first token, between tokens */
    double goodput;                   /* share of the requests that must be good, of each class */
};

/* Requests so far, by class. Zero it first. */
struct criterion_tally {
    uint64_t requests[TRACE_QOSES], good[TRACE_QOSES];
};

/* How long the first token of such a prompt may take: the target, or 1.1 times the prompt's own
 * time if that alone (on an idle engine, nothing cached) is longer than the target. */
int64_t criterion_first_token_ns(const struct criterion *c, const struct step_setup *steps,
                                 uint64_t prompt_tokens);
bool criterion_is_good(const struct criterion *c, const struct step_setup *steps,
                       const struct engine_done *d);
/* Whether a request that is not done has waited for too long: for its first token or, once it has
 * that, however late it came, for the others. */
bool criterion_is_late(const struct criterion *c, const struct step_setup *steps,
                       const struct engine_pending *p);
void criterion_count(struct criterion_tally *t, enum trace_qos qos, bool good);

uint64_t criterion_requests(const struct criterion_tally *t);
/* Share of good requests of all classes; 0 without requests. */
double criterion_goodput(const struct criterion_tally *t);
/* No further request changes what criterion_holds says: there are enough, or too many of the first
 * CRITERION_REQUESTS were not good. */
bool criterion_is_decided(const struct criterion *c, const struct criterion_tally *t);
/* All together, and each class with CRITERION_CLASS_REQUESTS or more, have the share. */
bool criterion_holds(const struct criterion *c, const struct criterion_tally *t);

#endif
