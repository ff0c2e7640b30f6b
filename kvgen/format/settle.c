/* For oplog.c: follows each object through the operations on it, which come in order of start, and
 * again as they are written. It holds some 90 bytes for each object, and no key. */
#include "kvgen/format/settle.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/hash.h"
#include "lib/base/keymap.h"
#include "lib/base/memory.h"
#include "lib/base/units.h"

#define NEVER INT64_MIN

const int64_t settle_put_ns[SETTLE_PUTS] = {UNITS_NS_PER_S / 10, UNITS_NS_PER_S,
                                            10 * UNITS_NS_PER_S};

enum state {
    UNSEEN,
    THERE,
    GONE,
    FAILED /* its PUT failed, and nothing was there before */
};

struct object {
    int64_t read_ns, write_ns; /* new starts of the last GET, and of the last PUT or DELETE */
    int64_t done_ns;           /* end of the last PUT or DELETE */
    int64_t read_done_ns;      /* last end of the GETs */
    int64_t write_takes_ns;    /* what that one took, if known */
    int64_t read_takes_ns;     /* the longest of the GETs since */
    uint64_t size;
    int64_t put_ns; /* settle_count: start of its last PUT; NEVER: it is not there */
    uint32_t leave; /* of its last operation, if that moved it; else 0 */
    int64_t leave_ns;
    enum state state;
    bool read; /* settle_create preloaded: by any operation so far */
};

struct settle {
    int64_t apart_ns;
    bool preloaded;
    int64_t first_ns;      /* of all operations; NEVER before the first */
    struct keymap *number; /* by key: its place in object */
    struct object *object;
    size_t objects, cap;
    bool *stays; /* by leave */
    uint32_t leaves;
    size_t leaves_cap;
    struct settle_moved moved;
};

struct settle *settle_create(int64_t apart_ns, bool preloaded)
{
    struct settle *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->apart_ns = preloaded ? 0 : apart_ns;
    s->preloaded = preloaded;
    s->first_ns = NEVER;
    s->number = keymap_create();
    if (!s->number) {
        settle_free(s);
        return NULL;
    }
    return s;
}

void settle_free(struct settle *s)
{
    if (!s)
        return;
    keymap_free(s->number);
    free(s->object);
    free(s->stays);
    free(s);
}

static int64_t later_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* From NEVER on it is NEVER. */
static int64_t after(int64_t time_ns, int64_t ns)
{
    int64_t sum;
    if (time_ns == NEVER)
        return NEVER;
    return __builtin_add_overflow(time_ns, ns, &sum) ? INT64_MAX : sum;
}

/* The op's object, valid until the next call; NULL: no memory. */
static struct object *object_of(struct settle *s, const struct export_op *op)
{
    uint64_t *number = keymap_get(s->number, hash_128(op->key.p, op->key.len), s->objects);
    if (!number)
        return NULL;
    if (*number < s->objects)
        return &s->object[*number];
    if (memory_room(&s->object, &s->cap, s->objects, sizeof(*s->object), 1024) < 0)
        return NULL;
    struct object *o = &s->object[s->objects++];
    *o = (struct object){.read_ns = NEVER,
                         .write_ns = NEVER,
                         .done_ns = NEVER,
                         .read_done_ns = NEVER,
                         .write_takes_ns = TRACE_NONE,
                         .read_takes_ns = TRACE_NONE,
                         .put_ns = NEVER,
                         .state = UNSEEN};
    return o;
}

/* A number for the DELETE that may follow; 0: no memory. */
static uint32_t new_leave(struct settle *s)
{
    if (s->leaves >= UINT32_MAX / 2 ||
        memory_room(&s->stays, &s->leaves_cap, s->leaves + 1, sizeof(*s->stays), 1024) < 0)
        return 0;
    s->stays[++s->leaves] = false;
    return s->leaves;
}

/* The move before this operation: a PUT brings the object back, after anything else it is gone. */
static void end_move(struct settle *s, struct object *o, const struct export_op *op)
{
    if (o->leave == 0)
        return;
    if (op->op == TRACE_WRITE) {
        s->stays[o->leave] = true;
    } else {
        o->state = GONE;
        o->write_ns = later_of(o->write_ns, o->leave_ns);
    }
    o->leave = 0;
}

static void move(struct settle *s, struct object *o, const struct export_op *op,
                 struct settle_step *step)
{
    int64_t earliest_ns = o->write_ns;
    if (op->op != TRACE_READ)
        earliest_ns = later_of(earliest_ns, o->read_ns);
    earliest_ns = after(earliest_ns, s->apart_ns);
    step->start_ns = s->apart_ns > 0 ? later_of(op->time_ns, earliest_ns) : op->time_ns;
    int64_t by_ns = step->start_ns - op->time_ns;
    s->moved.of++;
    s->moved.ops += by_ns > 0;
    s->moved.sum_ns = after(s->moved.sum_ns, by_ns);
    s->moved.most_ns = later_of(s->moved.most_ns, by_ns);
}

