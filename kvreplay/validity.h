/* Which figures of a run may be believed, judged from the evidence: each is doubted when something
 * is known to have moved it, by how much it moved it. What is not known is unknown, never good. */
#ifndef KVREPLAY_VALIDITY_H
#define KVREPLAY_VALIDITY_H

#include <stdbool.h>
#include <stdint.h>

#include "kvreplay/evidence.h"
#include "lib/facts/judge.h"

enum {
    VALIDITY_TEXTS = 8, /* of each list; more are left out */
    VALIDITY_WHY_CAP = 160,
    VALIDITY_NOTE_CAP = 240,
    VALIDITY_FIGURES = 32,
    VALIDITY_BUDGET_NONE = -1
};

/* The validity of a figure of every tier and operation, or of one. */
struct validity_figure {
    enum validity_kind of; /* or VALIDITY_ALL */
    bool everywhere;
    enum trace_tier tier; /* not everywhere */
    enum trace_op op;
    enum validity_state state;
    char why[VALIDITY_NOTE_CAP]; /* may also be there when it is good */
};

/* Texts for people. */
struct validity {
    enum validity_state state; /* of the run: unreliable when all figures or all of storage are */
    unsigned whys;
    char why[VALIDITY_TEXTS][VALIDITY_WHY_CAP]; /* the run is not valid */
    unsigned notes;
    char note[VALIDITY_TEXTS][VALIDITY_NOTE_CAP]; /* figures that look impossible, and what checks
                                                     could not see */
    unsigned figures;
    struct validity_figure figure[VALIDITY_FIGURES];
    int64_t budget_ns; /* what the P99 of client lateness may be; VALIDITY_BUDGET_NONE */
};

/* budget_ns: of --config lateness_budget, or VALIDITY_BUDGET_NONE. */
void validity_judge(struct validity *v, const struct evidence *ev, int64_t budget_ns);

#endif
