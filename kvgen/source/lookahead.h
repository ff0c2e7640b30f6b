/* lookahead.h - the request that a source of rows reads before it is asked for, since only the row
 * itself says when it arrives. */
#ifndef KVGEN_SOURCE_LOOKAHEAD_H
#define KVGEN_SOURCE_LOOKAHEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "kvgen/source/request.h"
#include "lib/base/err.h"

/* Begins as zeros. */
struct lookahead {
    struct request request; /* read makes it */
    bool ready;             /* request is the next one */
    bool ended;
};

/* Makes source's next request: 1; 0 at the end; negative errno with *e. */
typedef int (*lookahead_read)(void *source, struct err *e);

/* As peek and take of source_ops; reads when nothing is ready. */
int lookahead_peek(struct lookahead *l, lookahead_read read, void *source, int64_t *arrival_ns,
                   struct err *e);
void lookahead_take(struct lookahead *l, struct request *out);

#endif
