/* Both I/O engines behave the same: what is written is read back through registered buffers, depth
 * bounds what is in flight, errors and the end of a file come as results, waits end at their time
 * or at a wake. Bugs looked like: a wake that came before the wait and was lost (the owner slept
 * for ever), a short read at the end of a file taken for a whole one. */
/* builds: plain address thread */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/io/io.h"

#define BLOCK 4096u
#define DEPTH 8u

struct fixture {
    struct io *io;
    char *pool;
    int fd;
};

static int scratch_file(void)
{
    const char *tmp = getenv("TMPDIR");
    char path[4096];
    int fd;

    snprintf(path, sizeof(path), "%s/kvtrace-io-XXXXXX", tmp ? tmp : "/tmp");
    fd = mkstemp(path);
    if (fd >= 0)
        unlink(path);
    return fd;
}

static int set_up(void **state, enum io_engine engine)
{
    struct fixture *f = calloc(1, sizeof(*f));
    struct io_opts o = {.depth = DEPTH, .buf_bytes = BLOCK, .bufs = DEPTH};
    struct err e = {0};

    assert_non_null(f);
    f->pool = io_buffers_map(DEPTH * BLOCK, IO_PAGES_HUGE);
    assert_non_null(f->pool);
    o.pool = f->pool;
    f->fd = scratch_file();
    assert_true(f->fd >= 0);
    if (io_open(&f->io, engine, &o, &e) < 0)
        f->io = NULL; /* refused here: tests skip */
    *state = f;
    return 0;
}

static int set_up_uring(void **state)
{
    return set_up(state, IO_URING);
}

static int set_up_psync(void **state)
{
    return set_up(state, IO_PSYNC);
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    if (f->io)
        f->io->ops->close(f->io);
    io_buffers_unmap(f->pool, DEPTH * BLOCK);
    close(f->fd);
    free(f);
    return 0;
}

static struct fixture *opened(void **state)
{
    struct fixture *f = *state;

    if (!f->io)
        skip();
    return f;
}

static struct io_req request(struct fixture *f, bool write, unsigned buf, uint64_t offset)
{
    return (struct io_req){.fd = f->fd,
                           .write = write,
                           .buf = f->pool + (size_t)buf * BLOCK,
                           .len = BLOCK,
                           .buf_index = (int)buf,
                           .offset = offset};
}

static void reap_all(struct fixture *f, unsigned n)
{
    struct io_req *done[DEPTH];

    while (n > 0) {
        int got = f->io->ops->reap(f->io, done, DEPTH, clock_now_ns() + 60000000000LL);

        assert_true(got > 0);
        assert_true((unsigned)got <= n);
        for (int i = 0; i < got; i++)
            assert_true(done[i]->done_ns >= done[i]->start_ns && done[i]->start_ns > 0);
        n -= (unsigned)got;
    }
}

/* Writes DEPTH blocks and reads them back into other buffers, in reverse order. */
static void test_round_trip(void **state)
{
    struct fixture *f = opened(state);
    struct io_req r[DEPTH];

    for (unsigned i = 0; i < DEPTH; i++) {
        memset(f->pool + (size_t)i * BLOCK, (int)(i + 1), BLOCK);
        r[i] = request(f, true, i, (uint64_t)i * BLOCK);
        assert_int_equal(f->io->ops->submit(f->io, &r[i]), 0);
    }
    assert_int_equal(f->io->ops->kick(f->io), 0);
    reap_all(f, DEPTH);
    for (unsigned i = 0; i < DEPTH; i++) {
        assert_int_equal(r[i].result, 0);
        r[i] = request(f, false, DEPTH - 1 - i, (uint64_t)i * BLOCK);
        memset(r[i].buf, 0, BLOCK);
        if (i == 3)
            r[i].buf_index = -1; /* not registered */
        assert_int_equal(f->io->ops->submit(f->io, &r[i]), 0);
    }
    reap_all(f, DEPTH); /* without a kick: reap pushes too */
    for (unsigned i = 0; i < DEPTH; i++) {
        const unsigned char *p = r[i].buf;

        assert_int_equal(r[i].result, 0);
        assert_int_equal(p[0], i + 1);
        assert_int_equal(p[BLOCK - 1], i + 1);
    }
}

