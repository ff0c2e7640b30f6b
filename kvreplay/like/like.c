/* Between the scheduler and the calls (calls.c): lines of operations with worker threads behind
 * each. Stores and loads share a line or have one each, as the engine does it; lookups and
 * evictions have a thread of their own. A worker makes or checks data in the engine's pool
 * (pool.c); its time there is not the file store's, so it is taken out of an operation's, which is
 * waiting and calls. */
#include "kvreplay/like/like.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kvreplay/like/calls.h"
#include "kvreplay/like/pool.h"
#include "lib/base/clock.h"
#include "lib/base/units.h"
#include "lib/io/target_device.h"
#include "lib/thread/thread.h"
#include "lib/tier/stored.h"

#define LIKE_EVICTIONS 64u /* taken at once */
#define LIKE_WORKERS   (2 * URI_WORKERS_MAX + 2)
#define LIKE_POOL      (UINT64_C(256) << 20) /* unless pool= says another size */
#define LIKE_BEFORE    (UINT64_C(512) << 20) /* what an engine takes before it, at most */

enum line_of {
    LINE_STORE,
    LINE_LOAD,
    LINE_LOOKUP,
    LINE_EVICT,
    LINES
};

/* Operations that wait for a worker, first in first out. */
struct line {
    pthread_mutex_t lock;
    pthread_cond_t work;
    struct tier_op *head, **tail;
    bool stop;
    struct worker *worker; /* of the line; under the lock only their request */
    unsigned workers;
};

struct worker {
    struct like *like;
    struct line *line;
    uint64_t request; /* whose operation it serves; 0: none */
    int64_t data_ns;  /* of its operation: all but waiting and calls */
    pthread_t thread;
};

struct like {
    struct tier tier;
    struct like_calls calls;
    struct line line[LINES];
    struct worker worker[LIKE_WORKERS];
    unsigned workers; /* in all */
    bool lines_ready; /* their locks are made */
    struct like_pool *pool;
    size_t largest;                 /* object that a worker may move, in whole blocks */
    void *block;                    /* one, for adopting */
    _Atomic(struct tier_op *) done; /* the last one first */
    struct tier_op *taken;          /* of these, in order: the scheduler's */
    struct bell *bell;
    struct gap_list *gaps;
    unsigned inside, max_ops;
    uint32_t shape;
    atomic_uint_least64_t ios;
    atomic_int_least64_t io_ns;
    struct tier_info info; /* all but the counts of I/Os */
};

/* ---- a worker ---- */

static bool is_served(const struct line *l, uint64_t request)
{
    for (unsigned i = 0; request && i < l->workers; i++)
        if (l->worker[i].request == request)
            return true;
    return false;
}

/* The first operation whose request no other worker serves; NULL: none. Under the lock. */
static struct tier_op *line_take(struct line *l)
{
    for (struct tier_op **at = &l->head, *op; (op = *at) != NULL; at = &op->next) {
        if (is_served(l, op->request))
            continue;
        *at = op->next;
        if (!*at)
            l->tail = at;
        op->next = NULL;
        return op;
    }
    return NULL;
}

/* Waits for work: up to max operations. 0: the end. */
static unsigned worker_take(struct worker *w, struct tier_op **ops, unsigned max)
{
    struct line *l = w->line;
    unsigned n = 0;

    pthread_mutex_lock(&l->lock);
    if (w->request && l->head) /* the next of its request may go now */
        pthread_cond_broadcast(&l->work);
    w->request = 0;
    while (!l->stop && !(ops[0] = line_take(l)))
        pthread_cond_wait(&l->work, &l->lock);
    if (!l->stop) {
        w->request = ops[0]->request;
        for (n = 1; n < max && (ops[n] = line_take(l)) != NULL;)
            n++;
    }
    pthread_mutex_unlock(&l->lock);
    return n;
}

static void worker_done(struct worker *w, struct tier_op *op)
{
    struct like *k = w->like;

    op->done_ns = clock_now_ns() - w->data_ns;
    op->device_ns = tier_parts_device_ns(&op->part);
    op->next = atomic_load_explicit(&k->done, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&k->done, &op->next, op, memory_order_release,
                                                  memory_order_relaxed))
        ;
    bell_ring(k->bell);
}

