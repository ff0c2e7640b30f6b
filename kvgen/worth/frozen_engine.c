/* frozen_engine.c - what every run of an engine over written requests has in common. What it is
 * asked for is left to its callers. */
#include "kvgen/worth/frozen_engine.h"

#include <stddef.h>

#include "lib/base/stop.h"

/* engine_run_opts.look */
static bool is_stopped(void *ctx, int64_t now_ns, uint64_t rows)
{
    (void)ctx, (void)now_ns, (void)rows;
    return stop_asks();
}

int frozen_engine_run(struct engine_run **run, struct frozen *f, const struct engine_run_opts *o,
                      struct err *e)
{
    struct engine_run_opts engine = *o;
    *run = NULL;
    int rc = frozen_play(f, &engine.source, e);
    if (rc < 0)
        return rc;
    engine.duration_ns = 0; /* until all requests are answered */
    engine.max_requests = 0;
    engine.queue_bytes = 0;
    engine.look = is_stopped;
    engine.decided = NULL;
    rc = engine_run_create(run, &engine, NULL, NULL, e);
    return rc < 0 ? rc : engine_run(*run, e);
}
