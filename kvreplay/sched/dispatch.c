/* Between the scheduler, which says when a row goes, and the engines of the tiers. Rows of one copy
 * come here one at a time (reads together), so the object table says what the tier holds. */
#include "kvreplay/sched/dispatch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A place inside: one operation. */
struct slot {
    struct tier_op op;
    struct slot *next; /* free places */
    int64_t freed_ns;  /* when its last operation was done */
    bool in_flight;    /* it has one of the slots in flight; its engine takes none */
};

struct dispatch {
    struct dispatch_opts o;
    bool submitted[TRACE_TIERS]; /* since the last kick */
    unsigned writing;            /* objects being written */
    struct row_list held;        /* wait until they may write */
    struct slots *slots;         /* in flight; NULL: every place is one */
    /* Free places. The one free for longest is used first, so that Eligible, which a place may
     * delay, is never later than it must be. */
    struct slot *head, *tail;
    size_t places, busy;
    struct slot slot[];
};

static void slot_free(struct dispatch *d, struct slot *s, int64_t freed_ns)
{
    s->op.owner = NULL;
    s->freed_ns = freed_ns;
    s->next = NULL;
    *(d->tail ? &d->tail->next : &d->head) = s;
    d->tail = s;
    d->busy--;
}

struct dispatch *dispatch_create(const struct dispatch_opts *o)
{
    const size_t places = o->slots + o->ahead;
    struct dispatch *d = calloc(1, sizeof(*d) + places * sizeof(d->slot[0]));

    if (!d)
        return NULL;
    d->o = *o;
    d->places = d->busy = places;
    for (size_t i = 0; i < places; i++)
        slot_free(d, &d->slot[i], INT64_MIN);
    if (o->ahead && !(d->slots = slots_create(o->slots))) {
        free(d);
        return NULL;
    }
    return d;
}

void dispatch_free(struct dispatch *d)
{
    if (!d)
        return;
    slots_free(d->slots);
    free(d);
}

/* ---- from a row to operations ---- */

static void prepare_op(struct tier_op *op, enum tier_verb verb, const struct row *r)
{
    const struct object *o = r->effect.object;

    /* Member by member: clearing all of it takes longer. Engines look at nothing else. */
    op->verb = verb;
    op->drop = false;
    op->verify = TIER_VERIFY_NONE;
    op->name = r->name;
    op->id = (struct data_id){.key = r->copy, .generation = o->generation};
    op->size = o->size;
    op->request = r->t.request == TRACE_NONE ? 0 : (uint64_t)r->t.request + 1;
    op->place = o->place;
    op->owner = op->state = NULL;
    op->source = NULL;
    op->slots = NULL;
    op->ahead_ns = op->late_ns = 0;
    op->fault.kind = DATA_FAULT_NONE;
    op->first_byte_ns = TIER_UNKNOWN_NS;
    op->door = TIER_NO_DOOR;
    op->code[0] = op->said[0] = '\0';
}

static bool prepare_write(struct row *r, struct tier_op *op)
{
    struct object *o = r->effect.object;

    if (r->t.size == 0) { /* nothing to store, but perhaps something to remove */
        if (o->live && o->size > 0) {
            prepare_op(op, TIER_DELETE, r);
            return true;
        }
        r->t.status = TRACE_OK;
        o->live = 1;
        o->removed = 0;
        o->size = 0;
        return false;
    }
    prepare_op(op, TIER_WRITE, r);
    op->size = r->t.size;
    op->id.generation = r->generation;
    return true;
}

static bool prepare_read(struct row *r, enum tier_verify verify, struct tier_op *op)
{
    struct object *o = r->effect.object;
    bool drops = room_drops(&r->t), too_long = r->t.size > o->size;

    r->t.status = too_long ? EINVAL : TRACE_OK;
    if (too_long || r->t.size == 0) {
        if (drops && o->size > 0) { /* removed all the same: its room is given back */
            r->stage = ROW_CLEAN;
            prepare_op(op, TIER_DELETE, r);
            return true;
        }
        if (drops)
            o->live = 0;
        return false;
    }
    prepare_op(op, TIER_READ, r);
    op->size = r->t.size;
    op->drop = drops;
    op->verify = verify;
    return true;
}

