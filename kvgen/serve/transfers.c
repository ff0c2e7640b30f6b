/* transfers.c - the list of transfers under way, and the servers that they pass: two directions of
 * the link, and reads and writes of files or, with a measured drive, both together. In front of
 * that one objects wait for a thread of their engine, in a line for each direction. */
#include "kvgen/serve/transfers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/base/units.h"
#include "lib/drive/share_server.h"

#define UNKNOWN INT64_MAX

struct under_way {
    struct transfer what;
    uint64_t keys, bytes;
    uint64_t step;    /* in which it began */
    uint64_t of_step; /* its step waits for it, and its output says so; 0: none does */
    int64_t end_ns;   /* UNKNOWN: not started, or the drive has it */
    uint64_t objects; /* that the drive has yet to end */
    bool link, files; /* what it passes */
    bool gpu;         /* a step's output reports it */
};

/* The tier of files, of one engine or several. */
struct server {
    int64_t free_ns[2]; /* reads, writes */
    struct share_server *drive;
    struct transfers **users; /* by number; NULL: has left */
    size_t count, cap;
};
enum {
    NUMBER_BITS = 48 /* of an object's tag; above: the number of its user */
};

/* Transfers that have objects which wait for a thread, from first to count: those before it are
 * over. */
struct line {
    struct waiting {
        uint64_t id, objects;
    } * list;
    size_t first, count, cap;
    uint64_t in_drive; /* objects that have a thread */
};

struct transfers {
    struct transfers_opts o;
    uint64_t link_bytes_s;   /* that are reached */
    int64_t link_free_ns[2]; /* up, down */
    struct server *server;
    uint64_t number;        /* among its users */
    struct line line[2];    /* reads, writes */
    struct under_way *list; /* in the order in which they began */
    size_t count, cap;
    struct transfers_waits waits; /* of the step under way */
    struct transfers_files files;
};

static void server_free(struct server *s)
{
    share_server_free(s->drive);
    free(s->users);
    free(s);
}

static struct server *server_create(const struct drive_model *drive)
{
    struct server *s = calloc(1, sizeof(*s));
    if (s && drive && !(s->drive = share_server_create(drive, 64))) {
        free(s);
        return NULL;
    }
    return s;
}

static int server_join(struct server *s, struct transfers *t)
{
    if (memory_room(&s->users, &s->cap, s->count, sizeof(*s->users), 1) < 0 ||
        s->count >> (64 - NUMBER_BITS))
        return -ENOMEM;
    t->server = s;
    t->number = s->count;
    s->users[s->count++] = t;
    return 0;
}

/* It goes with its last user. */
static void server_leave(struct server *s, const struct transfers *t)
{
    s->users[t->number] = NULL;
    for (size_t i = 0; i < s->count; i++)
        if (s->users[i])
            return;
    server_free(s);
}

struct transfers *transfers_create(const struct transfers_opts *o)
{
    struct transfers *t = calloc(1, sizeof(*t));
    if (!t)
        return NULL;
    t->o = *o;
    t->link_bytes_s = (uint64_t)((double)o->link_bytes_s * TRANSFERS_LINK_SHARE);
    struct server *server = o->with ? o->with->server : server_create(o->files->drive);
    if (!server || server_join(server, t)) {
        if (server && !o->with)
            server_free(server);
        free(t);
        return NULL;
    }
    return t;
}

