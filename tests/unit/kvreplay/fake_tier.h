/* fake_tier.h - a tier on a fake clock, for tests of the scheduler: its operations each take
 * FAKE_TOOK_NS, all at the same time. It counts operations in flight and bytes stored. */
#ifndef KVTRACE_TESTS_UNIT_KVREPLAY_FAKE_TIER_H
#define KVTRACE_TESTS_UNIT_KVREPLAY_FAKE_TIER_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/tier/tier.h"

enum {
    FAKE_TOOK_NS = 10000000,
    FAKE_SLOTS = 128
};

struct fake {
    struct tier base;
    int64_t *now;
    struct tier_op *op[FAKE_SLOTS];
    size_t count, most_count;     /* in flight */
    uint64_t stored, most_stored; /* bytes */
    int64_t ahead_ns, late_ns;    /* of operations that are to take a slot */
    bool full;                    /* writes end with -ENOSPC, and deletes take longer */
};

static inline int fake_submit(struct tier *t, struct tier_op *op)
{
    struct fake *f = (struct fake *)t;
    op->done_ns = *f->now + FAKE_TOOK_NS;
    if (f->full && op->verb == TIER_DELETE)
        op->done_ns += FAKE_TOOK_NS / 2;
    op->ahead_ns = op->slots ? f->ahead_ns : 0;
    op->late_ns = op->slots ? f->late_ns : 0;
    f->op[f->count++] = op;
    if (op->verb == TIER_WRITE)
        f->stored += op->size;
    f->most_count = f->count > f->most_count ? f->count : f->most_count;
    f->most_stored = f->stored > f->most_stored ? f->stored : f->most_stored;
    return 0;
}

static inline void fake_kick(struct tier *t)
{
    (void)t;
}

static inline size_t fake_poll(struct tier *t, struct tier_op **done, size_t max)
{
    struct fake *f = (struct fake *)t;
    size_t n = 0, kept = 0;
    for (size_t i = 0; i < f->count; i++) {
        struct tier_op *op = f->op[i];
        if (op->done_ns > *f->now || n == max) {
            f->op[kept++] = op;
            continue;
        }
        op->status = f->full && op->verb == TIER_WRITE ? -ENOSPC : 0;
        op->device_ns = FAKE_TOOK_NS;
        if (op->verb == TIER_DELETE || op->drop)
            f->stored -= op->size;
        done[n++] = op;
    }
    f->count = kept;
    return n;
}

static inline int64_t fake_next(struct tier *t)
{
    struct fake *f = (struct fake *)t;
    int64_t next = INT64_MAX;
    for (size_t i = 0; i < f->count; i++)
        next = f->op[i]->done_ns < next ? f->op[i]->done_ns : next;
    return next;
}

static const struct tier_ops fake_ops = {
    .submit = fake_submit, .kick = fake_kick, .poll = fake_poll, .next_ns = fake_next};

#endif
