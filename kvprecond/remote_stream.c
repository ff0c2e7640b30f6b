/* Between fill.c and an engine of lib/remote. An object is one write operation, whose source
 * hands out the chunks as they are submitted; the engine stores each as a part. The last chunk of
 * an object ends when the object is whole. The writer's thread submits and reaps, the engine's
 * takes and gives. */
#include "kvprecond/remote_stream.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvprecond/fill_target.h"
#include "lib/base/clock.h"
#include "lib/base/units.h"
#include "lib/data/data.h"
#include "lib/thread/bell.h"

#define S3_PART_MIN  (5 * UNITS_MIB)
#define S3_PARTS_MAX 10000
#define RESP_VALUE   (512 * UNITS_MIB)

struct object {
    struct remote_stream *r;
    uint64_t number;
    bool used, ended;
    int status;      /* when ended */
    uint64_t stored; /* bytes */
    struct tier_op op;
    struct tier_source source;
    struct io_req *first, *last; /* submitted, not given back; in the order of offsets */
    struct io_req *held;         /* the last chunk, stored: it ends with the object */
};

struct remote_stream {
    struct io io;
    struct io_ops ops;
    const struct plan *plan;
    struct uri u;
    struct tier *tier;
    struct bell *bell;
    uint64_t begun;
    char said[TIER_CODE_CAP + TIER_SAID_CAP + 2];
    pthread_mutex_t lock; /* of what follows */
    bool cancelled;
    struct io_req *done, *done_last;
    unsigned objects;
    struct object object[];
};

static struct remote_stream *of(struct io *io)
{
    return (struct remote_stream *)io;
}

/* ---- chunks; the caller holds the lock ---- */

static void chunk_done(struct remote_stream *r, struct io_req *req, int status)
{
    req->result = status;
    req->done_ns = clock_now_ns();
    req->next = NULL;
    if (r->done)
        r->done_last->next = req;
    else
        r->done = req;
    r->done_last = req;
}

static struct object *find_object(struct remote_stream *r, uint64_t number)
{
    for (unsigned i = 0; i < r->objects; i++) {
        if (r->object[i].used && r->object[i].number == number)
            return &r->object[i];
    }
    return NULL;
}

/* The object has ended. It stays known while the stream may still have chunks for it: until the
 * last one, or until another object needs its place. */
static void object_end(struct object *o, int status)
{
    struct remote_stream *r = o->r;

    o->ended = true;
    o->status = status;
    if (o->held)
        chunk_done(r, o->held, status);
    o->held = NULL;
    while (o->first) {
        struct io_req *req = o->first;
        o->first = req->next;
        chunk_done(r, req, status < 0 ? status : -EIO);
    }
    o->last = NULL;
    o->used = status < 0;
}

/* ---- the engine's thread ---- */

static int source_take(void *ctx, uint64_t at, const void **contents)
{
    struct object *o = ctx;
    struct remote_stream *r = o->r;
    int rc = -EAGAIN;

    pthread_mutex_lock(&r->lock);
    for (struct io_req *req = o->first; req && rc != 0; req = req->next) {
        if (req->offset != at)
            continue;
        *contents = req->buf;
        req->start_ns = req->start_ns ? req->start_ns : clock_now_ns();
        rc = 0;
    }
    if (rc == -EAGAIN && r->cancelled)
        rc = -ECANCELED;
    pthread_mutex_unlock(&r->lock);
    return rc;
}

static void source_give(void *ctx, uint64_t at, int status)
{
    struct object *o = ctx;
    struct remote_stream *r = o->r;
    struct io_req *before = NULL, *req;

    pthread_mutex_lock(&r->lock);
    for (req = o->first; req && req->offset != at; req = req->next)
        before = req;
    if (req) {
        if (before)
            before->next = req->next;
        else
            o->first = req->next;
        if (o->last == req)
            o->last = before;
        o->stored += req->len;
        if (status == 0 && o->stored == o->op.size)
            o->held = req;
        else
            chunk_done(r, req, status);
    }
    pthread_mutex_unlock(&r->lock);
    bell_ring(r->bell);
}

