/* ahead.h - the request that a source of rows reads before it is asked for, since only the row
 * itself says when it arrives. */
#ifndef KVTRACE_KVGEN_AHEAD_H
#define KVTRACE_KVGEN_AHEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "kvgen/request.h"
#include "lib/err.h"

/* Begins as zeros. */
struct ahead {
    struct request request; /* read makes it */
    bool ready;             /* request is the next one */
    bool ended;
};

/* Makes source's next request: 1; 0 at the end; negative errno with *e. */
typedef int (*ahead_read)(void *source, struct err *e);

/* As peek and take of source_ops; reads when nothing is ready. */
int ahead_peek(struct ahead *a, ahead_read read, void *source, int64_t *arrival_ns, struct err *e);
void ahead_take(struct ahead *a, struct request *out);

#endif
