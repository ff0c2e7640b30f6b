/* Between the scheduler and the tiers: turns a row into tier operations, one stage after another.
 * Rows of one copy come here one at a time (reads together), so what the object table says is what
 * the tier holds. */
#include "kvreplay/sched/worker.h"

#include <errno.h>

static int worker_status(int rc)
{
    switch (rc) {
    case 0:
        return TRACE_OK;
    case -ENOENT:
        return TRACE_ABSENT;
    case -EBADMSG:
        return TRACE_CORRUPT;
    default:
        return -rc;
    }
}

static void worker_op(struct tier_op *op, enum tier_verb verb, const struct row *r,
                      const struct object *o)
{
    /* What an engine is to see, member by member: clearing all of it takes longer. */
    op->verb = verb;
    op->drop = false;
    op->verify = TIER_VERIFY_NONE;
    op->name = r->name;
    op->id = (struct data_id){.key = r->copy, .generation = o->generation};
    op->size = o->size;
    op->place = o->place;
    op->owner = op->state = NULL;
}

static bool worker_write(struct row *r, struct tier_op *op)
{
    struct object *o = r->plan.object;

    if (r->t.size == 0) { /* nothing to store, but perhaps something to remove */
        if (o->live && o->size > 0) {
            worker_op(op, TIER_DELETE, r, o);
            return true;
        }
        r->t.status = TRACE_OK;
        o->live = 1;
        o->size = 0;
        return false;
    }
    worker_op(op, TIER_WRITE, r, o);
    op->size = r->t.size;
    op->id.generation = r->generation;
    return true;
}

static bool worker_read(struct row *r, enum tier_verify verify, struct tier_op *op)
{
    struct object *o = r->plan.object;
    bool drops = row_drops(&r->t), too_long;

    if (!o->live) {
        r->t.status = TRACE_ABSENT;
        return false;
    }
    too_long = r->t.size > o->size;
    r->t.status = too_long ? EINVAL : TRACE_OK;
    if (too_long || r->t.size == 0) {
        if (drops && o->size > 0) { /* it goes all the same: its room is given back */
            r->stage = ROW_CLEAN;
            worker_op(op, TIER_DELETE, r, o);
            return true;
        }
        if (drops)
            o->live = 0;
        return false;
    }
    worker_op(op, TIER_READ, r, o);
    op->size = r->t.size;
    op->drop = drops;
    op->verify = verify;
    return true;
}

static bool worker_delete(struct row *r, struct tier_op *op)
{
    struct object *o = r->plan.object;

    if (!o->live) {
        r->t.status = TRACE_ABSENT;
        return false;
    }
    if (o->size == 0) {
        r->t.status = TRACE_OK;
        o->live = 0;
        return false;
    }
    worker_op(op, TIER_DELETE, r, o);
    return true;
}

bool worker_prepare(struct row *r, enum tier_verify verify, struct tier_op *op)
{
    if (r->plan.verdict == PLAN_NO_ROOM) {
        r->t.status = ENOSPC;
        return false;
    }
    if (r->plan.verdict == PLAN_ABSENT) {
        r->t.status = TRACE_ABSENT;
        return false;
    }
    if (r->stage == ROW_CLEAN) {
        worker_op(op, TIER_DELETE, r, r->plan.object);
        return true;
    }
    if (r->stage == ROW_CREATE || r->t.op == TRACE_WRITE)
        return worker_write(r, op);
    if (r->t.op == TRACE_READ)
        return worker_read(r, verify, op);
    return worker_delete(r, op);
}

/* The object after a write: true when something must be cleaned away. */
static bool worker_written(struct object *o, const struct tier_op *op)
{
    o->place = op->place;
    o->live = op->status == 0;
    o->size = op->verb == TIER_WRITE ? op->size & OBJECT_SIZE_MAX : 0;
    o->generation = op->id.generation;
    return op->status != 0;
}

/* The copy is gone, or must be cleaned away: true. */
static bool worker_removed(struct object *o, const struct tier_op *op)
{
    bool left = op->verb == TIER_READ && op->status != 0 && op->status != -ENOENT;

    o->place = left ? op->place : NULL;
    o->live = 0;
    return left;
}

bool worker_complete(struct row *r, const struct tier_op *op)
{
    struct object *o = r->plan.object;
    bool left = false;

    if (r->stage == ROW_CLEAN) {
        worker_removed(o, op);
        return false;
    }
    r->t.status = worker_status(op->status);
    if (r->stage == ROW_CREATE) {
        r->stage = worker_written(o, op) ? ROW_CLEAN : ROW_MAIN;
        return true;
    }
    if (r->t.op == TRACE_WRITE)
        left = worker_written(o, op);
    else if (op->verb == TIER_DELETE || op->drop)
        left = worker_removed(o, op);
    if (left)
        r->stage = ROW_CLEAN;
    return left;
}
