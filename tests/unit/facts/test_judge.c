/* Which shares and how many samples make a figure doubtful. A bug looked like kvreplay and kvstat
 * that judged the same run in two ways. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/facts/judge.h"

static void samples_bound_percentiles(void **state)
{
    static const uint64_t least[JUDGED] = {5, 59, 299};

    (void)state;
    for (unsigned i = 0; i < JUDGED; i++) {
        assert_int_equal(judge_samples(judge_percentile[i].ppm), least[i]);
        assert_int_equal(judge_percentile[i].percent * 10000, judge_percentile[i].ppm);
    }
    assert_int_equal(judge_samples(999900), 29956);
}

static void ten_samples_above(void **state)
{
    (void)state;
    assert_false(judge_enough(19, 500000));
    assert_true(judge_enough(20, 500000));
    assert_false(judge_enough(999, 990000));
    assert_true(judge_enough(1000, 990000));
}

static void shares(void **state)
{
    char buf[JUDGE_ADDED];

    (void)state;
    assert_int_equal(judge_longer(JUDGE_MOVES), VALIDITY_GOOD);
    assert_int_equal(judge_longer(0.0501), VALIDITY_UNRELIABLE);
    assert_string_equal(judge_added(buf, "a pause", 0.012), "a pause adds 1.2 % to");
    assert_string_equal(judge_added(buf, "a pause", 10), "a pause adds 1000 % to");
    assert_string_equal(judge_added(buf, "a pause", 10.1), "a pause is most of");
}

/* Of the percentiles with ten samples above them, the one that differs most is told with both
 * values; times of which none are left were moved without bound. */
static void the_percentile_that_moved_most(void **state)
{
    struct hist *as_was = hist_create(), *without = hist_create(), *none = hist_create();
    char told[JUDGE_TOLD];

    (void)state;
    assert_true(as_was && without && none);
    for (int i = 0; i < 400; i++) {
        assert_int_equal(hist_record(as_was, i < 370 ? 1000000 : 3000000), 0);
        assert_int_equal(hist_record(without, i < 399 ? 1000000 : 2000000), 0);
    }
    struct judge_move m = judge_moved(as_was, without);
    assert_int_equal(m.of->percent, 95);
    assert_true(fabs(m.share - 2) < 0.01);
    assert_string_equal(judge_told(told, "a pause", "Tier-2 Read", &m),
                        "a pause adds 200 % to Tier-2 Read p95 (3.00 ms instead of 1.00 ms)");
    assert_string_equal(judge_told(told, "a pause", "", &m),
                        "a pause adds 200 % to p95 (3.00 ms instead of 1.00 ms)");
    m = judge_moved(without, without);
    assert_true(m.share == 0);
    m = judge_moved(as_was, none);
    assert_true(isinf(m.share));
    hist_free(as_was);
    hist_free(without);
    hist_free(none);
}

static void models_are_confirmed(void **state)
{
    (void)state;
    assert_true(judge_confirms(115, 100));
    assert_false(judge_confirms(115.1, 100));
    assert_true(judge_confirms(85, 100));
    assert_false(judge_confirms(84.9, 100));
    assert_false(judge_confirms(NAN, 100));
    assert_false(judge_confirms(100, NAN));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_are_confirmed),
        cmocka_unit_test(samples_bound_percentiles),
        cmocka_unit_test(ten_samples_above),
        cmocka_unit_test(shares),
        cmocka_unit_test(the_percentile_that_moved_most),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
