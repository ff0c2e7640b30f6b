/* Tier-0 for real: objects live in arenas from cudaMalloc, one a device. Every worker has a stream
 * of its own and a ring of pinned staging buffers, so that making data, copying and checking
 * overlap; of each device writers copy host to device, one reader copies back. The only file that
 * knows CUDA; without it, it says so. */
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/tier/arena.h"

#if KVTRACE_CUDA

#include <cuda_runtime_api.h>

/* Workers 0 .. WRITERS-1 of a device copy to it (one core generates data slower than a PCIe 5 link
 * takes it), the last one back. RING buffers a worker keep the link busy while one is filled or
 * checked.
 */
enum {
    WRITERS = 2,
    WORKERS = WRITERS + 1,
    RING = 4
};

/* A chunk in flight, in the order of the stream. */
struct slot {
    unsigned char *buf; /* pinned, chunk_bytes */
    cudaEvent_t begin, end;
    struct tier_op *op; /* NULL: free */
    uint64_t block, len;
    bool last; /* of its object */
};

/* One worker's; only its thread touches it after the start. */
struct lane {
    cudaStream_t stream;
    struct slot ring[RING];
    unsigned head, tail; /* oldest in flight, next to use; tail - head in flight */
    struct tier_op *op;  /* being issued */
    struct arena_walk walk;
    uint64_t left, block;
    bool failed; /* the device refuses: operations end with -EIO */
};

struct device {
    int number;
    char name[128];
    char bus[32];                /* PCI address; numbers depend on the environment, this does not */
    unsigned char *base;         /* device memory */
    uint64_t chunk_bytes;        /* of a staging buffer */
    atomic_uint_least64_t moved; /* bytes copied to it and back */
    struct lane lane[WORKERS];
};

_Static_assert((int)TIER_GPU_MAX <= (int)EXTENT_PARTS_MAX, "a device is a part of the arena");

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

/* ---- one worker ---- */

/* Puts the next chunk of lane->op into the stream. */
static void issue_chunk(struct device *d, struct lane *l)
{
    struct slot *s = &l->ring[l->tail % RING];
    uint64_t want = l->left < d->chunk_bytes ? l->left : d->chunk_bytes, done = 0, offset, len;
    bool up = l->op->verb == TIER_WRITE;
    cudaError_t rc;
    if (up)
        data_fill(s->buf, want, &l->op->id, l->block);
    rc = cudaEventRecord(s->begin, l->stream);
    while (rc == cudaSuccess && done < want &&
           (len = arena_walk_next(&l->walk, want - done, &offset)) != 0) {
        rc = up ? cudaMemcpyAsync(d->base + offset, s->buf + done, len, cudaMemcpyHostToDevice,
                                  l->stream)
                : cudaMemcpyAsync(s->buf + done, d->base + offset, len, cudaMemcpyDeviceToHost,
                                  l->stream);
        done += len;
    }
    if (rc == cudaSuccess)
        rc = cudaEventRecord(s->end, l->stream);
    if (rc != cudaSuccess)
        l->failed = true;
    s->op = l->op;
    s->block = l->block;
    s->len = want;
    l->left -= want;
    l->block += want / DATA_BLOCK;
    s->last = l->left == 0;
    if (s->last)
        l->op = NULL;
    l->tail++;
}

static void check_chunk(struct slot *s)
{
    struct tier_op *op = s->op;
    int rc = 0;
    if (op->verb == TIER_READ && op->verify == TIER_VERIFY_FULL)
        rc = data_check_full(s->buf, s->len, &op->id, s->block, &op->fault);
    else if (op->verb == TIER_READ && op->verify == TIER_VERIFY_HEADER)
        rc = data_check_headers(s->buf, s->len, &op->id, s->block, &op->fault);
    if (rc && !op->status)
        op->status = rc;
}

/* The oldest chunk has left the stream: account for it, check it, end its object if it was the
 * last. */
static void retire_chunk(struct arena_worker *w, struct device *d, struct lane *l, cudaError_t rc)
{
    struct slot *s = &l->ring[l->head % RING];
    struct tier_op *op = s->op;
    float ms = 0;
    if (rc == cudaSuccess && !l->failed)
        rc = cudaEventElapsedTime(&ms, s->begin, s->end);
    if (rc != cudaSuccess || l->failed) {
        l->failed = true;
        op->status = -EIO;
    } else {
        op->device_ns += (int64_t)((double)ms * 1e6);
        atomic_fetch_add_explicit(&d->moved, s->len, memory_order_relaxed);
        if (!op->status)
            check_chunk(s);
    }
    s->op = NULL;
    l->head++;
    if (s->last) {
        op->done_ns = clock_now_ns();
        arena_done(w, op);
    }
}

static void start_op(struct arena_worker *w, struct lane *l, struct tier_op *op)
{
    arena_walk_start(&l->walk, w, op);
    l->op = op;
    l->left = l->walk.bytes;
    l->block = l->walk.block;
}

/* Retires the oldest chunk: at once if it is ready, waiting for it when nothing else can be done.
 */
static void retire_oldest(struct arena_worker *w, struct device *d, struct lane *l, bool wait)
{
    struct slot *s = &l->ring[l->head % RING];
    cudaError_t rc = l->failed ? cudaErrorUnknown : cudaEventQuery(s->end);
    if (rc == cudaErrorNotReady && !wait)
        return;
    if (rc == cudaErrorNotReady)
        rc = cudaEventSynchronize(s->end);
    retire_chunk(w, d, l, rc);
}

