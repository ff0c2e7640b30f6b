/* Keys of blocks of a chain: equal exactly where the tokens from the beginning are, however a trace
 * cuts them. A bug looked like a block that hit though an earlier token differed, or an answer that
 * missed in the next turn. */
/* builds: plain address arm64 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kvgen/cache/chain.h"

static uint64_t key_of(const struct chain_piece *pieces, uint64_t count, uint64_t end)
{
    const struct chain c = {.pieces = pieces, .count = count};
    struct chain_walk w = {.chain = &c, .key = chain_root(0)};
    return chain_key(&w, end);
}

static void test_prefixes(void **state)
{
    (void)state;
    const struct chain_piece a[] = {{7, 512}, {8, 512}, {9, 100}};
    const struct chain_piece b[] = {{7, 512}, {8, 300}};
    const struct chain_piece other[] = {{6, 512}, {8, 512}};
    for (uint64_t end = 1; end <= 812; end += 37)
        assert_true(key_of(a, 3, end) == key_of(b, 2, end));
    assert_true(key_of(a, 3, 1024) != key_of(other, 2, 1024));
    assert_true(key_of(a, 3, 1023) != key_of(a, 3, 1024));
    const struct chain c = {.pieces = a, .count = 3};
    assert_int_equal(chain_tokens(&c), 1124);
}

static void test_walk_equals_single_steps(void **state)
{
    (void)state;
    const struct chain_piece pieces[] = {{1, 5}, {2, 16}, {3, 1}, {4, 40}};
    const struct chain c = {.pieces = pieces, .count = 4};
    struct chain_walk w = {.chain = &c, .key = chain_root(3)};
    for (uint64_t end = 0; end <= 62; end++) {
        struct chain_walk fresh = {.chain = &c, .key = chain_root(3)};
        assert_true(chain_key(&w, end) == chain_key(&fresh, end));
    }
    struct chain_walk one = {.chain = &c, .key = chain_root(0)};
    struct chain_walk two = {.chain = &c, .key = chain_root(1)};
    assert_true(chain_key(&one, 16) != chain_key(&two, 16));
}

/* Keys that somebody has already are those that the walk finds, for its blocks and larger ones. */
static void test_known_keys(void **state)
{
    (void)state;
    const struct chain_piece pieces[] = {{1, 5}, {2, 16}, {3, 1}, {4, 42}};
    struct chain c = {.pieces = pieces, .count = 4};
    uint64_t key[2 * 16], found[16];
    for (uint32_t g = 0; g < 2; g++)
        chain_list_keys(&c, g, 4, 16, key + g * 16);
    c.key = key;
    c.keys = 16;
    c.key_tokens = 4;
    c.key_groups = 2;
    for (uint32_t g = 0; g < 3; g++)
        for (uint64_t tokens = 1; tokens <= 32; tokens++) {
            const uint64_t blocks = 64 / tokens < 16 ? 64 / tokens : 16;
            struct chain_walk w = {.chain = &c, .key = chain_root(g)};
            chain_list_keys(&c, g, tokens, blocks, found);
            for (uint64_t i = 0; i < blocks; i++)
                assert_true(found[i] == chain_key(&w, (i + 1) * tokens));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prefixes),
        cmocka_unit_test(test_walk_equals_single_steps),
        cmocka_unit_test(test_known_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
