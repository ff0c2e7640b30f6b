/* The waterfall: each rule of a tier at its exact limit, the rows that it tells, and the invariants
 * on random small hierarchies and workloads, kept by a second, naive book from the rows alone. A
 * bug looked like bytes counted twice after a demotion, an object in two tiers, a tier over its
 * capacity, or a demotion whose two rows named different objects. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/hierarchy.h"
#include "kvgen/tally.h"
#include "lib/rng.h"
#include "tests/unit/scale.h"

enum {
    MAX_IDS = 200,
    MAX_OPS = 64
};

/* The naive book: what the rows say. */
struct book {
    const struct hierarchy_opts *o;
    int tier[MAX_IDS]; /* TRACE_NO_TIER: nowhere */
    uint64_t size[MAX_IDS];
    uint64_t used[TRACE_TIERS];
    uint64_t written, deleted; /* bytes */
    bool moving;               /* between the rows of a demotion */
    struct hierarchy_op from;
    bool lifted; /* between the rows of a promotion, which demotions may part */
    struct hierarchy_op lift;
    struct hierarchy_op op[MAX_OPS]; /* of the call under way */
    size_t ops;
    int last; /* last tier */
    struct tally tally;
};

static void book_enter(struct book *b, const struct hierarchy_op *op)
{
    int i = (int)op->id.lo;
    assert_int_equal(b->tier[i], TRACE_NO_TIER);
    b->tier[i] = (int)op->tier;
    b->size[i] = op->size;
    b->used[op->tier] += op->size;
}

static void book_leave(struct book *b, const struct hierarchy_op *op)
{
    int i = (int)op->id.lo;
    assert_int_equal(b->tier[i], op->tier);
    assert_int_equal(b->size[i], op->size);
    b->tier[i] = TRACE_NO_TIER;
    b->used[op->tier] -= op->size;
}

static void check_capacity(const struct book *b, int tier)
{
    if (b->used[tier] > b->o->capacity[tier]) {
        assert_int_equal(tier, TRACE_STORAGE); /* only there, and only one object alone... */
        uint64_t with_bytes = 0;
        for (int i = 0; i < MAX_IDS; i++)
            with_bytes += b->tier[i] == tier && b->size[i] > 0;
        assert_int_equal(with_bytes, 1);
    }
}

static void book_write(struct book *b, const struct hierarchy_op *op)
{
    if (op->phase == TRACE_EVICT && op->class == TRACE_PROMOTE) {
        assert_true(b->lifted);
        assert_int_equal(op->from, b->lift.tier);
        assert_true(ident_equal(b->lift.id, op->id));
        assert_int_equal(b->lift.size, op->size);
        assert_int_equal(b->lift.tokens, op->tokens);
        b->lifted = false;
    } else if (op->phase == TRACE_EVICT) {
        assert_true(b->moving);
        assert_int_equal(op->from, b->from.tier);
        assert_true(ident_equal(b->from.id, op->id));
        assert_int_equal(b->from.size, op->size);
        assert_int_equal(b->from.tokens, op->tokens);
        assert_true(op->tier > b->from.tier);
        b->moving = false;
    } else {
        assert_int_equal(op->phase, TRACE_PREFILL);
        b->written += op->size;
    }
    book_enter(b, op);
    check_capacity(b, (int)op->tier);
}

static void book_read(struct book *b, const struct hierarchy_op *op)
{
    assert_int_equal(b->tier[op->id.lo], op->tier);
    assert_int_equal(b->size[op->id.lo], op->size);
    if (op->phase != TRACE_EVICT)
        return;
    book_leave(b, op);
    bool *under_way = op->class == TRACE_PROMOTE ? &b->lifted : &b->moving;
    assert_false(*under_way);
    *under_way = true;
    *(op->class == TRACE_PROMOTE ? &b->lift : &b->from) = *op;
}

static void book_row(void *ctx, const struct hierarchy_op *op)
{
    struct book *b = ctx;
    tally_row(&b->tally, op);
    if (b->ops < MAX_OPS)
        b->op[b->ops++] = *op;
    assert_true(!b->moving || op->op == TRACE_WRITE);
    switch (op->op) {
    case TRACE_WRITE:
        book_write(b, op);
        break;
    case TRACE_READ:
        book_read(b, op);
        break;
    case TRACE_DELETE:
        assert_int_equal(op->tier, b->last);
        book_leave(b, op);
        b->deleted += op->size;
        break;
    default:
        assert_int_equal(op->op, TRACE_MISS);
        assert_int_equal(op->size, 0);
        assert_int_equal(op->tier, TRACE_NO_TIER);
    }
}

