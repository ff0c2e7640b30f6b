/* Between the scheduler and the tiers: turns a row into tier operations, one stage after another.
 * Rows of one copy come here one at a time (reads together), so what the object table says is what
 * the tier holds. */
#include "kvreplay/worker.h"

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
    *op = (struct tier_op){.verb = verb, .name = r->name, .id = {.key = r->copy}};
    if (o) {
        op->place = o->place;
        op->size = o->size;
        op->id.generation = o->generation;
    }
}

static bool worker_write(struct objects *objects, struct row *r, struct tier_op *op)
{
    struct object *o = objects_find(objects, r->copy, r->t.tier);

    if (r->t.size == 0) { /* nothing to store, but perhaps something to remove */
        if (o && o->live && o->size > 0) {
            worker_op(op, TIER_DELETE, r, o);
            return true;
        }
        o = objects_get(objects, r->copy, r->t.tier);
        r->t.status = o ? TRACE_OK : ENOMEM;
        if (o) {
            o->live = 1;
            o->size = 0;
        }
        return false;
    }
    worker_op(op, TIER_WRITE, r, o);
    op->size = r->t.size;
    op->id.generation = r->generation;
    return true;
}

static bool worker_read(struct objects *objects, struct row *r, enum tier_verify verify,
                        struct tier_op *op)
{
    struct object *o = objects_find(objects, r->copy, r->t.tier);
    bool drops = row_drops(&r->t), too_long;

    if (!o || !o->live) {
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
        if (drops) {
            o->live = 0;
            objects_settle(objects, o);
        }
        return false;
    }
    worker_op(op, TIER_READ, r, o);
    op->size = r->t.size;
    op->drop = drops;
    op->verify = verify;
    return true;
}

static bool worker_delete(struct objects *objects, struct row *r, struct tier_op *op)
{
    struct object *o = objects_find(objects, r->copy, r->t.tier);

    if (!o || !o->live) {
        r->t.status = TRACE_ABSENT;
        objects_settle(objects, o);
        return false;
    }
    if (o->size == 0) {
        r->t.status = TRACE_OK;
        o->live = 0;
        objects_settle(objects, o);
        return false;
    }
    worker_op(op, TIER_DELETE, r, o);
    return true;
}

bool worker_prepare(struct objects *objects, struct row *r, enum tier_verify verify,
                    struct tier_op *op)
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
        worker_op(op, TIER_DELETE, r, objects_find(objects, r->copy, r->t.tier));
        return true;
    }
    if (r->stage == ROW_CREATE || r->t.op == TRACE_WRITE)
        return worker_write(objects, r, op);
    if (r->t.op == TRACE_READ)
        return worker_read(objects, r, verify, op);
    return worker_delete(objects, r, op);
}

/* The object after a write: true when something must be cleaned away. */
static bool worker_written(struct objects *objects, struct row *r, const struct tier_op *op)
{
    struct object *o = objects_get(objects, r->copy, r->t.tier);

    if (!o) { /* no memory to remember it: it stays on the tier, unknown, and the row failed */
        r->t.status = ENOMEM;
        return false;
    }
    o->place = op->place;
    o->live = op->status == 0;
    o->size = op->verb == TIER_WRITE ? op->size & OBJECT_SIZE_MAX : 0;
    o->generation = op->id.generation;
    return op->status != 0;
}

/* The copy is gone, or must be cleaned away: true. */
static bool worker_removed(struct objects *objects, struct row *r, const struct tier_op *op)
{
    struct object *o = objects_find(objects, r->copy, r->t.tier);

    if (!o)
        return false;
    bool left = op->verb == TIER_READ && op->status != 0 && op->status != -ENOENT;
    o->place = left ? op->place : NULL;
    o->live = 0;
    return left;
}

static void worker_settle(struct objects *objects, const struct row *r)
{
    objects_settle(objects, objects_find(objects, r->copy, r->t.tier));
}

bool worker_complete(struct objects *objects, struct row *r, const struct tier_op *op)
{
    bool left = false;

    if (r->stage == ROW_CREATE) {
        r->t.status = worker_status(op->status);
        left = worker_written(objects, r, op);
        r->stage = left ? ROW_CLEAN : ROW_MAIN;
        return r->t.status != ENOMEM || left;
    }
    if (r->stage == ROW_MAIN) {
        r->t.status = worker_status(op->status);
        if (r->t.op == TRACE_WRITE)
            left = worker_written(objects, r, op);
        else if (op->verb == TIER_DELETE || op->drop)
            left = worker_removed(objects, r, op);
    } else {
        worker_removed(objects, r, op);
    }
    if (left) {
        r->stage = ROW_CLEAN;
        return true;
    }
    worker_settle(objects, r);
    return false;
}
