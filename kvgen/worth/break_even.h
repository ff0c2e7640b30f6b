/* break_even.h - how long loading a context from a tier takes where nothing else is loaded, and
 * from which length on that beats computing it. */
#ifndef KVGEN_WORTH_BREAK_EVEN_H
#define KVGEN_WORTH_BREAK_EVEN_H

#include <stdint.h>

#include "kvgen/speed/gpu_profile.h"
#include "lib/model/model.h"

struct drive_model;

/* A tier and the link to the engine. A plain value. */
struct loading {
    const struct model *model; /* lent, as are compute and drive */
    const struct prefill_model *compute;
    uint64_t object_tokens; /* of each object of a context; 0: a context is one object */
    double latency_s;       /* t_L, once for all objects */
    double link_bytes_per_s, tier_bytes_per_s; /* 0: no limit */
    const struct drive_model *drive; /* in place of tier_bytes_per_s: measured; NULL: none */
};

/* Bytes of all ranks that a context of so many tokens has in a host tier; UINT64_MAX: more than
 * 2^62. */
uint64_t loading_bytes(const struct loading *l, uint64_t tokens);
/* t_L, then the bytes through the tier and through the link, one after the other. A measured drive
 * takes size / R(1, size, reads) for each object, one after the other, as requests load them. */
double loading_s(const struct loading *l, uint64_t tokens);
/* Least n, among lengths 1/64 apart and then to the token, with loading_s(n) <= t(0, n) - t0; 0:
 * none up to 2^31. */
uint64_t loading_break_even(const struct loading *l);

#endif
