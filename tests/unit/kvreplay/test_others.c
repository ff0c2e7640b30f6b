/* Others' bytes on the devices, from counters that are fed in: what was in flight is not theirs,
 * bytes that come back do not count twice, and an interval is theirs from 10 % of ours and 1 MiB
 * on. A bug looked like a queue of 32 MiB that was called a neighbour. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kvreplay/device/others.h"

#define MIB ((uint64_t)1 << 20)

/* Adds MiB to the last sample, each: read by us, and by the device; written likewise. */
static bool step(struct others *o, const uint64_t by[4])
{
    struct others_sample s = o->last;

    s.now_ns += OTHERS_EVERY_NS;
    s.own_read += by[0] * MIB;
    s.device_read += by[1] * MIB;
    s.own_write += by[2] * MIB;
    s.device_write += by[3] * MIB;
    return others_take(o, &s);
}

static void test_intervals(void **state)
{
    static const struct {
        uint64_t by[4];
        bool foreign;
        uint64_t read, wrote; /* MiB, by others, afterwards */
    } c[] = {
        {{100, 68, 0, 0}, false, 0, 0},      /* 32 MiB are in flight */
        {{100, 132, 0, 0}, false, 0, 0},     /* they have come, too */
        {{100, 109, 0, 0}, false, 9, 0},     /* not worth a word */
        {{100, 120, 0, 0}, true, 29, 0},     /* a neighbour reads */
        {{100, 100, 0, 0}, false, 29, 0},    /* and is gone */
        {{0, 0, 100, 0}, false, 29, 0},      /* written to the page cache */
        {{0, 0, 0, 100}, false, 29, 0},      /* and from there */
        {{100, 80, 100, 130}, true, 29, 30}, /* a neighbour writes */
        {{0, 20, 0, 0}, false, 29, 30},      /* what was in flight has come */
        {{0, 0, 0, 0}, false, 29, 30},       /* nothing */
        {{0, 1, 0, 0}, true, 30, 30},        /* of nothing of ours, 1 MiB is much */
    };
    struct others o = {0};

    (void)state;
    assert_false(others_take(
        &o, &(struct others_sample){.own_read = 7, .device_read = 9 * MIB, .device_write = 3}));
    assert_true(o.known);
    for (size_t i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
        assert_int_equal(step(&o, c[i].by), c[i].foreign);
        assert_int_equal(others_read(&o), c[i].read * MIB);
        assert_int_equal(others_wrote(&o), c[i].wrote * MIB);
    }
}

/* Without a device nothing is known, and nothing is looked at. */
static void test_not_known(void **state)
{
    struct others o;
    bool foreign = false;

    (void)state;
    others_begin(&o, NULL, 0);
    assert_false(o.known);
    assert_false(others_look(&o, INT64_MAX, true, &foreign));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_intervals),
        cmocka_unit_test(test_not_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