static void book_open(struct book *b, const struct hierarchy_opts *o)
{
    *b = (struct book){.o = o};
    for (int i = 0; i < MAX_IDS; i++)
        b->tier[i] = TRACE_NO_TIER;
    memcpy(b->tally.capacity, o->capacity, sizeof b->tally.capacity);
    for (int t = 0; t < TRACE_TIERS; t++)
        if (o->capacity[t] != HIERARCHY_ABSENT)
            b->last = t;
}

static void check_books(const struct book *b, const struct hierarchy *h)
{
    uint64_t live = 0;
    for (int t = 0; t < TRACE_TIERS; t++) {
        struct hierarchy_tier_stats s;
        uint64_t bytes = 0, objects = 0;
        for (int i = 0; i < MAX_IDS; i++)
            if (b->tier[i] == t) {
                bytes += b->size[i];
                objects++;
            }
        hierarchy_stats(h, (enum trace_tier)t, &s);
        assert_int_equal(s.bytes, bytes);
        assert_int_equal(s.objects, objects);
        assert_int_equal(s.bytes, b->used[t]);
        assert_int_equal(b->tally.tier[t].bytes, bytes);
        assert_int_equal(b->tally.tier[t].objects, objects);
        assert_true(b->tally.tier[t].peak_bytes >= bytes);
        assert_int_equal(s.present, b->o->capacity[t] != HIERARCHY_ABSENT);
        check_capacity(b, t);
        live += bytes;
    }
    assert_false(b->moving);
    assert_false(b->lifted);
    assert_int_equal(b->written, live + b->deleted);
}

static struct hierarchy_opts tiers(uint64_t gpu, uint64_t cpu, uint64_t storage)
{
    return (struct hierarchy_opts){.capacity = {gpu, cpu, storage},
                                   .large_entry_limit_ratio = 0.95,
                                   .target_usage_ratio = 0.8,
                                   .policy = &policy_lru};
}

static struct hierarchy *begin(struct book *b, const struct hierarchy_opts *o)
{
    book_open(b, o);
    struct hierarchy *h = hierarchy_create(o, book_row, b);
    assert_non_null(h);
    return h;
}

static int write_size(struct hierarchy *h, struct book *b, uint64_t id, uint64_t size)
{
    b->ops = 0;
    int rc = hierarchy_write(h, ident_block(id), size, (uint32_t)id, TRACE_BLOCK);
    check_books(b, h);
    return rc;
}

static bool read_id(struct hierarchy *h, struct book *b, uint64_t id)
{
    b->ops = 0;
    bool hit = hierarchy_read(h, ident_block(id), TRACE_USER);
    assert_true(b->ops == 1 || (b->o->promote && hit));
    assert_int_equal(hit, b->tier[id] != TRACE_NO_TIER);
    assert_int_equal(b->op[0].op, hit ? TRACE_READ : TRACE_MISS);
    assert_int_equal(b->op[0].class, TRACE_USER);
    assert_false(b->ops == 3 && b->op[1].tier == b->op[2].tier); /* out and back, for nothing */
    check_books(b, h);
    return hit;
}

/* (a): 95 of 100 stays up, 96 goes down at once, although nothing is used. */
static void large_objects_go_down(void **state)
{
    (void)state;
    struct hierarchy_opts o = tiers(100, 0, HIERARCHY_UNLIMITED);
    struct book b;
    struct hierarchy *h = begin(&b, &o);
    assert_int_equal(write_size(h, &b, 1, 96), 1);
    assert_int_equal(b.tier[1], TRACE_STORAGE);
    assert_int_equal(write_size(h, &b, 2, 95), 1); /* (c): empty, so it may pass 80 % */
    assert_int_equal(b.tier[2], TRACE_GPU);
    hierarchy_free(h);
}

