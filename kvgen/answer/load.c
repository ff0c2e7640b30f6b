/* load.c - opens a run's source anew for each simulation. */
#include "kvgen/answer/load.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/units.h"

struct load {
    struct options options;
    struct run_source source;
};

static void close_load(void *open)
{
    struct load *l = open;
    run_source_close(&l->source);
    free(l);
}

/* Opens the source of l->options, and frees l where that fails. */
static int open_load(struct load *l, const struct load_opts *from, void **open,
                     struct source **source, struct err *e)
{
    struct run_source_opts opts = *from->source;
    opts.options = &l->options;
    opts.midway = true;
    int rc = l->options.input ? run_source_reopen(&l->source, &l->options, from->kind, e) : 0;
    if (rc == 0)
        rc = run_source_open(&l->source, &opts, e);
    if (rc < 0) {
        close_load(l);
        return rc;
    }
    *open = l;
    *source = l->source.source;
    return 0;
}

static struct load *copy_options(const struct load_opts *from, uint64_t seed)
{
    struct load *l = calloc(1, sizeof(*l));
    if (l) {
        l->options = *from->source->options;
        l->options.seed = seed;
    }
    return l;
}

static int open_users(void *ctx, uint64_t n, uint64_t seed, void **open, struct source **source,
                      struct err *e)
{
    struct load *l = copy_options(ctx, seed);
    *open = NULL;
    if (!l)
        return err_nomem(e, "users");
    l->options.users = n;
    l->options.replay_cycles = 0; /* agents: as long as it takes */
    return open_load(l, ctx, open, source, e);
}

static int open_rate(void *ctx, uint64_t n, uint64_t seed, void **open, struct source **source,
                     struct err *e)
{
    struct load *l = copy_options(ctx, seed);
    *open = NULL;
    if (!l)
        return err_nomem(e, "conversations");
    l->options.request_rate = (double)n / LOAD_SPEED;
    l->options.replay_cycles = 0;
    return open_load(l, ctx, open, source, e);
}

static int open_trace(void *ctx, uint64_t n, uint64_t seed, void **open, struct source **source,
                      struct err *e)
{
    struct load *l = copy_options(ctx, seed);
    *open = NULL;
    if (!l)
        return err_nomem(e, "requests");
    l->options.speed = (double)n / LOAD_SPEED;
    return open_load(l, ctx, open, source, e);
}

struct trial_load load_of_users(const struct load_opts *o)
{
    return (struct trial_load){.open = open_users,
                               .close = close_load,
                               .ctx = (struct load_opts *)o,
                               .unit = "users",
                               .users = true};
}

struct trial_load load_of_rate(const struct load_opts *o)
{
    return (struct trial_load){.open = open_rate,
                               .close = close_load,
                               .ctx = (struct load_opts *)o,
                               .unit = "thousandths of a request a second"};
}

/* Requests of a source, and the time from the first to the last. */
static int count_requests(struct source *source, uint64_t *requests, int64_t *span_ns,
                          struct err *e)
{
    int64_t arrival_ns, first_ns = 0;
    int rc;
    *requests = 0;
    *span_ns = 0;
    while ((rc = source->ops->peek(source, &arrival_ns, e)) > 0) {
        struct request r;
        source->ops->take(source, &r);
        if (source->ops->release)
            source->ops->release(source, &r);
        first_ns = *requests ? first_ns : arrival_ns;
        *span_ns = arrival_ns - first_ns;
        ++*requests;
    }
    return rc;
}

int load_of_trace(struct trial_load *load, double *requests_s, const struct load_opts *o,
                  struct err *e)
{
    struct source *source;
    void *open;
    int64_t span_ns;
    *load = (struct trial_load){.open = open_trace,
                                .close = close_load,
                                .ctx = (struct load_opts *)o,
                                .unit = "thousandths of its speed"};
    int rc = open_trace(load->ctx, LOAD_SPEED, o->source->options->seed, &open, &source, e);
    if (rc < 0)
        return rc;
    rc = count_requests(source, &load->requests, &span_ns, e);
    close_load(open);
    if (rc < 0)
        return rc;
    if (load->requests < LOAD_REQUESTS || span_ns <= 0)
        return err_set(e, -EINVAL, ERR_INPUT, o->source->options->input,
                       "%llu requests in %.0f s: --answer needs at least %d, over some time",
                       (unsigned long long)load->requests, (double)span_ns / UNITS_NS_PER_S,
                       LOAD_REQUESTS);
    *requests_s = (double)(load->requests - 1) * UNITS_NS_PER_S / (double)span_ns;
    return 0;
}
