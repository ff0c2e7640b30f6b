/* Each eviction policy against a brute-force model that searches plain arrays: on random small
 * traces of objects of mixed sizes the same lookups hit and the same objects are deleted in the
 * same order. A bug looked like a hand that jumped when its object left, a ghost that outlived its
 * turn, or a heap that lost its order when an object was taken from its middle. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "kvgen/rng.h"
#include "kvgen/sim/hierarchy.h"

enum {
    MAX_ITEMS = 300,
    STEPS = 1500,
    RUNS = 60
};

struct item {
    uint64_t id, size, uses, last, arrived;
};
struct row_of { /* oldest first */
    struct item item[MAX_ITEMS];
    size_t count;
};

/* The model of a tier's contents; only S3-FIFO and ARC have more than one row. */
struct model {
    const char *policy;
    struct row_of main, small, ghost, again_ghost; /* arc: used again, once, and their ghosts */
    size_t hand, target, size;
    uint64_t capacity, tick;
    uint64_t deleted[MAX_ITEMS]; /* by the last write, in order */
    size_t deletions;
};

static size_t find(const struct row_of *r, uint64_t id)
{
    size_t i = 0;
    while (i < r->count && r->item[i].id != id)
        i++;
    return i;
}

static struct item take(struct row_of *r, size_t i)
{
    struct item item = r->item[i];
    memmove(&r->item[i], &r->item[i + 1], (r->count - i - 1) * sizeof(item));
    r->count--;
    return item;
}

static void append(struct row_of *r, struct item item)
{
    assert_true(r->count < MAX_ITEMS);
    r->item[r->count++] = item;
}

static uint64_t bytes(const struct row_of *r)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < r->count; i++)
        sum += r->item[i].size;
    return sum;
}

static bool is(const struct model *m, const char *policy)
{
    return strcmp(m->policy, policy) == 0;
}

/* lru, fifo, lfu: the one that no other goes before. */
static bool goes_before(const struct model *m, const struct item *a, const struct item *b)
{
    if (is(m, "fifo"))
        return a->arrived < b->arrived;
    if (is(m, "lfu") && a->uses != b->uses)
        return a->uses < b->uses;
    if (is(m, "mru"))
        return a->last > b->last;
    return a->last < b->last;
}

static struct item drop_sieve(struct model *m)
{
    while (m->main.item[m->hand].uses > 0) {
        m->main.item[m->hand].uses = 0;
        m->hand = (m->hand + 1) % m->main.count;
    }
    struct item item = take(&m->main, m->hand); /* the hand is now at the next newer one... */
    if (m->hand == m->main.count)
        m->hand = 0; /* ... or, where there is none, at the oldest */
    return item;
}

static struct item drop_s3fifo(struct model *m)
{
    while (m->small.count > 0 &&
           (m->main.count == 0 || bytes(&m->small) >= (bytes(&m->small) + bytes(&m->main)) / 10)) {
        struct item item = take(&m->small, 0);
        if (item.uses < 2) {
            append(&m->ghost, item);
            size_t before = m->small.count + m->main.count + 1;
            while (m->ghost.count > before - before / 10)
                take(&m->ghost, 0);
            return item;
        }
        item.uses = 0;
        append(&m->main, item);
    }
    for (;;) {
        struct item item = take(&m->main, 0);
        if (item.uses == 0)
            return item;
        item.uses--;
        append(&m->main, item);
    }
}

static void trim_arc(struct model *m)
{
    while (m->ghost.count > 0 && m->small.count + m->ghost.count > m->size)
        take(&m->ghost, 0);
    while (m->again_ghost.count > 0 &&
           m->small.count + m->ghost.count + m->main.count + m->again_ghost.count > 2 * m->size)
        take(&m->again_ghost, 0);
}

static struct item drop_arc(struct model *m)
{
    bool once = m->small.count > 0 && (m->small.count > m->target || m->main.count == 0);
    m->size = m->small.count + m->main.count;
    struct item item = take(once ? &m->small : &m->main, 0);
    append(once ? &m->ghost : &m->again_ghost, item);
    trim_arc(m);
    return item;
}

static size_t step_arc(size_t other, size_t own)
{
    return other / own > 1 ? other / own : 1;
}

/* A written object that is a ghost moves the target, and goes to the objects used again. */
static void enter_arc(struct model *m, struct item item)
{
    size_t once = m->ghost.count, again = m->again_ghost.count;
    size_t b1 = find(&m->ghost, item.id), b2 = find(&m->again_ghost, item.id);
    if (b1 < once) {
        m->target += step_arc(again, once);
        m->target = m->target > m->size ? m->size : m->target;
        take(&m->ghost, b1);
    } else if (b2 < again) {
        size_t less = step_arc(once, again);
        m->target = less < m->target ? m->target - less : 0;
        take(&m->again_ghost, b2);
    }
    append(b1 < once || b2 < again ? &m->main : &m->small, item);
    trim_arc(m);
}

static struct item drop(struct model *m)
{
    if (is(m, "arc"))
        return drop_arc(m);
    if (is(m, "sieve"))
        return drop_sieve(m);
    if (is(m, "s3fifo"))
        return drop_s3fifo(m);
    size_t victim = 0;
    for (size_t i = 1; i < m->main.count; i++)
        if (goes_before(m, &m->main.item[i], &m->main.item[victim]))
            victim = i;
    return take(&m->main, victim);
}

static bool model_hit(struct model *m, uint64_t id)
{
    struct row_of *r = find(&m->small, id) < m->small.count ? &m->small : &m->main;
    size_t i = find(r, id);
    if (i == r->count)
        return false;
    if (!is(m, "s3fifo") || r->item[i].uses < 3)
        r->item[i].uses++;
    r->item[i].last = m->tick++;
    if (is(m, "arc"))
        append(&m->main, take(r, i));
    return true;
}

