/* transfers.c - the list of transfers under way, and the servers that they pass: two directions of
 * the link, and reads and writes of files or, with a measured drive, both together. */
#include "kvgen/serve/transfers.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/memory.h"
#include "lib/base/units.h"
#include "lib/drive/share_server.h"

#define UNKNOWN INT64_MAX

struct under_way {
    struct transfer what;
    uint64_t keys, bytes;
    uint64_t step;    /* in which it began */
    uint64_t of_step; /* its step waits for it, and its output says so; 0: none does */
    int64_t end_ns;   /* UNKNOWN: not started, or a shared server has it */
    uint64_t objects; /* in the shared server */
    bool link, files; /* what it passes */
    bool gpu;         /* a step's output reports it */
};

struct transfers {
    struct transfers_opts o;
    uint64_t link_bytes_s;   /* that are reached */
    int64_t link_free_ns[2]; /* up, down */
    int64_t file_free_ns[2]; /* reads, writes */
    struct share_server *shared;
    struct under_way *list; /* in the order in which they began */
    size_t count, cap;
    int64_t delay_ns;
    struct transfers_files files;
};

struct transfers *transfers_create(const struct transfers_opts *o)
{
    struct transfers *t = calloc(1, sizeof(*t));
    if (!t)
        return NULL;
    t->o = *o;
    t->link_bytes_s = (uint64_t)((double)o->link_bytes_s * TRANSFERS_LINK_SHARE);
    if (o->files->drive && !(t->shared = share_server_create(o->files->drive, 64))) {
        free(t);
        return NULL;
    }
    return t;
}

void transfers_free(struct transfers *t)
{
    if (!t)
        return;
    share_server_free(t->shared);
    free(t->list);
    free(t);
}

/* bytes / rate, rounded up; 0 without a rate. */
static int64_t time_ns(uint64_t bytes, uint64_t rate)
{
    if (!rate)
        return 0;
    return (int64_t)(((unsigned __int128)bytes * (uint64_t)UNITS_NS_PER_S + rate - 1) / rate);
}

/* Passes a server that takes one after the other. */
static int64_t pass(int64_t *free_ns, int64_t now_ns, int64_t takes_ns)
{
    *free_ns = (*free_ns > now_ns ? *free_ns : now_ns) + takes_ns;
    return *free_ns;
}

static void count_files(struct transfers *t, bool read, uint64_t objects, int64_t each_ns)
{
    t->files.objects[!read] += objects;
    t->files.bytes[!read] += objects * t->o.chunk_bytes * t->o.ranks;
    t->files.in_flight_ns[!read] += (int64_t)objects * each_ns;
}

/* Of a measured drive the rate with nothing else in flight: these are single steps of an engine
 * that waits for them. */
static int64_t pass_files(struct transfers *t, bool read, int64_t now_ns, const struct under_way *u)
{
    const struct tier_model_path *path = read ? &t->o.files->read : &t->o.files->write;
    int64_t end_ns;
    if (!t->shared)
        end_ns = pass(&t->file_free_ns[!read], now_ns, time_ns(u->bytes, path->bytes_per_s)) +
                 path->latency_ns;
    else
        end_ns = now_ns + time_ns(u->bytes, drive_model_rate(t->o.files->drive, 1, u->bytes,
                                                             read ? u->bytes : 0));
    count_files(t, read, u->keys, end_ns - now_ns);
    return end_ns;
}

/* Over the link, if the GPU is an end of it; what comes from files passes those first, and what
 * goes to them afterwards. */
static void start_on_link(struct transfers *t, struct under_way *u, int64_t now_ns)
{
    const bool down = u->what.kind == KV_STORE;
    int64_t at_ns = now_ns;
    if (u->files && !down)
        at_ns = pass_files(t, true, at_ns, u);
    if (u->link)
        at_ns = pass(&t->link_free_ns[down], at_ns, time_ns(u->bytes, t->link_bytes_s));
    if (u->files && down)
        at_ns = pass_files(t, false, at_ns, u);
    u->end_ns = at_ns + (u->what.kind == KV_LOAD ? t->o.load_ns : 0);
}

