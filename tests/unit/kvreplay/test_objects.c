/* The table of live copies: what is put in is found, whatever else came and went, and memory stays
 * within 64 bytes a copy and is reused. A bug looked like this: a removal that cut a probe run, so
 * that a later copy was found absent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "kvreplay/wait/objects.h"
#include "tests/unit/scale.h"

/* Many keys share the same home: only the low bits of lo choose it. */
static struct hash128 key_of(uint32_t i)
{
    return (struct hash128){.lo = (uint64_t)(i % 7) << 40 | (i & 15), .hi = i};
}

enum {
    KEYS = 3000
};

static void model_agrees(void **state)
{
    (void)state;
    static uint8_t there[KEYS][3];
    struct objects *o = objects_create();
    size_t count = 0;
    uint64_t x = 1;
    const int rounds = scaled(60000);

    for (int i = 0; i < rounds; i++) {
        x = x * UINT64_C(6364136223846793005) + 1442695040888963407u;
        uint32_t k = (uint32_t)(x >> 33) % KEYS;
        unsigned tier = (unsigned)(x >> 20) % 3;
        struct object *e = objects_find(o, key_of(k), tier);
        assert_int_equal(e != NULL, there[k][tier]);
        if (e) {
            assert_int_equal(e->generation, k * 3 + tier);
            e->live = 0;
            objects_settle(o, e);
            count--;
        } else {
            e = objects_get(o, key_of(k), tier);
            e->live = 1;
            e->generation = k * 3 + tier;
            count++;
        }
        there[k][tier] ^= 1;
        assert_int_equal(objects_count(o), count);
    }
    size_t walked = 0;
    for (size_t pos = 0; objects_next(o, &pos);)
        walked++;
    assert_int_equal(walked, count);
    objects_free(o);
}

static void bounded_and_reused(void **state)
{
    (void)state;
    struct objects *o = objects_create();
    const uint32_t copies = (uint32_t)scaled(800000);
    for (uint32_t i = 0; i < copies; i++) {
        objects_get(o, (struct hash128){.lo = i * UINT64_C(0x9E3779B97F4A7C15), .hi = i}, 1)->live =
            1;
        if (i > copies / 8)
            assert_true(objects_bytes(o) <= (size_t)64 * (i + 4096));
    }
    size_t bytes = objects_bytes(o);
    struct object *e;
    for (size_t pos = 0; (e = objects_next(o, &pos));) {
        e->live = 0;
        objects_settle(o, e);
    }
    assert_int_equal(objects_count(o), 0);
    for (uint32_t i = 0; i < copies; i++)
        objects_get(o, (struct hash128){.lo = i, .hi = ~(uint64_t)i}, 2)->planned = 1;
    assert_int_equal(objects_bytes(o), bytes);
    objects_free(o);
}

/* A write and a delete are admitted while an earlier row that finds nothing is still there: the
 * entry that the write works on must not be given to another object meanwhile. */
static void held_until_the_last_row_is_done(void **state)
{
    (void)state;
    struct objects *o = objects_create();
    struct object *e = objects_get(o, key_of(1), 2);

    for (int i = 0; i < 65536; i++) /* as many rows as look ahead */
        objects_hold(e);
    for (int i = 0; i < 65536; i++) {
        objects_settle(o, e);
        objects_get(o, key_of(2), 2)->live = 1;
        assert_ptr_equal(objects_find(o, key_of(1), 2), e);
        objects_release(o, e);
    }
    assert_null(objects_find(o, key_of(1), 2));
    assert_int_equal(objects_count(o), 1);
    objects_hold(NULL);
    objects_release(o, NULL);
    objects_free(o);
}

/* Fetching ahead asks for nothing that is not there, and changes nothing. */
static void prefetch_changes_nothing(void **state)
{
    (void)state;
    struct objects *o = objects_create();
    objects_get(o, key_of(1), 0)->live = 1;
    for (uint32_t i = 0; i < 100; i++) {
        objects_prefetch_cell(o, key_of(i), i % 4);
        objects_prefetch_entry(o, key_of(i), i % 4);
    }
    assert_int_equal(objects_count(o), 1);
    assert_null(objects_find(o, key_of(2), 0));
    objects_free(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(model_agrees),
                                       cmocka_unit_test(bounded_and_reused),
                                       cmocka_unit_test(held_until_the_last_row_is_done),
                                       cmocka_unit_test(prefetch_changes_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
