/* Which of several targets stands out. A bug looked like a target that was called slow because more
 * rows went there for a while, or a full drive that nobody named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include "kvreplay/doors.h"

enum {
    TARGETS = 4
};
#define MS INT64_C(1000000)

static const struct tier_door door[TARGETS] = {
    {.endpoint = "a"}, {.endpoint = "b"}, {.endpoint = "c"}, {.endpoint = "d"}};
static const double share[TARGETS] = {0.25, 0.25, 0.25, 0.25};

/* A row of that target from start_ns on. */
static void add(struct counts *s, unsigned target, uint8_t op, int64_t start_ns, int64_t ns,
                int status)
{
    struct row r = {.t = {.op = op,
                          .tier = TRACE_STORAGE,
                          .phase = TRACE_DECODE,
                          .size = 1 << 20,
                          .due_ns = TRACE_NONE,
                          .start_ns = start_ns,
                          .device_ns = ns,
                          .latency_ns = ns,
                          .status = status},
                    .door = (uint8_t)target,
                    .effect.target = (uint8_t)target};

    counts_started(s, &r);
    counts_add(s, &r);
}

static struct doors setup(struct counts *s)
{
    assert_int_equal(counts_init(s), 0);
    assert_int_equal(counts_doors(s, TRACE_STORAGE, TARGETS), 0);
    return (struct doors){.counts = s->door[TRACE_STORAGE],
                          .count = s->doors[TRACE_STORAGE],
                          .door = door,
                          .share = share};
}

static void a_slow_target_is_named(void **state)
{
    struct counts s;
    struct doors p = setup(&s);
    struct notes n = {0};

    (void)state;
    for (int i = 0; i < 100; i++)
        for (unsigned t = 0; t < TARGETS; t++)
            add(&s, t, TRACE_READ, i * 10 * MS, (t == 2 ? 5 : 2) * MS, TRACE_OK);
    doors_notes(&p, &n);
    assert_int_equal(n.count, 1);
    assert_string_equal(n.text[0],
                        "c is slow: its reads took 2.5 times as long for a byte as those "
                        "of the others (median)");
    counts_release(&s);
}

/* Two rows at a time on c take twice as long, and it moves as much in a second as the others. */
static void a_busy_target_is_not_slow(void **state)
{
    struct counts s;
    struct doors p = setup(&s);
    struct notes n = {0};

    (void)state;
    for (int i = 0; i < 100; i++)
        for (unsigned t = 0; t < TARGETS; t++) {
            struct row r[2];
            int rows = t == 2 ? 2 : 1;
            memset(r, 0, sizeof(r));
            for (int k = 0; k < rows; k++) {
                r[k].t = (struct trace_row){.op = TRACE_READ,
                                            .tier = TRACE_STORAGE,
                                            .phase = TRACE_DECODE,
                                            .size = 1 << 20,
                                            .due_ns = TRACE_NONE,
                                            .start_ns = i * 10 * MS,
                                            .latency_ns = rows * 2 * MS,
                                            .device_ns = rows * 2 * MS};
                r[k].door = r[k].effect.target = (uint8_t)t;
                counts_started(&s, &r[k]);
            }
            for (int k = 0; k < rows; k++)
                counts_add(&s, &r[k]);
        }
    doors_notes(&p, &n);
    assert_int_equal(n.count, 1);
    assert_non_null(strstr(n.text[0], "c moved 1.6 times its share"));
    counts_release(&s);
}

/* A target is busy until the last end that was seen, also where another operation never ends: its
 * bytes are those of that time. Its rate was not known at all, and its bytes those of no time. */
static void an_operation_that_never_ends(void **state)
{
    struct counts s;
    struct row stuck = {
        .t = {.op = TRACE_WRITE, .tier = TRACE_STORAGE, .start_ns = 0, .latency_ns = TRACE_NONE}};

    (void)state;
    setup(&s);
    counts_started(&s, &stuck);
    add(&s, 0, TRACE_WRITE, 1 * MS, 2 * MS, TRACE_OK);
    add(&s, 0, TRACE_WRITE, 5 * MS, 2 * MS, TRACE_OK);
    add(&s, 0, TRACE_WRITE, 4 * MS, 2 * MS, TRACE_OK);
    assert_int_equal(s.door[TRACE_STORAGE][0].busy_ns, 7 * MS);
    assert_int_equal(s.door[TRACE_STORAGE][0].busy_bytes, 3 << 20);
    counts_release(&s);
}

static void few_rows_say_nothing(void **state)
{
    struct counts s;
    struct doors p = setup(&s);
    struct notes n = {0};

    (void)state;
    for (int i = 0; i < 58; i++)
        for (unsigned t = 0; t < TARGETS; t++)
            add(&s, t, TRACE_WRITE, i * 10 * MS, (t == 2 ? 5 : 2) * MS, TRACE_OK);
    doors_notes(&p, &n);
    assert_int_equal(n.count, 0);
    counts_release(&s);
}

static void a_full_target_is_named(void **state)
{
    struct counts s;
    struct doors p = setup(&s);
    struct notes n = {0};

    (void)state;
    assert_true(doors_imbalance(&p, NULL) < 0);
    for (unsigned t = 0; t < TARGETS; t++)
        add(&s, t, TRACE_WRITE, t * MS, MS, TRACE_OK);
    add(&s, 3, TRACE_WRITE, 9 * MS, MS, ENOSPC);
    add(&s, 3, TRACE_WRITE, 9 * MS, MS, ENOSPC);
    doors_notes(&p, &n);
    assert_int_equal(n.count, 1);
    assert_string_equal(n.text[0], "d is full: 2 rows ended there with ENOSPC");
    assert_true(doors_imbalance(&p, NULL) == 1);
    assert_int_equal(p.counts[3].op[TRACE_WRITE].failed, 2);
    counts_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slow_target_is_named),       cmocka_unit_test(a_busy_target_is_not_slow),
        cmocka_unit_test(an_operation_that_never_ends), cmocka_unit_test(few_rows_say_nothing),
        cmocka_unit_test(a_full_target_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