/* (b): exactly 80 % is reached without a demotion, one byte more demotes the oldest. */
static void fills_to_target(void **state)
{
    (void)state;
    struct hierarchy_opts o = tiers(100, 0, HIERARCHY_UNLIMITED);
    struct book b;
    struct hierarchy *h = begin(&b, &o);
    for (uint64_t i = 0; i < 4; i++)
        write_size(h, &b, i, 20);
    assert_int_equal(b.used[TRACE_GPU], 80);
    assert_true(read_id(h, &b, 0)); /* 1 is the oldest now */
    assert_int_equal(write_size(h, &b, 4, 1), 1);
    assert_int_equal(b.ops, 3);
    assert_int_equal(b.op[0].op, TRACE_READ);
    assert_int_equal(b.op[0].tier, TRACE_GPU);
    assert_int_equal(b.op[0].id.lo, 1);
    assert_int_equal(b.op[0].class, TRACE_CLASS_EVICT);
    assert_int_equal(b.op[1].op, TRACE_WRITE);
    assert_int_equal(b.op[1].tier, TRACE_STORAGE);
    assert_int_equal(b.op[2].op, TRACE_WRITE);
    assert_int_equal(b.op[2].class, TRACE_BLOCK);
    assert_int_equal(b.tier[0], TRACE_GPU);
    hierarchy_free(h);
}

/* (c): with 4 of 100 used 95 are taken, with 5 used they are not (and (d) refuses, undemoted). */
static void nearly_empty_passes_target(void **state)
{
    (void)state;
    for (uint64_t used = 4; used <= 5; used++) {
        struct hierarchy_opts o = tiers(100, 0, HIERARCHY_UNLIMITED);
        struct book b;
        struct hierarchy *h = begin(&b, &o);
        write_size(h, &b, 1, used);
        write_size(h, &b, 2, 95);
        assert_int_equal(b.tier[2], used == 4 ? TRACE_GPU : TRACE_STORAGE);
        assert_int_equal(b.tier[1], TRACE_GPU);
        hierarchy_free(h);
    }
}

/* (c) passes 80 %, never 100: with a limit of large objects above 95 % they need not fit. */
static void nearly_empty_stays_within_capacity(void **state)
{
    (void)state;
    struct hierarchy_opts o = tiers(100, 0, HIERARCHY_UNLIMITED);
    o.large_entry_limit_ratio = 1;
    struct book b;
    struct hierarchy *h = begin(&b, &o);
    write_size(h, &b, 1, 4);
    write_size(h, &b, 2, 97);
    assert_int_equal(b.tier[1], TRACE_GPU);
    assert_int_equal(b.tier[2], TRACE_STORAGE);
    hierarchy_free(h);
}

/* (d): an object of over 40 % that finds under 20 % used goes down; with 20 % used it demotes. */
static void roomy_refuses_big(void **state)
{
    (void)state;
    for (uint64_t used = 19; used <= 20; used++) {
        struct hierarchy_opts o = tiers(100, 0, HIERARCHY_UNLIMITED);
        struct book b;
        struct hierarchy *h = begin(&b, &o);
        write_size(h, &b, 1, used);
        write_size(h, &b, 2, 62); /* 62 + 19 passes 80 */
        assert_int_equal(b.tier[1], used == 19 ? TRACE_GPU : TRACE_STORAGE);
        assert_int_equal(b.tier[2], used == 19 ? TRACE_STORAGE : TRACE_GPU);
        hierarchy_free(h);
    }
}

/* (e): a demotion makes room below first: rows come from the bottom up. */
static void waterfall_over_three(void **state)
{
    (void)state;
    struct hierarchy_opts o = tiers(100, 100, 100);
    struct book b;
    struct hierarchy *h = begin(&b, &o);
    for (uint64_t i = 0; i < 13; i++) /* 4 + 4 + 5 of 20 fill all three */
        write_size(h, &b, i, 20);
    assert_int_equal(b.used[TRACE_GPU], 80);
    assert_int_equal(b.used[TRACE_CPU], 80);
    assert_int_equal(b.used[TRACE_STORAGE], 100);
    assert_int_equal(write_size(h, &b, 13, 20), 1);
    static const enum trace_op op[] = {TRACE_DELETE, TRACE_READ,  TRACE_WRITE,
                                       TRACE_READ,   TRACE_WRITE, TRACE_WRITE};
    static const int tier[] = {TRACE_STORAGE, TRACE_CPU, TRACE_STORAGE,
                               TRACE_GPU,     TRACE_CPU, TRACE_GPU};
    static const uint64_t id[] = {0, 5, 5, 9, 9, 13};
    assert_int_equal(b.ops, 6);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(b.op[i].op, op[i]);
        assert_int_equal(b.op[i].tier, tier[i]);
        assert_int_equal(b.op[i].id.lo, id[i]);
    }
    hierarchy_free(h);
}

/* A victim that the tier below refuses makes its own tier refuse: the new object goes further down.
 */
