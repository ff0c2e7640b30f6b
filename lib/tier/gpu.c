/* Tier-0 for real: objects in arenas from cudaMalloc, one on each device. Every thread has a stream
 * and a ring of pinned buffers of its own, so that making data, copying it and checking it overlap.
 * Built without CUDA, the tier only says so. */
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/units.h"
#include "lib/text/text.h"
#include "lib/tier/arena.h"

#if KVTRACE_CUDA

#include <cuda_runtime_api.h>

/* Threads 0 .. WRITERS-1 of a device copy to it: one core makes data slower than a PCIe 5 link
 * takes it. The last one copies back. RING buffers keep the link busy while one of them is filled
 * or checked. A thread looks for the end of a copy for LOOK_NS before it sleeps: a copy of 128 KiB
 * takes 7 us, and waking up takes longer. */
enum {
    WRITERS = 2,
    THREADS = WRITERS + 1,
    RING = 4,
    LOOK_NS = 50000
};

/* A chunk in flight, in the order of the stream. */
struct chunk {
    unsigned char *buf; /* pinned, chunk_bytes */
    cudaEvent_t begin, end;
    struct tier_op *op; /* NULL: free */
    uint64_t block, len;
    bool last; /* of its object */
};

/* The state of one thread; after the start only that thread touches it. */
struct lane {
    cudaStream_t stream;
    struct chunk ring[RING];
    unsigned head, tail; /* the oldest in flight, the next to use; tail - head are in flight */
    struct tier_op *op;  /* being issued */
    struct arena_walk walk;
    uint64_t left, block;
    bool failed; /* the device refuses: operations end with -EIO */
};

struct device {
    int number;
    char name[128];
    char bus[32];                /* PCI address; unlike the number the same in any environment */
    unsigned char *base;         /* device memory */
    uint64_t chunk_bytes;        /* of a pinned buffer */
    atomic_uint_least64_t moved; /* bytes copied to it and back */
    struct lane lane[THREADS];
};

_Static_assert((int)TIER_GPU_MAX <= (int)EXTENT_PARTS_MAX, "a device is a part of the arena");
_Static_assert((int)TIER_GPU_MAX <= (int)NOTES_MAX, "a device is a note of the tier");

struct gpu {
    unsigned devices;
    uint64_t bytes; /* of each arena */
    struct device device[TIER_GPU_MAX];
};

static int gpu_fail(struct err *e, cudaError_t rc, int code, int number, const char *what)
{
    char where[32];

    snprintf(where, sizeof(where), "GPU %d", number);
    return err_set(e, code, ERR_TARGET, where, "%s: %s", what, cudaGetErrorString(rc));
}

/* ---- one thread ---- */

/* Puts the next chunk of lane->op into the stream. */
static void issue_chunk(struct device *d, struct lane *l)
{
    struct chunk *c = &l->ring[l->tail % RING];
    uint64_t want = l->left < d->chunk_bytes ? l->left : d->chunk_bytes, done = 0, offset, len;
    bool up = l->op->verb == TIER_WRITE;
    cudaError_t rc;

    if (up)
        data_fill(c->buf, want, &l->op->id, l->block);
    rc = cudaEventRecord(c->begin, l->stream);
    while (rc == cudaSuccess && done < want &&
           (len = arena_walk_next(&l->walk, want - done, &offset)) != 0) {
        rc = up ? cudaMemcpyAsync(d->base + offset, c->buf + done, len, cudaMemcpyHostToDevice,
                                  l->stream)
                : cudaMemcpyAsync(c->buf + done, d->base + offset, len, cudaMemcpyDeviceToHost,
                                  l->stream);
        done += len;
    }
    if (rc == cudaSuccess)
        rc = cudaEventRecord(c->end, l->stream);
    if (rc != cudaSuccess)
        l->failed = true;
    c->op = l->op;
    c->block = l->block;
    c->len = want;
    l->left -= want;
    l->block += want / DATA_BLOCK;
    c->last = l->left == 0;
    if (c->last)
        l->op = NULL;
    l->tail++;
}

/* Waits for the end of a chunk that has not left the stream. */
static cudaError_t await(const struct chunk *c)
{
    int64_t until = clock_now_ns() + LOOK_NS;
    cudaError_t rc;

    do
        rc = cudaEventQuery(c->end);
    while (rc == cudaErrorNotReady && clock_now_ns() < until);
    return rc == cudaErrorNotReady ? cudaEventSynchronize(c->end) : rc;
}

/* Retires the oldest chunk if it has left the stream; with wait, as soon as it has. Counts it,
 * checks it, and ends its object if it was the last. */
