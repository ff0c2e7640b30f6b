/* The host-memory tier keeps every byte of every object through rewrites, deletes and reads that
 * drop, whatever the fragmentation. A bug looked like a corrupt read or a lost object. */
/* builds: plain address thread */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/tier/tier_checks.h"

static struct tier *open_tier(struct bell *b, uint64_t capacity, unsigned threads, bool prefault)
{
    struct tier *t = NULL;
    struct err e = {0};
    struct tier_host_opts o = {.capacity = capacity,
                               .max_objects = 64,
                               .threads = threads,
                               .prefault = prefault,
                               .max_ops = 32};
    assert_int_equal(tier_host_open(&t, &o, b, &e), 0);
    return t;
}

static void one_object_lives_and_dies(void **state)
{
    (void)state;
    struct bell *b = bell_create();
    struct tier *t = open_tier(b, 16 << 20, 1, true);
    checks_object_life(t, b);
    assert_int_equal(t->ops->close(t, NULL), 0);
    bell_free(b);
}

static void many_objects_at_once_fill_the_arena(void **state)
{
    (void)state;
    struct bell *b = bell_create();
    for (unsigned depth = 1; depth <= 32; depth *= 4) {
        /* Room for the mean of all objects at their largest only thanks to exact accounting. */
        struct tier *t = open_tier(b, (uint64_t)CHECKS_OBJECTS * CHECKS_MAX, 2, false);
        checks_many(t, b, depth, 4000);
        assert_int_equal(t->ops->close(t, NULL), 0);
    }
    bell_free(b);
}

static void an_object_over_the_capacity_is_enospc(void **state)
{
    (void)state;
    struct bell *b = bell_create();
    struct tier *t = open_tier(b, 1 << 20, 1, false);
    struct tier_op op = checks_op(1, 1, 8 << 20);
    op.verb = TIER_WRITE;
    assert_int_equal(checks_run(t, b, &op), -ENOSPC);
    assert_null(op.place);
    assert_int_equal(t->ops->close(t, NULL), 0);
    bell_free(b);
}

static void more_than_max_ops_is_refused_until_polled(void **state)
{
    (void)state;
    struct bell *b = bell_create();
    struct tier *t = open_tier(b, 64 << 20, 1, false);
    struct tier_op op[33];
    for (unsigned i = 0; i < 33; i++) {
        op[i] = checks_op(i, 1, 100);
        op[i].verb = TIER_WRITE;
        assert_int_equal(t->ops->submit(t, &op[i]), i < 32 ? 0 : -EAGAIN);
    }
    t->ops->kick(t);
    for (unsigned i = 0; i < 32; i++)
        assert_int_equal(checks_wait(t, b)->status, 0);
    assert_int_equal(checks_run(t, b, &op[32]), 0);
    assert_int_equal(t->ops->close(t, NULL), 0);
    bell_free(b);
}

static uint64_t resident_bytes(void)
{
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%*u %lu", &pages), 1);
    fclose(f);
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* qemu-user answers MADV_POPULATE_WRITE with success and does nothing. */
static bool kernel_populates(void)
{
    unsigned char resident = 0;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *p = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(p != MAP_FAILED);
    bool said = madvise(p, page, 23) == 0; /* MADV_POPULATE_WRITE, which older headers lack */
    assert_int_equal(mincore(p, page, &resident), 0);
    munmap(p, page);
    return !said || (resident & 1);
}

/* An arena whose use is not known beforehand is touched neither as a whole nor only when written:
 * 128 MiB in use end with 256 MiB more than that resident, and no write met a page fault. */
static void pages_are_touched_ahead_of_use(void **state)
{
    (void)state;
    if (!kernel_populates())
        skip();
    const uint64_t mib = 1 << 20;
    uint64_t before = resident_bytes(), more = 0;
    struct bell *b = bell_create();
    struct tier *t = open_tier(b, 8192 * mib, 1, false);
    struct tier_op op[16];
    struct tier_info info;
    for (unsigned i = 0; i < 16; i++) {
        op[i] = checks_op(i, 1, 8 * mib);
        op[i].verb = TIER_WRITE;
        assert_int_equal(checks_run(t, b, &op[i]), 0);
    }
    for (int i = 0; i < 200 && more < 370 * mib; i++) { /* 20 s at most */
        clock_sleep_until(clock_now_ns() + 100000000, 0);
        more = resident_bytes() - before;
    }
    assert_in_range(more, 370 * mib, 4096 * mib); /* a sanitizer's shadow is in it */
    t->ops->describe(t, &info);
    for (unsigned i = 0; i < info.fallbacks.count; i++)
        assert_null(strstr(info.fallbacks.text[i], "page faults"));
    assert_int_equal(t->ops->close(t, NULL), 0);
    bell_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_object_lives_and_dies),
        cmocka_unit_test(many_objects_at_once_fill_the_arena),
        cmocka_unit_test(an_object_over_the_capacity_is_enospc),
        cmocka_unit_test(more_than_max_ops_is_refused_until_polled),
        cmocka_unit_test(pages_are_touched_ahead_of_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