static void failed_demotion_refuses(void **state)
{
    (void)state;
    struct hierarchy_opts o = tiers(100, 10, HIERARCHY_UNLIMITED);
    struct book b;
    struct hierarchy *h = begin(&b, &o);
    write_size(h, &b, 1, 70);
    assert_int_equal(write_size(h, &b, 2, 30), 1);
    assert_int_equal(b.tier[1], TRACE_GPU);
    assert_int_equal(b.tier[2], TRACE_STORAGE);
    assert_int_equal(b.ops, 1);
    hierarchy_free(h);
}

/* Storage takes an object larger than itself, alone; a CPU tier that is the last drops it. */
static void oversized(void **state)
{
    (void)state;
    struct hierarchy_opts o = tiers(0, 0, 100);
    struct book b;
    struct hierarchy *h = begin(&b, &o);
    write_size(h, &b, 1, 60);
    assert_int_equal(write_size(h, &b, 2, 150), 1);
    assert_int_equal(b.tier[1], TRACE_NO_TIER);
    assert_int_equal(b.tier[2], TRACE_STORAGE);
    assert_int_equal(b.tally.tier[TRACE_STORAGE].oversized, 1);
    assert_int_equal(b.tally.tier[TRACE_STORAGE].peak_bytes, 150);
    write_size(h, &b, 3, 1);
    assert_int_equal(b.tier[2], TRACE_NO_TIER);
    hierarchy_free(h);

    uint64_t writes, bytes;
    o = tiers(0, 100, 0);
    h = begin(&b, &o);
    assert_int_equal(write_size(h, &b, 1, 100), 1); /* the last is filled to 100 % */
    assert_int_equal(write_size(h, &b, 2, 101), 0);
    assert_int_equal(b.ops, 0);
    assert_int_equal(b.tier[1], TRACE_CPU);
    hierarchy_dropped(h, &writes, &bytes);
    assert_int_equal(writes, 1);
    assert_int_equal(bytes, 101);
    hierarchy_free(h);
}

/* A touch counts as use without a row. */
static void touch_renews(void **state)
{
    (void)state;
    struct hierarchy_opts o = tiers(0, 0, 2);
    struct book b;
    struct hierarchy *h = begin(&b, &o);
    write_size(h, &b, 1, 1);
    write_size(h, &b, 2, 1);
    b.ops = 0;
    assert_true(hierarchy_touch(h, ident_block(1)));
    assert_false(hierarchy_touch(h, ident_block(9)));
    assert_int_equal(b.ops, 0);
    write_size(h, &b, 3, 1);
    assert_true(hierarchy_has(h, ident_block(1)));
    assert_false(hierarchy_has(h, ident_block(2)));
    hierarchy_free(h);
}

static struct hierarchy_opts promoting(uint64_t gpu, uint64_t cpu, uint64_t storage)
{
    struct hierarchy_opts o = tiers(gpu, cpu, storage);
    o.promote = true;
    return o;
}

/* A read takes its object to the top: out of its tier first, so that the demotion that makes room
 * finds it there, and nothing is deleted. */
static void hit_exchanges(void **state)
{
    (void)state;
    struct hierarchy_opts o = promoting(100, 0, 80);
    struct book b;
    struct hierarchy *h = begin(&b, &o);
    for (uint64_t i = 0; i < 4; i++)
        write_size(h, &b, i, 40);
    assert_int_equal(b.tier[0], TRACE_STORAGE);
    assert_true(read_id(h, &b, 0));
    static const enum trace_op op[] = {TRACE_READ, TRACE_READ, TRACE_READ, TRACE_WRITE,
                                       TRACE_WRITE};
    static const enum trace_class class[] = {TRACE_USER, TRACE_PROMOTE, TRACE_CLASS_EVICT,
                                             TRACE_CLASS_EVICT, TRACE_PROMOTE};
    static const int tier[] = {TRACE_STORAGE, TRACE_STORAGE, TRACE_GPU, TRACE_STORAGE, TRACE_GPU};
    static const uint64_t id[] = {0, 0, 2, 2, 0};
    assert_int_equal(b.ops, 5);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(b.op[i].op, op[i]);
        assert_int_equal(b.op[i].class, class[i]);
        assert_int_equal(b.op[i].tier, tier[i]);
        assert_int_equal(b.op[i].id.lo, id[i]);
    }
    assert_int_equal(b.tally.tier[TRACE_STORAGE].promoted, 1);
    assert_true(read_id(h, &b, 0)); /* at the top already: one row */
    assert_int_equal(b.ops, 1);
    hierarchy_free(h);
}

