/* Keys that come with requests and stay in tables, against a plain list: each key has one number
 * while a request holds it or a table has it, no two have the same, and numbers that nobody needs
 * are given out again. A chain that comes again has the numbers that it had, also where keys in the
 * middle of it lost theirs, and a key that came alone has one number in its chain, too. A bug
 * looked like a table that found one key's copy under another key, like a key with two numbers, or
 * like numbers that grew with the length of a run. Tables get room as numbers need it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/cache/chain_numbers.h"
#include "kvgen/rng.h"

enum {
    ROUNDS = 4000,
    HELD = 8,   /* requests at once */
    LIST = 40,  /* keys of a request */
    KEPT = 100, /* keys that a table keeps */
    MANY = 50000
};

/* A table that keeps the last keys that it was given, each under the number it had then. */
struct keeper {
    struct id_table table;
    uint64_t key[KEPT], number[KEPT];
    int next;
};

static void keep(struct keeper *k, uint64_t key, uint64_t number)
{
    if (id_table_find(&k->table, number) != ID_NONE)
        return;
    const int at = k->next++ % KEPT;
    if (k->key[at])
        id_table_remove(&k->table, id_table_find(&k->table, k->number[at]));
    assert_int_equal(id_table_reserve(&k->table, 1), 0);
    id_table_add(&k->table, number);
    k->key[at] = key;
    k->number[at] = number;
}

static void check(const struct keeper *k, const struct chain_numbers *n)
{
    for (int i = 0; i < KEPT; i++) {
        if (!k->key[i])
            continue;
        assert_true(chain_numbers_key(n, k->number[i]) == k->key[i]);
        assert_true(chain_numbers_find(n, k->key[i]) == k->number[i]);
        assert_int_not_equal(id_table_find(&k->table, k->number[i]), ID_NONE);
    }
}

/* Taken again, and by one key after the other, a chain has the numbers that it has. */
static void check_chain(struct chain_numbers *n, const uint64_t *key, const uint64_t *number)
{
    uint64_t again[LIST], before = 0;
    memcpy(again, key, sizeof(again));
    assert_int_equal(chain_numbers_take(n, again, LIST), 0);
    assert_memory_equal(again, number, sizeof(again));
    chain_numbers_release(n, again, LIST);
    for (int i = 0; i < LIST; i++) {
        before = chain_numbers_next(n, before, key[i]);
        assert_true(before == number[i]);
    }
}

static void test_numbers(void **state)
{
    (void)state;
    struct chain_numbers *n = chain_numbers_create();
    struct rng rng;
    struct keeper *keepers = calloc(2, sizeof(*keepers));
    static uint64_t key[HELD][LIST], number[HELD][LIST];
    uint64_t fresh = 1000, highest = 0;
    assert_non_null(n);
    assert_non_null(keepers);
    assert_true(chain_numbers_share(n) == n);
    rng_seed(&rng, 3, 0);
    assert_int_equal(chain_numbers_join(n, &keepers[0].table), 0);
    for (int round = 0; round < ROUNDS; round++) {
        const int r = round % HELD;
        if (round == ROUNDS / 4) /* one comes later */
            assert_int_equal(chain_numbers_join(n, &keepers[1].table), 0);
        if (key[r][0])
            chain_numbers_release(n, number[r], LIST);
        /* Some begin as another one does. */
        const uint64_t shared = rng_below(&rng, LIST);
        memcpy(key[r], key[rng_below(&rng, HELD)], shared * sizeof(key[r][0]));
        for (uint64_t i = 0; i < LIST; i++)
            if (i >= shared || !key[r][i])
                key[r][i] = fresh++;
        memcpy(number[r], key[r], sizeof(key[r]));
        assert_int_equal(chain_numbers_take(n, number[r], LIST), 0);
        for (int i = 0; i < LIST; i++) {
            assert_true(number[r][i] > 0);
            assert_true(chain_numbers_key(n, number[r][i]) == key[r][i]);
            highest = number[r][i] > highest ? number[r][i] : highest;
            if (rng_below(&rng, 4) == 0)
                keep(&keepers[round >= ROUNDS / 4 && rng_below(&rng, 2)], key[r][i], number[r][i]);
        }
        for (int i = 0; i < HELD; i++)
            if (key[i][0])
                check_chain(n, key[i], number[i]);
        check(&keepers[0], n);
        check(&keepers[1], n);
    }
    assert_int_equal(chain_numbers_find(n, 7), 0);
    assert_true(fresh > 50000);
    assert_true(highest < 4 * (HELD * LIST + 2 * KEPT));
    id_table_free(&keepers[0].table);
    id_table_free(&keepers[1].table);
    free(keepers);
    chain_numbers_free(n);
    chain_numbers_free(n);
}

