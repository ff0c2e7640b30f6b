/* The loop of kvprecond: buffers go from empty to filled to in flight and back. One thread does it
 * all, and the queue stays full because filled buffers wait for a place in it: a block is made
 * several times faster than a device takes it. */
#include "kvprecond/fill.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/clock.h"
#include "lib/data.h"

#define FILL_BATCH   64
#define FILL_WAIT_NS 100000000    /* how long a stop may go unseen */
#define FILL_SLICE   (256u << 10) /* bytes made between two looks at the queue */
#define FILL_AHEAD   (8u << 20)   /* bytes made ahead of the queue */

struct slot {
    struct io_req req;
    struct place_part part;
    struct place_file *file;
    struct slot *next;
};

struct fill {
    const struct fill_opts *o;
    struct fill_result *r;
    struct hist *service;
    struct err *e;
    struct slot *slots;
    struct slot *empty;                /* a stack */
    struct slot *filled, **filled_end; /* in order of offset */
    uint64_t made, begun;              /* bytes of the fill */
    unsigned in_flight;
    int64_t start_ns;
    int failed; /* the first failure */
};

unsigned fill_buffers(unsigned depth, uint32_t block_bytes)
{
    unsigned ahead = FILL_AHEAD / block_bytes;

    return depth + (ahead < 2 ? 2 : ahead);
}

static void fail(struct fill *f, int ret)
{
    if (f->failed == 0)
        f->failed = ret;
}

static bool ending(const struct fill *f)
{
    return f->failed != 0 || f->r->stopped;
}

/* Fills empty buffers, for about as long as a completion may wait to be seen. */
static void make_blocks(struct fill *f)
{
    uint64_t until = f->made + FILL_SLICE;

    while (f->empty && f->made < f->o->size && f->made < until) {
        struct slot *s = f->empty;

        f->empty = s->next;
        s->part = place_part(f->o->place, f->made, f->o->block_bytes);
        data_fill(s->req.buf, s->part.len, &s->part.id, s->part.offset / DATA_BLOCK);
        f->made += s->part.len;
        s->next = NULL;
        *f->filled_end = s;
        f->filled_end = &s->next;
    }
}

static int begin_one(struct fill *f, struct slot *s)
{
    struct err ignored = {0};
    int ret = place_begin(f->o->place, &s->part, &s->file, &s->req.fd, f->failed ? &ignored : f->e);

    if (ret < 0)
        return ret;
    s->req.offset = s->part.offset;
    s->req.len = s->part.len;
    ret = f->o->io->ops->submit(f->o->io, &s->req);
    if (ret < 0)
        err_errno(f->e, ret, ERR_FAILED, "", "a write could not be queued");
    return ret;
}

static void begin_filled(struct fill *f)
{
    bool any = false;
    int ret = 0;

    while (f->filled && f->in_flight < f->o->depth && ret == 0) {
        struct slot *s = f->filled;

        ret = begin_one(f, s);
        if (ret < 0)
            break;
        f->filled = s->next;
        if (!f->filled)
            f->filled_end = &f->filled;
        f->begun += s->part.len;
        f->in_flight++;
        any = true;
    }
    if (ret < 0)
        fail(f, ret);
    if (!any)
        return;
    ret = f->o->io->ops->kick(f->o->io);
    if (ret < 0)
        fail(f, err_errno(f->e, ret, ERR_FAILED, "", "writes could not be started"));
}

static void end_one(struct fill *f, struct slot *s)
{
    struct err *e = f->failed ? NULL : f->e;
    int ret = s->req.result;

    f->in_flight--;
    if (ret < 0)
        err_errno(e, ret, ERR_FAILED, "", "write of %u bytes at offset %llu of file %llu",
                  s->part.len, (unsigned long long)s->part.offset,
                  (unsigned long long)s->part.file);
    else
        ret = place_done(f->o->place, s->file, s->part.len, e);
    if (ret < 0) {
        fail(f, ret);
        return;
    }
    f->r->bytes += s->part.len;
    f->r->writes++;
    if (hist_record(f->service, s->req.done_ns - s->req.start_ns) < 0)
        fail(f, err_nomem(e, "histogram"));
    s->next = f->empty;
    f->empty = s;
}

static int end_some(struct fill *f, int64_t until_ns)
{
    struct io_req *done[FILL_BATCH];
    int n = f->o->io->ops->reap(f->o->io, done, FILL_BATCH, until_ns);

    for (int i = 0; i < n; i++)
        end_one(f, done[i]->owner);
    if (n > 0)
        f->r->elapsed_ns = clock_now_ns() - f->start_ns;
    return n < 0
               ? err_errno(f->failed ? NULL : f->e, n, ERR_FAILED, "", "completions cannot be had")
               : 0;
}

static int fill_loop(struct fill *f)
{
    int ret = 0;

    while (ret == 0 && (f->in_flight > 0 || (!ending(f) && f->begun < f->o->size))) {
        bool more = f->empty && f->made < f->o->size;

        if (!ending(f) && more)
            make_blocks(f);
        if (!ending(f))
            begin_filled(f);
        more = !ending(f) && f->empty && f->made < f->o->size;
        if (f->in_flight > 0)
            ret = end_some(f, more ? 0 : clock_now_ns() + FILL_WAIT_NS);
        if (!ending(f) && f->o->tick(f->o->ctx, f->r->bytes))
            f->r->stopped = true;
    }
    return ret < 0 ? ret : f->failed;
}

int fill_run(const struct fill_opts *o, struct fill_result *r, struct hist *service, struct err *e)
{
    struct fill f = {.o = o, .r = r, .service = service, .e = e, .filled_end = &f.filled};
    int ret;

    *r = (struct fill_result){0};
    f.slots = calloc(o->bufs, sizeof *f.slots);
    if (!f.slots)
        return err_nomem(e, "writes");
    for (unsigned i = o->bufs; i-- > 0;) {
        struct slot *s = &f.slots[i];

        s->req = (struct io_req){.fd = -1, .write = true, .buf_index = (int)i, .owner = s};
        s->req.buf = (char *)o->pool + (size_t)i * o->block_bytes;
        s->next = f.empty;
        f.empty = s;
    }
    f.start_ns = clock_now_ns();
    ret = fill_loop(&f);
    free(f.slots);
    return ret;
}