/* ---- the writer's thread: an I/O engine ---- */

/* A new object, for the number. NULL: too many are under way. */
static struct object *new_object(struct remote_stream *r, uint64_t number)
{
    struct plan_part part = plan_part(r->plan, number * r->plan->file_units, 0);
    struct object *o = NULL;

    for (unsigned i = 0; i < r->objects && (!o || o->used); i++) {
        if (!r->object[i].used || r->object[i].ended)
            o = &r->object[i];
    }
    if (!o)
        return NULL;
    *o = (struct object){.r = r, .number = number, .used = true};
    o->source = (struct tier_source){.ctx = o, .take = source_take, .give = source_give};
    o->op = (struct tier_op){.verb = TIER_WRITE,
                             .name = part.id.key,
                             .id = part.id,
                             .size = plan_file_bytes(r->plan, number),
                             .source = &o->source,
                             .owner = o,
                             .first_byte_ns = TIER_UNKNOWN_NS,
                             .door = TIER_NO_DOOR};
    return o;
}

static int remote_io_submit(struct io *io, struct io_req *req)
{
    struct remote_stream *r = of(io);
    bool begins = false;
    int rc = 0;

    req->start_ns = 0;
    req->next = NULL;
    pthread_mutex_lock(&r->lock);
    struct object *o = find_object(r, (uint64_t)req->fd);
    if (!o) {
        o = new_object(r, (uint64_t)req->fd);
        begins = o != NULL;
    }
    if (!o) {
        rc = -EAGAIN;
    } else if (o->ended) {
        req->start_ns = clock_now_ns();
        chunk_done(r, req, o->status);
        bell_ring(r->bell);
    } else {
        if (o->last)
            o->last->next = req;
        else
            o->first = req;
        o->last = req;
    }
    pthread_mutex_unlock(&r->lock);
    if (begins) {
        r->begun++;
        rc = r->tier->ops->submit(r->tier, &o->op);
    }
    return rc;
}

static int remote_io_kick(struct io *io)
{
    struct remote_stream *r = of(io);

    r->tier->ops->kick(r->tier);
    tier_remote_more(r->tier);
    return 0;
}

/* Objects that have ended. */
static void poll_objects(struct remote_stream *r)
{
    struct tier_op *op;

    while (r->tier->ops->poll(r->tier, &op, 1) > 0) {
        if (op->status < 0 && op->code[0])
            snprintf(r->said, sizeof(r->said), "%s%s%s", op->code, op->said[0] ? ": " : "",
                     op->said);
        pthread_mutex_lock(&r->lock);
        object_end(op->owner, op->status);
        pthread_mutex_unlock(&r->lock);
    }
}

static int remote_io_reap(struct io *io, struct io_req **done, int max, int64_t until_ns)
{
    struct remote_stream *r = of(io);

    for (bool waited = false;; waited = true) {
        uint32_t seen = bell_seen(r->bell);
        int n = 0;

        poll_objects(r);
        pthread_mutex_lock(&r->lock);
        while (n < max && r->done) {
            done[n++] = r->done;
            r->done = r->done->next;
        }
        pthread_mutex_unlock(&r->lock);
        if (n > 0 || waited || until_ns == 0)
            return n;
        bell_wait(r->bell, seen, until_ns);
    }
}

static void remote_io_wake(struct io *io)
{
    bell_ring(of(io)->bell);
}

struct io *remote_stream_io(struct remote_stream *r)
{
    return &r->io;
}

const char *remote_stream_said(const struct remote_stream *r)
{
    return r->said;
}

unsigned remote_stream_describe(struct remote_stream *r, struct tier_info *info,
                                struct tier_door door[TIER_DOORS_MAX])
{
    r->tier->ops->describe(r->tier, info);
    return tier_remote_doors(r->tier, door);
}

uint64_t remote_stream_objects(const struct remote_stream *r)
{
    return r->begun;
}

/* ---- opening and closing ---- */

