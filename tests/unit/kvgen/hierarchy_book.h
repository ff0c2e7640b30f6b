/* hierarchy_book.h - for tests of the hierarchy: a second, naive book that is kept from the rows
 * alone and held against the hierarchy's own after each call. */
#ifndef TESTS_UNIT_KVGEN_HIERARCHY_BOOK_H
#define TESTS_UNIT_KVGEN_HIERARCHY_BOOK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/sim/hierarchy.h"
#include "kvgen/sim/row_counts.h"

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
    struct row_counts counts;
};

static inline void book_enter(struct book *b, const struct hierarchy_op *op)
{
    int i = (int)op->id.lo;
    assert_int_equal(b->tier[i], TRACE_NO_TIER);
    b->tier[i] = (int)op->tier;
    b->size[i] = op->size;
    b->used[op->tier] += op->size;
}

static inline void book_leave(struct book *b, const struct hierarchy_op *op)
{
    int i = (int)op->id.lo;
    assert_int_equal(b->tier[i], op->tier);
    assert_int_equal(b->size[i], op->size);
    b->tier[i] = TRACE_NO_TIER;
    b->used[op->tier] -= op->size;
}

static inline void check_capacity(const struct book *b, int tier)
{
    if (b->used[tier] > b->o->capacity[tier]) {
        assert_int_equal(tier, TRACE_STORAGE); /* only there, and only one object alone... */
        uint64_t with_bytes = 0;
        for (int i = 0; i < MAX_IDS; i++)
            with_bytes += b->tier[i] == tier && b->size[i] > 0;
        assert_int_equal(with_bytes, 1);
    }
}

static inline void book_write(struct book *b, const struct hierarchy_op *op)
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

static inline void book_read(struct book *b, const struct hierarchy_op *op)
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

static inline void book_row(void *ctx, const struct hierarchy_op *op)
{
    struct book *b = ctx;
    row_counts_add(&b->counts, op);
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

static inline void book_open(struct book *b, const struct hierarchy_opts *o)
{
    *b = (struct book){.o = o};
    for (int i = 0; i < MAX_IDS; i++)
        b->tier[i] = TRACE_NO_TIER;
    memcpy(b->counts.capacity, o->capacity, sizeof(b->counts.capacity));
    for (int t = 0; t < TRACE_TIERS; t++)
        if (o->capacity[t] != HIERARCHY_ABSENT)
            b->last = t;
}

static inline void check_books(const struct book *b, const struct hierarchy *h)
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
        assert_int_equal(b->counts.tier[t].bytes, bytes);
        assert_int_equal(b->counts.tier[t].objects, objects);
        assert_true(b->counts.tier[t].peak_bytes >= bytes);
        assert_int_equal(s.present, b->o->capacity[t] != HIERARCHY_ABSENT);
        check_capacity(b, t);
        live += bytes;
    }
    assert_false(b->moving);
    assert_false(b->lifted);
    assert_int_equal(b->written, live + b->deleted);
}

static inline struct hierarchy_opts tiers(uint64_t gpu, uint64_t cpu, uint64_t storage)
{
    return (struct hierarchy_opts){.capacity = {gpu, cpu, storage},
                                   .large_entry_limit_ratio = 0.95,
                                   .target_usage_ratio = 0.8,
                                   .policy = &policy_lru};
}

static inline struct hierarchy *begin(struct book *b, const struct hierarchy_opts *o)
{
    book_open(b, o);
    struct hierarchy *h = hierarchy_create(o, book_row, b);
    assert_non_null(h);
    return h;
}

static inline int write_size(struct hierarchy *h, struct book *b, uint64_t id, uint64_t size)
{
    b->ops = 0;
    int rc = hierarchy_write(h, ident_block(id), size, (uint32_t)id, TRACE_BLOCK);
    check_books(b, h);
    return rc;
}

static inline bool read_id(struct hierarchy *h, struct book *b, uint64_t id)
{
    b->ops = 0;
    bool hit = hierarchy_read(h, ident_block(id), TRACE_USER);
    assert_true(b->ops == 1 || (b->o->promote == HIERARCHY_PROMOTE_ON_HIT && hit));
    assert_int_equal(hit, b->tier[id] != TRACE_NO_TIER);
    assert_int_equal(b->op[0].op, hit ? TRACE_READ : TRACE_MISS);
    assert_int_equal(b->op[0].class, TRACE_USER);
    assert_false(b->ops == 3 && b->op[1].tier == b->op[2].tier); /* out and back, for nothing */
    check_books(b, h);
    return hit;
}

#endif
