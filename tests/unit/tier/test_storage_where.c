/* Where objects lie, as it is remembered: what was put comes back for the same name and length
 * only, and not after it was forgotten. A bug looked like the sectors of another object, or of an
 * older write of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "kvgen/rng.h"
#include "lib/tier/storage_where.h"

enum {
    NAMES = 60000,
    STEPS = 400000
};

static struct disk_where lies(unsigned count, uint64_t sector)
{
    struct disk_where w = {.known = true, .count = count};

    for (unsigned i = 0; i < count; i++)
        w.at[i] = (struct disk_extent){.sector = sector + 100 * i, .sectors = 8, .disk = 7};
    return w;
}

static void what_comes_back(void **state)
{
    struct storage_where *s = storage_where_create();
    const struct hash128 a = {1, 2}, b = {9, 2}; /* at one place */
    struct disk_where w = lies(1, 50), got = {.known = true};

    (void)state;
    assert_non_null(s);
    assert_false(storage_where_get(s, a, 4096, &got));
    storage_where_put(s, a, 4096, &w);
    assert_true(storage_where_get(s, a, 4096, &got));
    assert_true(got.count == 1 && got.at[0].sector == 50 && got.at[0].disk == 7);
    assert_false(storage_where_get(s, a, 8192, &got));
    assert_false(storage_where_get(s, b, 4096, &got));
    storage_where_forget(s, b);
    assert_true(storage_where_get(s, a, 4096, &got));
    storage_where_put(s, b, 4096, &w);
    assert_false(storage_where_get(s, a, 4096, &got));
    storage_where_forget(s, b);
    assert_false(storage_where_get(s, b, 4096, &got));
    w = lies(2, 50);
    storage_where_put(s, a, 4096, &w); /* of two extents */
    assert_false(storage_where_get(s, a, 4096, &got));
    w = lies(1, 50);
    w.known = false;
    storage_where_put(s, a, 4096, &w);
    assert_false(storage_where_get(s, a, 4096, &got));
    storage_where_forget(NULL, a);
    storage_where_free(s);
    storage_where_free(NULL);
}

/* A place that an entry has no room for is asked each time. */
static void what_has_no_room(void **state)
{
    struct storage_where *s = storage_where_create();
    const struct hash128 a = {0, 0}, b = {1, 1};
    const uint64_t bytes = UINT64_C(8) << 30;
    struct disk_where w = lies(1, 0), got = {.known = true};

    (void)state;
    assert_non_null(s);
    storage_where_put(s, a, 4096, &w);
    assert_true(storage_where_get(s, a, 4096, &got) && got.at[0].sector == 0);
    w.at[0].sectors = bytes / DISK_SECTOR;
    storage_where_put(s, b, bytes, &w);
    assert_false(storage_where_get(s, b, bytes, &got));
    w = lies(1, UINT64_C(1) << 40);
    storage_where_put(s, b, 4096, &w);
    assert_false(storage_where_get(s, b, 4096, &got));
    w = lies(1, (UINT64_C(1) << 40) - 1);
    storage_where_put(s, b, 4096, &w);
    assert_true(storage_where_get(s, b, 4096, &got));
    assert_true(got.at[0].sector == (UINT64_C(1) << 40) - 1 && got.at[0].sectors == 8);
    w.at[0].disk = 8; /* beside those of disk 7 */
    storage_where_forget(s, b);
    storage_where_put(s, b, 4096, &w);
    assert_false(storage_where_get(s, b, 4096, &got));
    storage_where_free(s);
}

/* Against a table that holds all: nothing old ever comes back. */
static void drawn_steps(void **state)
{
    struct storage_where *s = storage_where_create();
    uint64_t *sector = calloc(NAMES, sizeof(*sector));
    unsigned known = 0;
    struct rng rng;

    (void)state;
    assert_true(s && sector);
    rng_seed(&rng, 3, 0);
    for (unsigned i = 1; i <= STEPS; i++) {
        uint64_t k = rng_below(&rng, NAMES);
        const struct hash128 name = {k, k * UINT64_C(0x9e3779b97f4a7c15) >> 20};
        struct disk_where w = lies(1, i), got = {.known = true};
        switch (rng_below(&rng, 4)) {
        case 0:
            storage_where_put(s, name, 4096, &w);
            sector[k] = i;
            break;
        case 1:
            storage_where_forget(s, name);
            sector[k] = 0;
            break;
        default:
            if (!storage_where_get(s, name, 4096, &got))
                break;
            known++;
            assert_true(sector[k] != 0 && got.at[0].sector == sector[k]);
        }
    }
    assert_true(known > STEPS / 20);
    free(sector);
    storage_where_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_comes_back),
        cmocka_unit_test(what_has_no_room),
        cmocka_unit_test(drawn_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