static void retire_oldest(struct arena_thread *t, struct device *d, struct lane *l, bool wait)
{
    struct chunk *c = &l->ring[l->head % RING];
    cudaError_t rc = l->failed ? cudaErrorUnknown : cudaEventQuery(c->end);
    struct tier_op *op = c->op;
    float ms = 0;
    int checked = 0;

    if (rc == cudaErrorNotReady && !wait)
        return;
    if (rc == cudaErrorNotReady)
        rc = await(c);
    if (rc == cudaSuccess)
        rc = cudaEventElapsedTime(&ms, c->begin, c->end);
    if (rc == cudaSuccess) {
        op->part.io_ns += (int64_t)((double)ms * 1e6);
        atomic_fetch_add_explicit(&d->moved, c->len, memory_order_relaxed);
        if (op->verb == TIER_READ && op->status == 0 && op->verify == TIER_VERIFY_FULL)
            checked = data_check_full(c->buf, c->len, &op->id, c->block, &op->fault);
        else if (op->verb == TIER_READ && op->status == 0 && op->verify == TIER_VERIFY_HEADER)
            checked = data_check_headers(c->buf, c->len, &op->id, c->block, &op->fault);
        if (checked < 0)
            op->status = checked;
    } else {
        l->failed = true;
        op->status = -EIO;
    }
    c->op = NULL;
    l->head++;
    if (c->last) {
        op->done_ns = clock_now_ns();
        op->device_ns = op->part.io_ns;
        arena_done(t, op);
    }
}

static void gpu_run(struct arena_thread *t, void *state)
{
    struct gpu *g = state;
    struct device *d = &g->device[arena_thread_part(t)];
    struct lane *l = &d->lane[arena_thread_index(t)];

    if (cudaSetDevice(d->number) != cudaSuccess)
        l->failed = true;
    for (;;) {
        uint32_t seen = arena_seen(t);
        struct tier_op *op = l->op ? NULL : arena_take(t);
        bool full;

        if (op) {
            arena_walk_start(&l->walk, t, op);
            l->op = op;
            op->part.slot_ns = TIER_UNKNOWN_NS; /* waiting in the stream cannot be told apart */
            l->left = l->walk.bytes;
            l->block = l->walk.block;
        }
        full = l->tail - l->head == RING;
        if (l->op && !full)
            issue_chunk(d, l);
        if (l->head != l->tail)
            /* After an operation was taken, another may be there: look for it before waiting. */
            retire_oldest(t, d, l, full || (!l->op && !op));
        else if (!l->op && arena_stopping(t))
            return;
        else if (!l->op)
            arena_sleep(t, seen);
    }
}

static unsigned gpu_choose(const struct tier_op *op, unsigned n, void *state)
{
    (void)state;
    return op->verb == TIER_WRITE ? (unsigned)(op->name.lo % (n - 1)) : n - 1;
}

static void gpu_describe(void *state, struct tier_info *info)
{
    const struct gpu *g = state;
    uint64_t moved = 0;
    bool same = true; /* all names */

    for (unsigned i = 0; i < g->devices; i++) {
        same = same && strcmp(g->device[i].name, g->device[0].name) == 0;
        moved += atomic_load(&g->device[i].moved);
    }
    info->engine = "cuda";
    if (g->devices > 1 && same)
        text_append(info->device, sizeof(info->device), "%u x ", g->devices);
    for (unsigned i = 0; i < g->devices; i++) {
        const struct device *d = &g->device[i];
        char share[40] = "";

        text_append(info->target, sizeof(info->target), "%sGPU %d", i ? ", " : "", d->number);
        if (i == 0 || !same)
            text_append(info->device, sizeof(info->device), "%s%s", i ? ", " : "", d->name);
        if (g->devices > 1 && moved > 0)
            snprintf(share, sizeof(share), ", %.0f %% of the bytes moved",
                     100 * (double)atomic_load(&d->moved) / (double)moved);
        notes_add(&info->flags, "GPU %d: %s, PCI %s, %.2f GiB%s", d->number, d->name, d->bus,
                  (double)g->bytes / (double)UNITS_GIB, share);
    }
}

/* ---- opening and closing ---- */

static void lane_close(struct lane *l)
{
    for (unsigned k = 0; k < RING; k++) {
        if (l->ring[k].buf)
            (void)cudaFreeHost(l->ring[k].buf);
        if (l->ring[k].begin)
            (void)cudaEventDestroy(l->ring[k].begin);
        if (l->ring[k].end)
            (void)cudaEventDestroy(l->ring[k].end);
    }
    if (l->stream)
        (void)cudaStreamDestroy(l->stream);
}

