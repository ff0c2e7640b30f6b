/* The table of conversations: turns known while it goes on and after, until others push it out, and
 * places used again. A bug looked like turns of another conversation, or memory that only grows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kvgen/rng.h"
#include "kvgen/source/turn_counts.h"

static uint32_t begin(struct turn_counts *t)
{
    assert_int_equal(turn_counts_reserve(t), 0);
    return turn_counts_begin(t);
}

/* Later turns count for an earlier one that still waits, also when the conversation is over. */
static void turns_are_known_after_the_end(void **state)
{
    (void)state;
    struct turn_counts *t = turn_counts_create(10);
    uint32_t a = begin(t);
    turn_counts_ask(t, a, 1);
    assert_int_equal(turn_counts_turns(t, a), 1);
    turn_counts_ask(t, a, 2);
    turn_counts_ask(t, a, 3);
    turn_counts_release(t, a); /* over */
    uint32_t b = begin(t);
    assert_int_not_equal(a, b);
    turn_counts_ask(t, b, 1);
    assert_int_equal(turn_counts_turns(t, a), 3);
    turn_counts_release(t, a); /* first one served */
    assert_int_equal(turn_counts_turns(t, a), 3);
    assert_int_equal(turn_counts_turns(t, b), 1);
    turn_counts_free(t);
}

/* Two are remembered: the third pushes out the one that was asked in longest ago. */
static void the_longest_unused_is_forgotten(void **state)
{
    (void)state;
    struct turn_counts *t = turn_counts_create(2);
    uint32_t a = begin(t), b = begin(t);
    turn_counts_ask(t, a, 1);
    turn_counts_ask(t, b, 1);
    turn_counts_ask(t, a, 2);
    uint32_t c = begin(t);
    turn_counts_ask(t, c, 1);
    assert_int_equal(turn_counts_turns(t, b), 0);
    assert_int_equal(turn_counts_turns(t, a), 2);
    turn_counts_ask(t, b, 2); /* it goes on, and is known again */
    assert_int_equal(turn_counts_turns(t, b), 2);
    assert_int_equal(turn_counts_turns(t, a), 0);
    turn_counts_free(t);
}

/* A model of the table with numbers that are never used again, and thousands of random steps. */
static void random_steps_agree_with_a_model(void **state)
{
    (void)state;
    enum {
        MOST = 5,
        ALL = 4000
    };
    static struct {
        uint32_t number, turns, waiting;
        uint64_t used;
        int live, known;
    } m[ALL];
    struct turn_counts *t = turn_counts_create(MOST);
    struct rng r;
    uint64_t now = 0;
    uint32_t made = 0, highest = 0;
    rng_seed(&r, 1, 0);
    while (made < ALL) {
        uint32_t i = made;
        if (made < 8 || rng_chance(&r, 0.2)) {
            uint32_t old = made < 8 ? made : made - 8; /* comes to its end */
            for (; m[old].waiting > 0; m[old].waiting--)
                turn_counts_release(t, m[old].number);
            if (m[old].live)
                turn_counts_release(t, m[old].number);
            m[old].live = 0;
            m[i].number = begin(t);
            m[i].live = 1;
            highest = m[i].number > highest ? m[i].number : highest;
            made++;
        } else {
            i = made - 1 - (uint32_t)rng_below(&r, 8);
            if (m[i].waiting > 0 && rng_chance(&r, 0.7)) {
                m[i].waiting--;
                turn_counts_release(t, m[i].number);
                continue;
            }
            if (!m[i].live)
                continue;
            if (rng_chance(&r, 0.2)) {
                m[i].live = 0;
                turn_counts_release(t, m[i].number);
                continue;
            }
            m[i].waiting++;
            turn_counts_ask(t, m[i].number, ++m[i].turns);
        }
        m[i].used = ++now;
        uint32_t known = 0, oldest = i;
        m[i].known = 1;
        for (uint32_t k = 0; k < made; k++) {
            known += m[k].known != 0;
            if (m[k].known && m[k].used < m[oldest].used)
                oldest = k;
        }
        if (known > MOST)
            m[oldest].known = 0;
        for (uint32_t k = made < 30 ? 0 : made - 30; k < made; k++)
            if (m[k].live || m[k].waiting > 0)
                assert_int_equal(turn_counts_turns(t, m[k].number), m[k].known ? m[k].turns : 0);
    }
    assert_true(highest < 64); /* places are used again */
    turn_counts_free(t);
    turn_counts_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(turns_are_known_after_the_end),
        cmocka_unit_test(the_longest_unused_is_forgotten),
        cmocka_unit_test(random_steps_agree_with_a_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
