/* The storage tier keeps every byte of every object, whatever engine, depth, chunk and number of
 * rings, finds what was changed behind its back, and adopts what an earlier run left. Bugs looked
 * like: a flipped byte not seen, a fault reported at the wrong block because chunks were checked
 * out of order, a write that failed half-way and left a file of the full size. */
/* builds: plain address thread */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/io/io.h"
#include "lib/io/target_files.h"
#include "tests/unit/tier/storage_fixture.h"

static struct tier_storage_opts ordinary(void)
{
    return (struct tier_storage_opts){
        .engine = IO_AUTO, .chunk_bytes = 65536, .iodepth = 16, .max_ops = 64};
}

static void close_tier(struct fixture *f)
{
    struct err e = {0};

    assert_int_equal(f->tier->ops->close(f->tier, &e), 0);
}

static int run(struct fixture *f, struct tier_op *op, enum tier_verb verb)
{
    op->verb = verb;
    return checks_run(f->tier, f->bell, op);
}

/* The file of an object, as the layout names it. */
static void object_name(char name[80], const struct tier_op *op)
{
    snprintf(name, 80, "%02x/%016llx%016llx-%08x.kv", (unsigned)(op->name.hi >> 56),
             (unsigned long long)op->name.hi, (unsigned long long)op->name.lo, FIXTURE_EPOCH);
}

static int object_file(struct fixture *f, const struct tier_op *op)
{
    char name[80];

    object_name(name, op);
    return openat(target_dir_fd(f->target), name, O_RDWR | O_CLOEXEC);
}

static bool count_object(void *ctx, int dir, const char *name, const struct stat *st,
                         enum target_files_kind kind)
{
    (void)dir, (void)name, (void)st;
    *(int *)ctx += kind == TARGET_FILES_OBJECT;
    return true;
}

static int count_objects(struct fixture *f)
{
    int n = 0;

    assert_int_equal(target_files_each(target_dir_fd(f->target), count_object, &n), 0);
    return n;
}

static void flip(struct fixture *f, const struct tier_op *op, uint64_t offset)
{
    int fd = object_file(f, op);
    unsigned char byte;

    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &byte, 1, (off_t)offset), 1);
    byte ^= 0x10;
    assert_int_equal(pwrite(fd, &byte, 1, (off_t)offset), 1);
    assert_int_equal(fsync(fd), 0);
    close(fd);
}

static void lives(struct fixture *f, struct tier_storage_opts o, unsigned inside, int steps)
{
    open_tier(f, o);
    checks_object_life(f->tier, f->bell);
    checks_many(f->tier, f->bell, inside, steps);
    close_tier(f);
}

static void test_uring(void **state)
{
    struct tier_storage_opts o = ordinary();

    lives(*state, o, 32, 600);
    o.iodepth = 1;
    lives(*state, o, 1, 100);
    o.iodepth = 64;
    o.chunk_bytes = 4096;
    lives(*state, o, 64 < CHECKS_OBJECTS ? 64 : CHECKS_OBJECTS, 400);
    o.chunk_bytes = 1 << 20;
    lives(*state, o, 16, 200);
}

/* Checks what an open tier says of fallbacks besides that of O_DIRECT, which some file systems
 * lack; NULL: nothing. */
static void is_said(struct fixture *f, struct tier_storage_opts o, const char *what)
{
    char said[NOTES_JOINED_CAP];
    struct tier_info info;

    open_tier(f, o);
    f->tier->ops->describe(f->tier, &info);
    notes_join(&info.fallbacks, "; ", said, sizeof(said));
    if (what)
        assert_non_null(strstr(said, what));
    else
        assert_null(strstr(said, "at most"));
    assert_string_equal(info.flags.text[0],
                        strncmp(said, "no O_DIRECT", 11) ? "O_DIRECT" : "buffered");
    close_tier(f);
}

static void test_psync(void **state)
{
    struct tier_storage_opts o = ordinary();

    o.engine = IO_PSYNC;
    lives(*state, o, 32, 400);
    is_said(*state, o, NULL); /* as many threads as I/Os, though calls need more */
    o.iodepth = 100;
    is_said(*state, o, "at most 64 I/Os in flight");
    o.threads = 3;
    lives(*state, o, 32, 200);
}