static void store(struct worker *w, struct tier_op *op)
{
    struct like *k = w->like;

    op->place = NULL;
    if (op->size > k->largest) {
        op->status = -EFBIG;
        return;
    }
    int64_t begin_ns = clock_now_ns();
    void *buf = like_pool_take(k->pool, DATA_PADDED(op->size));
    data_fill(buf, DATA_PADDED(op->size), &op->id, 0);
    w->data_ns = clock_now_ns() - begin_ns;
    op->status = like_store(&k->calls, op, (unsigned)(w - k->worker), buf);
    like_pool_give(k->pool, buf);
    if (op->status == 0)
        op->place = (void *)(uintptr_t)op->size;
}

static int check(struct tier_op *op, const char *buf, uint64_t bytes)
{
    uint64_t whole = bytes / DATA_BLOCK * DATA_BLOCK;
    int rc = 0;

    if (op->verify == TIER_VERIFY_NONE)
        return 0;
    if (whole > 0)
        rc = op->verify == TIER_VERIFY_FULL
                 ? data_check_full(buf, whole, &op->id, 0, &op->fault)
                 : data_check_headers(buf, whole, &op->id, 0, &op->fault);
    if (rc == 0 && bytes > whole)
        rc = data_check_part(buf + whole, bytes - whole, &op->id, whole / DATA_BLOCK, &op->fault);
    return rc;
}

/* All of the object, however much of it the row reads. Its place is its length. */
static void load(struct worker *w, struct tier_op *op)
{
    struct like *k = w->like;
    uint64_t bytes = (uint64_t)(uintptr_t)op->place, got;

    if (op->size > bytes || bytes > k->largest) {
        op->status = op->size > bytes ? -EINVAL : -EFBIG;
        return;
    }
    int64_t begin_ns = clock_now_ns();
    void *buf = like_pool_take(k->pool, bytes);
    w->data_ns = clock_now_ns() - begin_ns;
    op->status = like_load(&k->calls, op, buf, bytes, &got);
    if (op->status == -ENODATA) {
        op->status = -EBADMSG;
        op->fault =
            (struct data_fault){.kind = DATA_FAULT_END, .block = got / DATA_BLOCK, .offset = got};
    } else if (op->status == 0) {
        begin_ns = clock_now_ns();
        op->status = check(op, buf, bytes);
        w->data_ns += clock_now_ns() - begin_ns;
    }
    like_pool_give(k->pool, buf);
    if (op->drop && op->status == 0) {
        op->status = like_evict(&k->calls, op->name, &op->part);
        op->place = NULL;
    }
}

static void serve(struct worker *w, struct tier_op *op)
{
    struct like *k = w->like;

    w->data_ns = 0;
    op->part.slot_ns = clock_now_ns() - op->start_ns;
    switch (op->verb) {
    case TIER_WRITE:
        store(w, op);
        break;
    case TIER_READ:
        load(w, op);
        break;
    case TIER_LOOKUP:
        op->status = like_lookup(&k->calls, op->name, &op->part);
        break;
    case TIER_DELETE:
        op->status = like_evict(&k->calls, op->name, &op->part);
        op->place = NULL;
        break;
    }
    if (op->part.io_ns > 0) {
        atomic_fetch_add_explicit(&k->ios, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&k->io_ns, op->part.io_ns, memory_order_relaxed);
    }
}

static void *worker_main(void *arg)
{
    struct worker *w = arg;
    unsigned max = w->line == &w->like->line[LINE_EVICT] ? LIKE_EVICTIONS : 1, n;
    struct tier_op *ops[LIKE_EVICTIONS];
    struct gap_loop gaps;

    gap_loop_open(&gaps, w->like->gaps, GAPS_OF_ENGINE, "storage", (unsigned)(w - w->like->worker));
    while ((n = worker_take(w, ops, max)) > 0) {
        int64_t turn_ns = clock_now_ns();

        for (unsigned i = 0; i < n; i++) {
            serve(w, ops[i]);
            gap_loop_look(&gaps, turn_ns, clock_now_ns());
            worker_done(w, ops[i]);
        }
    }
    gap_loop_close(&gaps);
    return NULL;
}

/* ---- the scheduler's side ---- */

static struct line *line_for(struct like *k, enum tier_verb verb)
{
    static const enum line_of of[] = {[TIER_WRITE] = LINE_STORE,
                                      [TIER_READ] = LINE_LOAD,
                                      [TIER_LOOKUP] = LINE_LOOKUP,
                                      [TIER_DELETE] = LINE_EVICT};
    struct line *l = &k->line[of[verb]];

