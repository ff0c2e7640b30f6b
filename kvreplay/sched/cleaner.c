/* Beside dispatch: what each target of Tier-2 holds, its objects in the order of their last use,
 * and the writes that wait for room. A target is full when a write would pass its capacity, or when
 * the file system says so, which others may fill as well. The cleaner knows nothing of rows to
 * come: an object that the next row reads goes like any other, and that read is a miss. */
#include "kvreplay/sched/cleaner.h"

#include <stdlib.h>

enum {
    CLEANER_AT_ONCE = 16 /* objects that are being removed */
};

struct target {
    uint64_t capacity;
    uint64_t held;                  /* bytes of live objects, and claims of writes in flight */
    uint64_t leaving;               /* of these, bytes of objects that are being removed */
    unsigned removals;              /* in flight */
    unsigned in_flight;             /* operations of rows */
    struct object *oldest, *newest; /* the ranking */
    struct row_list line;           /* writes that wait */
    bool cleaning;
    bool idle;       /* in this cleaning nothing has left so far */
    bool by_store;   /* in this cleaning the store itself said that it is full */
    uint64_t goal;   /* of the cleaning: held bytes */
    uint64_t rounds; /* cleanings that have ended */
};

struct cleaner {
    struct cleaner_opts o;
    unsigned targets;
    struct target target[TIER_DOORS_MAX];
    struct row_list spare;      /* of the rows below */
    struct row_list go_on, end; /* waited: may go on; find no room */
    struct row removal[CLEANER_AT_ONCE];
};

static struct target *target_of(struct cleaner *c, const struct row *r)
{
    return &c->target[c->targets > 1 ? r->effect.target : 0];
}

static uint64_t bytes_of(const struct cleaner *c, const struct object *o)
{
    return o->live ? room_bytes(c->o.room, o->size) : 0;
}

/* ---- the ranking ---- */

static void take_out(struct target *t, struct object *o)
{
    const struct object_links *l = objects_links(o);

    if (!o->ranked)
        return;
    *(l->older ? &objects_links(l->older)->newer : &t->oldest) = l->newer;
    *(l->newer ? &objects_links(l->newer)->older : &t->newest) = l->older;
    o->ranked = 0;
}

static void put_newest(struct target *t, struct object *o)
{
    take_out(t, o);
    *objects_links(o) = (struct object_links){.older = t->newest};
    *(t->newest ? &objects_links(t->newest)->newer : &t->oldest) = o;
    t->newest = o;
    o->ranked = 1;
}

struct cleaner *cleaner_create(const struct cleaner_opts *o)
{
    struct cleaner *c = calloc(1, sizeof(*c));
    struct object *x;

    if (!c)
        return NULL;
    c->o = *o;
    c->targets = o->room->targets ? o->room->targets : 1;
    for (unsigned i = 0; i < c->targets; i++)
        c->target[i].capacity = o->room->targets ? o->room->target[i].capacity : o->room->capacity;
    for (unsigned i = 0; i < CLEANER_AT_ONCE; i++)
        row_list_append(&c->spare, &c->removal[i]);
    for (size_t pos = 0; (x = objects_next(o->objects, &pos));) {
        if (x->tier != TRACE_STORAGE || !x->live || x->size == 0)
            continue;
        const uint8_t at = room_target_of(o->room, TRACE_STORAGE, x->key);
        struct target *t = &c->target[c->targets > 1 ? at : 0];
        t->held += bytes_of(c, x);
        put_newest(t, x);
    }
    return c;
}

void cleaner_free(struct cleaner *c)
{
    free(c);
}

/* ---- writes that find no room ---- */

static void note_full(struct cleaner *c, struct row *r)
{
    c->o.counts->full_writes += !r->found_full;
    r->found_full = true;
}

/* Removes objects until goal bytes are left, or fewer if it is on the way there. */
static void begin(struct target *t, uint64_t goal)
{
    if (!t->cleaning || goal < t->goal)
        t->goal = goal;
    if (!t->cleaning)
        t->idle = true;
    t->cleaning = true;
}

/* Bytes that a write of r adds to what is stored. */
static uint64_t claim_of(const struct cleaner *c, const struct row *r)
{
    const uint64_t before = bytes_of(c, r->effect.object);
    const uint64_t after = room_bytes(c->o.room, r->t.size);

    return after > before ? after - before : 0;
}

enum cleaner_answer cleaner_asks(struct cleaner *c, struct row *r)
{
    struct target *t = target_of(c, r);
    const uint64_t claim = claim_of(c, r), goal = cleaner_goal(t->capacity);

    if (r->effect.object->leaving)
        return CLEANER_WAIT;
    if (claim <= t->capacity && t->held <= t->capacity - claim && !t->line.head)
        return CLEANER_GO;
    if (room_bytes(c->o.room, r->t.size) > t->capacity) {
        note_full(c, r);
        r->effect.verdict = ROOM_FULL;
        r->effect.of_target = c->targets > 1;
        r->effect.needed = r->t.size;
        r->effect.room_left = t->capacity;
        return CLEANER_NEVER;
    }
    if (t->held > t->capacity - claim) {
        note_full(c, r);
        begin(t, goal < t->capacity - claim ? goal : t->capacity - claim);
    }
    return CLEANER_WAIT;
}

