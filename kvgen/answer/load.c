/* load.c - opens a run's source anew for each simulation. */
#include "kvgen/answer/load.h"

#include <stdlib.h>

struct load {
    struct options options;
    struct run_source source;
};

static void close_users(void *open)
{
    struct load *l = open;
    run_source_close(&l->source);
    free(l);
}

static int open_users(void *ctx, uint64_t n, uint64_t seed, void **open, struct source **source,
                      struct err *e)
{
    const struct run_source_opts *from = ctx;
    struct load *l = calloc(1, sizeof(*l));
    *open = NULL;
    if (!l)
        return err_nomem(e, "users");
    l->options = *from->options;
    l->options.users = n;
    l->options.seed = seed;
    struct run_source_opts opts = *from;
    opts.options = &l->options;
    const int rc = run_source_open(&l->source, &opts, e);
    if (rc < 0) {
        close_users(l);
        return rc;
    }
    *open = l;
    *source = l->source.source;
    return 0;
}

struct trial_load load_of_users(const struct run_source_opts *source)
{
    return (struct trial_load){
        .open = open_users, .close = close_users, .ctx = (struct run_source_opts *)source};
}
