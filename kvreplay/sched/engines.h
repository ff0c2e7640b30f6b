/* engines.h - the engines that compute the prefills of a trace: Prefill rows of an engine run one
 * after the other, the highest class first, within a class first come first served, as in kvgen. An
 * engine that serves steps computes them side by side: their rows have the times that this took.
 * One thread, the scheduler's; it reads no clock. */
#ifndef KVREPLAY_SCHED_ENGINES_H
#define KVREPLAY_SCHED_ENGINES_H

#include <stdbool.h>
#include <stdint.h>

#include "kvreplay/sched/row.h"

enum {
    ENGINES_MAX = 4096
};

/* The engines as the provenance has them. */
struct engines_opts {
    bool steps;                    /* prefills run side by side */
    uint32_t count;                /* at most ENGINES_MAX; 0: one */
    int64_t priority[TRACE_QOSES]; /* of each class; the highest goes first */
};

struct engines;

/* NULL: no memory. */
struct engines *engines_create(const struct engines_opts *o);
void engines_free(struct engines *e);
/* Whether an engine computes for the time of this row. */
bool engines_runs(const struct row *r);
/* true: the engine of r's user is r's from now on. false: r stands in its line. */
bool engines_take(struct engines *e, struct row *r);
/* r is done with its engine. Returns the row that has it from now on; NULL: none. */
struct row *engines_give(struct engines *e, const struct row *r);

#endif