/* Too large for every tier above: stays, without a row. */
static void hit_stays(void **state)
{
    (void)state;
    struct hierarchy_opts o = promoting(100, 50, HIERARCHY_UNLIMITED);
    struct book b;
    struct hierarchy *h = begin(&b, &o);
    write_size(h, &b, 1, 96);
    assert_true(read_id(h, &b, 1));
    assert_int_equal(b.ops, 1);
    assert_int_equal(b.tier[1], TRACE_STORAGE);
    hierarchy_free(h);
}

/* The second victim above is too large for the tier between, and so is the object: it is written
 * back where it was, and nothing counts as promoted. */
static void hit_returns(void **state)
{
    (void)state;
    struct hierarchy_opts o = promoting(100, 10, HIERARCHY_UNLIMITED);
    struct book b;
    struct hierarchy *h = begin(&b, &o);
    write_size(h, &b, 1, 5);
    write_size(h, &b, 2, 60);
    write_size(h, &b, 3, 30);
    assert_int_equal(b.tier[3], TRACE_STORAGE);
    assert_int_equal(b.tier[1], TRACE_CPU); /* demoted for 3, in vain */
    assert_true(read_id(h, &b, 1));
    assert_int_equal(b.tier[1], TRACE_GPU);
    assert_true(read_id(h, &b, 2)); /* 1 is the oldest again */
    assert_true(read_id(h, &b, 3));
    assert_int_equal(b.ops, 5);
    assert_int_equal(b.op[4].class, TRACE_PROMOTE);
    assert_int_equal(b.op[4].tier, TRACE_STORAGE);
    assert_int_equal(b.tier[1], TRACE_CPU);
    assert_int_equal(b.tally.tier[TRACE_STORAGE].promoted, 0);
    hierarchy_free(h);
}

/* The tier above could only take it after a demotion, and its victim is too large for the tier
 * between: nothing moves. Such a read was followed by a read and a write of the whole object, out
 * of its tier and back. */
static void hit_without_effect(void **state)
{
    (void)state;
    for (int i = 0; i < POLICIES; i++) {
        struct hierarchy_opts o = promoting(100, 10, HIERARCHY_UNLIMITED);
        o.policy = policies[i];
        struct book b;
        struct hierarchy *h = begin(&b, &o);
        write_size(h, &b, 1, 60);
        write_size(h, &b, 2, 30);
        assert_int_equal(b.tier[2], TRACE_STORAGE);
        for (int reads = 0; reads < 5; reads++) {
            assert_true(read_id(h, &b, 2));
            assert_int_equal(b.ops, 1);
        }
        hierarchy_free(h);
    }
}

/* Taken out of the tier between, it leaves room there for the victim of the tier above, even where
 * that tier is full of it; where the victim is larger than the tier, it stays. */
static void hit_makes_room(void **state)
{
    (void)state;
    for (uint64_t victim = 40; victim <= 60; victim += 20) {
        struct hierarchy_opts o = promoting(100, 50, 0);
        struct book b;
        struct hierarchy *h = begin(&b, &o);
        write_size(h, &b, 1, 45);
        write_size(h, &b, 2, victim); /* sends 1 down */
        assert_int_equal(b.tier[1], TRACE_CPU);
        assert_true(read_id(h, &b, 1));
        assert_int_equal(b.tier[1], victim == 40 ? TRACE_GPU : TRACE_CPU);
        assert_int_equal(b.tier[2], victim == 40 ? TRACE_CPU : TRACE_GPU);
        assert_int_equal(b.ops, victim == 40 ? 5 : 1);
        hierarchy_free(h);
    }
}

/* A GPU tier that holds one object and a CPU tier that holds four, of 20 bytes: write i moves i - 1
 * down. Write 6 races with 5, which moved 4 down: 20 bytes below are reserved for nobody, room for
 * which 1 leaves, and again 2 for what 6 moves. */