static void test_rings(void **state)
{
    struct tier_storage_opts o = ordinary();

    o.threads = 3;
    lives(*state, o, 32, 400);
    o.iodepth = 2; /* fewer than rings */
    lives(*state, o, 8, 100);
}

static void test_buffered_and_synced(void **state)
{
    struct tier_storage_opts o = ordinary();

    o.buffered = true;
    lives(*state, o, 8, 60);
    o.buffered = false;
    o.sync_objects = true;
    lives(*state, o, 8, 60);
}

static void test_polled(void **state)
{
    struct fixture *f = *state;
    struct tier_storage_opts o = ordinary();
    struct tier_info info;

    o.sqpoll = o.iopoll = true;
    open_tier(f, o);
    checks_many(f->tier, f->bell, 16, 100);
    f->tier->ops->describe(f->tier, &info);
    assert_true(info.ios > 100);
    close_tier(f);
}

static void test_large(void **state)
{
    struct fixture *f = *state;
    struct tier_storage_opts o = ordinary();
    struct tier_op op = checks_op(7, 1, (64u << 20) - 12345);
    struct tier_info before, after;

    o.chunk_bytes = 1 << 20;
    open_tier(f, o);
    f->tier->ops->describe(f->tier, &before);
    assert_int_equal(run(f, &op, TIER_WRITE), 0);
    assert_int_equal(run(f, &op, TIER_READ), 0);
    assert_true(op.device_ns > 0 && op.device_ns <= op.done_ns - op.start_ns);
    f->tier->ops->describe(f->tier, &after);
    assert_int_equal(after.ios - before.ios, 128);
    assert_true(after.io_ns > before.io_ns);
    assert_false(after.simulated);
    assert_true(after.verifies);
    assert_string_equal(after.target, target_dir_path(f->target));
    assert_non_null(strstr(after.flags.text[1], " I/Os of 1024 KiB"));
    assert_string_equal(after.flags.text[2], "1 ring");
    close_tier(f);
}

/* The trace has objects of 5,000 bytes at most: buffers are no larger, and what turns out to be
 * larger, as an object that was kept, is moved in more I/Os, not beyond its buffer. */
static void test_small_buffers(void **state)
{
    struct fixture *f = *state;
    struct tier_storage_opts o = ordinary();
    struct tier_op op = checks_op(7, 1, 5 * 8192 - 100);
    struct tier_info before, after;

    o.chunk_bytes = 1 << 20;
    o.largest_bytes = 5000;
    open_tier(f, o);
    f->tier->ops->describe(f->tier, &before);
    assert_int_equal(run(f, &op, TIER_WRITE), 0);
    assert_int_equal(run(f, &op, TIER_READ), 0);
    f->tier->ops->describe(f->tier, &after);
    assert_int_equal(after.ios - before.ios, 2 * 5);
    assert_non_null(strstr(after.flags.text[1], " I/Os of 1024 KiB")); /* as it was told */
    close_tier(f);
}

/* Eight objects of sixteen chunks at once, with one I/O slot: an object has no I/O of its own in
 * flight for most of its time, and that is waiting for the slot, not work of the host. With slots
 * for all of them none waits. Files are made in meta, and synced in flush only when asked. */
