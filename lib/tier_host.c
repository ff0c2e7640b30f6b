/* Tier-1 for real: objects live in an arena of host memory. A write generates its data in a small
 * cached buffer and copies it into the arena, a read copies it out and checks it there, so that the
 * copy (device time) and the making and checking of data (host time) are told apart. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/tier_arena.h"

/* Fits the L2 cache with room to spare: what is measured is the arena's memory, not this. */
enum {
    STAGE_BYTES = 256 * 1024
};

struct host {
    unsigned char *base;
    uint64_t bytes;
    unsigned char *stage; /* STAGE_BYTES for each worker */
    unsigned workers;
    bool huge;
};

static void write_piece(unsigned char *at, unsigned char *stage, size_t len, struct tier_op *op,
                        uint64_t block)
{
    data_fill(stage, len, &op->id, block);
    int64_t begin = clock_now_ns();
    memcpy(at, stage, len);
    op->device_ns += clock_now_ns() - begin;
}

static int read_piece(const unsigned char *at, unsigned char *stage, size_t len, struct tier_op *op,
                      uint64_t block)
{
    int64_t begin = clock_now_ns();
    memcpy(stage, at, len);
    op->device_ns += clock_now_ns() - begin;
    if (op->verify == TIER_VERIFY_FULL)
        return data_check_full(stage, len, &op->id, block, &op->fault);
    if (op->verify == TIER_VERIFY_HEADER)
        return data_check_headers(stage, len, &op->id, block, &op->fault);
    return 0;
}

static void copy_object(struct arena_worker *w, struct host *h, struct tier_op *op)
{
    unsigned char *stage = h->stage + (size_t)arena_worker_index(w) * STAGE_BYTES;
    uint64_t left = DATA_PADDED(op->size), block = 0, offset, len;
    struct arena_walk walk;
    arena_walk_start(&walk, w, op);
    while (left &&
           (len = arena_walk_next(&walk, left < STAGE_BYTES ? left : STAGE_BYTES, &offset)) != 0) {
        if (op->verb == TIER_WRITE) {
            write_piece(h->base + offset, stage, len, op, block);
        } else {
            int rc = read_piece(h->base + offset, stage, len, op, block);
            if (rc && !op->status)
                op->status = rc;
            if (rc)
                break;
        }
        block += len / DATA_BLOCK;
        left -= len;
    }
}

static void host_run(struct arena_worker *w, void *state)
{
    for (;;) {
        uint32_t seen = arena_seen(w);
        struct tier_op *op = arena_take(w);
        if (op) {
            copy_object(w, state, op);
            op->done_ns = clock_now_ns();
            arena_done(w, op);
        } else if (arena_stopping(w)) {
            return;
        } else {
            arena_sleep(w, seen);
        }
    }
}

static unsigned host_choose(const struct tier_op *op, unsigned n, void *state)
{
    (void)state;
    return (unsigned)(op->name.lo % n);
}

static void host_describe(void *state, struct tier_info *info)
{
    const struct host *h = state;
    info->engine = "memory";
    strcpy(info->target, "host memory");
    if (!h->huge)
        strcpy(info->fallbacks, "no huge pages");
}

static void host_close(void *state)
{
    struct host *h = state;
    if (h->base)
        munmap(h->base, h->bytes);
    free(h->stage);
    free(h);
}

static const struct arena_engine host_engine = {
    .run = host_run,
    .choose = host_choose,
    .describe = host_describe,
    .close = host_close,
};

static int host_map(struct host *h, bool prefault, struct err *e)
{
    h->base = mmap(NULL, h->bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (h->base == MAP_FAILED) {
        h->base = NULL;
        return err_errno(e, errno, ERR_TARGET, "", "cannot map %llu bytes of host memory",
                         (unsigned long long)h->bytes);
    }
    h->huge = madvise(h->base, h->bytes, MADV_HUGEPAGE) == 0;
#ifdef MADV_POPULATE_WRITE
    if (prefault && madvise(h->base, h->bytes, MADV_POPULATE_WRITE) == 0)
        return 0;
#endif
    for (uint64_t i = 0; prefault && i < h->bytes; i += DATA_BLOCK)
        h->base[i] = 0;
    return 0;
}

int tier_host_open(struct tier **out, const struct tier_host_opts *o, struct bell *bell,
                   struct err *e)
{
    struct host *h = calloc(1, sizeof *h);
    if (!h)
        return err_nomem(e, "host memory tier");
    h->workers = o->threads ? o->threads : 1;
    if (h->workers > ARENA_MAX_WORKERS)
        h->workers = ARENA_MAX_WORKERS;
    h->bytes = arena_bytes(o->capacity, o->max_objects);
    h->stage = aligned_alloc(DATA_BLOCK, (size_t)h->workers * STAGE_BYTES);
    int rc = h->stage ? host_map(h, o->prefault, e) : err_nomem(e, "host memory tier");
    if (rc == 0)
        rc = arena_open(out, h->bytes, h->workers, o->max_ops, &host_engine, h, bell, e);
    if (rc < 0)
        host_close(h);
    return rc;
}
