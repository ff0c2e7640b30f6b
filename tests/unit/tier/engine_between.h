/* engine_between.h - stands between a storage tier and its I/O engine, for tests: makes single I/Os
 * and calls of one object fail, the engine break, and rings be refused. For one test, which the
 * Makefile links so that it takes the place of io_open. Include after cmocka.h. */
#ifndef TESTS_UNIT_TIER_ENGINE_BETWEEN_H
#define TESTS_UNIT_TIER_ENGINE_BETWEEN_H

#include <limits.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/io/io.h"
#include "lib/tier/storage_object.h"

/* The fault: a transfer of one object with that block in it, or a call, and a second call. */
static struct fault {
    int status; /* 0: nothing fails */
    struct hash128 key;
    enum io_call call;
    bool write;
    uint64_t block;
    enum io_call then_call;
    int then_status;  /* 0: it does not fail */
    int breaks_after; /* reaps with something in them; then the engine itself fails; 0: never */
    int hits;
} fault;

/* Transfers that are in the engine, the most of them so far, and calls that open a file; of one
 * thread. */
static atomic_uint transfers, most_transfers, opens;

/* The engine takes nothing yet. */
static atomic_bool held;

struct between {
    struct io io;
    struct io_ops ops;
    struct io *real;
};

/* Rings that can be had yet; then io_uring is refused, as it is for want of memory to lock. */
static unsigned rings_left = UINT_MAX;

static struct io *real_of(const struct io *io)
{
    return ((const struct between *)io)->real;
}

static bool is_of_object(const struct io_req *r)
{
    const struct storage_object *ob = r->owner;

    return ob->op->id.key.lo == fault.key.lo;
}

static bool is_meant(const struct io_req *r)
{
    struct data_id id;
    uint64_t first;

    if (fault.status == 0 || r->call != fault.call)
        return false;
    if (r->call != IO_TRANSFER)
        return is_of_object(r);
    return r->result == 0 && r->write == fault.write && data_identify(r->buf, &id, &first) == 0 &&
           id.key.lo == fault.key.lo && fault.block >= first &&
           fault.block - first < r->len / DATA_BLOCK;
}

static int between_submit(struct io *io, struct io_req *r)
{
    while (atomic_load(&held))
        sched_yield();
    if (r->call == IO_OPENAT)
        atomic_fetch_add(&opens, 1);
    if (r->call == IO_TRANSFER && atomic_fetch_add(&transfers, 1) == atomic_load(&most_transfers))
        atomic_fetch_add(&most_transfers, 1);
    return real_of(io)->ops->submit(real_of(io), r);
}

static int between_kick(struct io *io)
{
    return real_of(io)->ops->kick(real_of(io));
}

static int between_reap(struct io *io, struct io_req **done, int max, int64_t until_ns)
{
    int n = real_of(io)->ops->reap(real_of(io), done, max, until_ns);

    for (int i = 0; i < n; i++) {
        if (done[i]->call == IO_TRANSFER)
            atomic_fetch_sub(&transfers, 1);
        if (fault.then_status && done[i]->call == fault.then_call && is_of_object(done[i]))
            done[i]->result = fault.then_status;
        if (!is_meant(done[i]))
            continue;
        done[i]->result = fault.status;
        fault.hits++;
    }
    if (n > 0 && fault.breaks_after > 0 && --fault.breaks_after == 0)
        return -EIO;
    return n;
}

static void between_wake(struct io *io)
{
    real_of(io)->ops->wake(real_of(io));
}

static void between_close(struct io *io)
{
    real_of(io)->ops->close(real_of(io));
    free(io);
}

static const struct io_ops between_ops = {
    .submit = between_submit,
    .kick = between_kick,
    .reap = between_reap,
    .wake = between_wake,
    .close = between_close,
};

/* The linker puts this in the place of io_open (tests/rules.mk). */
int __real_io_open(struct io **out, enum io_engine engine, const struct io_opts *o, struct err *e);
int __wrap_io_open(struct io **out, enum io_engine engine, const struct io_opts *o, struct err *e);
int __wrap_io_open(struct io **out, enum io_engine engine, const struct io_opts *o, struct err *e)
{
    struct between *b = calloc(1, sizeof(*b));
    int ret;

    assert_non_null(b);
    if (engine == IO_AUTO && rings_left == 0) {
        ret = __real_io_open(&b->real, IO_PSYNC, o, e);
        notes_add(&b->io.fallbacks, "io_uring refused (ENOMEM)");
    } else {
        ret = __real_io_open(&b->real, engine, o, e);
        rings_left -= engine == IO_AUTO;
    }
    if (ret < 0) {
        free(b);
        return ret;
    }
    b->ops = between_ops;
    b->ops.engine = b->real->ops->engine;
    b->ops.name = b->real->ops->name;
    b->io.ops = &b->ops;
    notes_merge(&b->io.fallbacks, &b->real->fallbacks);
    b->io.flags = b->real->flags;
    b->io.slots = b->real->slots;
    b->io.at_once = b->real->at_once;
    *out = &b->io;
    return ret;
}

#endif