static void race_reserves_twice(void **state)
{
    (void)state;
    struct hierarchy_opts o = tiers(30, 100, HIERARCHY_UNLIMITED);
    struct book b;
    struct hierarchy *h = begin(&b, &o);
    for (uint64_t i = 1; i <= 5; i++)
        write_size(h, &b, i, 20);
    assert_int_equal(b.used[TRACE_CPU], 80);
    hierarchy_race(h);
    write_size(h, &b, 6, 20);
    assert_int_equal(b.used[TRACE_CPU], 60);
    assert_int_equal(b.tier[2], TRACE_STORAGE);
    assert_int_equal(b.tier[3], TRACE_CPU);
    for (uint64_t i = 7; i <= 10; i++) { /* it stays so, one out and one in... */
        write_size(h, &b, i, 20);
        assert_int_equal(b.used[TRACE_CPU], 60);
    }
    for (uint64_t i = 11; i <= 13; i++) { /* ... and adds up, until nothing is left... */
        hierarchy_race(h);
        write_size(h, &b, i, 20);
    }
    assert_int_equal(b.used[TRACE_CPU], 20);
    for (uint64_t i = 14; i <= 16; i++) /* ... and the tier is counted anew */
        write_size(h, &b, i, 20);
    assert_int_equal(b.used[TRACE_CPU], 80);
    hierarchy_free(h);
}

/* No demotion, no race: neither for the one nor for the other. Nor does one last. */
static void race_of_one_that_fits(void **state)
{
    (void)state;
    struct hierarchy_opts o = tiers(100, 100, HIERARCHY_UNLIMITED);
    struct book b;
    struct hierarchy *h = begin(&b, &o);
    for (uint64_t i = 1; i <= 5; i++) { /* 5 moves 1 down */
        hierarchy_race(h);
        write_size(h, &b, i, 20);
    }
    assert_int_equal(b.used[TRACE_CPU], 20);
    hierarchy_race(h);
    write_size(h, &b, 6, 0); /* needs no room */
    hierarchy_race(h);
    for (uint64_t i = 7; i <= 20; i++) /* 6 moved nothing */
        write_size(h, &b, i, 20);
    assert_int_equal(b.used[TRACE_CPU], 80);
    hierarchy_free(h);
}

static uint64_t random_capacity(struct rng *r)
{
    static const uint64_t choice[] = {0, 1, 2, 7, 20, 100, 333, 1000};
    return choice[rng_below(r, sizeof choice / sizeof *choice)];
}

static void random_run(struct rng *r)
{
    struct hierarchy_opts o = tiers(random_capacity(r), random_capacity(r), random_capacity(r));
    if (rng_chance(r, 0.3))
        o.capacity[TRACE_STORAGE] = HIERARCHY_UNLIMITED;
    if (o.capacity[0] + o.capacity[1] + o.capacity[2] == 0)
        o.capacity[rng_below(r, 3)] = 50;
    o.target_usage_ratio = rng_chance(r, 0.5) ? 0.8 : rng_unit(r);
    o.large_entry_limit_ratio = rng_chance(r, 0.5) ? 0.95 : rng_unit(r);
    o.policy = policies[rng_below(r, POLICIES)];
    o.promote = rng_chance(r, 0.5);
    uint64_t most = 1 + rng_below(r, 400);
    double races = rng_chance(r, 0.3) ? rng_unit(r) : 0;
    struct book b;
    struct hierarchy *h = begin(&b, &o);
    for (int step = 0; step < 300; step++) {
        uint64_t id = rng_below(r, MAX_IDS);
        if (b.tier[id] != TRACE_NO_TIER || rng_chance(r, 0.1))
            read_id(h, &b, id);
        else {
            if (rng_chance(r, races))
                hierarchy_race(h);
            write_size(h, &b, id, rng_below(r, most + 1));
        }
    }
    hierarchy_free(h);
}

static void invariants_on_random_runs(void **state)
{
    (void)state;
    struct rng r;
    rng_seed(&r, 1, 0);
    for (int run = scaled(6000); run > 0; run--)
        random_run(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_objects_go_down),
        cmocka_unit_test(fills_to_target),
        cmocka_unit_test(nearly_empty_passes_target),
        cmocka_unit_test(nearly_empty_stays_within_capacity),
        cmocka_unit_test(roomy_refuses_big),
        cmocka_unit_test(waterfall_over_three),
        cmocka_unit_test(failed_demotion_refuses),
        cmocka_unit_test(oversized),
        cmocka_unit_test(touch_renews),
        cmocka_unit_test(hit_exchanges),
        cmocka_unit_test(hit_stays),
        cmocka_unit_test(hit_returns),
        cmocka_unit_test(hit_without_effect),
        cmocka_unit_test(hit_makes_room),
        cmocka_unit_test(race_reserves_twice),
        cmocka_unit_test(race_of_one_that_fits),
        cmocka_unit_test(invariants_on_random_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
