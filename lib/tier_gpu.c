/* Tier-0 for real: objects live in an arena from cudaMalloc. Every worker has a stream of its own
 * and a ring of pinned staging buffers, so that making data, copying and checking overlap; writers
 * copy host to device, one reader copies back. The only file that knows CUDA; without it, it says
 * so. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"
#include "lib/tier_arena.h"

#if KVTRACE_CUDA

#include <cuda_runtime_api.h>

/* Workers 0 .. WRITERS-1 copy to the GPU (one core generates data slower than a PCIe 5 link takes
 * it), the last one back. RING buffers a worker keep the link busy while one is filled or checked.
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

struct gpu {
    int number;
    char name[128];
    unsigned char *base; /* device memory */
    uint64_t bytes, chunk_bytes;
    struct lane lane[WORKERS];
};

static int gpu_fail(struct err *e, cudaError_t rc, int code, const char *what)
{
    return err_set(e, code, ERR_TARGET, "GPU", "%s: %s", what, cudaGetErrorString(rc));
}

/* ---- one worker ---- */

/* Puts the next chunk of lane->op into the stream. */
static void issue_chunk(struct gpu *g, struct lane *l)
{
    struct slot *s = &l->ring[l->tail % RING];
    uint64_t want = l->left < g->chunk_bytes ? l->left : g->chunk_bytes, done = 0, offset, len;
    bool up = l->op->verb == TIER_WRITE;
    cudaError_t rc;
    if (up)
        data_fill(s->buf, want, &l->op->id, l->block);
    rc = cudaEventRecord(s->begin, l->stream);
    while (rc == cudaSuccess && done < want &&
           (len = arena_walk_next(&l->walk, want - done, &offset)) != 0) {
        rc = up ? cudaMemcpyAsync(g->base + offset, s->buf + done, len, cudaMemcpyHostToDevice,
                                  l->stream)
                : cudaMemcpyAsync(s->buf + done, g->base + offset, len, cudaMemcpyDeviceToHost,
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
static void retire_chunk(struct arena_worker *w, struct lane *l, cudaError_t rc)
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
    l->op = op;
    l->left = op->size ? DATA_PADDED(op->size) : DATA_BLOCK;
    l->block = 0;
    arena_walk_start(&l->walk, w, op);
}

/* Retires the oldest chunk: at once if it is ready, waiting for it when nothing else can be done.
 */
static void retire_oldest(struct arena_worker *w, struct lane *l, bool wait)
{
    struct slot *s = &l->ring[l->head % RING];
    cudaError_t rc = l->failed ? cudaErrorUnknown : cudaEventQuery(s->end);
    if (rc == cudaErrorNotReady && !wait)
        return;
    if (rc == cudaErrorNotReady)
        rc = cudaEventSynchronize(s->end);
    retire_chunk(w, l, rc);
}

static void gpu_run(struct arena_worker *w, void *state)
{
    struct gpu *g = state;
    struct lane *l = &g->lane[arena_worker_index(w)];
    if (cudaSetDevice(g->number) != cudaSuccess)
        l->failed = true;
    for (;;) {
        uint32_t seen = arena_seen(w);
        struct tier_op *op = l->op ? NULL : arena_take(w);
        if (op)
            start_op(w, l, op);
        bool full = l->tail - l->head == RING;
        if (l->op && !full)
            issue_chunk(g, l);
        if (l->head != l->tail)
            retire_oldest(w, l, full || !l->op);
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

static void gpu_describe(void *state, struct tier_info *info)
{
    const struct gpu *g = state;
    info->engine = "cuda";
    snprintf(info->target, sizeof info->target, "GPU %d", g->number);
    snprintf(info->device, sizeof info->device, "%s", g->name);
}

/* ---- opening and closing ---- */

static void gpu_close(void *state)
{
    struct gpu *g = state;
    (void)cudaSetDevice(g->number);
    for (unsigned i = 0; i < WORKERS; i++) {
        struct lane *l = &g->lane[i];
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
    if (g->base)
        (void)cudaFree(g->base);
    free(g);
}

static cudaError_t make_lane(struct gpu *g, struct lane *l)
{
    cudaError_t rc = cudaStreamCreateWithFlags(&l->stream, cudaStreamNonBlocking);
    for (unsigned k = 0; k < RING && rc == cudaSuccess; k++) {
        struct slot *s = &l->ring[k];
        rc = cudaHostAlloc((void **)&s->buf, g->chunk_bytes, cudaHostAllocDefault);
        if (rc == cudaSuccess)
            rc = cudaEventCreateWithFlags(&s->begin, cudaEventBlockingSync);
        if (rc == cudaSuccess)
            rc = cudaEventCreateWithFlags(&s->end, cudaEventBlockingSync);
    }
    return rc;
}

static int gpu_prepare(struct gpu *g, struct err *e)
{
    struct cudaDeviceProp prop;
    char what[96];
    cudaError_t rc = cudaSetDevice(g->number);
    if (rc == cudaSuccess)
        rc = cudaGetDeviceProperties(&prop, g->number);
    if (rc != cudaSuccess)
        return gpu_fail(e, rc, -ENODEV, "cannot use the device");
    snprintf(g->name, sizeof g->name, "%.*s", (int)sizeof g->name - 1, prop.name);
    rc = cudaMalloc((void **)&g->base, g->bytes);
    snprintf(what, sizeof what, "cannot allocate %.2f GiB", (double)g->bytes / 1073741824.0);
    if (rc != cudaSuccess)
        return gpu_fail(e, rc, -ENOMEM, what);
    for (unsigned i = 0; i < WORKERS && rc == cudaSuccess; i++)
        rc = make_lane(g, &g->lane[i]);
    return rc == cudaSuccess ? 0 : gpu_fail(e, rc, -ENOMEM, "cannot make streams and buffers");
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
    struct gpu *g = calloc(1, sizeof *g);
    if (!g)
        return err_nomem(e, "GPU tier");
    g->number = o->gpu;
    g->bytes = arena_bytes(o->capacity, o->max_objects);
    g->chunk_bytes = DATA_PADDED(o->chunk_bytes ? o->chunk_bytes : 1);
    int rc = gpu_prepare(g, e);
    if (rc == 0)
        rc = arena_open(out, g->bytes, o->wrap, WORKERS, o->max_ops, &gpu_engine, g, bell, e);
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
