/* The search for a number of users against targets whose limit is known on paper: capacity within
 * 5 % of the knee, qos within 5 % of the limit, from any start, with a little noise, in few steps.
 * A bug looked like this: a lucky step far above the knee that drew the answer to itself, or a
 * search that tried one number for ever. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kvgen/rng.h"
#include "kvreplay/autoscale/search.h"

/* Throughput of a target that serves knee users at most; noise is a share. */
static double served(uint64_t users, double knee, double noise, struct rng *r)
{
    double share = noise * (2 * rng_unit(r) - 1);
    return ((double)users < knee ? (double)users : knee) * 100 * (1 + share);
}

static void begin(struct search *s, enum search_mode mode, uint64_t start, uint64_t max)
{
    search_begin(s, &(struct search_opts){.mode = mode,
                                          .start = start,
                                          .min = 1,
                                          .max = max,
                                          .scale_up = 1.2,
                                          .scale_down = 0.8});
}

static uint64_t capacity(uint64_t start, uint64_t max, double knee, double noise, uint64_t seed,
                         unsigned *steps)
{
    struct search s;
    struct rng r;

    rng_seed(&r, seed, 1);
    begin(&s, SEARCH_CAPACITY, start, max);
    while (s.next)
        search_take(&s, served(s.next, knee, noise, &r), true);
    *steps = s.points;
    return search_answer(&s)->users;
}

static uint64_t qos(uint64_t start, uint64_t max, double limit, unsigned *steps)
{
    struct search s;

    begin(&s, SEARCH_QOS, start, max);
    while (s.next)
        search_take(&s, (double)s.next, (double)s.next <= limit);
    *steps = s.points;
    return search_answer(&s) ? search_answer(&s)->users : 0;
}

static void capacity_finds_the_knee(void **state)
{
    (void)state;
    const uint64_t start[] = {1, 10, 77, 500, 3000};
    unsigned steps;

    for (size_t i = 0; i < sizeof(start) / sizeof(start[0]); i++) {
        for (double knee = 20; knee < 9000; knee *= 1.13) {
            double users = (double)capacity(start[i], 1 << 24, knee, 0, 1, &steps);
            assert_true(fabs(users - knee) <= 0.05 * knee + 1);
            assert_true(steps < 40);
        }
    }
}

static void noise_moves_it_little(void **state)
{
    (void)state;
    unsigned steps;
    for (uint64_t seed = 0; seed < 200; seed++) {
        double users = (double)capacity(10, 1 << 24, 400, 0.01, seed, &steps);
        assert_true(fabs(users - 400) <= 0.05 * 400);
    }
}

/* Beyond the knee throughput may fall, as it does where a cache begins to thrash. */
static void a_fall_beyond_the_knee(void **state)
{
    (void)state;
    struct search s;
    begin(&s, SEARCH_CAPACITY, 10, 10000);
    while (s.next) {
        double n = (double)s.next;
        search_take(&s, n < 300 ? n : n < 330 ? 300 : 150, true);
    }
    assert_in_range(search_answer(&s)->users, 285, 330);
}

static void qos_finds_the_limit(void **state)
{
    (void)state;
    const uint64_t start[] = {1, 10, 77, 500, 3000};
    unsigned steps;

    for (size_t i = 0; i < sizeof(start) / sizeof(start[0]); i++) {
        for (double limit = 2; limit < 9000; limit *= 1.17) {
            double users = (double)qos(start[i], 1 << 24, limit, &steps);
            assert_true(users <= limit && users >= 0.95 * limit - 1);
            assert_true(steps < 70);
        }
    }
}

static void the_ends(void **state)
{
    (void)state;
    unsigned steps;

    assert_int_equal(qos(10, 100, 0.5, &steps), 0);
    assert_true(steps < 20);
    assert_int_equal(qos(10, 100, 1e9, &steps), 100);
    assert_int_equal(capacity(10, 100, 1e9, 0, 1, &steps), 100);
    assert_int_equal(capacity(1, 1, 1e9, 0, 1, &steps), 1);
    assert_int_equal(steps, 1);
    assert_int_equal(capacity(64, 1000, 1.0, 0, 1, &steps), 1);
}

