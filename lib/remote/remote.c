/* The tier behind the engines of remote stores. The scheduler's thread submits and polls; the
 * engine's thread does all I/O. Whose the store is, lib/owner says, which renews the marker too. */
#include "lib/remote/remote.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/hash.h"
#include "lib/base/units.h"
#include "lib/io/gap_list.h"
#include "lib/layout/place.h"
#include "lib/thread/spsc.h"
#include "lib/thread/thread.h"
#include "lib/tier/stored.h"

struct remote {
    struct tier tier;
    const struct remote_engine *engine;
    void *state;
    const struct remote_control *control;
    struct bell *bell;        /* the scheduler's */
    struct spsc *todo, *done; /* to the engine's thread and back */
    struct gap_list *gaps;
    struct gap_loop loop; /* the engine's thread's */
    unsigned inside, max_ops;
    uint32_t shape;
    struct place_epochs epochs;
    bool kicked, keep;
    atomic_bool stop;
    atomic_bool torn; /* remote_tears */
    struct owner owner;
    bool runs;
    pthread_t run_thread;
};

enum {
    PAUSE_DOUBLINGS = 6 /* 50 ms, 100 ms ... 3.2 s */
};
#define PAUSE_FIRST_NS INT64_C(50000000)

/* ---- the engine's thread ---- */

struct tier_op *remote_take(struct remote *r)
{
    return spsc_pop(r->todo);
}

uint32_t remote_name_epoch(const struct remote *r, const void *place)
{
    return place_epochs_get(&r->epochs, place);
}

bool remote_stopping(const struct remote *r)
{
    return atomic_load_explicit(&r->stop, memory_order_acquire);
}

struct lease *remote_lease(const struct remote *r)
{
    return r->owner.lease;
}

void remote_tears(struct remote *r)
{
    atomic_store_explicit(&r->torn, true, memory_order_relaxed);
}

void remote_done(struct remote *r, struct tier_op *op, int64_t at_ns)
{
    op->done_ns = at_ns;
    gap_loop_look(&r->loop, op->start_ns, op->done_ns);
    (void)spsc_push(r->done, op); /* has room for max_ops */
    bell_ring(r->bell);
}

int64_t remote_pause_ns(const struct tier_op *op, unsigned attempt)
{
    unsigned doublings = attempt - 1 < PAUSE_DOUBLINGS ? attempt - 1 : PAUSE_DOUBLINGS;
    int64_t most = PAUSE_FIRST_NS << doublings;

    return most / 2 + (int64_t)(hash_mix(op->name.lo + attempt) % (uint64_t)(most / 2));
}

static void *run_main(void *arg)
{
    struct remote *r = arg;

    gap_loop_open(&r->loop, r->gaps, GAPS_OF_ENGINE, r->engine->name, 0);
    r->engine->run(r, r->state);
    gap_loop_close(&r->loop);
    return NULL;
}

/* ---- the scheduler's side ---- */

static int remote_submit(struct tier *tier, struct tier_op *op)
{
    struct remote *r = (struct remote *)tier;

    if (r->inside == r->max_ops)
        return -EAGAIN;
    r->inside++;
    op->start_ns = clock_now_ns();
    op->status = 0;
    op->code[0] = op->said[0] = '\0';
    op->part = (struct tier_parts){0};
    op->device_ns = 0;
    op->fault.kind = DATA_FAULT_NONE;
    op->id.shape = r->shape;
    (void)spsc_push(r->todo, op);
    r->kicked = true;
    return 0;
}

static void remote_kick(struct tier *tier)
{
    struct remote *r = (struct remote *)tier;

    if (r->kicked)
        r->engine->wake(r->state);
    r->kicked = false;
}

static size_t remote_poll(struct tier *tier, struct tier_op **done, size_t max)
{
    struct remote *r = (struct remote *)tier;
    size_t n = 0;

    while (n < max && (done[n] = spsc_pop(r->done)))
        n++;
    r->inside -= (unsigned)n;
    return n;
}

static int64_t remote_next_ns(struct tier *tier)
{
    (void)tier;
    return INT64_MAX;
}

/* The object that is adopted. */
struct adopted {
    const struct remote *r;
    const struct tier_op *op;
};

static ssize_t read_blocks(void *ctx, uint64_t at, void *buf, size_t len)
{
    const struct adopted *a = ctx;

    return a->r->control->blocks(a->r->control->store.ctx, a->op, at, buf, len);
}

static int remote_adopt(struct tier *tier, struct tier_op *op, uint64_t *size, uint64_t *generation)
{
    struct remote *r = (struct remote *)tier;
    struct adopted a = {.r = r, .op = op};
    unsigned char block[DATA_BLOCK];

    *generation = 0;
    op->id.shape = r->shape;
    int rc = r->control->first(r->control->store.ctx, op, block, size);
    if (rc == 0)
        rc = stored_identify(block, &op->id, generation);
    op->id.generation = rc == 0 ? *generation : 0;
    if (rc == 0 && op->verify != TIER_VERIFY_NONE)
        rc = *size % DATA_BLOCK ? -EBADMSG : stored_check(read_blocks, &a, *size, &op->id, 0);
    if (rc < 0)
        return rc;
    if (r->control->stored)
        r->control->stored(r->control->store.ctx, 1, (int64_t)*size);
    return place_epochs_place(&r->epochs, op->epoch, *size, &op->place);
}

static int remote_names(struct tier *tier,
                        int (*visit)(void *ctx, struct hash128 name, uint32_t epoch), void *ctx,
                        struct err *e)
{
    const struct remote *r = (const struct remote *)tier;
    struct owner_found found = {.visit = visit, .ctx = ctx};
    int rc = r->owner.store->look(r->owner.store->ctx, &found, e);

