/* nearest.h - the name that a mistyped one most likely stands for ("did you mean ..."). */
#ifndef KVTRACE_BASE_NEAREST_H
#define KVTRACE_BASE_NEAREST_H

#include <stddef.h>

/* Keeps the best of the candidates offered to it. Zero it, set typed, offer, read best. */
struct nearest {
    const char *typed;
    const char *best; /* lent from nearest_offer; NULL: none is close enough */
    size_t distance;  /* of best */
};

/* Takes name into account: edit distance at most 1 + length / 3, or name begins with what was
 * typed (at least 3 characters). Names of 96 characters and more are never near. */
void nearest_offer(struct nearest *n, const char *name);

#endif
