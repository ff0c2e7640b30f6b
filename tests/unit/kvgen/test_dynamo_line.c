/* Lines of Dynamo's request trace that are scanned mean what their tree says: as Dynamo writes
 * them, in other orders, with unknown members, and damaged. A bug looked like a hash above 2^63 or
 * a time that differs with how a line is written, or a broken line that is taken. */
/* builds: plain address arm64 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "kvgen/rng.h"
#include "kvgen/scan.h"
#include "tests/unit/kvgen/damage.h"
#include "tests/unit/kvgen/dynamo_line_checks.h"
#include "tests/unit/scale.h"

#define RECORD                                                                                     \
    "{\"schema\":\"dynamo.request.trace.v1\",\"event_type\":\"request_end\",\"event_time_unix_"    \
    "ms\":1795361662538,\"agent_context\":{\"session_id\":\"s0\",\"input_trigger\":\"user\"},"     \
    "\"request\":{\"request_id\":\"0c94d1de\",\"input_tokens\":40,\"output_tokens\":12,\"cached_"  \
    "tokens\":0,\"request_received_ms\":1795361662516,\"prefill_wait_time_ms\":1."                 \
    "3039200000000002,\"ttft_ms\":5.805689999999999,\"total_time_ms\":21,\"kv_hit_rate\":0.0,"     \
    "\"worker\":{\"prefill_worker_id\":14139289741486508817},\"replay\":{\"trace_block_size\":"    \
    "16,\"input_length\":40,\"input_sequence_hashes\":[3491362125228079669,"                       \
    "18446744073709551615,-2]},\"finish_reason_metadata\":{\"finish_reason\":\"length\","          \
    "\"choices\":[{\"choice_index\":0}]}}}"
#define LINE "{\"timestamp\":18335,\"event\":" RECORD "}"
#define END  "\"event_type\":\"request_end\""

static const char *const taken[] = {
    RECORD,
    LINE "\r",
    "{" END "}",
    " { " END " , \"request\" : { \"replay\" : { \"input_sequence_hashes\" : [ 1 , -1 ] } } } ",
    "{\"request\":{\"total_time_ms\":1e2,\"ttft_ms\":-0.5E-3,\"prefill_wait_time_ms\":"
    "0.30000000000000004,\"input_tokens\":-7,\"output_tokens\":null}," END "}",
    "{\"new\":{\"request\":1,\"a\":[{\"b\":2}]},\"worker\":{\"newer\":3,\"tool\":{\"c\":4}}," END
    "}",
    "{" END ",\"request\":{\"agent_context\":{\"session_id\":\"x\"},\"event\":{\"schema\":\"y\"}}}",
    "{\"event\":null," END "}",
    "{\"event\":{" END "},\"session_id\":\"not here\",\"replay\":{\"trace_block_size\":5}}",
    "{\"request\":{\"replay\":{\"input_sequence_hashes\":[]}}," END "}",
};

/* A reader that leaves these to the tree is no reader. */
static void lines_as_dynamo_writes_them_are_taken(void **state)
{
    struct dynamo_line l = {0};
    (void)state;
    for (int again = 0; again < 2; again++)
        for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++) {
            if (dynamo_line_scan(&l, taken[i], strlen(taken[i])) != 1)
                fail_msg("left: %s", taken[i]);
            if (!scanned_as_read(&l, taken[i], strlen(taken[i])))
                fail_msg("differs: %s", taken[i]);
        }
    assert_int_equal(dynamo_line_scan(&l, LINE, strlen(LINE)), 1);
    assert_int_equal(l.hashes, 3);
    assert_true(l.hash[0] == UINT64_C(3491362125228079669) && l.hash[1] == UINT64_MAX &&
                l.hash[2] == UINT64_MAX - 1);
    assert_true(l.time[DYNAMO_WAIT_MS].ms == 1.3039200000000002 &&
                l.time[DYNAMO_FIRST_TOKEN_MS].ms == 5.805689999999999 &&
                l.time[DYNAMO_TOTAL_MS].ms == 21);
    assert_int_equal(l.count[DYNAMO_RECEIVED_MS].n, 1795361662516);
    assert_int_equal(l.text[DYNAMO_SESSION].len, 2);
    assert_int_equal(l.unknown_fields, 0);
    assert_int_equal(dynamo_line_scan(&l, taken[5], strlen(taken[5])), 1);
    assert_int_equal(l.unknown_fields, 2);
    dynamo_line_free(&l);
}

/* A line that is unusual, damaged or more than a number holds is not decided here, and neither is
 * one that is no end of a request. */
