/* Expected: the words of the format are exactly those of its specification, and every status text
 * leads back to its status. A bug looks like a word that other tools do not know. */
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
    assert_int_equal(TRACE_CORE | TRACE_EXTENDED | TRACE_RESULT, (1u << TRACE_COLUMNS) - 1);
    assert_int_equal(TRACE_CORE, TRACE_BIT(TRACE_COL_PHASE + 1) - 1);
    assert_int_equal(TRACE_RESULT & TRACE_EXTENDED, 0);
}

static void test_status(void **state)
{
    static const int all[] = {TRACE_NO_STATUS, TRACE_OK, TRACE_ABSENT, TRACE_CORRUPT, EIO,
                              ENOSPC,          ETIMEDOUT};
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_words), cmocka_unit_test(test_columns),
                                       cmocka_unit_test(test_status)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
