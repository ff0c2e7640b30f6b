/* Chooses the I/O engine for storage tiers and kvprecond, maps the buffers that engines transfer
 * from and to, and makes the plain calls where an engine has nothing better. The engines themselves
 * are uring.c and psync.c. */
#include "lib/io/io.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define IO_DEPTH_MAX  16384u
#define IO_HUGE_BYTES ((size_t)2 << 20)

static int io_check_opts(const struct io_opts *o, struct err *e)
{
    if (o->depth < 1 || o->depth > IO_DEPTH_MAX)
        return err_set(e, EINVAL, ERR_INPUT, "iodepth", "%u is not within 1..%u", o->depth,
                       IO_DEPTH_MAX);
    if (o->pool && (o->bufs == 0 || o->buf_bytes == 0))
        return err_set(e, EINVAL, ERR_FAILED, "", "a pool of buffers without buffers");
    return 0;
}

int io_open(struct io **out, enum io_engine engine, const struct io_opts *o, struct err *e)
{
    struct notes fallbacks = {0};
    const char *name;
    int ret, refusal;

    ret = io_check_opts(o, e);
    if (ret < 0)
        return ret;
    if (engine == IO_URING)
        return io_uring_ops.open(out, o, e);
    if (engine == IO_PSYNC)
        return io_psync_ops.open(out, o, e);
    refusal = io_uring_ops.open(out, o, NULL);
    if (refusal == 0)
        return 0;
    ret = io_psync_ops.open(out, o, e);
    if (ret < 0)
        return ret;
    name = err_errno_name(-refusal);
    notes_add(&fallbacks, "io_uring refused (%s)", name ? name : strerror(-refusal));
    notes_merge(&fallbacks, &(*out)->fallbacks);
    (*out)->fallbacks = fallbacks;
    return 0;
}

static int call_open(struct io_req *r)
{
    r->fd = openat(r->dirfd, r->path, r->flags | O_CLOEXEC, 0644);
    return r->fd;
}

static int call_close(const struct io_req *r)
{
    /* Interrupted or not, the descriptor is gone. */
    return close(r->fd) < 0 && errno != EINTR ? -1 : 0;
}

static int call_make(struct io_req *r)
{
    switch (r->call) {
    case IO_OPENAT:
        return call_open(r);
    case IO_CLOSE:
        return call_close(r);
    case IO_ALLOCATE:
        return fallocate(r->fd, 0, 0, (off_t)r->offset);
    case IO_SYNC:
        return fdatasync(r->fd);
    case IO_DROP:
        return posix_fadvise(r->fd, 0, 0, POSIX_FADV_DONTNEED) ? -1 : 0;
    case IO_UNLINKAT:
        return unlinkat(r->dirfd, r->path, 0);
    case IO_TRANSFER:
        break;
    }
    errno = EINVAL;
    return -1;
}

int io_call_now(struct io_req *r)
{
    int ret;

    do
        ret = call_make(r) < 0 ? -errno : 0;
    while (ret == -EINTR);
    return ret;
}

static size_t io_buffers_rounded(size_t bytes)
{
    return (bytes + IO_HUGE_BYTES - 1) / IO_HUGE_BYTES * IO_HUGE_BYTES;
}

/* A mapping aligned to huge pages: maps too much and gives the ends back. */
static void *io_map_aligned(size_t bytes)
{
    char *p = mmap(NULL, bytes + IO_HUGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                   -1, 0);
    size_t head;

    if (p == MAP_FAILED)
        return NULL;
    head = (IO_HUGE_BYTES - (uintptr_t)p % IO_HUGE_BYTES) % IO_HUGE_BYTES;
    if (head)
        munmap(p, head);
    if (head < IO_HUGE_BYTES)
        munmap(p + head + bytes, IO_HUGE_BYTES - head);
    return p + head;
}

void *io_buffers_map(size_t bytes)
{
    size_t rounded = io_buffers_rounded(bytes);
    void *p;

    if (bytes == 0 || rounded < bytes || rounded > SIZE_MAX / 2)
        return NULL;
    p = mmap(NULL, rounded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1,
             0);
    if (p != MAP_FAILED)
        return p;
    p = io_map_aligned(rounded);
    if (!p)
        return NULL;
    /* Advice only: without transparent huge pages the buffers are ordinary ones. */
    madvise(p, rounded, MADV_HUGEPAGE);
    return p;
}

void io_buffers_unmap(void *p, size_t bytes)
{
    if (p)
        munmap(p, io_buffers_rounded(bytes));
}
