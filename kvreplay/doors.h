/* The doors of a tier (struct tier_door) against each other, by what went through each. */
#ifndef KVREPLAY_DOORS_H
#define KVREPLAY_DOORS_H

#include "kvreplay/sched/counts.h"
#include "lib/base/notes.h"
#include "lib/tier/tier.h"

/* The doors of one tier; lent. */
struct doors {
    const struct counts_door *counts; /* count of them */
    const struct tier_door *door;
    const double *share; /* of the objects, that each is to have; they add up to 1 */
    unsigned count;
};

/* The most bytes that went through a door, by those of its share: 1 is even. *busiest: which door;
 * may be NULL. Negative: nothing was moved. */
double doors_imbalance(const struct doors *d, unsigned *busiest);
/* Adds a sentence for a door of several that is slow (1.5 times the time of the others for a byte,
 * or more, and at most 0.8 of their bytes a second while it has rows), that is full, or that had
 * far more than its share. */
void doors_notes(const struct doors *d, struct notes *notes);

#endif