static void test_parts(void **state)
{
    struct fixture *f = *state;
    struct tier_storage_opts o = ordinary();
    struct tier_op op[8];

    for (int pass = 0; pass < 4; pass++) {
        int64_t slot_ns = 0, host_ns = 0, io_ns = 0;

        o.chunk_bytes = 64 << 10;
        o.iodepth = pass < 2 ? 1 : 8 * 16;
        o.engine = pass % 2 == 0 ? IO_AUTO : IO_PSYNC;
        o.sync_objects = pass < 2;
        if (o.iodepth > 64 && o.engine == IO_PSYNC)
            continue; /* its threads are fewer */
        open_tier(f, o);
        for (unsigned i = 0; i < 8; i++) {
            op[i] = checks_op(200 + i, 1, 1 << 20);
            op[i].verb = TIER_WRITE;
            assert_int_equal(f->tier->ops->submit(f->tier, &op[i]), 0);
        }
        f->tier->ops->kick(f->tier);
        for (unsigned i = 0; i < 8; i++) {
            const struct tier_op *done = checks_wait(f->tier, f->bell);

            checks_parts(done);
            assert_int_equal(done->status, 0);
            assert_true(done->part.meta_ns > 0 && done->part.io_ns > 0);
            assert_int_equal(done->part.flush_ns > 0, o.sync_objects);
            slot_ns += done->part.slot_ns;
            io_ns += done->part.io_ns;
            host_ns += done->done_ns - done->start_ns - done->part.slot_ns - done->device_ns;
        }
        if (o.iodepth == 1)
            assert_true(slot_ns > io_ns); /* seven wait while one is served */
        else
            assert_int_equal(slot_ns, 0);
        assert_true(host_ns >= 0);
        close_tier(f);
    }
}

/* A file system that stalls in open: it is the storage's time, not the host's. A named pipe in the
 * place of an object stalls a plain open until somebody opens its other end; io_uring's does not.
 */
static void test_stalled_open(void **state)
{
    const int64_t stall_ns = 100000000;
    struct fixture *f = *state;
    struct tier_storage_opts o = ordinary();
    struct tier_op op = checks_op(300, 1, 100000);
    const struct tier_op *done;
    char name[80];
    int fd;

    o.engine = IO_PSYNC;
    open_tier(f, o);
    assert_int_equal(run(f, &op, TIER_WRITE), 0);
    object_name(name, &op);
    assert_int_equal(unlinkat(target_dir_fd(f->target), name, 0), 0);
    assert_int_equal(mkfifoat(target_dir_fd(f->target), name, 0600), 0);
    op.verb = TIER_READ;
    assert_int_equal(f->tier->ops->submit(f->tier, &op), 0);
    f->tier->ops->kick(f->tier);
    clock_sleep_until(clock_now_ns() + stall_ns, 0);
    fd = openat(target_dir_fd(f->target), name, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    close(fd);
    done = checks_wait(f->tier, f->bell);
    assert_true(done->status < 0); /* there is nothing to read */
    checks_parts(done);
    assert_true(done->part.meta_ns > stall_ns / 2);
    assert_int_equal(unlinkat(target_dir_fd(f->target), name, 0), 0);
    close_tier(f);
}

/* One flipped byte anywhere is found by full, with its place; in a header by header too. */
static void test_flipped(void **state)
{
    static const uint64_t at[] = {0, 39, 40, 4095, 4096 + 24, 1000000, 2999999};
    struct fixture *f = *state;

    open_tier(f, ordinary());
    for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
        struct tier_op op = checks_op(50 + i, 1, 3000000);
        bool header = at[i] % DATA_BLOCK < 48;

        assert_int_equal(run(f, &op, TIER_WRITE), 0);
        flip(f, &op, at[i]);
        op.verify = TIER_VERIFY_NONE;
        assert_int_equal(run(f, &op, TIER_READ), 0);
        op.verify = TIER_VERIFY_HEADER;
        assert_int_equal(run(f, &op, TIER_READ), header ? -EBADMSG : 0);
        op.verify = TIER_VERIFY_FULL;
        assert_int_equal(run(f, &op, TIER_READ), -EBADMSG);
        assert_int_equal(op.fault.block, at[i] / DATA_BLOCK);
        assert_int_equal(op.fault.offset, header ? at[i] / DATA_BLOCK * DATA_BLOCK : at[i]);
    }
    close_tier(f);
}

/* The first of several faults in the object is reported, whichever chunk came back first. */
static void test_first_fault(void **state)
{
    struct fixture *f = *state;
    struct tier_op op = checks_op(60, 1, 3000000);

    open_tier(f, ordinary());
    assert_int_equal(run(f, &op, TIER_WRITE), 0);
    for (uint64_t at = 2900000; at > 100000; at -= 100000)
        flip(f, &op, at);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(run(f, &op, TIER_READ), -EBADMSG);
        assert_int_equal(op.fault.offset, 200000);
    }
    close_tier(f);
}

