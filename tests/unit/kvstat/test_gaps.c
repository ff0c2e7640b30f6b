/* The waits that a stop adds to a line: checked against a simulated line with and without the stop,
 * customer by customer. A bug looked like the wait of those who came when the stop was over, which
 * overlaps no stop, being storage's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "kvgen/rng.h"
#include "kvstat/count/gaps.h"
#include "lib/io/gap_line.h"

#define MS INT64_C(1000000)

struct stop {
    int64_t from_ns, to_ns;
};

/* The same stop as a summary lists it. */
static struct gaps *gaps_of(const struct stop *s)
{
    char text[160];
    struct gaps *g = NULL;
    struct err e;
    snprintf(text, sizeof(text),
             "{\"gaps\": [{\"thread\": \"process\", \"start_s\": %.9f, \"end_s\": %.9f}]}",
             (double)s->from_ns / 1e9, (double)s->to_ns / 1e9);
    assert_int_equal(gaps_read(&g, NULL, text, &e), 0);
    assert_non_null(gaps_of_process(g));
    return g;
}

enum {
    CUSTOMERS = 5000
};
static int64_t arrival_ns[CUSTOMERS], start_ns[2][CUSTOMERS];

/* One server, in order of arrival; it starts nothing and works on nothing while it stands still. */
static void serve(const struct stop *stop, uint64_t seed, int64_t every_ns, int64_t service_ns)
{
    struct rng rng;
    for (int with = 0; with < 2; with++) {
        int64_t free_ns = 0;
        rng_seed(&rng, seed, 0);
        for (int i = 0; i < CUSTOMERS; i++) {
            arrival_ns[i] = i * every_ns + (int64_t)rng_below(&rng, (uint64_t)every_ns);
            int64_t length_ns = (int64_t)rng_below(&rng, (uint64_t)(2 * service_ns));
            int64_t at = arrival_ns[i] > free_ns ? arrival_ns[i] : free_ns;
            if (with && at >= stop->from_ns && at < stop->to_ns)
                at = stop->to_ns;
            start_ns[with][i] = at;
            free_ns = at + length_ns;
            if (with && at < stop->from_ns && free_ns > stop->from_ns)
                free_ns += stop->to_ns - stop->from_ns;
        }
    }
}

static void a_stop_is_worth_what_it_added(void **state)
{
    (void)state;
    const struct stop stop = {1000 * MS, 1700 * MS};
    struct gaps *g = gaps_of(&stop);
    /* Loads of 0.3, 0.8 and 1.1. */
    static const int64_t service[] = {300000, 800000, 1100000};
    for (uint64_t load = 0; load < 3; load++) {
        struct gap_line line = GAP_LINE_NEW;
        int64_t off_ns = 0, added_ns = 0;
        serve(&stop, 7 + load, MS, service[load]);
        for (int i = 0; i < CUSTOMERS; i++) {
            int64_t got =
                gaps_line_add_ns(&line, gaps_of_process(g), arrival_ns[i], start_ns[1][i]);
            int64_t want = start_ns[1][i] - start_ns[0][i];
            off_ns += got > want ? got - want : want - got;
            added_ns += want;
            if (start_ns[1][i] < stop.from_ns)
                assert_int_equal(got, 0);
        }
        assert_true(added_ns > 100 * MS);
        assert_true(off_ns <= added_ns / 500); /* one service lay in the stop in part */
    }
    gaps_free(g);
}

/* Requests are counted when they end, which is not the order in which they started. */
static void late_ones_change_nothing(void **state)
{
    (void)state;
    const struct stop stop = {10 * MS, 120 * MS};
    struct gaps *g = gaps_of(&stop);
    const struct gaps *stops = gaps_of_process(g);
    struct gap_line line = GAP_LINE_NEW;
    assert_int_equal(gaps_line_add_ns(&line, stops, 5 * MS, 5 * MS), 0);
    assert_int_equal(gaps_line_add_ns(&line, stops, 11 * MS, 121 * MS), 110 * MS);
    /* It started before the stop, and did not wait. */
    assert_int_equal(gaps_line_add_ns(&line, stops, 9 * MS, 9 * MS), 0);
    assert_int_equal(gaps_line_add_ns(&line, stops, 122 * MS, 129 * MS), 7 * MS);
    assert_int_equal(gaps_line_add_ns(&line, stops, 130 * MS, 130 * MS), 0);
    assert_int_equal(gaps_line_add_ns(&line, stops, 131 * MS, 140 * MS), 0);
    gaps_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_stop_is_worth_what_it_added),
                                       cmocka_unit_test(late_ones_change_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