static void test_depth(void **state)
{
    struct fixture *f = opened(state);
    struct io_req r[DEPTH + 1];

    for (unsigned i = 0; i <= DEPTH; i++) {
        r[i] = request(f, true, i % DEPTH, (uint64_t)i * BLOCK);
        assert_int_equal(f->io->ops->submit(f->io, &r[i]), i < DEPTH ? 0 : -EAGAIN);
    }
    reap_all(f, DEPTH);
    assert_int_equal(f->io->ops->submit(f->io, &r[DEPTH]), 0);
    reap_all(f, 1);
}

static void test_errors(void **state)
{
    struct fixture *f = opened(state);
    struct io_req past = request(f, false, 0, 1 << 20), half = request(f, false, 1, 0),
                  bad = request(f, false, 2, 0);

    assert_int_equal(ftruncate(f->fd, 1000), 0);
    bad.fd = -1;
    assert_int_equal(f->io->ops->submit(f->io, &past), 0);
    assert_int_equal(f->io->ops->submit(f->io, &half), 0);
    assert_int_equal(f->io->ops->submit(f->io, &bad), 0);
    reap_all(f, 3);
    assert_int_equal(past.result, IO_PAST_END);
    assert_int_equal(half.result, IO_PAST_END);
    assert_int_equal(bad.result, -EBADF);
}

static void test_time_out(void **state)
{
    struct fixture *f = opened(state);
    int64_t start = clock_now_ns();
    struct io_req *done[1];

    assert_int_equal(f->io->ops->reap(f->io, done, 1, 0), 0);
    assert_int_equal(f->io->ops->reap(f->io, done, 1, start + 30000000), 0);
    assert_true(clock_now_ns() - start >= 30000000);
    assert_int_equal(f->io->ops->reap(f->io, done, 1, start), 0); /* the past */
}

static void *wake_later(void *arg)
{
    struct fixture *f = arg;

    clock_sleep_until(clock_now_ns() + 20000000, 0);
    f->io->ops->wake(f->io);
    return NULL;
}

