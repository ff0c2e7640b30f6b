/* The tier that does nothing: a replay against it shows how fast the client itself is. An operation
 * is complete when it is submitted, and waits here only to be polled. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/tier/tier.h"

struct tier_null {
    struct tier base; /* first: all that the scheduler sees */
    struct tier_op *first, *last;
};

static int null_submit(struct tier *t, struct tier_op *op)
{
    struct tier_null *n = (struct tier_null *)t;

    op->status = 0;
    op->start_ns = op->done_ns = clock_now_ns();
    op->part = (struct tier_parts){0};
    op->device_ns = 0;
    op->next = NULL;
    if (n->first)
        n->last->next = op;
    else
        n->first = op;
    n->last = op;
    return 0;
}

void tier_kick_nothing(struct tier *t)
{
    (void)t;
}

static size_t null_poll(struct tier *t, struct tier_op **done, size_t max)
{
    struct tier_null *n = (struct tier_null *)t;
    size_t count = 0;

    while (count < max && n->first) {
        done[count++] = n->first;
        n->first = n->first->next;
    }
    return count;
}

static int64_t null_next(struct tier *t)
{
    return ((struct tier_null *)t)->first ? 0 : INT64_MAX;
}

int tier_adopt_nothing(struct tier *t, struct tier_op *op, uint64_t *size, uint64_t *generation)
{
    (void)t, (void)op, (void)size, (void)generation;
    return -ENOENT;
}

static void null_describe(const struct tier *t, struct tier_info *info)
{
    (void)t;
    *info = (struct tier_info){
        .engine = "null", .simulated = true, .huge_pages = -1, .registered = -1, .direct = -1};
    snprintf(info->target, sizeof(info->target), "null");
}

static int null_close(struct tier *t, struct err *e)
{
    (void)e;
    free(t);
    return 0;
}

static const struct tier_ops null_ops = {.submit = null_submit,
                                         .kick = tier_kick_nothing,
                                         .poll = null_poll,
                                         .next_ns = null_next,
                                         .adopt = tier_adopt_nothing,
                                         .describe = null_describe,
                                         .close = null_close};

int tier_null_open(struct tier **out, struct bell *bell, struct err *e)
{
    struct tier_null *n = calloc(1, sizeof(*n));

    (void)bell; /* only the thread that submits could hear it, and that one knows */
    if (!n)
        return err_nomem(e, "null tier");
    n->base.ops = &null_ops;
    *out = &n->base;
    return 0;
}