static void test_truncated_and_swapped(void **state)
{
    struct fixture *f = *state;
    struct tier_op a = checks_op(70, 1, 100000), b = checks_op(71, 1, 100000);
    struct hash128 name = a.name;
    int fd;

    open_tier(f, ordinary());
    assert_int_equal(run(f, &a, TIER_WRITE), 0);
    assert_int_equal(run(f, &b, TIER_WRITE), 0);
    a.name = b.name;
    a.verify = TIER_VERIFY_HEADER;
    assert_int_equal(run(f, &a, TIER_READ), -EBADMSG);
    assert_int_equal(a.fault.kind, DATA_FAULT_KEY);
    a.name = name;
    fd = object_file(f, &a);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, 90000), 0);
    close(fd);
    assert_int_equal(run(f, &a, TIER_READ), -EBADMSG); /* the store lost its end */
    assert_int_equal(a.fault.kind, DATA_FAULT_END);
    assert_int_equal(a.fault.block, 90000 / 4096);
    a.size = 200000; /* the trace asks for more than was ever stored */
    assert_int_equal(run(f, &a, TIER_READ), -EINVAL);
    a.size = 80000;
    assert_int_equal(run(f, &a, TIER_READ), 0);
    close_tier(f);
}

static void test_adopt(void **state)
{
    struct fixture *f = *state;
    struct tier_op op = checks_op(80, 77, 100000), empty = checks_op(81, 5, 0);
    uint64_t size = 0, generation = 0;

    open_tier(f, ordinary());
    assert_int_equal(run(f, &op, TIER_WRITE), 0);
    assert_int_equal(run(f, &empty, TIER_WRITE), 0);
    close_tier(f);
    open_tier(f, ordinary());
    op.epoch = empty.epoch = FIXTURE_EPOCH;
    assert_int_equal(f->tier->ops->adopt(f->tier, &op, &size, &generation), 0);
    assert_int_equal(size, DATA_PADDED(100000));
    assert_int_equal(generation, 77);
    assert_int_equal(run(f, &op, TIER_READ), 0);
    assert_int_equal(f->tier->ops->adopt(f->tier, &empty, &size, &generation), 0);
    assert_int_equal(size, 0);
    assert_int_equal(generation, 0);
    flip(f, &op, 8);
    op.verify = TIER_VERIFY_NONE;
    assert_int_equal(f->tier->ops->adopt(f->tier, &op, &size, &generation), 0);
    assert_int_equal(generation, 0);
    flip(f, &op, 8);
    op.verify = TIER_VERIFY_HEADER; /* after a power cut: every block is looked at */
    assert_int_equal(f->tier->ops->adopt(f->tier, &op, &size, &generation), 0);
    assert_int_equal(generation, 77);
    flip(f, &op, 20 * DATA_BLOCK + 30);
    assert_int_equal(f->tier->ops->adopt(f->tier, &op, &size, &generation), -EBADMSG);
    op.name.lo++;
    assert_int_equal(f->tier->ops->adopt(f->tier, &op, &size, &generation), -ENOENT);
    close_tier(f);
}

/* An object of an earlier run is read and removed under its own name; written again it gets that of
 * this run, and the old file goes. */
