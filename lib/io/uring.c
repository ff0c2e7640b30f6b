/* The I/O engine on io_uring. Requests become submission entries, which kick or reap push to the
 * kernel in batches; what the kernel moved only in part is continued here. A wake from another
 * thread arrives through an eventfd that the ring polls while its owner sleeps. */
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/units.h"
#include "lib/io/io.h"

/* Entries beyond depth: one for the wake's poll, and those that an SQPOLL thread has taken but not
 * yet marked as free (it marks them in batches). */
#define URING_SPARE   16u
#define URING_FEW     64u /* entries when memory for all cannot be locked: they go in batches */
#define URING_IDLE_MS 50u
#define URING_SECTOR  512u

struct uring {
    struct io io;
    struct io_uring ring;
    unsigned depth, in_flight;
    bool begun, sqpoll, iopoll, poll_armed;
    bool fixed; /* the buffers are registered */
    int file;   /* the registered descriptor, slot 0; -1: none */
    int wake_fd;
    /* Dekker's pair: the waker sets woken and then reads sleeping, the owner sets sleeping and then
     * reads woken. */
    atomic_bool woken, sleeping;
    struct io_req *unstamped; /* queued since the last push to the kernel */
    bool calls;               /* the ring takes calls; else submit makes them at once */
    struct io_req *made;      /* calls that submit made, waiting to be reaped */
};

static void uring_note(struct uring *u, const char *what, int errnum)
{
    const char *name = err_errno_name(errnum);

    notes_add(&u->io.fallbacks, "%s (%s)", what, name ? name : strerror(errnum));
}

/* ---- opening and closing ---- */

const char *io_uring_why(const char *root, int errnum, char why[IO_WHY_CAP])
{
    char path[PATH_MAX];
    int disabled = 0;

    snprintf(path, sizeof(path), "%s/proc/sys/kernel/io_uring_disabled", root);
    FILE *f = errnum == EPERM ? fopen(path, "re") : NULL;
    if (f && fscanf(f, "%d", &disabled) != 1)
        disabled = 0;
    if (f)
        fclose(f);
    if (disabled > 0)
        snprintf(why, IO_WHY_CAP, " (kernel.io_uring_disabled is %d)", disabled);
    else
        snprintf(why, IO_WHY_CAP, "%s",
                 errnum == ENOMEM   ? " (ulimit -l)"
                 : errnum == ENOSYS ? " (the kernel has none, or a sandbox hides it)"
                 : errnum == EPERM  ? " (a sandbox refuses it: seccomp of a container or service)"
                                    : "");
    return why;
}

/* DEFER_TASKRUN leaves completions alone until the owner asks for them, but it binds the ring to
 * one thread. So the ring is created disabled, and the thread that first uses it enables it. */
static int setup_with(struct uring *u, const struct io_opts *o, unsigned entries)
{
    static const unsigned ladder[] = {IORING_SETUP_R_DISABLED | IORING_SETUP_SINGLE_ISSUER |
                                          IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG,
                                      IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG, 0};
    size_t rung = o->sqpoll ? 2 : 0;
    int rc = -EINVAL;

    for (; rung < sizeof(ladder) / sizeof(ladder[0]) && rc == -EINVAL; rung++) {
        struct io_uring_params p = {.flags = ladder[rung] | IORING_SETUP_CLAMP};

        if (entries < o->depth) { /* completions have room all the same */
            p.flags |= IORING_SETUP_CQSIZE;
            p.cq_entries = o->depth + URING_SPARE;
        }
        if (o->sqpoll) {
            p.flags |= IORING_SETUP_SQPOLL;
            p.sq_thread_idle = URING_IDLE_MS;
        }
        if (o->iopoll)
            p.flags |= IORING_SETUP_IOPOLL;
        rc = io_uring_queue_init_params(entries, &u->ring, &p);
    }
    if (rc < 0)
        return rc;
    u->begun = !(u->ring.flags & IORING_SETUP_R_DISABLED);
    u->sqpoll = o->sqpoll;
    u->iopoll = o->iopoll;
    return 0;
}