static void the_rest_is_left_to_the_tree(void **state)
{
    static const char *const line[] = {
        "",
        "{",
        "{}",
        "[]",
        "[{" END "}]",
        "{" END "}x",
        "{" END ",}",
        "{\"a\":1 " END "}",
        "{\"event_type\":\"request_payload\"}",
        "{\"event_type\":\"request_ends\"}",
        "{\"event_type\":5}",
        "{" END "," END "}",
        "{\"request\":{},\"request\":{}," END "}",
        "{\"event\":{" END "},\"schema\":\"dynamo\"}",
        "{\"event\":5," END "}",
        "{\"a\\n\":1," END "}",
        "{\"a\":\"\\u0041\"," END "}",
        "{\"a\":\"\xc3\xa9\"," END "}",
        "{\"a\":\"\t\"," END "}",
        "{\"a\":\"b}," END "}",
        "{\"a\":01," END "}",
        "{\"a\":1.," END "}",
        "{\"a\":-," END "}",
        "{\"a\":1e," END "}",
        "{\"a\":NaN," END "}",
        "{\"a\":nul," END "}",
        "{\"a\":[1,]," END "}",
        "{\"request\":{\"input_tokens\":1.5}," END "}",
        "{\"request\":{\"input_tokens\":1e3}," END "}",
        "{\"request\":{\"input_tokens\":9223372036854775808}," END "}",
        "{\"request\":{\"total_time_ms\":1e999}," END "}",
        "{\"request\":{\"total_time_ms\":\"5\"}," END "}",
        "{\"request\":{\"total_time_ms\":05}," END "}",
        "{\"request\":{\"replay\":{\"input_sequence_hashes\":[18446744073709551616]}}," END "}",
        "{\"request\":{\"replay\":{\"input_sequence_hashes\":[1.0]}}," END "}",
        "{\"request\":{\"replay\":{\"input_sequence_hashes\":[01]}}," END "}",
        "{\"request\":{\"replay\":{\"input_sequence_hashes\":{}}}," END "}",
        "{\"a\":[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]," END "}",
    };
    struct dynamo_line l = {0};
    (void)state;
    for (size_t i = 0; i < sizeof line / sizeof line[0]; i++)
        if (dynamo_line_scan(&l, line[i], strlen(line[i])) != 0)
            fail_msg("taken: %s", line[i]);
    dynamo_line_free(&l);
}

static void damaged_lines_are_what_json_says(void **state)
{
    struct dynamo_line l = {0};
    struct rng r;
    char text[2048];
    int scanned = 0;
    const int lines = scaled(200000);
    (void)state;
    rng_seed(&r, 7, 0);
    for (int i = 0; i < lines; i++) {
        const char *line = taken[rng_below(&r, sizeof taken / sizeof taken[0])];
        size_t len = strlen(line);
        memcpy(text, line, len);
        for (int k = 0; k < 1 + i % 2; k++)
            len = len > 0 ? damage(&r, text, len) : 0;
        if (!scanned_as_read(&l, text, len))
            fail_msg("differs: %.*s", (int)len, text);
        scanned += dynamo_line_scan(&l, text, len) == 1;
    }
    assert_in_range(scanned, lines / 20, lines / 2);
    dynamo_line_free(&l);
}

/* As many digits as there are up to 20, in front of any byte, however near the line's end is. */
static void digits_end_at_any_byte(void **state)
{
    static const char digits[] = "98765432101234567890";
    (void)state;
    for (size_t count = 0; count < sizeof digits; count++)
        for (unsigned byte = 0; byte < 256 * 10; byte++) {
            char end = (char)(byte % 256);
            size_t len = count + 1 + byte / 256, got = 0;
            if (end >= '0' && end <= '9')
                continue;
            char *text = malloc(len); /* of that length, so that the address sanitizer looks */
            assert_non_null(text);
            memset(text, end, len);
            memcpy(text, digits, count);
            uint64_t plain = 0, n = 0;
            for (; got < count && got < SCAN_DIGITS; got++)
                plain = plain * 10 + (uint64_t)(digits[got] - '0');
            struct scan s = {text, text + len};
            assert_int_equal(scan_add_digits(&s, SCAN_DIGITS, &n), got);
            assert_true(n == plain && s.at == text + got);
            free(text);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_as_dynamo_writes_them_are_taken),
        cmocka_unit_test(the_rest_is_left_to_the_tree),
        cmocka_unit_test(damaged_lines_are_what_json_says),
        cmocka_unit_test(digits_end_at_any_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