bool cleaner_found_full(struct cleaner *c, struct row *r)
{
    struct target *t = target_of(c, r);

    note_full(c, r);
    if (r->round != t->rounds && !t->cleaning)
        return false;
    if (!t->cleaning)
        begin(t, cleaner_goal(t->held));
    t->by_store = true;
    return true;
}

void cleaner_line(struct cleaner *c, struct row *r)
{
    row_list_append(&target_of(c, r)->line, r);
}

/* ---- what is stored ---- */

void cleaner_sent(struct cleaner *c, struct row *r)
{
    struct target *t = target_of(c, r);

    t->in_flight++;
    r->claim = dispatch_writes(r) ? claim_of(c, r) : 0;
    r->round = t->rounds;
    t->held += r->claim;
}

uint64_t cleaner_held(const struct cleaner *c, const struct row *r)
{
    return bytes_of(c, r->effect.object);
}

void cleaner_ended(struct cleaner *c, struct row *r, uint64_t held)
{
    struct target *t = target_of(c, r);
    struct object *o = r->effect.object;
    const uint64_t now = bytes_of(c, o);

    t->in_flight--;
    t->held = t->held - r->claim - held + now;
    t->idle = t->idle && now >= held;
    r->claim = 0;
    if (o->live && o->size > 0)
        put_newest(t, o);
    else
        take_out(t, o);
}

/* ---- removing ---- */

/* A cleaning ends when it has reached its goal, or finds nothing more to remove. Where the store
 * itself said that it is full, something must have left before writes try again. */
static void settle(struct cleaner *c, struct target *t, bool nothing)
{
    const bool below = t->held <= t->goal, helped = !t->idle || (below && !t->by_store);

    if (t->removals > 0 || !(below || nothing))
        return;
    if (!helped && t->in_flight > 0)
        return; /* what is in flight may be removed next, or makes room itself */
    struct row_list *to = helped ? &c->go_on : &c->end;
    c->o.counts->cleanings += !t->idle;
    t->cleaning = t->by_store = false;
    t->rounds++;
    while (t->line.head)
        row_list_append(to, row_list_pop(&t->line));
}

static void fill_removal(struct row *r, struct object *o, uint8_t target)
{
    *r = (struct row){.t = {.op = TRACE_DELETE, .tier = TRACE_STORAGE, .request = TRACE_NONE},
                      .copy = o->key,
                      .name = object_name(o->key, TRACE_STORAGE),
                      .effect = {.object = o, .verdict = ROOM_GO, .target = target},
                      .stage = ROW_CLEAN,
                      .of_cleaner = true};
}

static struct row *remove_one(struct cleaner *c, unsigned at, const struct dispatch *d)
{
    struct target *t = &c->target[at];
    struct object *o = t->oldest;

    if (t->by_store && t->idle && t->held <= t->goal) /* claims that came to nothing are gone */
        t->goal = cleaner_goal(t->held);
    if (t->held - t->leaving <= t->goal || !c->spare.head)
        return NULL;
    while (o && o->rows > 0 && dispatch_works_on(d, o))
        o = objects_links(o)->newer;
    if (!o)
        return NULL;
    struct row *r = row_list_pop(&c->spare);
    fill_removal(r, o, c->targets > 1 ? (uint8_t)at : TIER_NO_DOOR);
    r->claim = bytes_of(c, o);
    take_out(t, o);
    objects_hold(o);
    o->leaving = o->removed = 1;
    o->live = 0;
    t->leaving += r->claim;
    t->removals++;
    t->idle = false;
    return r;
}

struct row *cleaner_removal(struct cleaner *c, const struct dispatch *d)
{
    for (unsigned i = 0; i < c->targets; i++) {
        struct target *t = &c->target[i];
        if (!t->cleaning)
            continue;
        struct row *r = remove_one(c, i, d);
        if (r)
            return r;
        settle(c, t, c->spare.head != NULL);
    }
    return NULL;
}

void cleaner_removed(struct cleaner *c, struct row *r, int status)
{
    struct target *t = target_of(c, r);
    struct object *o = r->effect.object;

    t->held -= r->claim;
    t->leaving -= r->claim;
    t->removals--;
    o->leaving = 0;
    if (status == 0) {
        c->o.counts->removed_objects++;
        c->o.counts->removed_bytes += o->size;
    }
    objects_release(c->o.objects, o);
    row_list_append(&c->spare, r);
}

struct row *cleaner_next(struct cleaner *c, bool *room)
{
    *room = c->go_on.head != NULL;
    return *room ? row_list_pop(&c->go_on) : c->end.head ? row_list_pop(&c->end) : NULL;
}
