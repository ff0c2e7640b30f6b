/* test_storage_trim.c - which bytes of a device are discarded for deleted objects: each extent of
 * each, where it lies; a device that refuses is no error, and costs no further tries for that
 * object. A delete's time is that of its discards, a read that drops has its own already. A bug
 * would discard what belongs to another object. */
/* builds: plain address thread */
#include <errno.h>
#include <linux/fs.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "lib/base/clock.h"
#include "lib/tier/storage_trim.h"

enum {
    BLOCK = 4096,
    OBJECTS = 8,
    BEGIN = 1 << 20,
    FD = 12345,
    SLOW_NS = 2000000
};

/* The ranges that the device was asked to trim. The linker puts this in the place of ioctl
 * (tests/rules.mk). */
static uint64_t asked[64][2];
static unsigned asks;
static bool refuses;

int __wrap_ioctl(int fd, unsigned long request, uint64_t *range);
int __wrap_ioctl(int fd, unsigned long request, uint64_t *range)
{
    assert_int_equal(fd, FD);
    assert_true(request == BLKDISCARD);
    assert_true(asks < 64);
    asked[asks][0] = range[0];
    asked[asks++][1] = range[1];
    clock_sleep_until(clock_now_ns() + SLOW_NS, 0);
    errno = EOPNOTSUPP;
    return refuses ? -1 : 0;
}

struct fixture {
    struct extent_pool *space;
    struct bell *bell;
    struct storage_trim *trim;
    struct tier_op op[OBJECTS];
};

static void *list_of(struct fixture *f, uint64_t bytes)
{
    uint32_t list = 0;

    assert_int_equal(extent_alloc(f->space, bytes, &list), 0);
    return (void *)(uintptr_t)list;
}

/* Objects of two extents each at least: they fill the holes between others. */
static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    void *hole[2 * OBJECTS];

    assert_non_null(f);
    f->space = extent_pool_create((uint64_t)4 * OBJECTS * BLOCK, BLOCK);
    f->bell = bell_create();
    for (unsigned i = 0; i < 2 * OBJECTS; i++) {
        hole[i] = list_of(f, BLOCK);
        (void)list_of(f, BLOCK);
    }
    for (unsigned i = 0; i < 2 * OBJECTS; i++)
        extent_release(f->space, (uint32_t)(uintptr_t)hole[i]);
    for (unsigned i = 0; i < OBJECTS; i++)
        f->op[i] = (struct tier_op){.verb = TIER_DELETE, .place = list_of(f, 2 * BLOCK)};
    const struct storage_trim_opts o = {
        .fd = FD, .space = f->space, .begin = BEGIN, .max_ops = OBJECTS, .bell = f->bell};
    struct err e = {0};
    assert_int_equal(storage_trim_open(&f->trim, &o, &e), 0);
    asks = 0;
    refuses = false;
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    storage_trim_close(f->trim);
    extent_pool_free(f->space);
    bell_free(f->bell);
    free(f);
    return 0;
}

static void run_all(struct fixture *f)
{
    for (unsigned i = 0; i < OBJECTS; i++)
        storage_trim_push(f->trim, &f->op[i]);
    for (unsigned i = 0; i < OBJECTS; i++) {
        struct tier_op *op;
        uint32_t seen = bell_seen(f->bell);

        while (!(op = storage_trim_pop(f->trim))) {
            bell_wait(f->bell, seen, INT64_MAX);
            seen = bell_seen(f->bell);
        }
        assert_ptr_equal(op, &f->op[i]);
    }
    assert_null(storage_trim_pop(f->trim));
}

static void test_extents(void **state)
{
    struct fixture *f = *state;
    unsigned n = 0;

    run_all(f);
    for (unsigned i = 0; i < OBJECTS; i++) {
        uint32_t pos = (uint32_t)(uintptr_t)f->op[i].place;
        unsigned first = n;
        struct extent x;

        for (; extent_walk(f->space, &pos, &x); n++) {
            assert_true(n < asks);
            assert_int_equal(asked[n][0], BEGIN + x.offset);
            assert_int_equal(asked[n][1], x.len);
        }
        assert_true(n - first >= 2);
        assert_true(f->op[i].device_ns >= (int64_t)(n - first) * SLOW_NS);
        assert_int_equal(f->op[i].part.meta_ns, f->op[i].device_ns);
    }
    assert_int_equal(n, asks);
}

static void test_refused(void **state)
{
    struct fixture *f = *state;

    refuses = true;
    run_all(f);
    assert_int_equal(asks, OBJECTS);
    for (unsigned i = 0; i < OBJECTS; i++)
        assert_int_equal(f->op[i].status, 0);
}

static void test_dropping_reads(void **state)
{
    struct fixture *f = *state;

    for (unsigned i = 0; i < OBJECTS; i++) {
        f->op[i].verb = TIER_READ;
        f->op[i].drop = true;
        f->op[i].done_ns = 77;
        f->op[i].device_ns = 7;
    }
    run_all(f);
    assert_true(asks >= 2 * OBJECTS);
    for (unsigned i = 0; i < OBJECTS; i++) {
        assert_int_equal(f->op[i].done_ns, 77);
        assert_int_equal(f->op[i].device_ns, 7);
        assert_int_equal(f->op[i].part.meta_ns, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_extents, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_dropping_reads, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
