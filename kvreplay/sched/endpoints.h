/* A tier that lies in several places (targets of one store, doors of a server): how even they are,
 * and which of them stands out. Plain functions of counts. */
#ifndef KVREPLAY_SCHED_ENDPOINTS_H
#define KVREPLAY_SCHED_ENDPOINTS_H

#include <stdint.h>
#include <stdio.h>

#include "kvreplay/sched/counts.h"
#include "lib/base/notes.h"
#include "lib/json/jsonout.h"

/* What is known of the places of one tier; lent. */
struct endpoints {
    const struct counts_endpoint *counts; /* count of them; 0: the tier has one place */
    unsigned count;
    const char *const *name;
    const char *const *device; /* of each; NULL: not known */
    const double *share;       /* of the objects, that each is to have; they add up to 1 */
};

/* The most bytes that a place moved, by those of its share: 1 is even. *busiest: which place; may
 * be NULL. Negative: nothing was moved. */
double endpoints_imbalance(const struct endpoints *p, unsigned *busiest);
/* Adds a sentence for a place that is slow (1.5 times the time of the others for a byte, or more,
 * and at most 0.8 of their bytes a second while it has rows), that is full, or that had far more
 * than its share. */
void endpoints_notes(const struct endpoints *p, struct notes *notes);
/* "endpoints" and "imbalance" of a tier. */
void endpoints_json(struct jsonout *j, const struct endpoints *p);
/* A line for each. */
void endpoints_text(FILE *out, const struct endpoints *p);

#endif