static int start_on_files(struct transfers *t, struct under_way *u, int64_t now_ns)
{
    const bool read = u->what.kind == KV_PROMOTE;
    if (!t->shared) {
        u->end_ns = pass_files(t, read, now_ns, u);
        return 0;
    }
    for (u->objects = 0; u->objects < u->keys; u->objects++)
        if (share_server_add(t->shared, now_ns, t->o.chunk_bytes * t->o.ranks, read, u->what.id))
            return -ENOMEM;
    return 0;
}

/* What the shared server has done by now_ns. */
static void look_at_shared(struct transfers *t, int64_t now_ns)
{
    struct share_server_end end;
    while (t->shared && share_server_take(t->shared, now_ns, &end))
        for (size_t i = 0; i < t->count; i++) {
            struct under_way *u = &t->list[i];
            if (u->what.id != end.tag)
                continue;
            count_files(t, u->what.kind == KV_PROMOTE, 1, end.end_ns - end.begin_ns);
            if (--u->objects == 0)
                u->end_ns = end.end_ns;
        }
}

int transfers_begin(struct transfers *t, const struct kv_transfer *what, int64_t now_ns,
                    uint64_t step)
{
    struct under_way *grown = memory_grow(t->list, &t->cap, t->count, sizeof(*grown), 64);
    if (!grown)
        return -ENOMEM;
    t->list = grown;
    struct under_way *u = &t->list[t->count++];
    *u = (struct under_way){.what = {what->id, what->kind, what->request},
                            .keys = what->count,
                            .bytes = what->count * t->o.chunk_bytes * t->o.ranks,
                            .step = step,
                            .end_ns = UNKNOWN,
                            .link = what->from == TRACE_GPU || what->to == TRACE_GPU,
                            .files = what->from == TRACE_STORAGE || what->to == TRACE_STORAGE};
    u->gpu = u->link || what->in_step;
    if (!u->gpu) {
        look_at_shared(t, now_ns);
        return start_on_files(t, u, now_ns);
    }
    if (what->in_step) { /* one after the other */
        start_on_link(t, u, now_ns + t->delay_ns);
        transfers_flush(t, what->id, now_ns, step);
    }
    return 0;
}

void transfers_flush(struct transfers *t, uint64_t id, int64_t now_ns, uint64_t step)
{
    for (size_t i = 0; i < t->count; i++) {
        struct under_way *u = &t->list[i];
        if (u->what.id != id)
            continue;
        if (u->end_ns == UNKNOWN)
            start_on_link(t, u, now_ns);
        u->of_step = step;
        if (u->end_ns - now_ns > t->delay_ns)
            t->delay_ns = u->end_ns - now_ns;
    }
}

int64_t transfers_delay_ns(const struct transfers *t)
{
    return t->delay_ns;
}

void transfers_start(struct transfers *t, int64_t end_ns)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->list[i].gpu && t->list[i].end_ns == UNKNOWN)
            start_on_link(t, &t->list[i], end_ns);
    t->delay_ns = 0;
}

int64_t transfers_next_ns(struct transfers *t, uint64_t step)
{
    int64_t next_ns = t->shared ? share_server_next_ns(t->shared) : INT64_MAX;
    for (size_t i = 0; i < t->count; i++)
        if (t->list[i].step < step && t->list[i].end_ns < next_ns)
            next_ns = t->list[i].end_ns;
    return next_ns;
}

bool transfers_since(const struct transfers *t, uint64_t step)
{
    return t->count && t->list[t->count - 1].step >= step;
}

bool transfers_take(struct transfers *t, bool gpu, int64_t now_ns, uint64_t step,
                    struct transfer *out)
{
    look_at_shared(t, now_ns);
    for (size_t i = 0; i < t->count; i++) {
        const struct under_way *u = &t->list[i];
        if (u->gpu != gpu || u->end_ns > now_ns)
            continue;
        if (gpu && (u->of_step ? u->of_step : u->step + 1) > step)
            continue;
        *out = u->what;
        for (t->count--; i < t->count; i++)
            t->list[i] = t->list[i + 1];
        return true;
    }
    return false;
}

uint64_t transfers_count(const struct transfers *t)
{
    return t->count;
}

const struct transfers_files *transfers_files(const struct transfers *t)
{
    return &t->files;
}