static void test_epochs(void **state)
{
    struct fixture *f = *state;
    struct tier_storage_opts later = ordinary();
    struct tier_op op[3] = {checks_op(180, 1, 100000), checks_op(181, 2, 100000),
                            checks_op(182, 3, 100000)};
    uint64_t size, generation;

    open_tier(f, ordinary());
    for (int i = 0; i < 3; i++)
        assert_int_equal(run(f, &op[i], TIER_WRITE), 0);
    close_tier(f);
    later.epoch = FIXTURE_EPOCH + 1;
    open_tier(f, later);
    for (int i = 0; i < 3; i++) {
        op[i].place = NULL;
        assert_int_equal(f->tier->ops->adopt(f->tier, &op[i], &size, &generation), -ENOENT);
        op[i].epoch = FIXTURE_EPOCH;
        assert_int_equal(f->tier->ops->adopt(f->tier, &op[i], &size, &generation), 0);
        assert_int_equal(run(f, &op[i], TIER_READ), 0);
    }
    op[0].id.generation = 9;
    op[0].size = 50000;
    assert_int_equal(run(f, &op[0], TIER_WRITE), 0);
    assert_true(op[0].part.meta_ns > 0);
    assert_int_equal(object_file(f, &op[0]), -1); /* of the earlier run */
    assert_int_equal(run(f, &op[0], TIER_READ), 0);
    assert_int_equal(run(f, &op[0], TIER_WRITE), 0); /* over itself */
    assert_int_equal(run(f, &op[0], TIER_READ), 0);
    assert_int_equal(run(f, &op[0], TIER_DELETE), 0);
    assert_int_equal(run(f, &op[1], TIER_DELETE), 0);
    op[2].drop = true;
    assert_int_equal(run(f, &op[2], TIER_READ), 0);
    close_tier(f);
    assert_int_equal(count_objects(f), 0);
}

/* A write that does not fit leaves neither the old object nor a new one that looks whole. */
static void test_failed_write(void **state)
{
    struct fixture *f = *state;
    struct tier_op op = checks_op(90, 1, 100000);
    struct rlimit before, small;

    open_tier(f, ordinary());
    assert_int_equal(run(f, &op, TIER_WRITE), 0);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 1 << 20;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    op.size = 3 << 20;
    assert_int_equal(run(f, &op, TIER_WRITE), -EFBIG);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(run(f, &op, TIER_READ), -ENOENT);
    assert_int_equal(run(f, &op, TIER_WRITE), 0);
    assert_int_equal(run(f, &op, TIER_READ), 0);
    close_tier(f);
}

static void test_max_ops(void **state)
{
    struct fixture *f = *state;
    struct tier_storage_opts o = ordinary();
    struct tier_op op[3];

    o.max_ops = 2;
    open_tier(f, o);
    for (unsigned i = 0; i < 3; i++) {
        op[i] = checks_op(i, 1, 4096);
        assert_int_equal(f->tier->ops->submit(f->tier, &op[i]), i < 2 ? 0 : -EAGAIN);
    }
    f->tier->ops->kick(f->tier);
    checks_wait(f->tier, f->bell);
    checks_wait(f->tier, f->bell);
    assert_int_equal(f->tier->ops->next_ns(f->tier), INT64_MAX);
    close_tier(f);
}

static void refused(struct fixture *f, struct tier_storage_opts o)
{
    struct err e = {0};

    o.dirfd = target_dir_fd(f->target);
    assert_true(tier_storage_open(&f->tier, &o, f->bell, &e) < 0);
    assert_true(e.what[0] != '\0');
}

static void test_bad_options(void **state)
{
    struct tier_storage_opts o = ordinary();

    o.chunk_bytes = 5000;
    refused(*state, o);
    o.chunk_bytes = 128 << 20;
    refused(*state, o);
    o = ordinary();
    o.iodepth = 0;
    refused(*state, o);
    o = ordinary();
    o.max_ops = 0;
    refused(*state, o);
    o = ordinary();
    o.chunk_bytes = 64 << 20;
    o.iodepth = 4096;
    refused(*state, o);
}

static void test_slab(void **state)
{
    static const enum io_engine engine[] = {IO_AUTO, IO_PSYNC};
    struct fixture *f = *state;
    struct tier_storage_opts o = ordinary();

    open_slab(f, 64 << 20, true);
    for (size_t i = 0; i < 2; i++) {
        o.engine = engine[i];
        o.threads = 1;
        lives(f, o, 32, 400);
        o.threads = 3;
        o.chunk_bytes = 4096;
        lives(f, o, 16, 200);
        o.chunk_bytes = 65536;
    }
    o.buffered = o.sync_objects = true;
    lives(f, o, 8, 60);
    close_slab(f);
}

