/* Chooses the I/O engine for storage tiers and kvprecond, and maps the buffers that engines read
 * and write. Makes plain calls for engines that have no better way; uring.c and psync.c are the
 * engines. */
#include "lib/io/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/clock.h"

#define IO_DEPTH_MAX     16384u
#define IO_SMALL_KIB_MAX 64u /* of ordinary pages: some processors have large ones */
#define IO_HUGE_BYTES    ((size_t)2 << 20)

int io_open(struct io **out, enum io_engine engine, const struct io_opts *o, struct err *e)
{
    struct notes fallbacks = {0};
    const char *name;
    char why[IO_WHY_CAP];
    int rc, refusal;

    if (o->depth < 1 || o->depth > IO_DEPTH_MAX)
        return err_set(e, EINVAL, ERR_INPUT, "iodepth", "%u is not within 1..%u", o->depth,
                       IO_DEPTH_MAX);
    if (o->pool && (o->bufs == 0 || o->buf_bytes == 0))
        return err_set(e, EINVAL, ERR_FAILED, "", "a pool of buffers without buffers");
    if (engine == IO_URING)
        return io_uring_ops.open(out, o, e);
    if (engine == IO_PSYNC)
        return io_psync_ops.open(out, o, e);

    refusal = io_uring_ops.open(out, o, NULL);
    if (refusal == 0)
        return 0;
    rc = io_psync_ops.open(out, o, e);
    if (rc < 0)
        return rc;
    name = err_errno_name(-refusal);
    notes_add(&fallbacks, "io_uring refused (%s)%s", name ? name : strerror(-refusal),
              io_uring_why("", -refusal, why));
    notes_merge(&fallbacks, &(*out)->fallbacks);
    (*out)->fallbacks = fallbacks;
    return 0;
}

bool io_again(struct io_req *r)
{
    int64_t now_ns = clock_now_ns();

    if (r->again_ns == 0)
        r->again_ns = now_ns;
    return now_ns - r->again_ns < IO_AGAIN_NS;
}

int io_call_now(struct io_req *r)
{
    int rc = -1;

    do {
        switch (r->call) {
        case IO_OPENAT:
            rc = r->fd = openat(r->dirfd, r->path, r->flags | O_CLOEXEC, 0644);
            break;
        case IO_CLOSE:
            /* After EINTR the descriptor is closed all the same. */
            rc = close(r->fd) < 0 && errno != EINTR ? -1 : 0;
            break;
        case IO_ALLOCATE:
            rc = fallocate(r->fd, 0, 0, (off_t)r->offset);
            break;
        case IO_SYNC:
            rc = fdatasync(r->fd);
            break;
        case IO_DROP:
            errno = posix_fadvise(r->fd, 0, 0, POSIX_FADV_DONTNEED);
            rc = errno ? -1 : 0;
            break;
        case IO_UNLINKAT:
            rc = unlinkat(r->dirfd, r->path, 0);
            break;
        case IO_TRANSFER:
            return -EINVAL;
        }
    } while (rc < 0 && errno == EINTR);
    return rc < 0 ? -errno : 0;
}

/* ---- buffers ---- */

static size_t buffers_rounded(size_t bytes)
{
    return (bytes + IO_HUGE_BYTES - 1) / IO_HUGE_BYTES * IO_HUGE_BYTES;
}

static void *map_plain(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);

    return p == MAP_FAILED ? NULL : p;
}

/* A mapping aligned to huge pages: maps a huge page too much and gives the ends back. */
static void *map_aligned(size_t bytes)
{
    char *p = map_plain(bytes + IO_HUGE_BYTES);
    size_t head;

    if (!p)
        return NULL;
    head = (IO_HUGE_BYTES - (uintptr_t)p % IO_HUGE_BYTES) % IO_HUGE_BYTES;
    if (head)
        munmap(p, head);
    if (head < IO_HUGE_BYTES)
        munmap(p + head + bytes, IO_HUGE_BYTES - head);
    return p + head;
}

void *io_buffers_map(size_t bytes, enum io_pages pages)
{
    size_t rounded = buffers_rounded(bytes);
    void *p;

    if (bytes == 0 || rounded < bytes || rounded > SIZE_MAX / 2)
        return NULL;
    if (pages == IO_PAGES_PLAIN)
        return map_plain(rounded);
    if (pages == IO_PAGES_HUGE) {
        p = mmap(NULL, rounded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB,
                 -1, 0);
        if (p != MAP_FAILED)
            return p;
    }
    p = map_aligned(rounded);
    if (!p)
        return NULL;
    /* Advice only: without transparent huge pages these are ordinary pages in either case. */
    madvise(p, rounded, pages == IO_PAGES_HUGE ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    return p;
}

int io_buffers_huge(const void *p)
{
    unsigned long begin, end;
    unsigned long long kib = 0, page = 0, size = 0;
    char line[256];
    bool in = false;
    FILE *f = fopen("/proc/self/smaps", "re");

    if (!f)
        return -1;
    /* Once, at the opening, and no further than it must be: the kernel walks the pages of each
     * mapping that is read. Of pages not touched yet none is huge. */
    while (fgets(line, sizeof(line), f)) {
        if (sscanf(line, "%lx-%lx ", &begin, &end) == 2 && strchr(line, '-') < strchr(line, ' ')) {
            if (in)
                break;
            in = (uintptr_t)p >= begin && (uintptr_t)p < end;
        }
        if (!in)
            continue;
        (void)(sscanf(line, "Rss: %llu", &size) == 1 ||
               sscanf(line, "AnonHugePages: %llu", &kib) == 1 ||
               sscanf(line, "KernelPageSize: %llu", &page) == 1);
    }
    fclose(f);
    return page > IO_SMALL_KIB_MAX || (size > 0 && kib * 2 >= size);
}

double io_buffers_run(const void *p, size_t bytes)
{
    const uint64_t present = UINT64_C(1) << 63, frame = (UINT64_C(1) << 55) - 1;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t first = (uintptr_t)p / page, left = bytes / page, n = 0, runs = 0;
    uint64_t entry[1024], last = 0;
    int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);

    while (fd >= 0 && left > 0) {
        size_t most = sizeof(entry) / sizeof(entry[0]), now = left < most ? left : most;
        ssize_t got = pread(fd, entry, now * sizeof(entry[0]), (off_t)(first * sizeof(entry[0])));

        if (got <= 0)
            break;
        now = (size_t)got / sizeof(entry[0]);
        for (size_t i = 0; i < now; i++) {
            uint64_t at = entry[i] & present ? entry[i] & frame : 0; /* 0: it is kept secret */

            n += at != 0;
            runs += at != 0 && (last == 0 || at != last + 1);
            last = at;
        }
        first += now;
        left -= now;
    }
    if (fd >= 0)
        close(fd);
    return runs > 0 ? (double)n / (double)runs : 0;
}

void io_buffers_unmap(void *p, size_t bytes)
{
    if (p)
        munmap(p, buffers_rounded(bytes));
}