void transfers_free(struct transfers *t)
{
    if (!t)
        return;
    server_leave(t->server, t);
    free(t->line[0].list);
    free(t->line[1].list);
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

/* A measured drive has its rate with nothing else in flight: these are single steps of an engine
 * that waits for them. It has as many objects of them at once as the engine has threads. */
static int64_t pass_files(struct transfers *t, bool read, int64_t now_ns, const struct under_way *u)
{
    const struct tier_model_path *path = read ? &t->o.files->read : &t->o.files->write;
    const uint64_t threads = t->o.threads[!read] ? t->o.threads[!read] : 1;
    const uint64_t depth = threads < u->keys ? threads : u->keys;
    if (!t->server->drive) {
        const int64_t end_ns =
            pass(&t->server->free_ns[!read], now_ns, time_ns(u->bytes, path->bytes_per_s)) +
            path->latency_ns;
        count_files(t, read, u->keys, end_ns - now_ns);
        return end_ns;
    }
    const uint64_t bytes = depth * t->o.chunk_bytes * t->o.ranks;
    const uint64_t rate = drive_model_rate(t->o.files->drive, depth, bytes, read ? bytes : 0);
    count_files(t, read, u->keys, time_ns(bytes, rate));
    return now_ns + time_ns(u->bytes, rate);
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

/* ---- a measured drive ---- */

/* An object of the transfer with that id. 0 or -ENOMEM. */
static int enter_drive(struct transfers *t, uint64_t id, bool read, int64_t now_ns)
{
    return share_server_add(t->server->drive, now_ns, t->o.chunk_bytes * t->o.ranks, read,
                            t->number << NUMBER_BITS | id);
}

/* Objects that wait in a line enter the drive, as far as there are threads. 0 or -ENOMEM. */
static int admit(struct transfers *t, bool read, int64_t now_ns)
{
    struct line *l = &t->line[!read];
    const uint64_t threads = t->o.threads[!read];
    while (l->first < l->count && (!threads || l->in_drive < threads)) {
        struct waiting *w = &l->list[l->first];
        if (enter_drive(t, w->id, read, now_ns))
            return -ENOMEM;
        l->in_drive++;
        if (--w->objects == 0)
            l->first++;
    }
    return 0;
}

/* The end of a line. What is over leaves once it is half of the line, so that each one moves once
 * on average. 0 or -ENOMEM. */
static int stand_in_line(struct line *l, uint64_t id, uint64_t objects)
{
    if (l->first > 0 && l->first * 2 >= l->count) {
        l->count -= l->first;
        memmove(l->list, l->list + l->first, l->count * sizeof(*l->list));
        l->first = 0;
    }
    if (memory_room(&l->list, &l->cap, l->count, sizeof(*l->list), 16) < 0)
        return -ENOMEM;
    l->list[l->count++] = (struct waiting){id, objects};
    return 0;
}

static int start_on_files(struct transfers *t, struct under_way *u, int64_t now_ns)
{
    const bool read = u->what.kind == KV_PROMOTE;
    if (!t->server->drive) {
        u->end_ns = pass_files(t, read, now_ns, u);
        return 0;
    }
    u->objects = u->keys;
    if (t->o.in_turn)
        return enter_drive(t, u->what.id, read, now_ns);
    const int rc = stand_in_line(&t->line[!read], u->what.id, u->keys);
    return rc ? rc : admit(t, read, now_ns);
}

/* An object of the transfer with that id is done. Another one enters in its place, which takes no
 * memory. */
static void end_object(struct transfers *t, uint64_t id, const struct share_server_end *end)
{
    for (size_t i = 0; i < t->count; i++) {
        struct under_way *u = &t->list[i];
        if (u->what.id != id)
            continue;
        const bool read = u->what.kind == KV_PROMOTE;
        count_files(t, read, 1, end->end_ns - end->begin_ns);
        if (--u->objects == 0)
            u->end_ns = end->end_ns;
        if (!t->o.in_turn) {
            t->line[!read].in_drive--;
            (void)admit(t, read, end->end_ns);
        } else if (u->objects > 0) {
            (void)enter_drive(t, id, read, end->end_ns);
        }
        return;
    }
}

/* Takes what the drive has done by now_ns, for any engine; one that has left hears nothing. */
static void look_at_drive(struct server *s, int64_t now_ns)
{
    struct share_server_end end;
    while (s->drive && share_server_take(s->drive, now_ns, &end)) {
        struct transfers *of = s->users[end.tag >> NUMBER_BITS];
        if (of)
            end_object(of, end.tag & ((UINT64_C(1) << NUMBER_BITS) - 1), &end);
    }
}

/* The step that begins now waits for that transfer, and its output says so; *most_ns: how long it
 * waits for all that are counted there. */
static void await(struct transfers *t, uint64_t id, int64_t now_ns, uint64_t step, int64_t *most_ns)
{
    for (size_t i = 0; i < t->count; i++) {
        struct under_way *u = &t->list[i];
        if (u->what.id != id)
            continue;
        if (u->end_ns == UNKNOWN)
            start_on_link(t, u, now_ns);
        u->of_step = step;
        if (u->end_ns - now_ns > *most_ns)
            *most_ns = u->end_ns - now_ns;
    }
}

int transfers_begin(struct transfers *t, const struct kv_transfer *what, int64_t now_ns,
                    uint64_t step)
{
    if (memory_room(&t->list, &t->cap, t->count, sizeof(*t->list), 64) < 0)
        return -ENOMEM;
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
        look_at_drive(t->server, now_ns);
        return start_on_files(t, u, now_ns);
    }
    if (what->in_step) { /* one after the other */
        const int64_t from_ns = now_ns + transfers_delay_ns(t);
        start_on_link(t, u, from_ns);
        if (what->kind == KV_LOAD && u->link) /* without what it waited for */
            t->waits.loading_ns += time_ns(u->bytes, t->link_bytes_s);
        await(t, what->id, now_ns, step, &t->waits.own_ns);
    }
    return 0;
}

void transfers_flush(struct transfers *t, uint64_t id, int64_t now_ns, uint64_t step)
{
    await(t, id, now_ns, step, &t->waits.flush_ns);
}

int64_t transfers_delay_ns(const struct transfers *t)
{
    return t->waits.own_ns > t->waits.flush_ns ? t->waits.own_ns : t->waits.flush_ns;
}

const struct transfers_waits *transfers_waits(const struct transfers *t)
{
    return &t->waits;
}

void transfers_start(struct transfers *t, int64_t end_ns)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->list[i].gpu && t->list[i].end_ns == UNKNOWN)
            start_on_link(t, &t->list[i], end_ns);
    t->waits = (struct transfers_waits){0};
}

int64_t transfers_next_ns(struct transfers *t, uint64_t step)
{
    int64_t next_ns = t->server->drive ? share_server_next_ns(t->server->drive) : INT64_MAX;
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
    look_at_drive(t->server, now_ns);
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
