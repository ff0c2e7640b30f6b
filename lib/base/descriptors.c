/* Takes the three standard descriptors, and raises the limit of open files before a tier opens many
 * of them: a shell's soft limit is often far below what the host allows. The caller decides what to
 * do when the limit stays too low. Opens and moves what may be a pipe with nobody at its other end:
 * no call blocks for longer than a look at the signals takes. EINTR alone does not do: a signal may
 * come just before the call, or go to another thread. */
#include "lib/base/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/stop.h"

#define DESCRIPTORS_SPARE 64u /* input, output, rings, libraries */
#define LOOK_MS           100
#define OPEN_LOOK_MS      20
#define GRACE_NS          (DESCRIPTORS_GRACE_MS * INT64_C(1000000))

void descriptors_open_standard(void)
{
    /* Each for the wrong direction, so that its use fails with EBADF, but for messages. */
    static const int flags[] = {O_WRONLY, O_RDONLY, O_WRONLY};

    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", flags[fd]) != fd)
            return; /* no /dev/null: nothing to be done */
}

uint64_t descriptors_want(uint64_t files)
{
    uint64_t all = files + DESCRIPTORS_SPARE;
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return files;
    if (limit.rlim_cur < all && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = all < limit.rlim_max ? all : limit.rlim_max;
        if (setrlimit(RLIMIT_NOFILE, &limit) < 0 && getrlimit(RLIMIT_NOFILE, &limit) < 0)
            return files;
    }
    if (limit.rlim_cur >= all)
        return files;
    return limit.rlim_cur > DESCRIPTORS_SPARE ? limit.rlim_cur - DESCRIPTORS_SPARE : 0;
}

/* ---- pipes and FIFOs ---- */

static bool gives_up(int64_t begun_ns)
{
    return stop_signal() && clock_now_ns() - begun_ns >= GRACE_NS;
}

/* A reader may open a FIFO that has no writer yet. There is one, or was one, when there are bytes
 * or an end; or when tee, which takes nothing away, says that it would wait for bytes. */
static int await_writer(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    int copy[2], rc = pipe2(copy, O_CLOEXEC) < 0 ? -errno : 0;

    if (rc < 0)
        return rc;
    while (rc == 0 && poll(&p, 1, OPEN_LOOK_MS) <= 0) {
        if (tee(fd, copy[1], 1, SPLICE_F_NONBLOCK) < 0 && errno == EAGAIN)
            break;
        rc = stop_signal() ? -EINTR : 0;
    }
    close(copy[0]);
    close(copy[1]);
    return rc;
}

/* A writer may not, without waiting. A FIFO that somebody removes meanwhile is not replaced by a
 * file. */
static int open_writer(const char *path, int flags, int64_t begun_ns)
{
    int fd;

    flags &= ~(O_CREAT | O_TRUNC);
    while ((fd = open(path, flags | O_NONBLOCK)) < 0) {
        if (errno != ENXIO && errno != EINTR)
            return -errno;
        if (gives_up(begun_ns))
            return -EINTR;
        poll(NULL, 0, OPEN_LOOK_MS);
    }
    return fd;
}

int descriptors_open(const char *path, int flags)
{
    bool writes = (flags & O_ACCMODE) == O_WRONLY;
    int64_t begun_ns = clock_now_ns();
    struct stat st;
    int fd, rc = 0;

    if (stat(path, &st) < 0 || !S_ISFIFO(st.st_mode)) {
        fd = open(path, flags, 0666);
        return fd < 0 ? -errno : fd;
    }
    fd = writes ? open_writer(path, flags, begun_ns) : open(path, flags | O_NONBLOCK);
    if (fd < 0)
        return writes ? fd : -errno;
    if (!writes)
        rc = await_writer(fd);
    if (rc == 0 && fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK) < 0)
        rc = -errno;
    if (rc < 0)
        close(fd);
    return rc < 0 ? rc : fd;
}

ssize_t descriptors_read(int fd, void *p, size_t len)
{
    struct pollfd bytes = {.fd = fd, .events = POLLIN};
    ssize_t n;

    do {
        while (!stop_signal() && poll(&bytes, 1, LOOK_MS) == 0)
            ;
        if (stop_signal())
            return -EINTR;
        n = read(fd, p, len);
    } while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : n;
}

/* Writes as much as fits into a pipe that poll calls writable. */
static ssize_t write_some(int fd, const char *p, size_t len)
{
    struct iovec part = {.iov_base = (void *)p, .iov_len = len};
    ssize_t n = pwritev2(fd, &part, 1, -1, RWF_NOWAIT);

    /* Older kernels, and terminals: so much fits, or is written in a moment. */
    if (n < 0 && (errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL))
        n = write(fd, p, len < PIPE_BUF ? len : PIPE_BUF);
    return n;
}

int descriptors_write(int fd, const void *p, size_t len)
{
    struct pollfd room = {.fd = fd, .events = POLLOUT};
    struct stat st;
    bool waits = fstat(fd, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode);

    for (size_t at = 0; at < len;) {
        const char *from = (const char *)p + at;
        ssize_t n;

        if (waits && stop_abandons())
            return -EINTR;
        /* Anything else that poll reports is reported better by the write. */
        if (waits && poll(&room, 1, LOOK_MS) == 0)
            continue;
        n = waits ? write_some(fd, from, len - at) : write(fd, from, len - at);
        if (n < 0 && errno != EINTR && errno != EAGAIN)
            return -errno;
        at += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

uint64_t descriptors_limit(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_NOFILE, &limit) < 0 ? 0 : limit.rlim_cur;
}
