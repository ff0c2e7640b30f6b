/* A tier that takes the time of a drive that was measured: all operations inside share a rate that
 * depends on them (lib/drive/share_server.h). Nothing is stored. next_ns tells when the first one
 * is done, so it needs neither thread nor bell. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/drive/share_server.h"
#include "lib/tier/tier.h"

struct tier_drive {
    struct tier base; /* first: all that the scheduler sees */
    const struct drive_model *model;
    struct share_server *server;
    struct tier_op *first, *last; /* done and not polled, by done_ns */
};

static void add_done(struct tier_drive *d, struct tier_op *op, int64_t begin_ns, int64_t done_ns)
{
    op->start_ns = begin_ns;
    op->done_ns = done_ns;
    op->device_ns = done_ns - begin_ns;
    op->part = (struct tier_parts){.io_ns = op->device_ns};
    op->next = NULL;
    if (d->first)
        d->last->next = op;
    else
        d->first = op;
    d->last = op;
}

static void collect(struct tier_drive *d, int64_t now_ns)
{
    struct share_server_end end;

    while (share_server_take(d->server, now_ns, &end))
        add_done(d, (struct tier_op *)(uintptr_t)end.tag, end.begin_ns, end.end_ns);
}

static int drive_submit(struct tier *t, struct tier_op *op)
{
    struct tier_drive *d = (struct tier_drive *)t;
    int64_t now = clock_now_ns();

    collect(d, now);
    op->status = 0;
    if (op->verb == TIER_DELETE)
        add_done(d, op, now, now);
    else if (share_server_add(d->server, now, op->size, op->verb == TIER_READ, (uintptr_t)op) < 0)
        return -EAGAIN; /* those inside end, and make room */
    return 0;
}

static size_t drive_poll(struct tier *t, struct tier_op **done, size_t max)
{
    struct tier_drive *d = (struct tier_drive *)t;
    size_t count = 0;

    collect(d, clock_now_ns());
    for (; count < max && d->first; count++) {
        done[count] = d->first;
        d->first = d->first->next;
    }
    return count;
}

static int64_t drive_next(struct tier *t)
{
    struct tier_drive *d = (struct tier_drive *)t;

    return d->first ? d->first->done_ns : share_server_next_ns(d->server);
}

static void drive_describe(const struct tier *t, struct tier_info *info)
{
    const struct tier_drive *d = (const struct tier_drive *)t;
    const struct drive_model_facts *facts = drive_model_facts(d->model);
    const char *name = facts->device[0] ? facts->device : facts->target;
    char validity[NOTES_CAP];

    *info = (struct tier_info){
        .engine = "simulated", .simulated = true, .huge_pages = -1, .registered = -1, .direct = -1};
    snprintf(info->target, sizeof(info->target), "simulated from %.240s", facts->file);
    drive_model_validity(d->model, validity, sizeof(validity));
    notes_add(&info->flags, "times from a measured drive%s%s%s%.20s: %s", name[0] ? ", " : "", name,
              facts->started[0] ? ", " : "", facts->started, validity);
}

static int drive_close(struct tier *t, struct err *e)
{
    struct tier_drive *d = (struct tier_drive *)t;

    (void)e;
    share_server_free(d->server);
    free(d);
    return 0;
}

static const struct tier_ops drive_ops = {.submit = drive_submit,
                                          .kick = tier_kick_nothing,
                                          .poll = drive_poll,
                                          .next_ns = drive_next,
                                          .adopt = tier_adopt_nothing,
                                          .describe = drive_describe,
                                          .close = drive_close};

int tier_drive_open(struct tier **out, const struct drive_model *model, unsigned max_ops,
                    struct err *e)
{
    struct tier_drive *d = calloc(1, sizeof(*d));

    *out = NULL;
    if (!d)
        return err_nomem(e, "simulated drive");
    d->base.ops = &drive_ops;
    d->model = model;
    d->server = share_server_create(model, max_ops);
    if (!d->server) {
        free(d);
        return err_nomem(e, "simulated drive");
    }
    *out = &d->base;
    return 0;
}
