/* Expected: the words of the format are exactly those of its specification, and every status text
 * leads back to its status. A bug looks like a word that other tools do not know. */
/* builds: plain address arm64 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "lib/trace/trace.h"

static void test_words(void **state)
{
    (void)state;
    assert_string_equal(trace_op_text(TRACE_READ), "Read");
    assert_string_equal(trace_op_text(TRACE_GENERATE), "Generate");
    assert_string_equal(trace_op_text(TRACE_MISS), "Miss");
    assert_string_equal(trace_op_text(TRACE_OPS), "");
    assert_string_equal(trace_op_text(TRACE_NOTE), "Note");
    assert_string_equal(trace_tier_text(TRACE_GPU), "Tier-0");
    assert_string_equal(trace_tier_text(TRACE_STORAGE), "Tier-2");
    assert_string_equal(trace_tier_text(TRACE_NO_TIER), "");
    assert_string_equal(trace_phase_text(TRACE_EVICT), "Evict");
    assert_string_equal(trace_phase_text(TRACE_NO_PHASE), "");
    assert_string_equal(trace_qos_text(TRACE_INTERACTIVE), "interactive");
    assert_string_equal(trace_qos_text(TRACE_NO_QOS), "");
    assert_string_equal(trace_class_text(TRACE_USER), "user");
    assert_string_equal(trace_class_text(TRACE_CLASS_EVICT), "evict");
    assert_string_equal(trace_class_text(TRACE_PROMOTE), "promote");
    assert_string_equal(trace_class_text(TRACE_NO_CLASS), "");
}

static void test_columns(void **state)
{
    (void)state;
    assert_string_equal(trace_column_name(TRACE_COL_TIMESTAMP), "Timestamp");
    assert_string_equal(trace_column_name(TRACE_COL_SIZE), "Object_Size_Bytes");
    assert_string_equal(trace_column_name(TRACE_COL_PHASE), "Phase");
    assert_string_equal(trace_column_name(TRACE_COL_DURATION), "Duration_us");
    assert_string_equal(trace_column_name(TRACE_COL_STATUS), "Status");
    assert_string_equal(trace_column_name(TRACE_COL_SLOT), "Slot_us");
    assert_string_equal(trace_column_name(TRACE_COL_FIRST_BYTE), "First_byte_us");
    assert_string_equal(trace_column_name(TRACE_COL_RANK), "Rank");
    assert_string_equal(trace_column_name(TRACE_COL_ENDPOINT), "Endpoint");
    assert_string_equal(trace_column_name(TRACE_COL_THREAD), "Thread");
    assert_string_equal(trace_column_name(TRACE_COL_QUEUE), "Queue_us");
    assert_string_equal(trace_column_name(TRACE_COL_DRIVE), "Drive_us");
    assert_string_equal(trace_column_name(TRACE_COL_ENGINE), "Engine");
    assert_int_equal(TRACE_CORE | TRACE_EXTENDED | TRACE_SERVED | TRACE_RESULT | TRACE_EXTRA,
                     (1u << TRACE_COLUMNS) - 1);
    assert_int_equal(TRACE_SERVED, TRACE_BIT(TRACE_COL_ENGINE));
    assert_int_equal(TRACE_EXTRA & (TRACE_CORE | TRACE_EXTENDED | TRACE_SERVED | TRACE_RESULT), 0);
    assert_int_equal(TRACE_RESULT & TRACE_BIT(TRACE_COL_STATUS), TRACE_BIT(TRACE_COL_STATUS));
    assert_int_equal(TRACE_EXTRA & TRACE_BIT(TRACE_COL_SLOT), TRACE_BIT(TRACE_COL_SLOT));
    assert_int_equal(TRACE_CORE, TRACE_BIT(TRACE_COL_PHASE + 1) - 1);
    assert_int_equal(TRACE_RESULT & TRACE_EXTENDED, 0);
}

static void test_status(void **state)
{
    static const int all[] = {TRACE_NO_STATUS, TRACE_OK, TRACE_ABSENT, TRACE_CORRUPT, TRACE_STALE,
                              TRACE_WRONG,     EIO,      ENOSPC,       ETIMEDOUT};
    static const char *const unknown[] = {"OK", "okay", "o", "Absent", "ENOSPCE", "5", "EIO "};
    (void)state;
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        int back = -7;
        const char *text = trace_status_text(all[i]);
        assert_int_equal(trace_status_parse(text, strlen(text), &back), 0);
        assert_int_equal(back, all[i]);
    }
    assert_string_equal(trace_status_text(ENOSPC), "ENOSPC");
    for (size_t i = 0; i < sizeof(unknown) / sizeof(*unknown); i++) {
        int status = 3;
        assert_int_equal(trace_status_parse(unknown[i], strlen(unknown[i]), &status), -EINVAL);
        assert_int_equal(status, 3);
    }
}

/* Answers of other targets: known codes keep their name, unknown ones become Other. */
static void test_foreign_status(void **state)
{
    static const char *const known[] = {"S3:SlowDown", "S3:NoSuchKey", "S3:Other",
                                        "RESP:OOM",    "RESP:Other",   "lost"};
    static const char *const other[][2] = {
        {"S3:SlowDowner", "S3:Other"}, {"S3:x", "S3:Other"}, {"RESP:-ERR_1.2", "RESP:Other"}};
    static const char *const bad[] = {"S3:",         "S3",           ":SlowDown",
                                      "HTTP:503",    "S3:Slow Down", "S3:a,b",
                                      "s3:SlowDown", "Lost",         "S3:a:b"};
    int status, seen[8];
    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        assert_int_equal(trace_status_parse(known[i], strlen(known[i]), &status), 0);
        assert_string_equal(trace_status_text(status), known[i]);
        seen[i] = status;
        for (size_t k = 0; k < i; k++)
            assert_int_not_equal(seen[k], status);
    }
    assert_int_equal(seen[5], TRACE_LOST);
    for (size_t i = 0; i < sizeof(other) / sizeof(*other); i++) {
        assert_int_equal(trace_status_parse(other[i][0], strlen(other[i][0]), &status), 0);
        assert_string_equal(trace_status_text(status), other[i][1]);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_int_equal(trace_status_parse(bad[i], strlen(bad[i]), &status), -EINVAL);
}

/* Every status has an index of its own below TRACE_STATUSES. */
static void test_status_index(void **state)
{
    static const int all[] = {TRACE_NO_STATUS,
                              TRACE_OK,
                              TRACE_ABSENT,
                              TRACE_CORRUPT,
                              TRACE_LOST,
                              TRACE_STALE,
                              TRACE_WRONG,
                              EIO,
                              ENOSPC,
                              EHWPOISON,
                              TRACE_FOREIGN,
                              TRACE_FOREIGN + 1,
                              TRACE_FOREIGN + TRACE_FOREIGNS - 1};
    bool taken[TRACE_STATUSES] = {false};
    (void)state;
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        unsigned k = trace_status_index(all[i]);
        assert_true(k < TRACE_STATUSES);
        assert_false(taken[k]);
        taken[k] = true;
    }
    assert_true(trace_status_index(123456) < TRACE_STATUSES);
    assert_true(trace_status_index(INT32_MIN) < TRACE_STATUSES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words), cmocka_unit_test(test_columns), cmocka_unit_test(test_status),
        cmocka_unit_test(test_foreign_status), cmocka_unit_test(test_status_index)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