static int setup(struct uring *u, const struct io_opts *o)
{
    int rc = setup_with(u, o, o->depth + URING_SPARE);

    if (rc == -ENOMEM && o->depth > URING_FEW)
        rc = setup_with(u, o, URING_FEW);
    return rc;
}

static int register_buffers(struct uring *u, const struct io_opts *o)
{
    struct iovec *v;
    int rc;

    if (!o->pool)
        return 0;
    v = calloc(o->bufs, sizeof(*v));
    if (!v)
        return -ENOMEM;
    for (unsigned i = 0; i < o->bufs; i++) {
        v[i].iov_base = (char *)o->pool + (size_t)i * o->buf_bytes;
        v[i].iov_len = o->buf_bytes;
    }
    rc = io_uring_register_buffers(&u->ring, v, o->bufs);
    free(v);
    u->fixed = u->io.registered = rc == 0;
    if (rc < 0)
        uring_note(u, "buffers not registered", -rc);
    return 0;
}

/* Does this kernel's ring know all our calls? A ring that polls for completions takes none. */
static bool knows_calls(struct uring *u)
{
    static const int ops[] = {IORING_OP_OPENAT, IORING_OP_CLOSE,   IORING_OP_FALLOCATE,
                              IORING_OP_FSYNC,  IORING_OP_FADVISE, IORING_OP_UNLINKAT};
    struct io_uring_probe *p = u->iopoll ? NULL : io_uring_get_probe_ring(&u->ring);
    bool all = p != NULL;

    for (size_t i = 0; all && i < sizeof(ops) / sizeof(ops[0]); i++)
        all = io_uring_opcode_supported(p, ops[i]);
    io_uring_free_probe(p);
    return all;
}

/* A registered file saves the kernel a look-up for each I/O. A slot also saves a place in the
 * process's table of descriptors. The engine works without either. */
static void register_files(struct uring *u, const struct io_opts *o)
{
    u->calls = knows_calls(u);
    if (o->file) {
        int rc = io_uring_register_files(&u->ring, o->file, 1);

        u->file = rc == 0 ? *o->file : -1;
        if (rc < 0)
            uring_note(u, "file not registered", -rc);
    } else if (o->slots && u->calls && io_uring_register_files_sparse(&u->ring, o->slots) == 0) {
        u->io.slots = o->slots;
    }
}

static void uring_close(struct io *io)
{
    struct uring *u = (struct uring *)io;

    if (!u)
        return;
    /* Unregistered by hand: the kernel itself would give back the locked memory, and let go of a
     * registered file or device, only some time after the exit. */
    if (u->fixed)
        io_uring_unregister_buffers(&u->ring);
    if (u->file >= 0 || u->io.slots)
        io_uring_unregister_files(&u->ring);
    io_uring_queue_exit(&u->ring);
    close(u->wake_fd);
    free(u);
}

static int uring_open(struct io **out, const struct io_opts *o, struct err *e)
{
    struct uring *u = calloc(1, sizeof(*u));
    struct io_opts plain = *o;
    int rc;

    if (!u)
        return err_nomem(e, "I/O ring");
    u->io.ops = &io_uring_ops;
    u->io.at_once = o->data ? o->data : o->depth;
    u->depth = o->depth;
    u->file = -1;
    u->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (u->wake_fd < 0) {
        rc = err_errno(e, -errno, ERR_FAILED, "", "cannot create an event descriptor");
        free(u);
        return rc;
    }
    rc = setup(u, o);
    if (rc < 0 && (o->sqpoll || o->iopoll)) {
        if (o->iopoll)
            uring_note(u, "no iopoll", -rc);
        if (o->sqpoll)
            uring_note(u, "no sqpoll", -rc);
        plain.sqpoll = plain.iopoll = false;
        rc = setup(u, &plain);
    }
    if (rc < 0) {
        char why[IO_WHY_CAP];
        err_errno(e, rc, ERR_TARGET, "", "io_uring cannot be set up%s", io_uring_why("", -rc, why));
        close(u->wake_fd);
        free(u);
        return rc;
    }
    if (register_buffers(u, o) < 0) {
        uring_close(&u->io);
        return err_nomem(e, "table of buffers");
    }
    register_files(u, o);
    if (u->fixed)
        notes_add(&u->io.flags, "registered buffers");
    if (u->file >= 0 || u->io.slots)
        notes_add(&u->io.flags, "registered files");
    if (u->sqpoll)
        notes_add(&u->io.flags, "sqpoll");
    if (u->iopoll)
        notes_add(&u->io.flags, "iopoll");
    *out = &u->io;
    return 0;
}

