/* The drive's times of rows: a time that found no memory is told. A bug looked like percentiles
 * without some of the rows that the report counted. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kvreplay/device/drive_rows.h"
#include "lib/io/disk_map.h"

enum {
    DISK = 7 << 20
};

/* The linker puts this in the place of hist_batch_end (tests/rules.mk). */
static bool no_memory;
int __real_hist_batch_end(struct hist_batch *b);
int __wrap_hist_batch_end(struct hist_batch *b);
int __wrap_hist_batch_end(struct hist_batch *b)
{
    int rc = __real_hist_batch_end(b);

    return no_memory ? -ENOMEM : rc;
}

/* Rows of a request each, all answered. */
static void ask(struct drive_rows *d, int64_t rows)
{
    const struct results_late late = drive_rows_late(d);

    for (int64_t i = 1; i <= rows; i++) {
        const struct request r = {.sector = (uint64_t)i * 8,
                                  .sectors = 8,
                                  .device = DISK,
                                  .issued_ns = i * 1000,
                                  .done_ns = i * 1000 + 500};
        const struct disk_where w = {
            .known = true,
            .count = 1,
            .first_ns = i * 1000,
            .at = {{.sector = (uint64_t)i * 8, .sectors = 8, .disk = DISK}}};
        const struct results_question q = {.where = &w,
                                           .op = TRACE_READ,
                                           .size = 4096,
                                           .start_ns = i * 1000,
                                           .latency_ns = 900,
                                           .device_ns = 800};
        struct trace_extra x = {0};
        drive_rows_request(d, &r);
        drive_rows_until(d, INT64_MAX);
        late.ask(late.ctx, &q, &x);
        assert_int_equal(x.drive_ns, 500);
    }
}

static void lost_times_are_told(void **state)
{
    (void)state;
    for (int64_t rows = 1; rows <= HIST_BATCH; rows += HIST_BATCH - 1) {
        struct drive_rows *d = drive_rows_create();
        assert_non_null(d);
        ask(d, rows);
        assert_int_equal(drive_rows_end(d), 0);
        drive_rows_free(d);

        /* At the last row, and (a full batch) before it. */
        d = drive_rows_create();
        assert_non_null(d);
        no_memory = true;
        ask(d, rows);
        no_memory = rows == 1;
        assert_int_equal(drive_rows_end(d), -ENOMEM);
        no_memory = false;
        drive_rows_free(d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lost_times_are_told)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
