/* tier_checks.h - what every tier that stores objects must do, for the tests of each engine: one
 * operation at a time, and a random life of many at once. Include after cmocka.h. */
#ifndef TESTS_UNIT_TIER_TIER_CHECKS_H
#define TESTS_UNIT_TIER_TIER_CHECKS_H

#include <errno.h>
#include <string.h>

#include "kvgen/rng.h"
#include "lib/base/clock.h"
#include "lib/thread/bell.h"
#include "lib/tier/tier.h"

static inline struct tier_op *checks_wait(struct tier *t, struct bell *b)
{
    struct tier_op *done;
    for (;;) {
        uint32_t seen = bell_seen(b);
        if (t->ops->poll(t, &done, 1) == 1)
            return done;
        (void)bell_wait(b, seen, clock_now_ns() + 1000000000);
    }
}

/* The parts of an operation's time are not negative and together no longer than it. */
static inline void checks_parts(const struct tier_op *op)
{
    const struct tier_parts *p = &op->part;
    int64_t slot_ns = p->slot_ns == TIER_UNKNOWN_NS ? 0 : p->slot_ns;

    assert_true(op->done_ns > 0);
    assert_true(slot_ns >= 0 && p->meta_ns >= 0 && p->io_ns >= 0 && p->flush_ns >= 0);
    assert_int_equal(op->device_ns, p->meta_ns + p->io_ns + p->flush_ns);
    assert_true(slot_ns + op->device_ns <= op->done_ns - op->start_ns);
}

/* Runs op alone and returns its status. */
static inline int checks_run(struct tier *t, struct bell *b, struct tier_op *op)
{
    assert_int_equal(t->ops->submit(t, op), 0);
    t->ops->kick(t);
    assert_ptr_equal(checks_wait(t, b), op);
    checks_parts(op);
    return op->status;
}

static inline struct tier_op checks_op(uint64_t key, uint64_t generation, uint64_t size)
{
    return (struct tier_op){.name = {key * 0x9E3779B97F4A7C15u, key},
                            .id = {.key = {key, ~key}, .generation = generation},
                            .size = size,
                            .verify = TIER_VERIFY_FULL};
}

static inline void checks_object_life(struct tier *t, struct bell *b)
{
    static const uint64_t sizes[] = {0, 1, 4095, 4096, 4097, 262144, 262145, 3000001};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        struct tier_op op = checks_op(i + 1, 10 + i, sizes[i]);
        op.verb = TIER_READ;
        assert_int_equal(checks_run(t, b, &op), -ENOENT);
        op.verb = TIER_WRITE;
        assert_int_equal(checks_run(t, b, &op), 0);
        op.verb = TIER_READ;
        assert_int_equal(checks_run(t, b, &op), 0);
        if (sizes[i]) {
            op.id.generation++; /* an older write must be noticed */
            op.verify = TIER_VERIFY_HEADER;
            assert_int_equal(checks_run(t, b, &op), -EBADMSG);
            assert_int_equal(op.fault.kind, DATA_FAULT_GENERATION);
            op.verb = TIER_WRITE; /* rewritten, larger */
            op.size = sizes[i] + 5000;
            assert_int_equal(checks_run(t, b, &op), 0);
            op.verb = TIER_READ;
            op.verify = TIER_VERIFY_FULL;
            assert_int_equal(checks_run(t, b, &op), 0);
            op.size += 2 * DATA_BLOCK; /* more than is stored */
            assert_int_equal(checks_run(t, b, &op), -EINVAL);
            op.size = 1; /* less */
            assert_int_equal(checks_run(t, b, &op), 0);
        }
        op.verb = i % 2 ? TIER_DELETE : TIER_READ;
        op.drop = true;
        assert_int_equal(checks_run(t, b, &op), 0);
        op.verb = TIER_READ;
        op.drop = false;
        assert_int_equal(checks_run(t, b, &op), -ENOENT);
        op.verb = TIER_DELETE;
        assert_int_equal(checks_run(t, b, &op), -ENOENT);
    }
}

/* Many objects, depth operations inside at once, each object one at a time, every byte checked. */
enum {
    CHECKS_OBJECTS = 40,
    CHECKS_MAX = 200000
};
static inline void checks_many(struct tier *t, struct bell *b, unsigned depth, int steps)
{
    struct tier_op op[CHECKS_OBJECTS];
    uint64_t size[CHECKS_OBJECTS] = {0};
    bool busy[CHECKS_OBJECTS] = {0}, live[CHECKS_OBJECTS] = {0};
    unsigned inside = 0;
    struct rng r;
    rng_seed(&r, 3, depth);
    memset(op, 0, sizeof(op));
    while (steps > 0 || inside) {
        size_t i = (size_t)rng_below(&r, CHECKS_OBJECTS);
        if (steps > 0 && inside < depth && !busy[i]) {
            void *place = op[i].place;
            uint64_t generation = op[i].id.generation;
            op[i] = checks_op(i + 100, generation, size[i]);
            op[i].place = place;
            op[i].verb = !live[i] ? TIER_WRITE : (enum tier_verb)rng_below(&r, 3);
            op[i].drop = op[i].verb == TIER_READ && rng_chance(&r, 0.2);
            if (op[i].verb == TIER_WRITE) {
                op[i].id.generation++;
                op[i].size = size[i] = 1 + rng_below(&r, CHECKS_MAX);
            }
            live[i] = op[i].verb == TIER_WRITE || (op[i].verb == TIER_READ && !op[i].drop);
            assert_int_equal(t->ops->submit(t, &op[i]), 0);
            t->ops->kick(t);
            busy[i] = true;
            inside++;
            steps--;
        } else if (inside) {
            struct tier_op *done = checks_wait(t, b);
            assert_int_equal(done->status, 0);
            busy[done - op] = false;
            inside--;
        }
    }
}

#endif
