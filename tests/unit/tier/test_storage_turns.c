/* Objects that take turns at the device, when one of them fails in the midst of its chunks: that
 * one alone has the error, the others are whole, its buffers, table slot and descriptor come back,
 * its slot in flight, too, and nothing of it stays. And the turns themselves: one I/O for 64
 * objects, a large object among many small ones, slots in flight for a few of them. Between
 * the tier and its engine stands one that makes single I/Os fail. Bugs looked like: an object that
 * was asked for its next chunk after it had failed, a chunk's buffer or a slot that was lost with
 * it until nothing moved any more. */
/* builds: plain thread (test_tier_storage.c reaches its code with addresses watched) */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/unit/tier/engine_between.h"
#include "tests/unit/tier/storage_fixture.h"

enum {
    CHUNK = 65536,
    OBJECTS = 12,
    VICTIM = 5,
    IN_FLIGHT = 3
};

/* In flight, of all operations; NULL: as many as there are. */
static struct slots *slots;

static void take_all(int64_t *since_ns)
{
    for (int i = 0; i < IN_FLIGHT; i++)
        assert_true(slots_try(slots, since_ns));
}

static void give_all(void)
{
    for (int i = 0; i < IN_FLIGHT; i++)
        slots_give(slots, NULL, clock_now_ns());
}

/* ---- a tier of either layout on either engine ---- */

static struct tier_storage_opts ordinary(unsigned iodepth)
{
    return (struct tier_storage_opts){
        .engine = IO_AUTO, .chunk_bytes = CHUNK, .iodepth = iodepth, .max_ops = 512};
}

static void open_layout(struct fixture *f, struct tier_storage_opts o, bool slab, bool in_flight)
{
    fault = (struct fault){0};
    slots = in_flight ? slots_create(IN_FLIGHT) : NULL;
    if (slab)
        open_slab(f, 96 << 20, true);
    open_tier(f, o);
}

static int close_tier(struct fixture *f)
{
    struct err e = {0};
    int64_t since_ns;
    int ret;

    if (slots) /* none is lost, whatever has failed */
        take_all(&since_ns);
    ret = f->tier->ops->close(f->tier, &e);
    slots_free(slots);
    slots = NULL;
    if (f->slab)
        close_slab(f);
    return ret;
}

/* Each test in both layouts, on both engines, with and without slots in flight. */
static void everywhere(void **state, void (*test)(struct fixture *f), struct tier_storage_opts o)
{
    static const enum io_engine engine[] = {IO_AUTO, IO_PSYNC};
    struct fixture *f = *state;

    for (unsigned i = 0; i < 8; i++) {
        o.engine = engine[i / 2 % 2];
        open_layout(f, o, i % 2, i >= 4);
        test(f);
        assert_int_equal(close_tier(f), 0);
    }
}

/* All n at once, however long this thread waits for a processor in between; each comes back once.
 * Gives the order in which they did. */
static void run_all(struct fixture *f, struct tier_op *op, unsigned n, enum tier_verb verb,
                    struct tier_op **order)
{
    atomic_store(&held, true);
    for (unsigned i = 0; i < n; i++) {
        op[i].verb = verb;
        op[i].status = 1;
        op[i].device_ns = INT64_MAX;
        op[i].slots = slots;
        assert_int_equal(f->tier->ops->submit(f->tier, &op[i]), 0);
    }
    f->tier->ops->kick(f->tier);
    atomic_store(&held, false);
    for (unsigned i = 0; i < n; i++) {
        struct tier_op *done = checks_wait(f->tier, f->bell);

        assert_true(done->status <= 0);
        assert_true(done->device_ns >= 0 && done->late_ns >= 0 && done->late_ns <= done->ahead_ns);
        assert_true(done->device_ns + done->part.slot_ns + done->ahead_ns <=
                    done->done_ns - done->start_ns);
        for (unsigned k = 0; order && k < i; k++)
            assert_ptr_not_equal(order[k], done);
        if (order)
            order[i] = done;
    }
    assert_int_equal(f->tier->ops->poll(f->tier, &(struct tier_op *){NULL}, 1), 0);
}