/* Refuses objects of more parts than the store takes. */
static int check_parts(const struct uri *u, const struct plan *plan, struct err *e)
{
    const struct plan_opts *o = &plan->o;
    uint64_t object = o->file_bytes < o->region ? o->file_bytes : o->region;
    char a[32];

    if (u->part_bytes)
        return err_set(e, EINVAL, ERR_INPUT, u->text,
                       "part= does not apply to a stream: its parts are the --config chunk_size");
    if (u->scheme == URI_RESP && o->write_bytes > RESP_VALUE)
        return err_set(e, EINVAL, ERR_INPUT, "--config chunk_size",
                       "values of Redis have %s at most",
                       units_format_bytes(a, sizeof(a), (double)RESP_VALUE));
    if (u->scheme != URI_S3 || object <= o->write_bytes)
        return 0;
    if (o->write_bytes < S3_PART_MIN)
        return err_set(e, EINVAL, ERR_INPUT, "--config chunk_size", "parts in S3 have %s at least",
                       units_format_bytes(a, sizeof(a), (double)S3_PART_MIN));
    if (object / o->write_bytes >= S3_PARTS_MAX)
        return err_set(e, EINVAL, ERR_INPUT, "--config chunk_size",
                       "an object in S3 has 10,000 parts at most: use larger chunks, or a smaller "
                       "--config file_size");
    return 0;
}

int remote_stream_open(struct remote_stream **out, const struct remote_stream_opts *o,
                       struct err *e)
{
    unsigned objects = o->depth + 1;
    int rc = check_parts(o->uri, o->plan, e);

    if (rc < 0)
        return rc;
    struct remote_stream *r = calloc(1, sizeof(*r) + objects * sizeof(r->object[0]));
    if (!r)
        return err_nomem(e, "stream");
    r->ops = (struct io_ops){.name = o->uri->scheme == URI_S3 ? "s3" : "redis",
                             .submit = remote_io_submit,
                             .kick = remote_io_kick,
                             .reap = remote_io_reap,
                             .wake = remote_io_wake};
    r->io.ops = &r->ops;
    r->plan = o->plan;
    r->objects = objects;
    r->u = *o->uri;
    r->u.part_bytes = o->plan->o.write_bytes;
    if (!r->u.connections)
        r->u.connections = o->depth;
    pthread_mutex_init(&r->lock, NULL);
    r->bell = bell_create();
    rc = r->bell ? 0 : err_nomem(e, "stream");
    struct tier_remote_opts t = {.uri = &r->u,
                                 .program = "kvprecond",
                                 .keep = o->keep,
                                 .destroys = o->destroy_data,
                                 .data_seed = o->data_seed,
                                 .waits = fill_target_say_waits,
                                 .timeout_ns = o->timeout_ns,
                                 .retries = o->retries,
                                 .max_ops = objects,
                                 .largest_bytes = o->plan->o.file_bytes};
    if (rc == 0)
        rc = data_shape(1, 1, &t.shape);
    if (rc == 0)
        rc = o->uri->scheme == URI_S3 ? tier_s3_open(&r->tier, &t, r->bell, e)
                                      : tier_resp_open(&r->tier, &t, r->bell, e);
    if (rc < 0) {
        remote_stream_close(r, false, NULL);
        return rc;
    }
    *out = r;
    return 0;
}

void remote_stream_finish(struct remote_stream *r)
{
    bool any = true;

    pthread_mutex_lock(&r->lock);
    r->cancelled = true;
    pthread_mutex_unlock(&r->lock);
    tier_remote_more(r->tier);
    while (any) {
        uint32_t seen = bell_seen(r->bell);
        poll_objects(r);
        any = false;
        for (unsigned i = 0; i < r->objects; i++)
            any |= r->object[i].used && !r->object[i].ended;
        if (any)
            bell_wait(r->bell, seen, INT64_MAX);
    }
}

int remote_stream_close(struct remote_stream *r, bool keep, struct err *e)
{
    int rc = 0;

    if (!r)
        return 0;
    if (r->tier) {
        remote_stream_finish(r);
        tier_remote_keep(r->tier, keep);
        rc = r->tier->ops->close(r->tier, e);
    }
    bell_free(r->bell);
    pthread_mutex_destroy(&r->lock);
    free(r);
    return rc;
}