/* ---- submitting ---- */

/* In the thread that owns the engine, before its first use. */
static int uring_begin(struct uring *u)
{
    int rc;

    if (u->begun)
        return 0;
    /* By opcode: liburing 2.3 declares io_uring_enable_rings but does not export it. */
    rc = io_uring_register((unsigned)u->ring.ring_fd, IORING_REGISTER_ENABLE_RINGS, NULL, 0);
    if (rc < 0)
        return rc;
    u->begun = true;
    io_uring_register_ring_fd(&u->ring); /* saves a look-up for each call; may be refused */
    return 0;
}

/* Sets the start of all requests that were queued since the last push. */
static void uring_stamp(struct uring *u)
{
    int64_t now;

    if (!u->unstamped)
        return;
    now = clock_now_ns();
    for (struct io_req *r = u->unstamped; r; r = r->next)
        r->start_ns = now;
    u->unstamped = NULL;
}

/* A free entry always exists when less than depth + 1 are in flight, with two exceptions: an SQPOLL
 * thread may not have marked it yet, and a ring in little memory has only a few. */
static struct io_uring_sqe *uring_sqe(struct uring *u)
{
    struct io_uring_sqe *sqe = io_uring_get_sqe(&u->ring);

    while (!sqe) {
        uring_stamp(u);
        io_uring_submit(&u->ring);
        if (u->sqpoll)
            io_uring_sqring_wait(&u->ring);
        sqe = io_uring_get_sqe(&u->ring);
    }
    return sqe;
}

static void prepare_transfer(const struct uring *u, struct io_uring_sqe *sqe,
                             const struct io_req *r, int fd)
{
    void *buf = (char *)r->buf + r->moved;
    unsigned len = r->len - r->moved;
    uint64_t at = r->offset + r->moved;

    if (u->fixed && r->buf_index >= 0) {
        if (r->write)
            io_uring_prep_write_fixed(sqe, fd, buf, len, at, r->buf_index);
        else
            io_uring_prep_read_fixed(sqe, fd, buf, len, at, r->buf_index);
    } else if (r->write) {
        io_uring_prep_write(sqe, fd, buf, len, at);
    } else {
        io_uring_prep_read(sqe, fd, buf, len, at);
    }
}

/* Queues r, or what is left of it. */
static void uring_prepare(struct uring *u, struct io_req *r)
{
    struct io_uring_sqe *sqe = uring_sqe(u);
    bool registered = r->fd == u->file && !r->slot;
    int fd = registered ? 0 : r->fd;

    switch (r->call) {
    case IO_TRANSFER:
        prepare_transfer(u, sqe, r, fd);
        break;
    case IO_OPENAT:
        /* The kernel refuses O_CLOEXEC for a slot, which no other program inherits anyway. */
        if (r->slot)
            io_uring_prep_openat_direct(sqe, r->dirfd, r->path, r->flags, 0644, (unsigned)r->fd);
        else
            io_uring_prep_openat(sqe, r->dirfd, r->path, r->flags | O_CLOEXEC, 0644);
        break;
    case IO_CLOSE:
        if (r->slot)
            io_uring_prep_close_direct(sqe, (unsigned)fd);
        else
            io_uring_prep_close(sqe, r->fd);
        break;
    case IO_ALLOCATE:
        io_uring_prep_fallocate(sqe, fd, 0, 0, 0);
        sqe->addr = r->offset; /* the length; its type in the call differs between liburings */
        break;
    case IO_SYNC:
        io_uring_prep_fsync(sqe, fd, IORING_FSYNC_DATASYNC);
        break;
    case IO_DROP:
        io_uring_prep_fadvise(sqe, fd, 0, 0, POSIX_FADV_DONTNEED);
        break;
    case IO_UNLINKAT:
        io_uring_prep_unlinkat(sqe, r->dirfd, r->path, 0);
        break;
    }
    if ((registered || r->slot) && r->call != IO_OPENAT && r->call != IO_CLOSE &&
        r->call != IO_UNLINKAT)
        sqe->flags |= IOSQE_FIXED_FILE;
    io_uring_sqe_set_data(sqe, r);
}