    return rc == 0 && found.failed < 0 ? err_nomem(e, "list of objects") : rc;
}

static int remote_place(struct tier *tier, uint32_t epoch, uint64_t bytes, void **place)
{
    return place_epochs_place(&((struct remote *)tier)->epochs, epoch, bytes, place);
}

const struct inventory_store *tier_remote_list(const struct tier *tier)
{
    return ((const struct remote *)tier)->owner.store->list;
}

struct lease *tier_remote_lease(const struct tier *tier)
{
    return remote_lease((const struct remote *)tier);
}

uint32_t tier_remote_epoch(const struct tier *tier)
{
    return ((const struct remote *)tier)->epochs.own;
}

static void remote_describe(const struct tier *tier, struct tier_info *info)
{
    const struct remote *r = (const struct remote *)tier;

    *info = (struct tier_info){
        .verifies = true, .threads = 1, .huge_pages = -1, .registered = -1, .direct = -1};
    r->engine->describe(r->state, info);
}

void tier_remote_look(const struct tier *tier, struct tier_remote_facts *f)
{
    const struct remote *r = (const struct remote *)tier;

    *f = (struct tier_remote_facts){
        .kept = r->owner.kept, .unsure = r->owner.unsure, .room_bytes = r->engine->room(r->state)};
}

unsigned tier_remote_doors(const struct tier *tier, struct tier_door door[TIER_DOORS_MAX])
{
    const struct remote *r = (const struct remote *)tier;

    return r->engine->doors(r->state, door);
}

void tier_remote_more(struct tier *tier)
{
    const struct remote *r = (const struct remote *)tier;

    r->engine->wake(r->state);
}

void tier_remote_keep(struct tier *tier, bool keep)
{
    ((struct remote *)tier)->keep = keep;
}

static bool remote_lost(const struct tier *tier)
{
    return lease_lost(remote_lease((const struct remote *)tier));
}

static bool remote_torn(const struct tier *tier)
{
    return atomic_load_explicit(&((const struct remote *)tier)->torn, memory_order_relaxed);
}

/* Adds to an error of leaving the store what is left there. A signal is no excuse: objects stay. */
static int say_left(const struct remote *r, int rc, struct err *e)
{
    uint64_t objects = 0, bytes = 0;
    char size[32];

    if (rc == -EINTR)
        rc = err_set(e, -EBUSY, ERR_FAILED, r->owner.store->where, "the clean-up was abandoned");
    if (!e)
        return rc;
    e->class = ERR_FAILED; /* the run itself is done */
    if (r->control->left)
        r->control->left(r->control->store.ctx, &objects, &bytes);
    if (objects > 0) {
        size_t len = strlen(e->what);
        snprintf(e->what + len, sizeof(e->what) - len,
                 ": %" PRIu64 " object%s of this run (%s) %s left there", objects,
                 units_plural(objects), units_format_bytes(size, sizeof(size), (double)bytes),
                 objects == 1 ? "is" : "are");
    }
    return rc;
}

static int remote_close(struct tier *tier, struct err *e)
{
    struct remote *r = (struct remote *)tier;

    atomic_store_explicit(&r->stop, true, memory_order_release);
    if (r->runs) {
        r->engine->wake(r->state);
        pthread_join(r->run_thread, NULL);
    }
    if (remote_torn(tier))
        owner_doubt(&r->owner);
    int rc = owner_leave(&r->owner, r->keep, e);
    if (rc < 0 && rc != -ESTALE)
        rc = say_left(r, rc, e);
    r->engine->close(r->state);
    spsc_free(r->todo);
    spsc_free(r->done);
    place_epochs_close(&r->epochs);
    free(r);
    return rc;
}

static const struct tier_ops remote_ops = {
    .submit = remote_submit,
    .kick = remote_kick,
    .poll = remote_poll,
    .next_ns = remote_next_ns,
    .adopt = remote_adopt,
    .names = remote_names,
    .place = remote_place,
    .describe = remote_describe,
    .torn = remote_torn,
    .lost = remote_lost,
    .close = remote_close,
};

int remote_open(struct tier **out, const struct remote_parts *p, const struct tier_remote_opts *o,
                struct bell *bell, struct err *e)
{
    const struct owner_opts owner = {.program = o->program,
                                     .keeps = o->keep,
                                     .adopts = true,
                                     .destroys = o->destroys,
                                     .waits = o->waits,
                                     .late = o->late,
                                     .data_seed = o->data_seed};
    struct remote *r = calloc(1, sizeof(*r));
    int rc = 0;

    if (!r) {
        p->engine->close(p->state);
        return err_nomem(e, "remote store");
    }
    *r = (struct remote){.tier.ops = &remote_ops,
                         .engine = p->engine,
                         .state = p->state,
                         .control = p->control,
                         .bell = bell,
                         .todo = spsc_create(o->max_ops),
                         .done = spsc_create(o->max_ops),
                         .gaps = o->gaps,
                         .max_ops = o->max_ops,
                         .shape = o->shape};
    if (!r->todo || !r->done)
        rc = err_nomem(e, "remote store");
    if (rc == 0)
        rc = o->joins ? owner_join(&r->owner, &p->control->store, o->data_seed, e)
                      : owner_take(&r->owner, &p->control->store, &owner, e);
    place_epochs_open(&r->epochs, r->owner.me.epoch);
    r->keep = r->owner.kept; /* until the run says otherwise */
    if (rc == 0 && (rc = thread_start(&r->run_thread, run_main, r)) == 0)
        r->runs = true;
    if (rc < 0) {
        if (e && !e->code)
            thread_refused(e, rc, "a thread for the store");
        remote_close(&r->tier, NULL);
        return rc;
    }
    *out = &r->tier;
    return 0;
}