    return l->workers ? l : &k->line[LINE_STORE];
}

static int like_submit(struct tier *tier, struct tier_op *op)
{
    struct like *k = (struct like *)tier;
    struct line *l = line_for(k, op->verb);

    if (k->inside == k->max_ops)
        return -EAGAIN;
    k->inside++;
    op->start_ns = clock_now_ns();
    op->status = 0;
    op->part = (struct tier_parts){0};
    op->fault.kind = DATA_FAULT_NONE;
    op->id.shape = k->shape;
    op->next = NULL;
    pthread_mutex_lock(&l->lock);
    *l->tail = op;
    l->tail = &op->next;
    pthread_cond_signal(&l->work);
    pthread_mutex_unlock(&l->lock);
    return 0;
}

static void like_kick(struct tier *tier)
{
    (void)tier; /* workers were told at once */
}

static size_t like_poll(struct tier *tier, struct tier_op **done, size_t max)
{
    struct like *k = (struct like *)tier;
    size_t n = 0;

    if (!k->taken) { /* puts them in order */
        struct tier_op *op = atomic_exchange_explicit(&k->done, NULL, memory_order_acquire), *next;

        for (; op; op = next) {
            next = op->next;
            op->next = k->taken;
            k->taken = op;
        }
    }
    for (; n < max && k->taken; k->taken = k->taken->next)
        done[n++] = k->taken;
    k->inside -= (unsigned)n;
    return n;
}

static int64_t like_next_ns(struct tier *tier)
{
    return ((struct like *)tier)->taken ? 0 : INT64_MAX;
}

static int like_adopt(struct tier *tier, struct tier_op *op, uint64_t *size, uint64_t *generation)
{
    struct like *k = (struct like *)tier;
    struct data_id id = {.key = op->id.key, .shape = k->shape};
    int fd = like_find(&k->calls, op->name, size), rc;

    if (fd < 0)
        return fd;
    /* One without a whole header does not say which write it is of: it must be written anew. */
    rc = *size < DATA_HEADER ? -EPROTOTYPE : stored_generation(fd, 0, k->block, &id);
    *generation = id.generation;
    if (rc == 0 && op->verify != TIER_VERIFY_NONE)
        rc = stored_check_file(fd, 0, *size / DATA_BLOCK * DATA_BLOCK, &id, 0);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    close(fd);
    if (rc == 0)
        op->place = (void *)(uintptr_t)*size;
    return rc;
}

static void like_describe(const struct tier *tier, struct tier_info *info)
{
    const struct like *k = (const struct like *)tier;

    *info = k->info;
    info->ios = atomic_load_explicit(&k->ios, memory_order_relaxed);
    info->io_ns = atomic_load_explicit(&k->io_ns, memory_order_relaxed);
}

static bool like_lost(const struct tier *tier)
{
    return lease_lost(((const struct like *)tier)->calls.lease);
}

/* Also what was opened in part. */
static int like_close(struct tier *tier, struct err *e)
{
    struct like *k = (struct like *)tier;

    (void)e;
    for (unsigned i = 0; k->lines_ready && i < LINES; i++) {
        pthread_mutex_lock(&k->line[i].lock);
        k->line[i].stop = true;
        pthread_cond_broadcast(&k->line[i].work);
        pthread_mutex_unlock(&k->line[i].lock);
    }
    for (unsigned i = 0; i < k->workers; i++)
        pthread_join(k->worker[i].thread, NULL);
    for (unsigned i = 0; k->lines_ready && i < LINES; i++) {
        pthread_cond_destroy(&k->line[i].work);
        pthread_mutex_destroy(&k->line[i].lock);
    }
    like_calls_close(&k->calls);
    like_pool_close(k->pool);
    free(k->block);
    free(k);
    return 0;
}

static const struct tier_ops like_ops = {
    .submit = like_submit,
    .kick = like_kick,
    .poll = like_poll,
    .next_ns = like_next_ns,
    .adopt = like_adopt,
    .describe = like_describe,
    .lost = like_lost,
    .close = like_close,
};

/* ---- opening ---- */

/* How many threads each line has. */
static void count_workers(const struct like *k, const struct uri *u, unsigned count[LINES])
{
    const struct like_profile *p = k->calls.profile;

    count[LINE_STORE] = u->workers ? u->workers : p->workers;
    count[LINE_LOAD] = u->load_workers ? u->load_workers : p->load_workers;
    count[LINE_LOOKUP] = count[LINE_EVICT] = 1;
}