/* Every block of a slab can be in use, in however many pieces, and none is lost. */
static void test_slab_full(void **state)
{
    struct fixture *f = *state;
    struct tier_op op[64], whole = checks_op(100, 1, 32 * DATA_BLOCK), more = whole;

    more.name.lo++;
    open_slab(f, 64 * DATA_BLOCK, true);
    open_tier(f, ordinary());
    for (unsigned i = 0; i < 64; i++) {
        op[i] = checks_op(i, 1, DATA_BLOCK - i);
        assert_int_equal(run(f, &op[i], TIER_WRITE), 0);
    }
    assert_int_equal(run(f, &whole, TIER_WRITE), -ENOSPC);
    for (unsigned i = 0; i < 64; i += 2)
        assert_int_equal(run(f, &op[i], TIER_DELETE), 0);
    assert_int_equal(run(f, &whole, TIER_WRITE), 0); /* 32 pieces */
    assert_int_equal(run(f, &more, TIER_WRITE), -ENOSPC);
    assert_int_equal(run(f, &whole, TIER_READ), 0);
    for (unsigned i = 1; i < 64; i += 2)
        assert_int_equal(run(f, &op[i], TIER_READ), 0);
    whole.drop = true;
    assert_int_equal(run(f, &whole, TIER_READ), 0);
    assert_null(whole.place);
    assert_int_equal(run(f, &more, TIER_WRITE), 0);
    close_tier(f);
    close_slab(f);
}

/* A block of one object in place of another's, and one of an earlier write, found by header. */
static void test_slab_swapped_and_stale(void **state)
{
    struct fixture *f = *state;
    struct tier_op a = checks_op(1, 1, 100000), b = checks_op(2, 1, 100000);
    unsigned char block[DATA_BLOCK];

    open_slab(f, 1 << 20, true);
    open_tier(f, ordinary());
    assert_int_equal(run(f, &a, TIER_WRITE), 0);
    assert_int_equal(run(f, &b, TIER_WRITE), 0);
    struct extent x;
    uint32_t pos = (uint32_t)(uintptr_t)a.place;
    assert_true(extent_walk(layout_slab_pool(f->slab), &pos, &x));
    off_t at = (off_t)(layout_slab_begin() + x.offset);
    pos = (uint32_t)(uintptr_t)b.place;
    assert_true(extent_walk(layout_slab_pool(f->slab), &pos, &x));
    assert_int_equal(pread(f->slab_fd, block, DATA_BLOCK, at + DATA_BLOCK), DATA_BLOCK);
    a.verify = TIER_VERIFY_HEADER;
    assert_int_equal(pwrite(f->slab_fd, block, DATA_BLOCK, at + 5 * DATA_BLOCK), DATA_BLOCK);
    assert_int_equal(run(f, &a, TIER_READ), -EBADMSG);
    assert_int_equal(a.fault.kind, DATA_FAULT_INDEX);
    assert_int_equal(a.fault.block, 5);
    a.id.generation = 2;
    assert_int_equal(run(f, &a, TIER_WRITE), 0);
    assert_int_equal(pwrite(f->slab_fd, block, DATA_BLOCK, at + DATA_BLOCK), DATA_BLOCK);
    assert_int_equal(run(f, &a, TIER_READ), -EBADMSG);
    assert_int_equal(a.fault.kind, DATA_FAULT_GENERATION);
    close_tier(f);
    close_slab(f);
}

static void keep(struct fixture *f, const struct tier_op *op)
{
    assert_int_equal(
        layout_slab_keep(f->slab, op->name, op->id.generation, (uint32_t)(uintptr_t)op->place), 0);
}

/* Writes the object's blocks, which lie first in the slab, as of another write. */
static void op_rewrite(const struct fixture *f, const struct tier_op *op, uint64_t generation)
{
    struct data_id id = op->id;
    int fd = openat(target_dir_fd(f->target), "slab.kv", O_RDWR | O_CLOEXEC);
    void *block = aligned_alloc(DATA_BLOCK, DATA_PADDED(op->size));

    id.generation = generation;
    data_fill(block, DATA_PADDED(op->size), &id, 0);
    assert_int_equal(pwrite(fd, block, DATA_PADDED(op->size), (off_t)layout_slab_begin()),
                     DATA_PADDED(op->size));
    free(block);
    close(fd);
}