/* Keys that come alone, before chains and after them. */
static void test_lone_keys(void **state)
{
    (void)state;
    struct chain_numbers *n = chain_numbers_create();
    uint64_t key[LIST], number[LIST], lone[LIST];
    assert_non_null(n);
    for (uint64_t i = 0; i < LIST; i++)
        number[i] = key[i] = 1000 + i;
    for (uint64_t i = 3; i < LIST; i += 5) {
        lone[i] = key[i];
        assert_int_equal(chain_numbers_take_lone(n, &lone[i]), 0);
    }
    assert_int_equal(chain_numbers_take(n, number, LIST), 0);
    check_chain(n, key, number);
    for (uint64_t i = 0; i < LIST; i++) {
        for (uint64_t j = 0; j < i; j++)
            assert_true(number[j] != number[i]);
        assert_true(i % 5 != 3 || number[i] == lone[i]);
        lone[i] = key[i];
        assert_int_equal(chain_numbers_take_lone(n, &lone[i]), 0);
        assert_true(lone[i] == number[i]);
        assert_true(chain_numbers_find(n, key[i]) == number[i]);
    }
    chain_numbers_free(n);
}

/* The memory of a run is mostly that of tables with room for each number: they get it in small
 * steps, with no room beyond one, and find what they had. */
static void test_room(void **state)
{
    (void)state;
    struct chain_numbers *n = chain_numbers_create();
    struct id_table table = {0};
    assert_non_null(n);
    assert_int_equal(chain_numbers_join(n, &table), 0);
    for (uint64_t i = 0; i < MANY; i++) {
        uint64_t number = 1000 + i;
        assert_int_equal(chain_numbers_take(n, &number, 1), 0);
        assert_true(number == i + 1);
        assert_in_range(table.slots, number + 1, number + 1 + 4096 + number / 16);
        assert_int_equal(id_table_find(&table, number), ID_NONE);
        assert_int_equal(id_table_reserve(&table, 1), 0);
        assert_int_equal(id_table_add(&table, number), i);
    }
    for (uint64_t i = 0; i < MANY; i++) {
        assert_int_equal(id_table_find(&table, i + 1), i);
        assert_true(chain_numbers_key(n, i + 1) == 1000 + i);
    }
    id_table_free(&table);
    chain_numbers_free(n);
}

/* A direct table: an id has its number whatever was before, and room for what belongs to it. */
static void test_direct(void **state)
{
    (void)state;
    struct chain_numbers *n = chain_numbers_create();
    struct id_table table = {.direct = true};
    uint64_t *item = NULL;
    uint32_t room = 0;
    assert_non_null(n);
    assert_int_equal(chain_numbers_join(n, &table), 0);
    for (uint64_t i = 0; i < MANY; i++) {
        uint64_t number = 1000 + i;
        assert_int_equal(chain_numbers_take(n, &number, 1), 0);
        item = id_table_reserve_item(&table, item, &room, sizeof(*item));
        assert_non_null(item);
        if (i % 3 == 0)
            continue;
        assert_int_equal(id_table_add(&table, number), number - 1);
        item[number - 1] = number;
        if (i % 3 == 1)
            id_table_remove(&table, (uint32_t)number - 1);
    }
    assert_int_equal(table.count, (MANY - 1) / 3);
    for (uint64_t i = 0; i < MANY; i++) {
        assert_int_equal(id_table_has(&table, i + 1), i % 3 == 2);
        assert_int_equal(id_table_find(&table, i + 1), i % 3 == 2 ? i : ID_NONE);
        assert_true(i % 3 != 2 || (item[i] == i + 1 && id_table_id(&table, (uint32_t)i) == i + 1));
    }
    free(item);
    id_table_free(&table);
    chain_numbers_free(n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_lone_keys),
        cmocka_unit_test(test_room),
        cmocka_unit_test(test_direct),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