static int uring_submit(struct io *io, struct io_req *r)
{
    struct uring *u = (struct uring *)io;
    int rc = uring_begin(u);

    if (rc < 0)
        return rc;
    if (u->in_flight == u->depth)
        return -EAGAIN;
    r->moved = 0;
    r->again_ns = 0;
    r->result = 0;
    u->in_flight++;
    if (r->call != IO_TRANSFER && !u->calls) {
        r->start_ns = clock_now_ns();
        r->result = io_call_now(r);
        r->done_ns = clock_now_ns();
        r->next = u->made;
        u->made = r;
        return 0;
    }
    uring_prepare(u, r);
    r->next = u->unstamped;
    u->unstamped = r;
    return 0;
}

/* Requests that the kernel cannot take now stay queued and go with the next call. */
static int uring_kick(struct io *io)
{
    struct uring *u = (struct uring *)io;
    int rc = uring_begin(u);

    uring_stamp(u);
    while (rc >= 0 && io_uring_sq_ready(&u->ring) > 0) {
        rc = io_uring_submit(&u->ring);
        if (u->sqpoll || rc == 0)
            break;
    }
    return rc >= 0 || rc == -EAGAIN || rc == -EBUSY || rc == -EINTR ? 0 : rc;
}

/* ---- reaping ---- */

/* True: r is finished. False: the rest of it is queued again. */
static bool uring_finish(struct uring *u, struct io_req *r, int res)
{
    if (res == -EINTR || (res == -EAGAIN && io_again(r))) {
        uring_prepare(u, r);
        return false;
    }
    if (r->call != IO_TRANSFER) {
        if (r->call == IO_OPENAT && !r->slot)
            r->fd = res;
        r->result = res < 0 ? res : 0;
        return true;
    }
    if (res > 0) {
        r->moved += (uint32_t)res;
        r->again_ns = 0;
        if (r->moved < r->len) {
            uring_prepare(u, r);
            return false;
        }
        return true;
    }
    if (res == 0)
        res = r->write ? -EIO : IO_PAST_END;
    /* A file with an odd end: O_DIRECT cannot go on from there. */
    if (res == -EINVAL && !r->write && r->moved % URING_SECTOR != 0)
        res = IO_PAST_END;
    r->result = res;
    return true;
}

static void uring_woken(struct uring *u)
{
    uint64_t count;

    u->poll_armed = false;
    if (read(u->wake_fd, &count, sizeof(count)) < 0)
        return; /* an earlier read took this wake's count too */
}

/* Takes what is complete. io_uring_peek_cqe enters the kernel where completions wait there (task
 * work, iopoll). */
