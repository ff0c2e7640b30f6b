/* Identities, keys and the store of live objects: what is added is found until it is removed,
 * however the table is filled, and places are used again. A bug looked like an object that vanished
 * when another of its probe run was removed, or memory that grew with the number of objects ever
 * added. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "kvgen/rng.h"
#include "kvgen/sim/objects.h"

static void key_is(struct ident id, const char *user, const char *want)
{
    char buf[IDENT_MAX_KEY];
    size_t len = ident_key(id, user, user ? strlen(user) : 0, buf);
    assert_int_equal(len, strlen(want));
    assert_memory_equal(buf, want, len);
}

static void keys(void **state)
{
    (void)state;
    key_is(ident_block(0), NULL, "block_0");
    key_is(ident_block(UINT64_MAX), NULL, "block_18446744073709551615");
    key_is(ident_turn(7, 1234567, 12), "user_0007", "conv_user_0007_1234567_turn_12");
    key_is(ident_request(7, 99), "user_0007", "user_0007_req_99");
    key_is(ident_system(2), NULL, "system_prompt_2");
    assert_int_equal(ident_user(ident_turn(268435455, 1, 1)), 268435455);
    assert_int_equal(ident_kind(ident_turn(268435455, 1, UINT32_MAX)), IDENT_TURN);
    assert_false(ident_equal(ident_block(3), ident_system(3)));
}

/* A key of a chain is read back whole, with the engine of its copy, and no other key is. */
static void keys_of_chains(void **state)
{
    (void)state;
    static const char *const others[] = {"",
                                         "chain_",
                                         "chain_0123456789abcde",
                                         "chain_0123456789abcdeg",
                                         "chain_0123456789ABCDEF",
                                         "chain_0123456789abcdef0",
                                         "chain_0123456789abcdef@",
                                         "chain_0123456789abcdef@e",
                                         "chain_0123456789abcdef@e1@g1",
                                         "chain_0123456789abcdef@g1@g1",
                                         "chain_0123456789abcdef@e4294967295",
                                         "chain_0123456789abcdef@e99999999999999999999",
                                         "chain_0123456789abcdef@e1x",
                                         "block_12"};
    char buf[IDENT_MAX_KEY];
    uint64_t hash;
    uint32_t in_group, engine;
    for (uint32_t g = 0; g < 3; g++)
        for (uint32_t with = 0; with < 2; with++) {
            size_t len = ident_key(ident_chain(UINT64_C(0xfedcba9876543210), g), "", 0, buf);
            if (with)
                len += (size_t)snprintf(buf + len, sizeof(buf) - len, "@e42");
            const struct trace_str key = {buf, (uint32_t)len};
            assert_true(ident_read_chain(key, &hash, &in_group, &engine));
            assert_true(hash == UINT64_C(0xfedcba9876543210));
            assert_int_equal(in_group, g);
            assert_int_equal(engine, with ? 42 : 0);
        }
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        const struct trace_str key = {others[i], (uint32_t)strlen(others[i])};
        assert_false(ident_read_chain(key, &hash, &in_group, &engine));
    }
}

enum {
    IDS = 5000,
    STEPS = 200000
};

/* Against a plain array, with a table that grows under it. */
static void store_agrees_with_array(void **state)
{
    (void)state;
    static uint32_t number[IDS];
    struct objects *o = objects_create();
    struct rng r;
    uint64_t live = 0;
    uint32_t highest = 0;
    assert_non_null(o);
    rng_seed(&r, 3, 0);
    for (int i = 0; i < IDS; i++)
        number[i] = OBJECT_NONE;
    for (int step = 0; step < STEPS; step++) {
        uint64_t i = rng_below(&r, IDS);
        assert_int_equal(objects_find(o, ident_block(i)), number[i]);
        if (number[i] == OBJECT_NONE) {
            assert_int_equal(objects_add(o, ident_block(i), &number[i]), 0);
            objects_at(o, number[i])->size = i;
            live++;
        } else {
            assert_int_equal(objects_at(o, number[i])->size, i);
            objects_remove(o, number[i]);
            number[i] = OBJECT_NONE;
            live--;
        }
        if (number[i] != OBJECT_NONE && number[i] > highest)
            highest = number[i];
        assert_int_equal(objects_count(o), live);
    }
    for (uint64_t i = 0; i < IDS; i++)
        assert_int_equal(objects_find(o, ident_block(i)), number[i]);
    assert_true(highest < IDS);
    objects_free(o);
}

/* Many slabs, which are taken several at a time and on huge pages: numbers count up without a gap,
 * objects stay in place, and all memory is given back (under the address sanitizer). */
static void a_large_store(void **state)
{
    (void)state;
    const uint32_t many = (40 << OBJECTS_SLAB_BITS) + 5;
    struct objects *o = objects_create();
    assert_non_null(o);
    for (uint32_t i = 0; i < many; i++) {
        uint32_t number;
        assert_int_equal(objects_add(o, ident_block(i), &number), 0);
        assert_int_equal(number, i);
        objects_at(o, number)->size = i;
    }
    for (uint32_t i = 0; i < many; i++) {
        assert_int_equal(objects_find(o, ident_block(i)), i);
        assert_int_equal(objects_at(o, i)->size, i);
    }
    assert_int_equal(objects_find(o, ident_block(many)), OBJECT_NONE);
    objects_free(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys),
        cmocka_unit_test(keys_of_chains),
        cmocka_unit_test(store_agrees_with_array),
        cmocka_unit_test(a_large_store),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