/* A Miss row has no object. */
bool dispatch_prepare(struct row *r, enum tier_verify verify, struct tier_op *op)
{
    struct object *o = r->effect.object;

    if (r->stage == ROW_LOOKUP) {
        *op = (struct tier_op){.verb = TIER_LOOKUP, .name = r->name};
        return true;
    }
    if (r->effect.verdict != ROOM_GO) {
        r->t.status = r->effect.verdict == ROOM_FULL ? ENOSPC : TRACE_ABSENT;
        return false;
    }
    if (r->stage == ROW_CLEAN) {
        prepare_op(op, TIER_DELETE, r);
        return true;
    }
    if (r->stage == ROW_CREATE || r->t.op == TRACE_WRITE)
        return prepare_write(r, op);
    if (!o->live) { /* an earlier operation on it failed, or a cleaner removed it */
        r->t.status = TRACE_ABSENT;
        return false;
    }
    if (r->t.op == TRACE_READ)
        return prepare_read(r, verify, op);
    if (o->size == 0) {
        r->t.status = TRACE_OK;
        o->live = 0;
        return false;
    }
    prepare_op(op, TIER_DELETE, r);
    return true;
}

/* ---- from an outcome to the row and its object ---- */

/* The object after a write. True: what the failed write left must be removed. */
static bool complete_write(struct object *o, const struct tier_op *op)
{
    o->place = op->place;
    o->live = op->status == 0;
    o->size = op->verb == TIER_WRITE ? op->size & OBJECT_SIZE_MAX : 0;
    o->generation = op->id.generation;
    o->stale = 0;
    if (o->live)
        o->removed = 0;
    return op->status != 0;
}

/* The object after a delete, or a read that drops it. True: it must still be removed. */
static bool complete_removal(struct object *o, const struct tier_op *op)
{
    bool left = op->verb == TIER_READ && op->status != 0 && op->status != -ENOENT;

    o->place = left ? op->place : NULL;
    o->live = 0;
    return left;
}

/* Only what was stored is read or deleted: when it is not there, the store has lost it. A write
 * that finds no folder is an error like any other. */
static int status_of(const struct object *o, const struct tier_op *op)
{
    bool differs = op->status == -EBADMSG && op->fault.kind;
    int status;

    if (differs && op->fault.kind == DATA_FAULT_KEY)
        return TRACE_WRONG;
    if (op->verb == TIER_READ && o->stale && (op->status == 0 || op->status == -EINVAL || differs))
        return TRACE_STALE;
    if (differs)
        return op->fault.kind == DATA_FAULT_GENERATION ? TRACE_STALE : TRACE_CORRUPT;
    if (op->status == -ENOENT && op->verb != TIER_WRITE)
        return TRACE_LOST;
    if (op->status == -EREMOTEIO && op->code[0] &&
        trace_status_parse(op->code, strlen(op->code), &status) == 0)
        return status;
    return -op->status;
}

bool dispatch_complete(struct row *r, const struct tier_op *op)
{
    struct object *o = r->effect.object;
    bool left = false;

    if (r->stage == ROW_CLEAN) {
        complete_removal(o, op);
        return false;
    }
    if (r->stage == ROW_LOOKUP) { /* whatever it found: a read shows what is wrong */
        r->t.status = TRACE_OK;
        r->stage = ROW_MAIN;
        return r->t.op != TRACE_MISS;
    }
    r->t.status = status_of(o, op);
    if (r->stage == ROW_CREATE) {
        r->stage = complete_write(o, op) ? ROW_CLEAN : r->looks_up ? ROW_LOOKUP : ROW_MAIN;
        return true;
    }
    if (r->t.op == TRACE_WRITE)
        left = complete_write(o, op);
    else if (op->verb == TIER_DELETE || op->drop)
        left = complete_removal(o, op);
    if (left)
        r->stage = ROW_CLEAN;
    return left;
}

/* ---- to the engines and back ---- */

bool dispatch_writes(const struct row *r)
{
    return r->stage == ROW_CREATE || (r->stage == ROW_MAIN && r->t.op == TRACE_WRITE);
}

/* Its engine takes the slot of s, or it gets one here. False: none is free; else *slot_ns is not
 * before it was. */
static bool slot_begin(struct dispatch *d, struct slot *s, unsigned tier, int64_t *slot_ns)
{
    const bool moves = s->op.verb == TIER_READ || s->op.verb == TIER_WRITE;
    int64_t since_ns;

    s->in_flight = false;
    if (!d->slots)
        return true;
    if (moves && d->o.takes_slots[tier]) {
        s->op.slots = d->slots;
        return true;
    }
    s->in_flight = slots_try(d->slots, &since_ns);
    if (s->in_flight && since_ns > *slot_ns)
        *slot_ns = since_ns;
    return s->in_flight;
}