static void test_slab_adopt(void **state)
{
    struct fixture *f = *state;
    struct tier_op a = checks_op(80, 77, 100000), b = checks_op(81, 78, 5000);
    uint64_t size = 0, generation = 0, bytes;

    open_slab(f, 1 << 20, true);
    open_tier(f, ordinary());
    assert_int_equal(run(f, &a, TIER_WRITE), 0);
    assert_int_equal(run(f, &b, TIER_WRITE), 0);
    close_tier(f);
    keep(f, &a);
    keep(f, &b);
    assert_int_equal(layout_slab_kept(f->slab), 0);
    close_slab(f);

    a.place = b.place = NULL;
    open_slab(f, 2 << 20, true);
    open_tier(f, ordinary());
    assert_int_equal(layout_slab_found(f->slab, &bytes), 2);
    assert_int_equal(f->tier->ops->adopt(f->tier, &a, &size, &generation), 0);
    assert_int_equal(size, DATA_PADDED(100000));
    assert_int_equal(generation, 77);
    assert_int_equal(f->tier->ops->adopt(f->tier, &a, &size, &generation), -ENOENT); /* taken */
    assert_int_equal(run(f, &a, TIER_READ), 0);
    close_tier(f);
    close_slab(f);

    op_rewrite(f, &a, 76); /* an older write of it, put there behind our back */
    open_slab(f, 2 << 20, true);
    open_tier(f, ordinary());
    assert_int_equal(f->tier->ops->adopt(f->tier, &a, &size, &generation), -ESTALE);
    assert_int_equal(generation, 77);
    close_tier(f);
    close_slab(f);
    op_rewrite(f, &a, 77);

    open_slab(f, 2 << 20, true); /* reading alone gives nothing up */
    open_tier(f, ordinary());
    assert_int_equal(f->tier->ops->adopt(f->tier, &a, &size, &generation), 0);
    assert_int_equal(run(f, &a, TIER_DELETE), 0);
    assert_int_equal(layout_slab_found(f->slab, &bytes), 0); /* what was not adopted went with it */
    assert_int_equal(extent_free_bytes(layout_slab_pool(f->slab)), 2 << 20);
    close_tier(f);
    close_slab(f);
    open_slab(f, 2 << 20, true);
    assert_int_equal(layout_slab_found(f->slab, &bytes), 0); /* nor is it found again */
    close_slab(f);
}

/* A container that forbids io_uring: psync takes over and says why. Last test: a filter stays for
 * ever. */
static void test_uring_refused(void **state)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {.len = sizeof(code) / sizeof(code[0]), .filter = code};
    struct tier_storage_opts o = ordinary();
    struct fixture *f = *state;
    char said[NOTES_JOINED_CAP];
    struct tier_info info;

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) < 0)
        skip();
    open_tier(f, o);
    checks_many(f->tier, f->bell, 16, 100);
    f->tier->ops->describe(f->tier, &info);
    assert_string_equal(info.engine, "psync");
    assert_non_null(
        strstr(notes_join(&info.fallbacks, "; ", said, sizeof(said)), "io_uring refused (EPERM)"));
    close_tier(f);
    o.engine = IO_URING;
    refused(f, o);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_uring),         TEST(test_psync),
        TEST(test_rings),         TEST(test_buffered_and_synced),
        TEST(test_polled),        TEST(test_large),
        TEST(test_small_buffers), TEST(test_parts),
        TEST(test_stalled_open),  TEST(test_flipped),
        TEST(test_first_fault),   TEST(test_truncated_and_swapped),
        TEST(test_adopt),         TEST(test_epochs),
        TEST(test_failed_write),  TEST(test_max_ops),
        TEST(test_bad_options),   TEST(test_slab),
        TEST(test_slab_full),     TEST(test_slab_swapped_and_stale),
        TEST(test_slab_adopt),    TEST(test_uring_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
