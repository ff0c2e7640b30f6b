/* Admission against plain counts: a list of keys for the n-th use; for TinyLFU a count of each key
 * that is halved, which the sketch equals as long as keys are few, and never falls short of. A bug
 * looked like a counter that ran over into its neighbour, or a question that counted as a use. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "kvgen/policy/admission.h"
#include "kvgen/rng.h"
#include "tests/unit/scale.h"

enum {
    KEYS = 4000
};

/* Every key with its uses; for the n-th use by when it was used last, oldest first. */
struct model {
    uint64_t key[KEYS];
    uint32_t uses[KEYS];
    uint64_t count, used;
};

static uint64_t find(const struct model *m, uint64_t key)
{
    uint64_t i = 0;
    while (i < m->count && m->key[i] != key)
        i++;
    return i;
}

static uint32_t uses_of(const struct model *m, uint64_t key)
{
    const uint64_t i = find(m, key);
    return i < m->count ? m->uses[i] : 0;
}

/* Moves the key to the end. */
static void use(struct model *m, uint64_t key)
{
    const uint64_t at = find(m, key);
    uint32_t uses = 0;
    if (at < m->count) {
        uses = m->uses[at];
        m->count--;
        memmove(m->key + at, m->key + at + 1, (m->count - at) * sizeof(*m->key));
        memmove(m->uses + at, m->uses + at + 1, (m->count - at) * sizeof(*m->uses));
    }
    m->key[m->count] = key;
    m->uses[m->count++] = uses < 15 ? uses + 1 : 15;
    m->used++;
}

static void test_the_nth_use(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 3, 0);
    for (int run = 0; run < scaled(60); run++) {
        static struct model m;
        const uint64_t capacity = 1 + rng_below(&rng, 20), keys = 2 + rng_below(&rng, 300);
        const uint32_t times = 1 + (uint32_t)rng_below(&rng, 4);
        struct admission *a = admission_create(ADMISSION_SEEN, capacity, times);
        assert_non_null(a);
        m = (struct model){0};
        for (int i = 0; i < 2000; i++) {
            const uint64_t key = rng_below(&rng, keys) * rng_below(&rng, keys) / keys;
            use(&m, key);
            if (m.count > ADMISSION_SEEN_KEYS * capacity) {
                m.count--;
                memmove(m.key, m.key + 1, m.count * sizeof(*m.key));
                memmove(m.uses, m.uses + 1, m.count * sizeof(*m.uses));
            }
            admission_use(a, key);
            const uint64_t other = rng_below(&rng, keys);
            for (int ask = 0; ask < 3; ask++) {
                assert_int_equal(admission_uses(a, other), uses_of(&m, other));
                assert_int_equal(admission_allows(a, other, ask ? &key : NULL),
                                 uses_of(&m, other) >= times);
            }
        }
        admission_free(a);
    }
}

static void halve(struct model *m)
{
    for (uint64_t i = 0; i < m->count; i++)
        m->uses[i] /= 2;
}

static void test_tinylfu_counts_few_keys_exactly(void **state)
{
    (void)state;
    struct rng rng;
    static struct model m;
    rng_seed(&rng, 4, 0);
    enum {
        CAPACITY = 500,
        FEW = 40
    };
    struct admission *a = admission_create(ADMISSION_TINYLFU, CAPACITY, 1);
    assert_non_null(a);
    for (int i = 0; i < 40000; i++) {
        /* Half of the uses are of one key, so that counters are full, too. */
        const uint64_t key = rng_below(&rng, 2) ? 7 : rng_below(&rng, FEW);
        const uint64_t x = rng_below(&rng, FEW), y = rng_below(&rng, FEW);
        use(&m, key);
        if (m.used % (10 * CAPACITY) == 0)
            halve(&m);
        admission_use(a, key);
        for (int ask = 0; ask < 2; ask++) {
            assert_int_equal(admission_uses(a, x), uses_of(&m, x));
            assert_int_equal(admission_allows(a, x, &y), uses_of(&m, x) > uses_of(&m, y));
            assert_true(admission_allows(a, x, NULL));
        }
    }
    admission_free(a);
}

/* As many keys as there is room for four times: an estimate is never too low, and seldom too high.
 */
static void test_tinylfu_never_counts_too_little(void **state)
{
    (void)state;
    struct rng rng;
    static struct model m;
    rng_seed(&rng, 5, 0);
    const uint64_t capacity = 500, keys = 2000;
    struct admission *a = admission_create(ADMISSION_TINYLFU, capacity, 1);
    assert_non_null(a);
    m = (struct model){0};
    for (int i = 0; i < 4999; i++) { /* up to the first halving, after which a floor is rounded */
        const uint64_t key = rng_below(&rng, keys);
        use(&m, key);
        admission_use(a, key);
    }
    uint64_t over = 0;
    for (uint64_t key = 0; key < keys; key++) {
        assert_true(admission_uses(a, key) >= uses_of(&m, key));
        over += admission_uses(a, key) > uses_of(&m, key);
    }
    assert_true(over * 4 < keys);
    admission_free(a);
}

static void test_always(void **state)
{
    (void)state;
    struct admission *a = admission_create(ADMISSION_ALWAYS, 1, 1);
    const uint64_t other = 2;
    assert_non_null(a);
    admission_use(a, 1);
    assert_true(admission_allows(a, 1, &other) && admission_allows(a, 3, NULL));
    assert_int_equal(admission_uses(a, 1), 0);
    admission_free(a);
    admission_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_nth_use),
        cmocka_unit_test(test_tinylfu_counts_few_keys_exactly),
        cmocka_unit_test(test_tinylfu_never_counts_too_little),
        cmocka_unit_test(test_always),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