static void model_write(struct model *m, uint64_t id, uint64_t size)
{
    struct item item = {.id = id, .size = size, .last = m->tick, .arrived = m->tick};
    m->tick++;
    m->deletions = 0;
    while (m->main.count + m->small.count > 0 &&
           bytes(&m->main) + bytes(&m->small) + size > m->capacity)
        m->deleted[m->deletions++] = drop(m).id;
    if (is(m, "arc")) {
        enter_arc(m, item);
        return;
    }
    if (!is(m, "s3fifo")) {
        append(&m->main, item);
        return;
    }
    size_t ghost = find(&m->ghost, id);
    bool known = ghost < m->ghost.count;
    if (known)
        take(&m->ghost, ghost);
    append(known ? &m->main : &m->small, item);
}

struct seen {
    uint64_t deleted[MAX_ITEMS];
    size_t deletions;
};

static void see(void *ctx, const struct hierarchy_op *op)
{
    struct seen *s = ctx;
    if (op->op == TRACE_DELETE)
        s->deleted[s->deletions++] = op->id.lo;
}

static void compare(const struct policy_ops *policy, struct rng *r)
{
    static struct model m;
    struct seen seen = {.deletions = 0};
    memset(&m, 0, sizeof(m));
    m.policy = policy->name;
    m.capacity = 1 + rng_below(r, 400);
    uint64_t ids = 2 + rng_below(r, MAX_ITEMS - 2), most = 1 + rng_below(r, 30);
    struct hierarchy_opts o = {.capacity = {0, 0, m.capacity}, .policy = policy};
    struct hierarchy *h = hierarchy_create(&o, see, &seen);
    assert_non_null(h);
    for (int step = 0; step < STEPS; step++) {
        uint64_t id = rng_chance(r, 0.5) ? rng_below(r, ids / 8 + 1) : rng_below(r, ids);
        bool hit = hierarchy_read(h, ident_block(id), TRACE_BLOCK);
        assert_int_equal(hit, model_hit(&m, id));
        if (hit)
            continue;
        uint64_t size = rng_below(r, most + 1);
        seen.deletions = 0;
        assert_int_equal(hierarchy_write(h, ident_block(id), size, 1, TRACE_BLOCK), 1);
        model_write(&m, id, size);
        assert_int_equal(seen.deletions, m.deletions);
        for (size_t i = 0; i < m.deletions; i++)
            assert_int_equal(seen.deleted[i], m.deleted[i]);
    }
    hierarchy_free(h);
}

static void agrees_with_brute_force(void **state)
{
    (void)state;
    struct rng r;
    rng_seed(&r, 4, 0);
    for (int p = 0; p < POLICIES; p++)
        for (int run = 0; run < RUNS; run++)
            compare(policies[p], &r);
}

/* A question changes nothing: two orders of the same objects see the same insertions, reads,
 * departures and evictions, one of them is asked for its victim at any time and as often as it
 * likes, and both evict the same. S3-FIFO moved objects between its queues when it was asked, SIEVE
 * its hand, and what S3-FIFO had named became a ghost when it left by promotion. */
static void questions_change_nothing(void **state)
{
    (void)state;
    struct rng r;
    rng_seed(&r, 40, 3);
    for (int run = 0; run < POLICIES * RUNS; run++) {
        const struct policy_ops *ops = policies[run % POLICIES];
        struct objects *objects[2] = {objects_create(), objects_create()};
        struct policy *p[2] = {ops->create(objects[0]), ops->create(objects[1])};
        for (int step = 0; step < STEPS; step++) {
            struct ident id = ident_block(rng_below(&r, 60));
            uint64_t what = rng_below(&r, 20), size = rng_below(&r, 30);
            for (uint64_t ask = rng_below(&r, 3); ask > 0; ask--)
                ops->victim(p[0]);
            struct ident evicted[2] = {{0}, {0}};
            for (int i = 0; i < 2; i++) {
                uint32_t number = objects_find(objects[i], id);
                if (what == 0 && objects_count(objects[i]) > 0) {
                    uint32_t named = ops->victim(p[i]);
                    assert_int_equal(ops->evict(p[i]), named);
                    evicted[i] = objects_at(objects[i], named)->id;
                    objects_remove(objects[i], named);
                } else if (what == 1 && number != OBJECT_NONE) {
                    ops->remove(p[i], number);
                    objects_remove(objects[i], number);
                } else if (number != OBJECT_NONE) {
                    ops->touch(p[i], number);
                } else {
                    if (ops->reserve)
                        assert_int_equal(ops->reserve(p[i], objects_count(objects[i]) + 1), 0);
                    assert_int_equal(objects_add(objects[i], id, &number), 0);
                    objects_at(objects[i], number)->size = size;
                    ops->insert(p[i], number);
                }
            }
            assert_memory_equal(&evicted[0], &evicted[1], sizeof(evicted[0]));
        }
        for (int i = 0; i < 2; i++) {
            ops->free(p[i]);
            objects_free(objects[i]);
        }
    }
}

/* --eviction's choices are the names, in order. */
static void names(void **state)
{
    (void)state;
    static const char *const want[POLICIES] = {"lru",   "fifo", "lfu", "s3fifo",
                                               "sieve", "arc",  "mru"};
    for (int p = 0; p < POLICIES; p++)
        assert_string_equal(policies[p]->name, want[p]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(agrees_with_brute_force),
        cmocka_unit_test(questions_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
