/* lookahead.c - between the rows of a file and the simulator, which asks when the next request
 * arrives before it takes it: one request is kept. */
#include "kvgen/source/lookahead.h"

int lookahead_peek(struct lookahead *l, lookahead_read read, void *source, int64_t *arrival_ns,
                   struct err *e)
{
    if (l->ended)
        return 0;
    int rc = l->ready ? 1 : read(source, e);
    l->ready = rc > 0;
    l->ended = rc == 0;
    if (rc > 0)
        *arrival_ns = l->request.arrival_ns;
    return rc;
}

void lookahead_take(struct lookahead *l, struct request *out)
{
    *out = l->request;
    l->ready = false;
}