/* A quarter of the host's memory, which no pool exceeds. */
static uint64_t memory_share(void)
{
    return (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 4;
}

static uint64_t taken_before(uint64_t pool, enum io_pages pages)
{
    uint64_t most = memory_share() / 2, before = 2 * pool;

    if (most > LIKE_BEFORE)
        most = LIKE_BEFORE;
    return pages != IO_PAGES_PLAIN ? 0 : before < most ? before : most;
}

/* The pool's size: no more is written than the trace can use. */
static uint64_t size_pool(const struct like *k, const struct tier_like_opts *o, unsigned moving)
{
    uint64_t bytes = o->uri->pool_bytes ? o->uri->pool_bytes : LIKE_POOL;

    if (!o->uri->pool_bytes && bytes > memory_share())
        bytes = memory_share();
    if (o->largest == 0)
        return bytes;
    if (bytes < moving * k->largest)
        bytes = moving * k->largest;
    if (o->moves < bytes / k->largest)
        bytes = (o->moves ? o->moves : 1) * k->largest;
    return bytes;
}

static int make_pool(struct like *k, const struct tier_like_opts *o, struct err *e)
{
    static const enum io_pages of[] = {[URI_PAGES_DEFAULT] = IO_PAGES_PLAIN,
                                       [URI_PAGES_ENGINE] = IO_PAGES_PLAIN,
                                       [URI_PAGES_HUGE] = IO_PAGES_HUGE,
                                       [URI_PAGES_SMALL] = IO_PAGES_SMALL};
    static const char *const word[] = {
        [IO_PAGES_PLAIN] = "the engine's", [IO_PAGES_HUGE] = "huge", [IO_PAGES_SMALL] = "small"};
    enum io_pages pages = of[o->uri->pages];
    struct tier_info *info = &k->info;
    unsigned count[LINES];
    char size[32], run[64] = "";

    count_workers(k, o->uri, count);
    unsigned moving = count[LINE_STORE] + count[LINE_LOAD];
    uint64_t bytes = size_pool(k, o, moving);
    int rc = like_pool_open(&k->pool, &(struct like_pool_opts){.before = taken_before(bytes, pages),
                                                               .bytes = bytes,
                                                               .largest = k->largest,
                                                               .in_use = moving,
                                                               .pages = pages});
    if (rc < 0)
        return err_nomem(e, "buffers of the workers");
    info->huge_pages = like_pool_huge(k->pool);
    info->engine_pages = pages == IO_PAGES_PLAIN;
    info->pages_run = like_pool_run(k->pool);
    if (pages == IO_PAGES_HUGE && info->huge_pages == 0)
        pages = IO_PAGES_SMALL;
    if (info->pages_run > 0)
        snprintf(run, sizeof(run), ", in runs of %.1f on average", info->pages_run);
    notes_add(&info->flags, "buffers in %s pages, a pool of %s%s", word[pages],
              units_format_bytes(size, sizeof(size), (double)bytes), run);
    return 0;
}

static int start_worker(struct like *k, struct err *e)
{
    struct worker *w = &k->worker[k->workers];
    int rc = thread_start(&w->thread, worker_main, w);

    if (rc < 0)
        return thread_refused(e, rc, "a worker");
    k->workers++;
    return 0;
}

static int start_workers(struct like *k, const struct uri *u, struct err *e)
{
    unsigned count[LINES], first = 0;
    int rc = 0;

    count_workers(k, u, count);
    for (unsigned i = 0; i < LINES; i++) {
        struct line *l = &k->line[i];

        pthread_mutex_init(&l->lock, NULL);
        pthread_cond_init(&l->work, NULL);
        l->tail = &l->head;
        l->worker = &k->worker[first];
        l->workers = count[i];
        for (unsigned n = 0; n < count[i]; n++)
            l->worker[n] = (struct worker){.like = k, .line = l};
        first += count[i];
    }
    k->lines_ready = true;
    for (unsigned i = 0; i < LINES; i++)
        for (unsigned n = 0; n < count[i] && rc == 0; n++)
            rc = start_worker(k, e);
    k->info.threads = k->workers;
    if (count[LINE_LOAD])
        notes_add(&k->info.flags, "%u workers store, %u load", count[LINE_STORE], count[LINE_LOAD]);
    else
        notes_add(&k->info.flags, "%u worker%s", count[LINE_STORE],
                  units_plural(count[LINE_STORE]));
    return rc;
}

/* Decides how the calls are made. */
static void choose_calls(struct like *k, const struct tier_like_opts *o)
{
    const struct uri *u = o->uri;
    const struct like_profile *p = like_profile(u->like);
    bool wants = u->direct == URI_CHOICE_DEFAULT ? p->direct : u->direct == URI_CHOICE_YES;
    struct like_calls *c = &k->calls;

    *c = (struct like_calls){.profile = p,
                             .lease = o->lease,
                             .dirfd = -1,
                             .direct = wants && target_direct_io(o->dirfd),
                             .drop = u->keeps_cache == URI_CHOICE_NO,
                             .sync_objects = o->sync_objects};
    k->info.engine = uri_like_text(u->like);
    k->info.verifies = k->info.looks_up = true;
    k->info.registered = 0;
    k->info.direct = c->direct;
    k->info.keeps_cache = !c->direct && !c->drop;
    notes_add(&k->info.flags, "%s",
              c->direct ? "O_DIRECT"
              : c->drop ? "buffered, page cache dropped after each object"
                        : "buffered, page cache kept");
    notes_add(&k->info.flags, "as %s does it", p->source);
    if (wants && !c->direct)
        notes_add(&k->info.fallbacks, "no O_DIRECT: buffered I/O");
    if (!p->evicts)
        notes_add(&k->info.flags, "the engine removes nothing: Delete rows unlink all the same");
    if (o->sync_objects)
        notes_add(&k->info.flags, "objects synced");
}

static int check_opts(const struct tier_like_opts *o, const struct like *k, struct err *e)
{
    unsigned count[LINES];
    char size[32];

    if (o->largest > LIKE_OBJECT_MAX)
        return err_set(e, -EINVAL, ERR_INPUT, "--target",
                       "like=%s moves an object of at most 256 MiB with one call, and the trace "
                       "has one of %s: make it with kvgen --granularity block:256",
                       k->info.engine, units_format_bytes(size, sizeof(size), (double)o->largest));
    /* Better refused now than killed for it later. */
    count_workers(k, o->uri, count);
    unsigned moving = count[LINE_STORE] + count[LINE_LOAD];
    if (moving * o->largest > memory_share())
        return err_set(e, -ENOMEM, ERR_INPUT, "--target",
                       "buffers of %s for %u workers need more than a quarter of memory: use "
                       "workers= and load-workers=",
                       units_format_bytes(size, sizeof(size), (double)o->largest), moving);
    if (o->uri->pool_bytes > memory_share())
        return err_set(e, -ENOMEM, ERR_INPUT, "--target",
                       "pool=%s is more than a quarter of memory",
                       units_format_bytes(size, sizeof(size), (double)o->uri->pool_bytes));
    return 0;
}

int tier_like_open(struct tier **out, const struct tier_like_opts *o, struct bell *bell,
                   struct err *e)
{
    struct like *k = calloc(1, sizeof(*k));
    struct target_device d;
    int rc;

    if (!k)
        return err_nomem(e, "storage tier");
    k->tier.ops = &like_ops;
    k->bell = bell;
    k->gaps = o->gaps;
    k->max_ops = o->max_ops;
    k->shape = o->shape;
    k->largest = DATA_PADDED(o->largest ? o->largest : LIKE_OBJECT_MAX);
    choose_calls(k, o);
    snprintf(k->info.target, sizeof(k->info.target), "%s", o->path);
    target_device_find(o->dirfd, &d);
    if (d.model[0])
        snprintf(k->info.device, sizeof(k->info.device), "%s (%s)", d.model, d.name);
    else
        snprintf(k->info.device, sizeof(k->info.device), "%s", d.name);
    rc = check_opts(o, k, e);
    if (rc == 0 && posix_memalign(&k->block, DATA_BLOCK, DATA_BLOCK) != 0) {
        k->block = NULL;
        rc = err_nomem(e, "storage tier");
    }
    if (rc == 0)
        rc = like_calls_open(&k->calls, o->dirfd, o->path, e);
    if (rc == 0)
        rc = make_pool(k, o, e);
    if (rc == 0)
        rc = start_workers(k, o->uri, e);
    if (rc < 0)
        like_close(&k->tier, NULL);
    else
        *out = &k->tier;
    return rc;
}
