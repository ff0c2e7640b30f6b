/* request_prefixes.h - for requests that are served side by side: at which capacities the prefix of
 * each has missed. The curve of a trace needs it, because its rows go from one request to another.
 */
#ifndef KVGEN_CURVE_REQUEST_PREFIXES_H
#define KVGEN_CURVE_REQUEST_PREFIXES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    /* Requests at once. With one more all are forgotten: this trace does not tell when one ends. */
    REQUEST_PREFIXES_MAX = 1 << 16
};

struct request_prefixes;

/* width: number of capacities. NULL: no memory. */
struct request_prefixes *request_prefixes_create(size_t width);
void request_prefixes_free(struct request_prefixes *p);
/* The width marks of that request, false at first. Valid until the next call; NULL: no memory. */
bool *request_prefixes_of(struct request_prefixes *p, int64_t request);
/* The request is over. It may be unknown. */
void request_prefixes_forget(struct request_prefixes *p, int64_t request);

#endif