static void gpu_close(void *state)
{
    struct gpu *g = state;

    for (unsigned i = 0; i < g->devices; i++) {
        struct device *d = &g->device[i];

        (void)cudaSetDevice(d->number);
        for (unsigned k = 0; k < THREADS; k++)
            lane_close(&d->lane[k]);
        if (d->base)
            (void)cudaFree(d->base);
    }
    free(g);
}

static cudaError_t lane_open(struct lane *l, uint64_t chunk_bytes)
{
    cudaError_t rc = cudaStreamCreateWithFlags(&l->stream, cudaStreamNonBlocking);

    for (unsigned k = 0; k < RING && rc == cudaSuccess; k++) {
        struct chunk *c = &l->ring[k];

        rc = cudaHostAlloc((void **)&c->buf, chunk_bytes, cudaHostAllocDefault);
        if (rc == cudaSuccess)
            rc = cudaEventCreateWithFlags(&c->begin, cudaEventBlockingSync);
        if (rc == cudaSuccess)
            rc = cudaEventCreateWithFlags(&c->end, cudaEventBlockingSync);
    }
    return rc;
}

static int device_open(struct device *d, uint64_t bytes, struct err *e)
{
    struct cudaDeviceProp prop;
    char what[96];
    cudaError_t rc = cudaSetDevice(d->number);

    if (rc == cudaSuccess)
        rc = cudaGetDeviceProperties(&prop, d->number);
    if (rc != cudaSuccess)
        return gpu_fail(e, rc, -ENODEV, d->number, "cannot use the device");
    snprintf(d->name, sizeof(d->name), "%.*s", (int)sizeof(d->name) - 1, prop.name);
    snprintf(d->bus, sizeof(d->bus), "%04x:%02x:%02x.0", (unsigned)prop.pciDomainID & 0xffff,
             (unsigned)prop.pciBusID & 0xff, (unsigned)prop.pciDeviceID & 0xff);
    rc = cudaMalloc((void **)&d->base, bytes);
    snprintf(what, sizeof(what), "cannot allocate %.2f GiB", (double)bytes / (double)UNITS_GIB);
    if (rc != cudaSuccess)
        return gpu_fail(e, rc, -ENOMEM, d->number, what);
    for (unsigned i = 0; i < THREADS && rc == cudaSuccess; i++)
        rc = lane_open(&d->lane[i], d->chunk_bytes);
    return rc == cudaSuccess
               ? 0
               : gpu_fail(e, rc, -ENOMEM, d->number, "cannot make streams and buffers");
}

static const struct arena_engine gpu_engine = {
    .run = gpu_run,
    .choose = gpu_choose,
    .describe = gpu_describe,
    .close = gpu_close,
};

int tier_gpu_open(struct tier **out, const struct tier_gpu_opts *o, struct bell *bell,
                  struct err *e)
{
    struct gpu *g = calloc(1, sizeof(*g));
    struct arena_opts arena;
    int rc = 0;

    if (!g)
        return err_nomem(e, "GPU tier");
    g->bytes = arena_bytes(o->capacity, o->max_objects, o->gpus);
    while (rc == 0 && g->devices < o->gpus) {
        struct device *d = &g->device[g->devices];

        d->number = o->gpu[g->devices++];
        d->chunk_bytes = DATA_PADDED(o->chunk_bytes ? o->chunk_bytes : 1);
        rc = device_open(d, g->bytes, e);
    }
    if (rc < 0)
        goto out;
    arena = (struct arena_opts){.engine = &gpu_engine,
                                .state = g,
                                .bell = bell,
                                .bytes = g->bytes,
                                .parts = o->gpus,
                                .wrap = o->wrap,
                                .threads = THREADS,
                                .max_ops = o->max_ops,
                                .gaps = o->gaps,
                                .name = "GPU",
                                .of = GAPS_OF_GPU};
    rc = arena_open(out, &arena, e);
out:
    if (rc < 0)
        gpu_close(g);
    return rc;
}

int tier_gpu_count(char *why, size_t cap)
{
    int n = 0;
    cudaError_t rc = cudaGetDeviceCount(&n);

    if (cap)
        why[0] = '\0';
    if (rc == cudaSuccess && n > 0)
        return n;
    snprintf(why, cap, "%s", rc == cudaSuccess ? "no CUDA device" : cudaGetErrorString(rc));
    return 0;
}

#else

int tier_gpu_open(struct tier **out, const struct tier_gpu_opts *o, struct bell *bell,
                  struct err *e)
{
    (void)out, (void)o, (void)bell;
    return err_set(e, -ENODEV, ERR_TARGET, "GPU", "built without CUDA");
}

int tier_gpu_count(char *why, size_t cap)
{
    snprintf(why, cap, "built without CUDA");
    return 0;
}

#endif

bool tier_gpu_is_built(void)
{
    return KVTRACE_CUDA;
}
