/* Whether a run is valid, and which of its figures look impossible, judged from the evidence. */
#ifndef KVREPLAY_VALIDITY_H
#define KVREPLAY_VALIDITY_H

#include <stdbool.h>
#include <stdint.h>

#include "kvreplay/evidence.h"

enum {
    VALIDITY_TEXTS = 6, /* of each list; more are left out */
    VALIDITY_WHY_CAP = 160,
    VALIDITY_NOTE_CAP = 200,
    VALIDITY_BUDGET_AUTO = -1,
    VALIDITY_BUDGET_NS = 1000000
};

/* Texts for people. */
struct validity {
    bool valid;
    unsigned whys;
    char why[VALIDITY_TEXTS][VALIDITY_WHY_CAP]; /* the run is not valid */
    unsigned notes;
    char note[VALIDITY_TEXTS][VALIDITY_NOTE_CAP]; /* figures that look impossible, and what checks
                                                     could not see */
    int64_t budget_ns;                            /* what the P99 of client lateness may be */
};

/* asked_budget_ns: of --lateness-budget, or VALIDITY_BUDGET_AUTO. */
void validity_judge(struct validity *v, const struct evidence *ev, int64_t asked_budget_ns);

#endif