static void gpu_run(struct arena_worker *w, void *state)
{
    struct gpu *g = state;
    struct device *d = &g->device[arena_worker_part(w)];
    struct lane *l = &d->lane[arena_worker_index(w)];
    if (cudaSetDevice(d->number) != cudaSuccess)
        l->failed = true;
    for (;;) {
        uint32_t seen = arena_seen(w);
        struct tier_op *op = l->op ? NULL : arena_take(w);
        if (op)
            start_op(w, l, op);
        bool full = l->tail - l->head == RING;
        if (l->op && !full)
            issue_chunk(d, l);
        if (l->head != l->tail)
            retire_oldest(w, d, l, full || !l->op);
        else if (!l->op && arena_stopping(w))
            return;
        else if (!l->op)
            arena_sleep(w, seen);
    }
}

static unsigned gpu_choose(const struct tier_op *op, unsigned n, void *state)
{
    (void)state;
    return op->verb == TIER_WRITE ? (unsigned)(op->name.lo % (n - 1)) : n - 1;
}

/* Text behind what to holds already, as far as it fits. */
static void append(char *to, size_t cap, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void append(char *to, size_t cap, const char *format, ...)
{
    size_t len = strlen(to);
    va_list args;
    va_start(args, format);
    vsnprintf(to + len, cap - len, format, args);
    va_end(args);
}

static bool same_names(const struct gpu *g)
{
    for (unsigned i = 1; i < g->devices; i++) {
        if (strcmp(g->device[i].name, g->device[0].name) != 0)
            return false;
    }
    return true;
}

/* One device, of all devices' moved bytes. */
static void describe_device(const struct gpu *g, const struct device *d, uint64_t moved,
                            struct tier_info *info)
{
    char share[40] = "";

    if (g->devices > 1 && moved > 0)
        snprintf(share, sizeof(share), ", %.0f %% of the bytes moved",
                 100 * (double)atomic_load(&d->moved) / (double)moved);
    notes_add(&info->flags, "GPU %d: %s, PCI %s, %.2f GiB%s", d->number, d->name, d->bus,
              (double)g->bytes / 1073741824.0, share);
}

static void gpu_describe(void *state, struct tier_info *info)
{
    const struct gpu *g = state;
    uint64_t moved = 0;
    bool same = same_names(g);
    info->engine = "cuda";
    if (g->devices > 1 && same)
        append(info->device, sizeof(info->device), "%u x ", g->devices);
    for (unsigned i = 0; i < g->devices; i++) {
        const struct device *d = &g->device[i];
        append(info->target, sizeof(info->target), "%sGPU %d", i ? ", " : "", d->number);
        if (i == 0 || !same)
            append(info->device, sizeof(info->device), "%s%s", i ? ", " : "", d->name);
        moved += atomic_load(&d->moved);
    }
    for (unsigned i = 0; i < g->devices; i++)
        describe_device(g, &g->device[i], moved, info);
}

/* ---- opening and closing ---- */

static void close_lane(struct lane *l)
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
        for (unsigned k = 0; k < WORKERS; k++)
            close_lane(&d->lane[k]);
        if (d->base)
            (void)cudaFree(d->base);
    }
    free(g);
}

static cudaError_t make_lane(const struct device *d, struct lane *l)
{
    cudaError_t rc = cudaStreamCreateWithFlags(&l->stream, cudaStreamNonBlocking);
    for (unsigned k = 0; k < RING && rc == cudaSuccess; k++) {
        struct slot *s = &l->ring[k];
        rc = cudaHostAlloc((void **)&s->buf, d->chunk_bytes, cudaHostAllocDefault);
        if (rc == cudaSuccess)
            rc = cudaEventCreateWithFlags(&s->begin, cudaEventBlockingSync);
        if (rc == cudaSuccess)
            rc = cudaEventCreateWithFlags(&s->end, cudaEventBlockingSync);
    }
    return rc;
}

static int device_prepare(struct device *d, uint64_t bytes, struct err *e)
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
    snprintf(what, sizeof(what), "cannot allocate %.2f GiB", (double)bytes / 1073741824.0);
    if (rc != cudaSuccess)
        return gpu_fail(e, rc, -ENOMEM, d->number, what);
    for (unsigned i = 0; i < WORKERS && rc == cudaSuccess; i++)
        rc = make_lane(d, &d->lane[i]);
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
    if (!g)
        return err_nomem(e, "GPU tier");
    g->bytes = arena_bytes(o->capacity, o->max_objects, o->gpus);
    int rc = 0;
    while (rc == 0 && g->devices < o->gpus) {
        struct device *d = &g->device[g->devices];
        d->number = o->gpu[g->devices++];
        d->chunk_bytes = DATA_PADDED(o->chunk_bytes ? o->chunk_bytes : 1);
        rc = device_prepare(d, g->bytes, e);
    }
    struct arena_opts arena = {.bytes = g->bytes,
                               .parts = o->gpus,
                               .wrap = o->wrap,
                               .workers = WORKERS,
                               .max_ops = o->max_ops};
    if (rc == 0)
        rc = arena_open(out, &arena, &gpu_engine, g, bell, e);
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
