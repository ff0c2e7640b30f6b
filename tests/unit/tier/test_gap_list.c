/* Gaps: what is kept and counted, and only of the timed part; what overlaps a row, each moment once
 * and the scheduler's not at all. A bug looked like a stop of a second that no figure showed, or
 * one that was counted for each thread. */
/* builds: plain address thread */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/base/clock.h"
#include "lib/io/gap_list.h"

#define MS INT64_C(1000000)

static void kept_and_counted(void **state)
{
    struct gap_list *g = gap_list_create(NULL);
    struct gap_loop one, two, scheduler;
    struct gap_list_delay delay;
    int64_t t = clock_now_ns();

    (void)state;
    assert_non_null(g);
    gap_loop_open(&one, g, GAPS_OF_ENGINE, "storage", 7);
    gap_loop_open(&two, g, GAPS_OF_ENGINE, "memory", 0);
    gap_loop_open(&scheduler, g, GAPS_OF_SCHEDULER, NULL, 0);
    gap_loop_add(&one, t, t + 50 * MS); /* before the timed part */
    gap_list_begin(g);
    assert_int_equal(gap_list_count(g), 0);
    gap_loop_add(&one, t, t + MS - 1); /* too short */
    gap_loop_add(&one, t + 10 * MS, t + 20 * MS);
    gap_loop_add(&two, t + 15 * MS, t + 25 * MS);
    gap_loop_add(&scheduler, t, t + 30 * MS);
    assert_int_equal(gap_list_count(g), 3);
    assert_int_equal(gap_list_kept(g), 3);
    assert_int_equal(gap_list_largest_ns(g), 30 * MS);
    assert_string_equal(gap_list_loop_name(g, gap_list_at(g, 0).loop), "storage 7");
    assert_string_equal(gap_list_loop_name(g, gap_list_at(g, 1).loop), "memory 0");
    assert_string_equal(gap_list_loop_name(g, gap_list_at(g, 2).loop), "scheduler");

    assert_int_equal(gap_list_overlap(g, t, t + 40 * MS), 15 * MS);
    assert_int_equal(gap_list_overlap(g, t + 12 * MS, t + 14 * MS), 2 * MS);
    assert_int_equal(gap_list_overlap(g, t, t + 10 * MS), 0);
    assert_int_equal(gap_list_overlap(g, t + 25 * MS, t + 60 * MS), 0);

    for (int i = 0; i < GAPS_MAX; i++)
        gap_loop_add(&two, t + 100 * MS, t + 102 * MS);
    assert_int_equal(gap_list_count(g), GAPS_MAX + 3);
    assert_int_equal(gap_list_kept(g), GAPS_MAX);
    gap_list_end(g);
    gap_loop_add(&one, t, t + 50 * MS); /* behind it */
    assert_int_equal(gap_list_count(g), GAPS_MAX + 3);
    if (gap_list_run_delay(g, &delay))
        assert_true(delay.all_ns >= delay.engines_ns && delay.engines_ns >= delay.unlisted_ns &&
                    delay.unlisted_ns >= delay.most_ns);
    gap_loop_close(&one);
    gap_loop_close(&two);
    gap_loop_close(&scheduler);
    gap_list_free(g);
}

/* A loop that slept, or whose device was slow, was not kept from running. */
static void waiting_is_no_gap(void **state)
{
    struct gap_list *g = gap_list_create(NULL);
    struct gap_loop loop, none;
    int64_t begin;

    (void)state;
    gap_loop_open(&loop, g, GAPS_OF_ENGINE, "storage", 0);
    gap_loop_open(&none, NULL, GAPS_OF_ENGINE, "storage", 0);
    gap_list_begin(g);
    begin = clock_now_ns();
    clock_sleep_until(begin + 100 * MS, 0);
    gap_loop_look(&loop, begin, clock_now_ns());
    gap_loop_look(&none, begin, clock_now_ns());
    gap_loop_add(&none, begin, begin + 100 * MS);
    gap_list_end(g);
    /* A busy machine may have kept it waiting for a part of that, but not for most of it. */
    assert_true(gap_list_overlap(g, begin, begin + 100 * MS) < 90 * MS);
    gap_loop_close(&loop);
    gap_loop_close(&none);
    gap_list_free(g);
    gap_list_free(NULL);
}

/* Stops are the process's own, and long. One is known before the thread that only wakes up has told
 * it: what starts first when it is over would miss it. Here that thread sleeps for 5 ms, and is
 * said to be late by asking for a time in the future. */
static void stops_of_the_process(void **state)
{
    struct gap_list *g = gap_list_create(NULL);
    struct gap_loop process, engine;
    int64_t t = clock_now_ns() + 10000 * MS;

    (void)state;
    gap_loop_open(&process, g, GAPS_OF_PROCESS, NULL, 0);
    gap_loop_open(&engine, g, GAPS_OF_ENGINE, "storage", 0);
    assert_int_equal(gap_list_stopped(g, t - 1000 * MS, t), 0); /* before the timed part */
    gap_list_begin(g);
    for (int i = 0; i < 10000 && gap_list_stopped(g, t - 1000 * MS, t) == 0; i++)
        clock_sleep_until(clock_now_ns() + MS, 0); /* until that thread runs */
    assert_int_equal(gap_list_stopped(g, t - 1000 * MS, t), 1000 * MS);
    int64_t now = clock_now_ns(), ago = now - 5000 * MS;
    gap_loop_add(&process, ago, ago + 50 * MS); /* a busy machine's */
    gap_loop_add(&engine, ago, ago + 400 * MS);
    assert_int_equal(gap_list_stopped(g, ago - MS, ago + 500 * MS), 0);
    gap_loop_add(&process, ago + 100 * MS, ago + 300 * MS);
    gap_loop_add(&engine, ago, ago + 600 * MS);
    gap_loop_add(&process, ago + 1000 * MS, ago + 1150 * MS);
    assert_int_equal(gap_list_stopped(g, INT64_MIN, ago + 500 * MS), 200 * MS);
    assert_int_equal(gap_list_stopped(g, ago + 250 * MS, ago + 1100 * MS), 150 * MS);
    assert_int_equal(gap_list_stopped(g, ago + 1150 * MS, ago + 1200 * MS), 0);
    gap_list_end(g);
    gap_loop_close(&process);
    gap_loop_close(&engine);
    gap_list_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kept_and_counted),
        cmocka_unit_test(waiting_is_no_gap),
        cmocka_unit_test(stops_of_the_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