static int uring_collect(struct uring *u, struct io_req **done, int max)
{
    struct io_uring_cqe *cqe;
    int n = 0, made, rc = 0;

    for (; n < max && u->made; u->made = u->made->next)
        done[n++] = u->made;
    made = n;
    while (n < max && io_uring_peek_cqe(&u->ring, &cqe) == 0) {
        void *data = io_uring_cqe_get_data(cqe);
        int res = cqe->res;

        io_uring_cqe_seen(&u->ring, cqe);
        if (data == u)
            uring_woken(u);
        else if (uring_finish(u, data, res))
            done[n++] = data;
    }
    if (io_uring_sq_ready(&u->ring) > 0)
        rc = uring_kick(&u->io);
    if (n == 0)
        return rc;

    int64_t now = clock_now_ns();

    for (int i = made; i < n; i++)
        done[i]->done_ns = now;
    u->in_flight -= (unsigned)n;
    return n;
}

static struct timespec uring_left(int64_t until_ns)
{
    int64_t left = until_ns - clock_now_ns();

    if (left < 0)
        left = 0;
    return (struct timespec){.tv_sec = left / UNITS_NS_PER_S, .tv_nsec = left % UNITS_NS_PER_S};
}

/* A ring that polls for completions can neither poll the eventfd nor time out. It is asked again
 * and again while I/O is in flight; otherwise this waits for the eventfd. */
static int wait_iopoll(struct uring *u, int64_t until_ns)
{
    struct pollfd fd = {.fd = u->wake_fd, .events = POLLIN};
    struct timespec left = uring_left(until_ns);

    if (u->in_flight == 0) {
        if (ppoll(&fd, 1, until_ns == INT64_MAX ? NULL : &left, NULL) > 0)
            uring_woken(u);
        return 0;
    }
    while (!atomic_load(&u->woken) && clock_now_ns() < until_ns) {
        struct io_uring_cqe *cqe;
        int rc = io_uring_peek_cqe(&u->ring, &cqe);

        if (rc != -EAGAIN)
            return rc;
    }
    return 0;
}

static int wait_ring(struct uring *u, int64_t until_ns)
{
    struct timespec left = uring_left(until_ns);
    struct __kernel_timespec ts = {.tv_sec = left.tv_sec, .tv_nsec = left.tv_nsec};
    struct io_uring_cqe *cqe;
    int rc;

    if (!u->poll_armed) {
        struct io_uring_sqe *sqe = uring_sqe(u);

        io_uring_prep_poll_add(sqe, u->wake_fd, POLLIN);
        io_uring_sqe_set_data(sqe, u);
        u->poll_armed = true;
    }
    rc = io_uring_submit_and_wait_timeout(&u->ring, &cqe, 1, until_ns == INT64_MAX ? NULL : &ts,
                                          NULL);
    if (rc >= 0 || rc == -ETIME || rc == -EINTR || rc == -EAGAIN || rc == -EBUSY)
        return 0;
    return rc;
}

static int uring_reap(struct io *io, struct io_req **done, int max, int64_t until_ns)
{
    struct uring *u = (struct uring *)io;
    int n = uring_begin(u), rc = 0;

    if (n < 0)
        return n;
    uring_stamp(u);
    n = uring_collect(u, done, max);
    if (n != 0 || until_ns == 0)
        return n;
    atomic_store(&u->sleeping, true);
    if (!atomic_exchange(&u->woken, false)) {
        rc = u->iopoll ? wait_iopoll(u, until_ns) : wait_ring(u, until_ns);
        /* The waker published its work before it set woken: this exchange makes it visible. */
        atomic_exchange(&u->woken, false);
    }
    atomic_store(&u->sleeping, false);
    return rc < 0 ? rc : uring_collect(u, done, max);
}

static void uring_wake(struct io *io)
{
    struct uring *u = (struct uring *)io;
    uint64_t one = 1;

    atomic_store(&u->woken, true);
    if (atomic_load(&u->sleeping) && write(u->wake_fd, &one, sizeof(one)) < 0)
        return; /* the counter is full, so the owner wakes anyway */
}

const struct io_ops io_uring_ops = {
    .engine = IO_URING,
    .name = "io_uring",
    .open = uring_open,
    .submit = uring_submit,
    .kick = uring_kick,
    .reap = uring_reap,
    .wake = uring_wake,
    .close = uring_close,
};
