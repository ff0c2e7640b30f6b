/* ahead.c - between the rows of a file and the simulator, which asks when the next request arrives
 * before it takes it: one request is kept. */
#include "kvgen/ahead.h"

int ahead_peek(struct ahead *a, ahead_read read, void *source, int64_t *arrival_ns, struct err *e)
{
    if (a->ended)
        return 0;
    int rc = a->ready ? 1 : read(source, e);
    a->ready = rc > 0;
    a->ended = rc == 0;
    if (rc > 0)
        *arrival_ns = a->request.arrival_ns;
    return rc;
}

void ahead_take(struct ahead *a, struct request *out)
{
    *out = a->request;
    a->ready = false;
}
