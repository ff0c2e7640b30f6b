/* Finds the name that a mistyped one most likely stands for ("did you mean ..."). */
#ifndef KVTRACE_BASE_NEAREST_H
#define KVTRACE_BASE_NEAREST_H

#include <stddef.h>

enum {
    NEAREST_HINT = 128
};
/* Keeps the best of the candidates offered to it. Zero it, set typed, offer, read best. */
struct nearest {
    const char *typed;
    const char *best; /* lent from nearest_offer; NULL: no candidate is close enough */
    size_t distance;  /* of best */
};

/* Considers name. It is close enough when its edit distance is at most 1 + length of typed / 3, or
 * when it begins with typed (at least 3 characters). Names of 96 characters or more never are. */
void nearest_offer(struct nearest *n, const char *name);
/* "; did you mean BEST?", or "" without one. Writes it into buf, which it returns. */
const char *nearest_hint(const struct nearest *n, char buf[NEAREST_HINT]);

#endif
