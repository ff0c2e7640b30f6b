/* validity.h - whether the figures of a run may be believed: each kind of figure is good,
 * unreliable (something is known to have moved it), or unknown. */
#ifndef KVSTAT_COUNT_VALIDITY_H
#define KVSTAT_COUNT_VALIDITY_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/facts/judge.h"
#include "lib/trace/trace.h"

enum {
    VALIDITY_WHY = 256,
    VALIDITY_LINE = 640
};

struct validity_of {
    enum validity_state state;
    bool only_worse;        /* what moved the figure can only have made it worse */
    char why[VALIDITY_WHY]; /* "" when good; a remark may stand with a good figure too */
};

/* Figures of every tier and operation, or of one: validity_place. */
enum {
    VALIDITY_EVERYWHERE,
    VALIDITY_PLACES = 1 + 2 * TRACE_TIERS
};
/* op: TRACE_READ or TRACE_WRITE. */
unsigned validity_place(uint8_t tier, uint8_t op);
/* "Tier-1", "Read"; "" of VALIDITY_EVERYWHERE. */
const char *validity_place_tier(unsigned place);
const char *validity_place_op(unsigned place);

struct validity {
    bool first_token; /* times to the first token are measured; else nothing is said of them */
    struct validity_of of[VALIDITY_KINDS][VALIDITY_PLACES];
};

/* Makes the state of a kind worse in a place, or leaves it; of two doubts as grave the first is
 * kept. */
void validity_doubt(struct validity *v, enum validity_kind kind, unsigned place,
                    const struct validity_of *doubt);
/* The state of a kind in a place: what is said of it, or of all places when that is worse. */
struct validity_of validity_at(const struct validity *v, enum validity_kind kind, unsigned place);
/* The place in which a kind is worst. */
unsigned validity_worst_place(const struct validity *v, enum validity_kind kind);
/* The worst of all kinds. */
enum validity_state validity_worst(const struct validity *v);
/* The run in one line: "good", "good for drive figures; ...", "unreliable: ...". Returns buf. */
const char *validity_line(char buf[VALIDITY_LINE], const struct validity *v);

#endif