static void test_wake(void **state)
{
    struct fixture *f = opened(state);
    struct io_req *done[1];
    int64_t start = clock_now_ns();
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, wake_later, f), 0);
    assert_int_equal(f->io->ops->reap(f->io, done, 1, start + 60000000000LL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    f->io->ops->wake(f->io);                                  /* before the wait */
    assert_int_equal(f->io->ops->reap(f->io, done, 1, 0), 0); /* does not consume it */
    assert_int_equal(f->io->ops->reap(f->io, done, 1, start + 60000000000LL), 0);
    assert_true(clock_now_ns() - start < 50000000000LL);
}

/* A thousand hand-overs by wake alone, time-outs far away: a lost one would stop the test. */
struct ping {
    struct fixture *f;
    uint32_t sent, seen; /* __atomic */
};

static void *wake_often(void *arg)
{
    struct ping *p = arg;

    for (uint32_t i = 1; i <= 1000; i++) {
        __atomic_store_n(&p->sent, i, __ATOMIC_RELEASE);
        p->f->io->ops->wake(p->f->io);
        while (__atomic_load_n(&p->seen, __ATOMIC_ACQUIRE) != i)
            sched_yield();
    }
    return NULL;
}

static void test_wake_often(void **state)
{
    struct ping p = {.f = opened(state)};
    int64_t start = clock_now_ns();
    struct io_req *done[1];
    pthread_t thread;
    uint32_t seen = 0;

    assert_int_equal(pthread_create(&thread, NULL, wake_often, &p), 0);
    while (seen < 1000) {
        assert_int_equal(p.f->io->ops->reap(p.f->io, done, 1, start + 300000000000LL), 0);
        seen = __atomic_load_n(&p.sent, __ATOMIC_ACQUIRE);
        __atomic_store_n(&p.seen, seen, __ATOMIC_RELEASE);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(clock_now_ns() - start < 250000000000LL);
}

static void test_open(void **state)
{
    struct io_opts o = {.depth = 0};
    struct err e = {0};
    struct io *io;

    (void)state;
    assert_int_equal(io_open(&io, IO_AUTO, &o, &e), -EINVAL);
    o.depth = 20000;
    assert_int_equal(io_open(&io, IO_AUTO, &o, &e), -EINVAL);
    o.depth = 200; /* more than psync has threads */
    assert_int_equal(io_open(&io, IO_AUTO, &o, &e), 0);
    assert_true(io->ops == &io_uring_ops ||
                strncmp(io->fallbacks.text[0], "io_uring refused", 16) == 0);
    io->ops->close(io);
    o.sqpoll = o.iopoll = true; /* wishes: granted, or said */
    assert_int_equal(io_open(&io, IO_AUTO, &o, &e), 0);
    assert_true(io->fallbacks.count > 0 ||
                (notes_has(&io->flags, "sqpoll") && notes_has(&io->flags, "iopoll")));
    io->ops->close(io);
    assert_null(io_buffers_map(0, IO_PAGES_HUGE));
}

static void test_why(void **state)
{
    char root[] = "/tmp/kvtrace-why-XXXXXX", path[128], why[IO_WHY_CAP];

    (void)state;
    assert_non_null(mkdtemp(root));
    assert_string_equal(io_uring_why(root, ENOMEM, why), " (ulimit -l)");
    assert_string_equal(io_uring_why(root, EINVAL, why), "");
    assert_non_null(strstr(io_uring_why(root, EPERM, why), "sandbox"));
    static const char *const part[] = {"/proc", "/proc/sys", "/proc/sys/kernel"};
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof(path), "%s%s", root, part[i]);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    snprintf(path, sizeof(path), "%s/proc/sys/kernel/io_uring_disabled", root);
    static const char *const value[] = {"0\n", "1\n", "2\n", "x\n"};
    static const char *const says[] = {"sandbox", " (kernel.io_uring_disabled is 1)",
                                       " (kernel.io_uring_disabled is 2)", "sandbox"};
    for (size_t i = 0; i < 4; i++) {
        FILE *f = fopen(path, "w");
        assert_non_null(f);
        fputs(value[i], f);
        fclose(f);
        assert_non_null(strstr(io_uring_why(root, EPERM, why), says[i]));
        assert_null(strstr(io_uring_why(root, ENOSYS, why), "disabled"));
    }
    unlink(path);
    for (size_t i = 3; i-- > 0;) {
        snprintf(path, sizeof(path), "%s%s", root, part[i]);
        rmdir(path);
    }
    rmdir(root);
}

static void test_sqpoll(void **state)
{
    struct fixture f = {.fd = scratch_file()};
    struct io_opts o = {.depth = DEPTH, .sqpoll = true};
    struct err e = {0};
    struct io_req r[DEPTH];

    (void)state;
    if (io_open(&f.io, IO_URING, &o, &e) < 0) {
        close(f.fd);
        skip();
    }
    f.pool = io_buffers_map(DEPTH * BLOCK, IO_PAGES_HUGE);
    assert_non_null(f.pool);
    for (int round = 0; round < 50; round++) {
        for (unsigned i = 0; i < DEPTH; i++) {
            r[i] = request(&f, round % 2 == 0, i, (uint64_t)i * BLOCK);
            r[i].buf_index = -1;
            assert_int_equal(f.io->ops->submit(f.io, &r[i]), 0);
        }
        assert_int_equal(f.io->ops->kick(f.io), 0);
        reap_all(&f, DEPTH);
        for (unsigned i = 0; i < DEPTH; i++)
            assert_int_equal(r[i].result, 0);
    }
    f.io->ops->close(f.io);
    io_buffers_unmap(f.pool, DEPTH * BLOCK);
    close(f.fd);
}

/* Locked memory counts by user: root takes a number that nobody else has. */
static int as_a_user_alone(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {0};

    if (geteuid() == 0 && setuid(61000 + (uid_t)getpid() % 4000) < 0 && errno != EINVAL)
        return -1; /* EINVAL: a namespace without that number */
    return (int)syscall(SYS_capset, &head, none);
}

/* More I/Os than a ring for all of them at once has memory for: a smaller one serves them. */
static int many_in_little(void)
{
    struct io_opts o = {.depth = 16384};
    struct fixture f = {.fd = scratch_file(), .pool = io_buffers_map(DEPTH * BLOCK, IO_PAGES_HUGE)};
    struct io_req *r = calloc(o.depth, sizeof(*r)), *done[64];
    int64_t until = clock_now_ns() + 100000000000LL;
    struct err e = {0};
    unsigned left = o.depth;
    int ret;

    if (as_a_user_alone() < 0)
        return 2;
    while ((ret = io_open(&f.io, IO_URING, &o, &e)) == -ENOMEM && clock_now_ns() < until)
        clock_sleep_until(clock_now_ns() + 100000000, 0); /* root in vain: others have it locked */
    for (unsigned i = 0; ret == 0 && i < o.depth; i++) {
        r[i] = request(&f, true, i % DEPTH, (uint64_t)i * BLOCK);
        r[i].buf_index = -1;
        ret = f.io->ops->submit(f.io, &r[i]);
    }
    while (ret == 0 && left > 0) {
        int n = f.io->ops->reap(f.io, done, 64, until);

        for (int i = 0; i < n && ret == 0; i++)
            ret = done[i]->start_ns > 0 ? done[i]->result : -EPROTO;
        ret = n <= 0 ? -ETIME : ret;
        left -= n > 0 ? (unsigned)n : 0;
    }
    if (f.io)
        f.io->ops->close(f.io);
    free(r);
    io_buffers_unmap(f.pool, DEPTH * BLOCK);
    close(f.fd);
    return ret == 0 ? 0 : 1;
}

static void test_little_memory(void **state)
{
    struct rlimit limit = {1 << 20, 1 << 20};
    pid_t child;
    int status;

    (void)opened(state);
    fflush(NULL);
    child = fork();
    if (child == 0)
        _exit(setrlimit(RLIMIT_MEMLOCK, &limit) < 0 ? 2 : many_in_little());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

#define BOTH(test)                                                                                 \
    {#test " (io_uring)", test, set_up_uring, tear_down, NULL},                                    \
    {                                                                                              \
#test " (psync)", test, set_up_psync, tear_down, NULL                                      \
    }

/* Every read says EAGAIN, as a file may that was opened not to block. A bug looked like an engine
 * that asks again and again, for ever. */
static bool always_again;
ssize_t __real_pread(int fd, void *buf, size_t len, off_t at);
ssize_t __wrap_pread(int fd, void *buf, size_t len, off_t at);
ssize_t __wrap_pread(int fd, void *buf, size_t len, off_t at)
{
    if (!always_again)
        return __real_pread(fd, buf, len, at);
    errno = EAGAIN;
    return -1;
}

static void test_endless_eagain_ends(void **state)
{
    struct fixture *f = *state;
    if (!f->io)
        skip();
    struct io_req r = {.call = IO_TRANSFER,
                       .fd = f->fd,
                       .buf = f->pool,
                       .len = BLOCK,
                       .buf_index = 0},
                  *done = NULL;
    int64_t begin_ns = clock_now_ns();
    always_again = true;
    assert_int_equal(f->io->ops->submit(f->io, &r), 0);
    assert_int_equal(f->io->ops->kick(f->io), 0);
    int n = 0;
    while (n == 0 && clock_now_ns() - begin_ns < 60 * IO_AGAIN_NS)
        n = f->io->ops->reap(f->io, &done, 1, clock_now_ns() + IO_AGAIN_NS);
    always_again = false;
    assert_int_equal(n, 1);
    assert_ptr_equal(done, &r);
    assert_int_equal(r.result, -EAGAIN);
    assert_true(clock_now_ns() - begin_ns >= IO_AGAIN_NS); /* not at the first one */
}

/* A call that both engines make. The kernel says EAGAIN to a ring hardly ever: it waits itself. */
static void test_eagain_has_an_end(void **state)
{
    (void)state;
    struct io_req r = {.again_ns = 0};
    assert_true(io_again(&r));
    assert_true(r.again_ns > 0 && io_again(&r));
    r.again_ns -= IO_AGAIN_NS;
    assert_false(io_again(&r));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(test_round_trip),
        BOTH(test_depth),
        BOTH(test_errors),
        BOTH(test_time_out),
        BOTH(test_wake),
        BOTH(test_wake_often),
        cmocka_unit_test_setup_teardown(test_little_memory, set_up_uring, tear_down),
        cmocka_unit_test(test_eagain_has_an_end),
        cmocka_unit_test_setup_teardown(test_endless_eagain_ends, set_up_psync, tear_down),
        cmocka_unit_test(test_open),
        cmocka_unit_test(test_why),
        cmocka_unit_test(test_sqpoll),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
