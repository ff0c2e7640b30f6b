/* test_drive_log.c - log pages of drives, made by the layout of their specifications: host writes
 * in units of 512,000 bytes, percentage used, bytes written to the media; another GUID, counters
 * beyond 64 bits; write amplification between two readings, or why it is not known. A bug here is a
 * drive that seems worn out, or not worn. */
/* builds: plain address arm64 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "lib/io/drive_log.h"

static void put_counter(uint8_t *at, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

static void smart_page(uint8_t page[DRIVE_LOG_PAGE], uint64_t units, uint8_t used)
{
    memset(page, 0, DRIVE_LOG_PAGE);
    page[1] = 0x2d; /* temperature, in Kelvin */
    page[2] = 0x01;
    page[3] = 100; /* available spare, its threshold */
    page[4] = 10;
    page[5] = used;
    put_counter(page + 32, 77777); /* read */
    put_counter(page + 48, units);
    put_counter(page + 64, 999); /* commands */
}

static void ocp_page(uint8_t page[DRIVE_LOG_PAGE], uint64_t bytes)
{
    static const char guid[] = "\xc5\xaf\x10\x28\xea\xbf\xf2\xa4\x9c\x4f\x6f\x7c\xc9\x14\xd5\xaf";
    memset(page, 0, DRIVE_LOG_PAGE);
    put_counter(page, bytes);
    put_counter(page + 16, 123456); /* read */
    page[494] = 3;                  /* version of the page */
    memcpy(page + 496, guid, 16);
}

static void pages_are_decoded(void **state)
{
    (void)state;
    struct drive_log log = {0};
    uint8_t page[DRIVE_LOG_PAGE];
    smart_page(page, 17586666, 3);
    drive_log_smart(&log, page);
    assert_true(log.known);
    assert_int_equal(log.host_write_bytes, UINT64_C(9004372992000)); /* "9.00 TB" */
    assert_int_equal(log.percentage_used, 3);
    assert_false(log.media_known);
    ocp_page(page, UINT64_C(0x123456789abc));
    drive_log_ocp(&log, page);
    assert_true(log.media_known);
    assert_int_equal(log.media_write_bytes, UINT64_C(0x123456789abc));

    page[500] ^= 1;
    drive_log_ocp(&log, page);
    assert_false(log.media_known);
    assert_string_equal(log.media_why, "log page C0h is not that of OCP drives");
    smart_page(page, 1, 255);
    page[48 + 8] = 1; /* 2^64 and 1 units */
    drive_log_smart(&log, page);
    assert_true(log.host_write_bytes == UINT64_MAX);
    assert_int_equal(log.percentage_used, 255);
    smart_page(page, UINT64_MAX / 2, 0);
    drive_log_smart(&log, page);
    assert_true(log.host_write_bytes == UINT64_MAX);
}

static void amplification_between_two_readings(void **state)
{
    (void)state;
    struct drive_log a = {0}, b = {0}, none = {.why = "no drive"};
    uint8_t page[DRIVE_LOG_PAGE];
    char why[100];
    smart_page(page, 1000, 1);
    drive_log_smart(&a, page);
    ocp_page(page, 5000000);
    drive_log_ocp(&a, page);
    b = a;
    smart_page(page, 3000, 1);
    drive_log_smart(&b, page);
    ocp_page(page, 5000000 + UINT64_C(2560000000));
    drive_log_ocp(&b, page);
    double ratio = drive_log_amplification(&a, &b, why, sizeof(why)); /* 2,000 units: 1.024 GB */
    assert_true(ratio > 2.4999 && ratio < 2.5001);
    assert_string_equal(why, "");
    assert_true(drive_log_amplification(&none, &b, why, sizeof(why)) < 0);
    assert_string_equal(why, "no drive");
    assert_true(drive_log_amplification(&b, &a, why, sizeof(why)) < 0);
    assert_string_equal(why, "the drive's counters went back or are full");
    assert_true(drive_log_amplification(&a, &a, why, sizeof(why)) < 0);
    assert_string_equal(why, "the drive counted less than 51.2 MB written");
    strcpy(b.media_why, "no OCP");
    b.media_known = false;
    assert_true(drive_log_amplification(&a, &b, why, sizeof(why)) < 0);
    assert_string_equal(why, "no OCP");
}

static void what_is_no_drive_is_unknown(void **state)
{
    (void)state;
    static const char *const disks[] = {"", "vda", "nvme-that-is-not-there"};
    for (int i = 0; i < 3; i++) {
        struct drive_log log;
        drive_log_read(&log, disks[i]);
        assert_false(log.known);
        assert_false(log.media_known);
        assert_true(log.why[0] && log.media_why[0]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_are_decoded),
        cmocka_unit_test(amplification_between_two_readings),
        cmocka_unit_test(what_is_no_drive_is_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