/* A usable operation where all that is read is there. What is written or deleted has a name of its
 * own: only what is read first, and what leaves, is to be known. */
static int next_preloaded(struct settle *s, struct object *o, const struct export_op *op,
                          struct settle_step *step)
{
    end_move(s, o, op);
    o->state = THERE;
    s->moved.of++;
    if (op->op != TRACE_READ)
        return 0;
    step->unwritten = !o->read;
    if (!o->read)
        o->size = op->size;
    o->read = true;
    step->size = o->size;
    if (op->phase != TRACE_EVICT)
        return 0;
    step->leave = o->leave = new_leave(s);
    step->leave_ns = o->leave_ns = op->time_ns;
    return step->leave > 0 ? 0 : -ENOMEM;
}

/* The operations before on this object that must not go on beside this one, and when the last of
 * them is done. How long the longest of them took is what the target needs. */
static int64_t done_before(struct settle *s, const struct object *o, const struct export_op *op)
{
    bool reads = op->op == TRACE_READ;
    int64_t longest_ns = reads ? o->write_takes_ns : later_of(o->write_takes_ns, o->read_takes_ns);
    s->moved.needed_ns = later_of(s->moved.needed_ns, longest_ns);
    return reads ? o->done_ns : later_of(o->done_ns, o->read_done_ns);
}

/* An operation that was not measured takes the least time there is. */
static int64_t takes_of(const struct export_op *op)
{
    return op->latency_ns > 0 ? op->latency_ns : 1;
}

int settle_next(struct settle *s, const struct export_op *op, struct settle_step *step)
{
    bool writes = op->op == TRACE_WRITE, fails = op->status > TRACE_OK;
    struct object *o = object_of(s, op);
    *step = (struct settle_step){.start_ns = op->time_ns, .size = op->size};
    if (!o)
        return -ENOMEM;
    if (fails) {
        if (writes && o->state != THERE)
            o->state = FAILED;
        return 0;
    }
    step->unusable = !writes && o->state == FAILED;
    if (step->unusable)
        return 0;
    if (s->preloaded)
        return next_preloaded(s, o, op, step);
    if (s->first_ns == NEVER)
        s->first_ns = op->time_ns;
    end_move(s, o, op);
    move(s, o, op, step);
    step->unwritten = op->op == TRACE_READ && o->state == UNSEEN;
    step->gone = !writes && (o->state == GONE || (op->op == TRACE_DELETE && o->state == UNSEEN));
    if (writes || step->unwritten) {
        o->size = op->size;
        o->state = THERE;
    }
    /* Without time apart, the head of the log is its first operation's time. */
    if (step->unwritten && s->apart_ns == 0)
        o->done_ns = after(s->first_ns, 1);
    step->size = o->state == THERE ? o->size : op->size;
    step->early = step->start_ns < done_before(s, o, op);
    if (op->op == TRACE_DELETE)
        o->state = GONE;
    int64_t done_ns = after(step->start_ns, takes_of(op));
    if (op->op == TRACE_READ) {
        o->read_ns = step->start_ns;
        o->read_done_ns = later_of(o->read_done_ns, done_ns);
        o->read_takes_ns = later_of(o->read_takes_ns, op->latency_ns);
    } else {
        o->write_ns = step->start_ns;
        o->done_ns = done_ns;
        o->write_takes_ns = op->latency_ns;
        o->read_takes_ns = TRACE_NONE;
    }
    if (op->op == TRACE_READ && op->phase == TRACE_EVICT && !step->gone) {
        s->moved.needed_ns = later_of(s->moved.needed_ns, op->latency_ns);
        step->leave = o->leave = new_leave(s);
        step->leave_ns = o->leave_ns = after(step->start_ns, s->apart_ns);
        return step->leave > 0 ? 0 : -ENOMEM;
    }
    return 0;
}

bool settle_leaves(const struct settle *s, uint32_t leave)
{
    return !s->stays[leave];
}

const struct settle_moved *settle_moved(const struct settle *s)
{
    return &s->moved;
}

int settle_count(struct settle *s, const struct export_op *op, int64_t start_ns)
{
    struct object *o = object_of(s, op);
    int fails = 0;
    if (!o)
        return -ENOMEM;
    if (s->preloaded)
        return 0;
    if (op->op == TRACE_WRITE) {
        o->put_ns = start_ns; /* it may truncate what was there */
        return 0;
    }
    for (int i = 0; i < SETTLE_PUTS; i++)
        if (o->put_ns == NEVER || start_ns < after(o->put_ns, settle_put_ns[i]))
            fails |= 1 << i;
    if (op->op == TRACE_DELETE)
        o->put_ns = NEVER;
    return fails;
}