static unsigned open_descriptors(void)
{
    DIR *d = opendir("/proc/self/fd");
    unsigned n = 0;

    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

static bool has_file(struct fixture *f, const struct tier_op *op)
{
    char name[80];

    snprintf(name, sizeof(name), "%02x/%016llx%016llx-%08x.kv", (unsigned)(op->name.hi >> 56),
             (unsigned long long)op->name.hi, (unsigned long long)op->name.lo, FIXTURE_EPOCH);
    return faccessat(target_dir_fd(f->target), name, F_OK, 0) == 0;
}

static uint64_t ios(struct fixture *f)
{
    struct tier_info info;

    f->tier->ops->describe(f->tier, &info);
    return info.ios;
}

static uint64_t chunks(const struct tier_op *op)
{
    return (DATA_PADDED(op->size) + CHUNK - 1) / CHUNK;
}

/* ---- one of several fails ---- */

static void fail_victim(const struct tier_op *op, enum io_call call, bool write, int status)
{
    fault = (struct fault){.status = status,
                           .key = op->id.key,
                           .call = call,
                           .write = write,
                           .block = op->size / DATA_BLOCK / 2};
}

static void objects_of(struct tier_op *op, uint64_t generation)
{
    for (unsigned i = 0; i < OBJECTS; i++)
        op[i] = checks_op(100 + i, generation, i % 3 == 2 ? 140000 + i * 5000 : 3000 + i * 7000);
}

/* All but the victim are ok, and no I/O is counted twice. */
static void one_fails(struct fixture *f, struct tier_op *op, enum tier_verb verb, int want)
{
    struct tier_op *order[OBJECTS];
    uint64_t before = ios(f), others = 0, did;

    run_all(f, op, OBJECTS, verb, order);
    for (unsigned i = 0; i < OBJECTS; i++) {
        assert_int_equal(op[i].status, i == VICTIM ? want : 0);
        others += i == VICTIM ? 0 : chunks(&op[i]);
    }
    did = ios(f) - before;
    if (f->slab) /* an extent may end within a chunk */
        assert_true(did >= others && did <= others + chunks(&op[VICTIM]) + OBJECTS);
    else
        assert_true(did >= others && did <= others + chunks(&op[VICTIM]));
    fault.status = 0;
}

/* The object whose write failed is not there, and its space is free once it is deleted. */
static void is_gone(struct fixture *f, struct tier_op *op)
{
    if (f->slab) {
        op->verb = TIER_DELETE;
        assert_int_equal(checks_run(f->tier, f->bell, op), 0);
    } else {
        assert_false(has_file(f, op));
    }
    assert_null(op->place);
    op->verb = TIER_READ;
    assert_int_equal(checks_run(f->tier, f->bell, op), -ENOENT);
}

static void writes_fail(struct fixture *f)
{
    static const int status[] = {-EIO, -ENOSPC, -EFBIG, -EDQUOT};
    struct tier_op op[OBJECTS];
    unsigned descriptors;

    objects_of(op, 1);
    run_all(f, op, OBJECTS, TIER_WRITE, NULL);
    descriptors = open_descriptors();
    for (uint64_t round = 0; round < 6; round++) { /* more than there are buffers */
        for (unsigned i = 0; i < OBJECTS; i++)
            op[i].id.generation++;
        fail_victim(&op[VICTIM], IO_TRANSFER, true, status[round % 4]);
        one_fails(f, op, TIER_WRITE, status[round % 4]);
        assert_true(fault.hits > 0);
        is_gone(f, &op[VICTIM]);
        for (unsigned i = 0; i < OBJECTS; i++) {
            op[i].verb = TIER_READ;
            if (i != VICTIM)
                assert_int_equal(checks_run(f->tier, f->bell, &op[i]), 0);
        }
        assert_int_equal(open_descriptors(), descriptors);
    }
    run_all(f, op, OBJECTS, TIER_WRITE, NULL);
    run_all(f, op, OBJECTS, TIER_READ, NULL);
    for (unsigned i = 0; i < OBJECTS; i++)
        assert_int_equal(op[i].status, 0);
    run_all(f, op, OBJECTS, TIER_DELETE, NULL);
    if (f->slab)
        assert_int_equal(extent_free_bytes(layout_slab_pool(f->slab)), 96 << 20);
}

static void test_writes_fail(void **state)
{
    everywhere(state, writes_fail, ordinary(1));
    everywhere(state, writes_fail, ordinary(4));
}

/* Errors that come with a call: an object is as gone as after a failed write. */
static void calls_fail(struct fixture *f)
{
    static const enum io_call call[] = {IO_ALLOCATE, IO_SYNC, IO_CLOSE};
    struct tier_op op[OBJECTS];

    for (size_t i = 0; i < sizeof(call) / sizeof(call[0]); i++) {
        if (f->slab && call[i] != IO_SYNC)
            continue;
        objects_of(op, 1);
        fail_victim(&op[VICTIM], call[i], true, -ENOSPC);
        one_fails(f, op, TIER_WRITE, -ENOSPC);
        assert_int_equal(fault.hits, 1);
        is_gone(f, &op[VICTIM]);
        run_all(f, op, OBJECTS, TIER_DELETE, NULL);
    }
}

/* The removal of what a failed write left fails, too: a part of an object stays among the files,
 * and the tier says so, then and for good. What was gone already is no part. In a slab the object
 * is in no index. */
static void a_part_stays(struct fixture *f)
{
    static const enum io_call call[] = {IO_SYNC, IO_UNLINKAT};
    static const int status[][2] = {{-EIO, 0}, {-EIO, -ENOENT}, {-EIO, -EACCES}, {0, 0}};
    struct tier_op op[OBJECTS];

    assert_false(f->tier->ops->torn(f->tier));
    for (size_t i = 0; i < sizeof(status) / sizeof(status[0]); i++) {
        objects_of(op, 1);
        fail_victim(&op[VICTIM], call[0], true, status[i][0]);
        fault.then_call = call[1];
        fault.then_status = status[i][1];
        one_fails(f, op, TIER_WRITE, status[i][0]);
        fault = (struct fault){0};
        assert_int_equal(f->tier->ops->torn(f->tier), !f->slab && i >= 2);
        run_all(f, op, OBJECTS, TIER_DELETE, NULL);
    }
}

static void test_a_part_stays(void **state)
{
    struct tier_storage_opts o = ordinary(4);

    o.sync_objects = true;
    everywhere(state, a_part_stays, o);
}

static void test_calls_fail(void **state)
{
    struct tier_storage_opts o = ordinary(4);

    o.sync_objects = true;
    everywhere(state, calls_fail, o);
}

static void reads_fail(struct fixture *f)
{
    /* Errors keep their names: ENODATA is a medium error, EBADMSG a file system's checksum. A read
     * past the end of what was stored is the store's fault. */
    static const int status[] = {-EIO, -ENODATA, -EBADMSG, IO_PAST_END};
    static const int want[] = {-EIO, -ENODATA, -EBADMSG, -EBADMSG};
    struct tier_op op[OBJECTS];
    unsigned descriptors;

    objects_of(op, 1);
    run_all(f, op, OBJECTS, TIER_WRITE, NULL);
    descriptors = open_descriptors();
    for (unsigned round = 0; round < 12; round++) {
        op[VICTIM].verify = (enum tier_verify)(round % 3);
        fail_victim(&op[VICTIM], IO_TRANSFER, false, status[round % 4]);
        one_fails(f, op, TIER_READ, want[round % 4]);
        assert_int_equal(op[VICTIM].fault.kind, round % 4 == 3 ? DATA_FAULT_END : DATA_FAULT_NONE);
        assert_int_equal(fault.hits, 1);
        assert_int_equal(open_descriptors(), descriptors);
    }
    run_all(f, op, OBJECTS, TIER_READ, NULL); /* whole as before */
    assert_int_equal(op[VICTIM].status, 0);
    for (unsigned i = 0; i < OBJECTS; i++)
        op[i].drop = true;
    fail_victim(&op[VICTIM], IO_TRANSFER, false, -EIO);
    one_fails(f, op, TIER_READ, -EIO);
    is_gone(f, &op[VICTIM]);
}

static void test_reads_fail(void **state)
{
    everywhere(state, reads_fail, ordinary(1));
    everywhere(state, reads_fail, ordinary(4));
}

/* The error of an I/O is told rather than what verification found in another chunk. */
static void corrupt_and_failed(struct fixture *f)
{
    struct tier_op op[OBJECTS];

    objects_of(op, 1);
    run_all(f, op, OBJECTS, TIER_WRITE, NULL);
    op[VICTIM].id.generation++; /* every block is of another write */
    one_fails(f, op, TIER_READ, -EBADMSG);
    assert_int_equal(op[VICTIM].fault.block, 0);
    fail_victim(&op[VICTIM], IO_TRANSFER, false, -EIO);
    one_fails(f, op, TIER_READ, -EIO);
}

static void test_corrupt_and_failed(void **state)
{
    everywhere(state, corrupt_and_failed, ordinary(4));
}

/* The engine itself fails with objects between turns: each comes back once, later ones are refused,
 * the end is told. */
static void breaks(struct fixture *f, int after)
{
    struct tier_op op[OBJECTS], *order[OBJECTS];
    unsigned failed = 0;

    objects_of(op, 1);
    fault = (struct fault){.breaks_after = after};
    run_all(f, op, OBJECTS, TIER_WRITE, order);
    for (unsigned i = 0; i < OBJECTS; i++) {
        assert_true(op[i].status == 0 || op[i].status == -EIO);
        failed += op[i].status != 0;
    }
    assert_true(failed > 0);
    run_all(f, op, OBJECTS, TIER_READ, order);
    for (unsigned i = 0; i < OBJECTS; i++)
        assert_true(op[i].status == -EIO || op[i].status == -ENOENT);
    assert_int_equal(f->tier->ops->torn(f->tier), !f->slab);
}

static void test_breaks(void **state)
{
    static const enum io_engine engine[] = {IO_AUTO, IO_PSYNC};
    struct fixture *f = *state;

    for (unsigned i = 0; i < 8; i++) {
        for (int after = 1; after < 6; after += 2) {
            struct tier_storage_opts o = ordinary(2);

            o.engine = engine[i / 2 % 2];
            open_layout(f, o, i % 2, i >= 4);
            breaks(f, after);
            assert_int_equal(close_tier(f), -EIO);
        }
    }
}

/* ---- turns ---- */

/* One I/O for 64 objects: each has its chunks, and there is never a second I/O. */
static void one_io(struct fixture *f)
{
    struct tier_op op[64], *order[64];
    struct tier_info before, after;
    uint64_t sum = 0;

    for (unsigned i = 0; i < 64; i++) {
        op[i] = checks_op(i, 1, 1 + i * 4000);
        sum += chunks(&op[i]);
    }
    for (int verb = TIER_WRITE; verb <= TIER_READ; verb++) {
        int64_t began = clock_now_ns();

        f->tier->ops->describe(f->tier, &before);
        run_all(f, op, 64, (enum tier_verb)verb, order);
        f->tier->ops->describe(f->tier, &after);
        for (unsigned i = 0; i < 64; i++)
            assert_int_equal(op[i].status, 0);
        assert_true(after.ios - before.ios >= sum && after.ios - before.ios <= sum + 64);
        assert_true(after.io_ns - before.io_ns <= clock_now_ns() - began);
    }
}

static void test_one_io(void **state)
{
    everywhere(state, one_io, ordinary(1));
}

/* All files are opened while others have the slots, and no I/O begins; then there are as many I/Os
 * as slots, for objects of one chunk. */
static void opened_ahead(struct fixture *f)
{
    struct tier_op op[OBJECTS], *order[OBJECTS];
    int64_t since_ns;

    if (!slots)
        return;
    for (unsigned i = 0; i < OBJECTS; i++)
        op[i] = checks_op(200 + i, 1, CHUNK - i * 1000);
    for (int verb = TIER_WRITE; verb <= TIER_READ; verb++) {
        take_all(&since_ns);
        atomic_store(&opens, 0);
        atomic_store(&transfers, 0); /* an engine that broke left some */
        atomic_store(&most_transfers, 0);
        for (unsigned i = 0; i < OBJECTS; i++) {
            op[i].verb = (enum tier_verb)verb;
            op[i].slots = slots;
            assert_int_equal(f->tier->ops->submit(f->tier, &op[i]), 0);
        }
        f->tier->ops->kick(f->tier);
        /* io_uring does not open files to write: the thread does. */
        while (!f->slab && verb == TIER_READ && atomic_load(&opens) < OBJECTS)
            sched_yield();
        assert_int_equal(atomic_load(&most_transfers), 0);
        give_all();
        for (unsigned i = 0; i < OBJECTS; i++) {
            order[i] = checks_wait(f->tier, f->bell);
            assert_int_equal(order[i]->status, 0);
        }
        assert_int_not_equal(atomic_load(&most_transfers), 0);
        assert_true(atomic_load(&most_transfers) <= IN_FLIGHT);
    }
}

static void test_opened_ahead(void **state)
{
    everywhere(state, opened_ahead, ordinary(8));
}

/* Many small objects behind a large one, more than a thread takes up at once (64): all are done
 * before it, but for a few whose own I/O was slow, and all that is moved is there. With few slots
 * in flight, most of the turns are the large one's. */
static void large_among_small(struct fixture *f)
{
    enum {
        SMALL = 150,
        FEW = SMALL / 10
    };
    static struct tier_op op[SMALL + 1], *order[SMALL + 1];
    uint64_t before = ios(f);

    op[0] = checks_op(0, 1, slots ? 4 << 20 : 16 << 20);
    for (unsigned i = 1; i <= SMALL; i++)
        op[i] = checks_op(i, 1, 1 + i * 13);
    for (int verb = TIER_WRITE; verb <= TIER_READ; verb++) {
        run_all(f, op, SMALL + 1, (enum tier_verb)verb, order);
        for (unsigned i = 0; !slots && i < SMALL - FEW; i++)
            assert_ptr_not_equal(order[i], &op[0]);
        for (unsigned i = 0; i <= SMALL; i++)
            assert_int_equal(op[i].status, 0);
    }
    assert_true(ios(f) - before >= 2 * (chunks(&op[0]) + SMALL));
    assert_true(ios(f) - before <= 2 * (chunks(&op[0]) + 2 * SMALL));
    run_all(f, op, SMALL + 1, TIER_DELETE, order);
    for (unsigned i = 0; i <= SMALL; i++)
        assert_int_equal(op[i].status, 0);
}

static void test_large_among_small(void **state)
{
    everywhere(state, large_among_small, ordinary(4));
}

/* Where there is room for some rings only, all threads use the engine that is named. */
static void test_one_engine(void **state)
{
    struct fixture *f = *state;
    struct tier_storage_opts o = ordinary(8);
    struct tier_info info;

    o.threads = 3;
    for (unsigned i = 0; i < 4; i++) {
        rings_left = i / 2 + 1;
        open_layout(f, o, i % 2, false);
        rings_left = UINT_MAX;
        checks_many(f->tier, f->bell, 16, 100);
        f->tier->ops->describe(f->tier, &info);
        assert_string_equal(info.engine, "psync");
        assert_int_equal(info.threads, 3);
        assert_true(notes_has(&info.fallbacks, "io_uring refused (ENOMEM)"));
        assert_false(notes_has(&info.flags, "registered buffers"));
        assert_false(notes_has(&info.flags, "registered files"));
        assert_int_equal(close_tier(f), 0);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_writes_fail),        TEST(test_calls_fail), TEST(test_reads_fail),
        TEST(test_corrupt_and_failed), TEST(test_breaks),     TEST(test_one_io),
        TEST(test_large_among_small),  TEST(test_one_engine), TEST(test_a_part_stays),
        TEST(test_opened_ahead),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
