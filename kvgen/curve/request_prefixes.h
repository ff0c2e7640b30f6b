/* request_prefixes.h - of requests that are served side by side, at which capacities the prefix of
 * each has missed: what the curve of a trace remembers when its rows go from one request to
 * another. */
#ifndef KVGEN_CURVE_REQUEST_PREFIXES_H
#define KVGEN_CURVE_REQUEST_PREFIXES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    REQUEST_PREFIXES_MAX =
        1 << 16 /* requests; one more, and all are forgotten: a trace that ends none */
};

struct request_prefixes;

/* width: capacities. NULL: no memory. */
struct request_prefixes *request_prefixes_create(size_t width);
void request_prefixes_free(struct request_prefixes *p);
/* The width marks of that request, false at first, valid until the next request_prefixes_of; NULL:
 * no memory. */
bool *request_prefixes_of(struct request_prefixes *p, int64_t request);
/* The request is over. It may be unknown. */
void request_prefixes_forget(struct request_prefixes *p, int64_t request);

#endif