static void slot_end(struct dispatch *d, struct slot *s, int64_t now_ns)
{
    if (s->in_flight)
        slots_give(d->slots, NULL, now_ns);
    s->in_flight = false;
}

enum dispatch_end dispatch_row(struct dispatch *d, struct row *r, int64_t *now_ns, int64_t *slot_ns)
{
    struct slot *s = d->head;
    unsigned to = r->stage == ROW_LOOKUP ? TRACE_STORAGE : r->t.tier;
    const uint8_t stage = r->stage;
    struct tier *tier = d->o.tier[to];
    bool writes = dispatch_writes(r);

    if (writes && d->o.max_writes && d->writing == d->o.max_writes)
        return DISPATCH_SHUT;
    if (!s)
        return DISPATCH_REFUSED;
    enum tier_verify verify = d->o.verifies[to] ? d->o.verify : TIER_VERIFY_NONE;
    if (verify == TIER_VERIFY_AUTO)
        verify = to == TRACE_STORAGE ? TIER_VERIFY_FULL : TIER_VERIFY_HEADER;
    bool more = dispatch_prepare(r, verify, &s->op);
    *slot_ns = s->freed_ns;
    *now_ns = d->o.clock->now_ns(d->o.clock->ctx);
    if (!more)
        return DISPATCH_NOTHING;
    if (!slot_begin(d, s, to, slot_ns)) {
        r->stage = stage;
        return DISPATCH_REFUSED;
    }
    s->op.owner = r;
    s->op.where.wanted = d->o.wants_where && to == TRACE_STORAGE && r->stage == ROW_MAIN;
    s->op.where.known = false;
    s->op.where.count = 0;
    s->op.where.first_ns = INT64_MAX;
    if (tier->ops->submit(tier, &s->op) < 0) {
        slot_end(d, s, *slot_ns);
        s->op.owner = NULL;
        r->stage = stage;
        return DISPATCH_REFUSED;
    }
    d->head = s->next;
    if (!d->head)
        d->tail = NULL;
    d->busy++;
    d->writing += writes;
    d->submitted[to] = true;
    return DISPATCH_SENT;
}

void dispatch_hold(struct dispatch *d, struct row *r)
{
    row_list_append(&d->held, r);
}

struct row *dispatch_next_writer(struct dispatch *d)
{
    return d->held.head && d->writing < d->o.max_writes ? row_list_pop(&d->held) : NULL;
}

void dispatch_kick(struct dispatch *d)
{
    for (unsigned i = 0; i < TRACE_TIERS; i++) {
        if (d->submitted[i])
            d->o.tier[i]->ops->kick(d->o.tier[i]);
        d->submitted[i] = false;
    }
}

struct row *dispatch_leave(struct dispatch *d, struct tier_op *op, bool wrote)
{
    struct slot *s = (struct slot *)((char *)op - offsetof(struct slot, op));
    struct row *r = NULL;

    slot_end(d, s, op->done_ns);
    slot_free(d, s, op->done_ns);
    if (!wrote)
        return NULL;
    d->writing--;
    r = dispatch_next_writer(d);
    if (r && r->t.eligible_ns < op->done_ns)
        r->t.eligible_ns = op->done_ns;
    return r;
}

struct row *dispatch_in_flight(const struct dispatch *d, size_t *pos)
{
    while (*pos < d->places) {
        struct row *r = d->slot[(*pos)++].op.owner;
        if (r)
            return r;
    }
    return NULL;
}

bool dispatch_works_on(const struct dispatch *d, const struct object *object)
{
    const struct row *r;

    for (size_t pos = 0; (r = dispatch_in_flight(d, &pos));)
        if (r->effect.object == object)
            return true;
    return false;
}

size_t dispatch_busy(const struct dispatch *d)
{
    return d->busy;
}

int64_t dispatch_next_ns(const struct dispatch *d)
{
    int64_t first = INT64_MAX;

    for (unsigned i = 0; i < TRACE_TIERS; i++) {
        struct tier *t = d->o.tier[i];
        int64_t next = t ? t->ops->next_ns(t) : INT64_MAX;
        first = next < first ? next : first;
    }
    return first;
}
