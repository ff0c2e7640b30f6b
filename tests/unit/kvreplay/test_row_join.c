/* Requests of rows: by sectors, direction and time, each for one row as long as there are others;
 * nobody's are left out, and what is forgotten is told. A bug looked like a row that was given the
 * request of a later one, or none where two rows read one place. */
/* builds: plain address arm64 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "kvreplay/device/row_join.h"

enum {
    DISK = 7 << 20,
    ROOM = 64
};

static struct row_join_answer answer;

static void request(struct row_join *j, uint64_t sector, uint32_t sectors, int64_t issued_us,
                    int64_t done_us)
{
    const struct request r = {.sector = sector,
                              .sectors = sectors,
                              .device = DISK,
                              .issued_ns = issued_us * 1000,
                              .done_ns = done_us * 1000};

    row_join_request(j, &r);
}

static int row(struct row_join *j, const struct disk_where *w, bool write, int64_t done_us)
{
    const struct row_join_ask ask = {.where = w, .write = write, .done_ns = done_us * 1000};

    return row_join_find(j, &ask, &answer);
}

static struct disk_where at(uint64_t sector, uint64_t sectors, int64_t first_us)
{
    return (struct disk_where){.known = true,
                               .count = 1,
                               .first_ns = first_us * 1000,
                               .at = {{.sector = sector, .sectors = sectors, .disk = DISK}}};
}

/* An object in two pieces, one over the border of a stretch: four requests, one merged with others'
 * sectors. */
static void pieces_of_a_row(void **state)
{
    struct row_join *j = row_join_create(ROOM);
    struct disk_where w = at(2000, 100, 100);

    (void)state;
    w.at[w.count++] = (struct disk_extent){.sector = 900000, .sectors = 8, .disk = DISK};
    request(j, 2000, 48, 110, 150); /* begins before the border at 2048 */
    request(j, 2048, 52, 120, 180);
    request(j, 900000, 8, 115, 160);
    request(j, 2100, 50, 120, 190); /* behind the piece */
    request(j, 1990, 10, 120, 190); /* before it */
    request(j, 2000, 48, 500, 600); /* later */
    assert_int_equal(row(j, &w, false, 200), 0);
    assert_int_equal(answer.requests, 3);
    assert_int_equal(answer.bytes, 108 * 512);
    assert_int_equal(answer.issued_ns, 110000);
    assert_int_equal(answer.done_ns, 180000);
    w = at(2040, 10, 450); /* inside of a larger one */
    assert_int_equal(row(j, &w, false, 700), 0);
    assert_int_equal(answer.bytes, 48 * 512);
    row_join_free(j);
}

static void others_are_left_out(void **state)
{
    struct row_join *j = row_join_create(ROOM);
    struct disk_where w = at(5000, 8, 100);
    const struct request write = {.sector = 5000,
                                  .sectors = 8,
                                  .device = DISK,
                                  .write = true,
                                  .issued_ns = 110000,
                                  .done_ns = 120000};
    const struct request elsewhere = {
        .sector = 5000, .sectors = 8, .device = DISK + 1, .issued_ns = 110000, .done_ns = 120000};

    (void)state;
    assert_int_equal(row(j, &w, false, 200), -ENOENT);
    request(j, 5000, 8, 50, 90); /* before the row */
    row_join_request(j, &write);
    row_join_request(j, &elsewhere);
    assert_int_equal(row(j, &w, false, 200), -ENOENT);
    assert_int_equal(row(j, &w, true, 200), 0);
    assert_int_equal(answer.requests, 1);
    row_join_free(j);
}

/* Two rows read one place at the same time: each has its own request, in order. A third shared one
 * of them, which the kernel had merged. */
static void readers_of_one_place(void **state)
{
    struct row_join *j = row_join_create(ROOM);
    struct disk_where w = at(5000, 8, 100);

    (void)state;
    request(j, 5000, 8, 110, 150);
    request(j, 5000, 8, 111, 170);
    assert_int_equal(row(j, &w, false, 200), 0);
    assert_true(answer.requests == 1 && answer.done_ns == 150000);
    assert_int_equal(row(j, &w, false, 200), 0);
    assert_true(answer.requests == 1 && answer.done_ns == 170000);
    assert_int_equal(row(j, &w, false, 200), 0);
    assert_int_equal(answer.requests, 1);
    row_join_free(j);
}

/* The latest are remembered; a row from before is told, and not answered with a part. */
static void what_is_forgotten(void **state)
{
    struct row_join *j = row_join_create(ROOM);
    struct disk_where early = at(0, 8, 0), late = at(8 * 1000, 8, 1999);

    (void)state;
    for (int i = 0; i < 1001; i++)
        request(j, (uint64_t)i * 8, 8, 2 * i, 2 * i + 1);
    assert_int_equal(row(j, &early, false, 5000), -ESTALE);
    assert_int_equal(row(j, &late, false, 5000), 0);
    assert_true(answer.requests == 1 && answer.issued_ns == 2000000);
    row_join_free(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_of_a_row), cmocka_unit_test(others_are_left_out),
        cmocka_unit_test(readers_of_one_place), cmocka_unit_test(what_is_forgotten)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
