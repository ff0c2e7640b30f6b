/* prefixes.h - of requests that are served side by side, at which capacities the prefix of each has
 * missed: what the curve of a trace remembers when its rows go from one request to another. */
#ifndef KVGEN_CURVE_PREFIXES_H
#define KVGEN_CURVE_PREFIXES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PREFIXES_MAX = 1 << 16 /* requests; one more, and all are forgotten: a trace that ends none */
};

struct prefixes;

/* width: capacities. NULL: no memory. */
struct prefixes *prefixes_create(size_t width);
void prefixes_free(struct prefixes *p);
/* The width marks of that request, false at first, valid until the next prefixes_of; NULL: no
 * memory. */
bool *prefixes_of(struct prefixes *p, int64_t request);
/* The request is over. It may be unknown. */
void prefixes_forget(struct prefixes *p, int64_t request);

#endif