static void says_why(void **state)
{
    (void)state;
    struct search s;

    begin(&s, SEARCH_CAPACITY, 10, 1000);
    search_take(&s, 100, true);
    assert_string_equal(s.action, "double");
    assert_int_equal(s.next, 20);
    search_take(&s, 150, true);
    assert_string_equal(s.reason, "throughput rose by 50.0 %");
    assert_false(s.flattened);
    search_take(&s, 151, true);
    assert_string_equal(s.action, "scale by 1.5");
    assert_int_equal(s.next, 30);
    assert_true(s.flattened);
    search_take(&s, 149, true);
    assert_string_equal(s.action, "refine");
    assert_int_equal(s.next, 15);
}

/* A step whose rows failed has no throughput: more users are not tried, fewer are. */
static uint64_t capacity_up_to(uint64_t start, uint64_t most, unsigned *steps)
{
    struct search s;

    begin(&s, SEARCH_CAPACITY, start, 10000);
    while (s.next) {
        for (unsigned i = 0; i < s.points; i++) {
            assert_int_not_equal(s.next, s.point[i].users); /* known already */
            assert_false(s.point[i].throughput <= 0 && s.next > s.point[i].users);
        }
        search_take(&s, s.next <= most ? (double)s.next : 0, s.next <= most);
    }
    *steps = s.points;
    return search_answer(&s) ? search_answer(&s)->users : 0;
}

static void failures_end_the_rise(void **state)
{
    (void)state;
    unsigned steps;

    assert_int_equal(capacity_up_to(10, 0, &steps), 0);
    assert_int_equal(steps, 4); /* 10, 5, 2, 1 */
    assert_int_equal(capacity_up_to(10, 1, &steps), 1);
    for (uint64_t most = 2; most < 9000; most += most / 7 + 1) {
        for (uint64_t start = 1; start < 10000; start = start * 3 + 1) {
            double users = (double)capacity_up_to(start, most, &steps);
            assert_true(users <= (double)most && users >= 0.9 * (double)most - 1);
            assert_true(steps < 40);
        }
    }
}

static void factors_and_the_fewest_are_heeded(void **state)
{
    (void)state;
    struct search s;
    struct search_opts o = {
        .mode = SEARCH_QOS, .start = 100, .min = 30, .max = 1000, .scale_up = 3, .scale_down = 0.5};

    search_begin(&s, &o);
    search_take(&s, 1, true);
    assert_int_equal(s.next, 300);
    search_begin(&s, &o);
    search_take(&s, 1, false);
    assert_int_equal(s.next, 50);
    search_take(&s, 1, false);
    assert_int_equal(s.next, 30); /* not 25 */
    search_take(&s, 1, false);
    assert_int_equal(s.next, 0);
    assert_null(search_answer(&s));
    o.scale_down = 1; /* goes down all the same */
    search_begin(&s, &o);
    search_take(&s, 1, false);
    assert_int_equal(s.next, 99);
    o.mode = SEARCH_CAPACITY;
    search_begin(&s, &o);
    search_take(&s, 0, true);
    search_take(&s, 0, true);
    assert_int_equal(s.next, 30);
    search_take(&s, 0, true);
    assert_int_equal(s.next, 0);
    assert_null(search_answer(&s));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(capacity_finds_the_knee),
        cmocka_unit_test(noise_moves_it_little),
        cmocka_unit_test(a_fall_beyond_the_knee),
        cmocka_unit_test(qos_finds_the_limit),
        cmocka_unit_test(the_ends),
        cmocka_unit_test(says_why),
        cmocka_unit_test(failures_end_the_rise),
        cmocka_unit_test(factors_and_the_fewest_are_heeded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
