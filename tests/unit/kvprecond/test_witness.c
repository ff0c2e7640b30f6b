/* Disturbances of a span of writing, from values that are fed in: waits, stops and stolen time by
 * their share, a quota beside them, others' bytes on the device by what this process moved. A bug
 * looked like a quarter of the bandwidth under a CPU quota and no word, or the file system's own
 * journal taken for a neighbour. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "kvprecond/witness.h"
#include "lib/base/clock.h"

#define SECOND INT64_C(1000000000)
#define MIB    ((uint64_t)1 << 20)

/* A quiet span of two seconds in which 1 GiB was written. */
static struct disturbance quiet(void)
{
    return (struct disturbance){.elapsed_ns = 2 * SECOND,
                                .throttled_ns = -1,
                                .counted = true,
                                .own_bytes = 1024 * MIB,
                                .device_bytes = 1024 * MIB,
                                .slack_bytes = 32 * MIB};
}

static void what_counts(void **state)
{
    char why[DISTURBANCE_WHY];
    struct disturbance d = quiet();

    (void)state;
    assert_int_equal(disturbance_judge(&d, why), VALIDITY_GOOD);
    assert_string_equal(why, "");
    d.waited = d.stopped = d.stolen = 0.05;
    assert_int_equal(disturbance_judge(&d, why), VALIDITY_GOOD);
    d = quiet();
    d.waited = 0.92;
    d.stopped = 0.06;
    d.throttled_ns = 7 * SECOND / 4;
    assert_int_equal(disturbance_judge(&d, why), VALIDITY_UNRELIABLE);
    assert_string_equal(why, "CPU contention: threads waited for a CPU 92 % of the time; the "
                             "control group's CPU quota held them back for 1.75 s");
    d = quiet();
    d.stopped = 0.5;
    assert_int_equal(disturbance_judge(&d, why), VALIDITY_UNRELIABLE);
    assert_string_equal(why, "kvprecond stood still 50 % of the time");
    d = quiet();
    d.stolen = 0.07;
    assert_int_equal(disturbance_judge(&d, why), VALIDITY_UNRELIABLE);
    assert_string_equal(why, "the hypervisor took 7 % of the CPU time");
    d = quiet();
    d.waited = -1;
    assert_int_equal(disturbance_judge(&d, why), VALIDITY_UNKNOWN);
    assert_non_null(strstr(why, "not known"));
}

/* 100 MiB and 10 %: beyond what was in flight when the span began, and not in a small span. */
static void what_others_moved(void **state)
{
    char why[DISTURBANCE_WHY];
    struct disturbance d = quiet();

    (void)state;
    d.device_bytes += d.slack_bytes + 102 * MIB;
    assert_int_equal(disturbance_judge(&d, why), VALIDITY_GOOD);
    d.device_bytes += 2 * MIB;
    assert_true(disturbance_is_foreign(&d));
    assert_int_equal(disturbance_judge(&d, why), VALIDITY_UNRELIABLE);
    assert_string_equal(why, "foreign traffic: others moved 52.00 MiB/s on the device, kvprecond "
                             "512.00 MiB/s");
    d.counted = false;
    assert_int_equal(disturbance_judge(&d, why), VALIDITY_GOOD);
    d = quiet();
    d.own_bytes = d.slack_bytes = 0;
    d.device_bytes = 15 * MIB; /* a journal */
    assert_int_equal(disturbance_judge(&d, why), VALIDITY_GOOD);
    d.device_bytes = 16 * MIB;
    assert_int_equal(disturbance_judge(&d, why), VALIDITY_UNRELIABLE);
}

/* A stop of 0.4 s in a span is known as a share of it, and the next span knows nothing of it. */
static void spans_follow_each_other(void **state)
{
    struct witness w = {.gaps = gap_list_create(NULL)};
    struct gap_loop process;
    struct disturbance d;
    struct facts facts = {0};

    (void)state;
    assert_non_null(w.gaps);
    gap_loop_open(&process, w.gaps, GAPS_OF_PROCESS, NULL, 0);
    witness_begin(&w);
    int64_t since = w.since_ns;
    gap_loop_add(&process, since, since + 2 * SECOND / 5);
    witness_end(&w, &d, &facts);
    assert_true(facts_number(&facts, FACT_GAPS) >= 1);
    assert_true(facts_number(&facts, FACT_LARGEST_GAP_US) >= 400000);
    assert_false(d.counted); /* there is no device */
    assert_true(d.elapsed_ns > 0);
    witness_begin(&w);
    witness_end(&w, &d, NULL);
    assert_true(d.elapsed_ns < clock_now_ns() - since);
    gap_loop_close(&process);
    gap_list_free(w.gaps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_counts),
        cmocka_unit_test(what_others_moved),
        cmocka_unit_test(spans_follow_each_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
