/* Lines of block-hash traces read without a tree mean what json-c says they mean: random ones,
 * damaged ones and the corners of JSON's grammar. A bug looked like an id or a time that differs
 * with how a line is written, or a broken line that is taken. */
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
#include "tests/unit/kvgen/block_line_checks.h"
#include "tests/unit/kvgen/damage.h"
#include "tests/unit/scale.h"

static int scan(struct block_line *l, const char *text)
{
    return block_line_scan(l, text, strlen(text));
}

/* Each layout as its publisher writes it; a reader that leaves these to json-c is no reader. */
static void lines_of_traces_are_taken(void **state)
{
    static const char *const line[] = {
        "{\"timestamp\": 27482, \"input_length\": 6955, \"output_length\": 52, \"hash_ids\": [46, "
        "47, 48]}",
        "{\"chat_id\": 0, \"parent_chat_id\": -1, \"timestamp\": 0.0, \"input_length\": 502, "
        "\"output_length\": 1494, \"type\": \"thinking\", \"turn\": 1, \"hash_ids\": [0, 1]}\r",
        "{\"timestamp\":1712.123456,\"seq_len\":512,\"chunk_size\":256,\"chunk_hashes\":"
        "[\"0xdeadBEEF\",\"ff\",18446744073709551614,10000000000000000000]}",
        "{ \"hash_ids\" : [ ] }",
    };
    struct block_line l = {0};
    (void)state;
    for (size_t i = 0; i < sizeof line / sizeof line[0]; i++) {
        assert_int_equal(scan(&l, line[i]), 1);
        assert_true(same_as_json(&l, line[i], strlen(line[i])));
    }
    assert_int_equal(scan(&l, line[2]), 1);
    const struct block_line_member *m = block_line_get(&l, "chunk_hashes");
    assert_int_equal(m->count, 4);
    assert_true(l.id[m->first] == 0xdeadbeef && l.id[m->first + 1] == 0xff);
    assert_true(l.id[m->first + 2] == UINT64_MAX - 1);
    block_line_free(&l);
}

/* A line that is unusual, damaged or more than a number holds is not decided here. */
static void the_rest_is_left_to_json(void **state)
{
    static const char *const line[] = {
        "",
        "{",
        "{}",
        "[]",
        "5",
        "{\"a\":1}x",
        "{\"a\":1,}",
        "{\"a\":1 \"b\":2}",
        "{\"a\" 1}",
        "{a:1}",
        "{'a':1}",
        "{\"a\":01}",
        "{\"a\":-0}",
        "{\"a\":+1}",
        "{\"a\":.5}",
        "{\"a\":1.}",
        "{\"a\":1e3}",
        "{\"a\":1.5e3}",
        "{\"a\":-}",
        "{\"a\":null}",
        "{\"a\":true}",
        "{\"a\":NaN}",
        "{\"a\":{\"b\":1}}",
        "{\"a\":[[1]]}",
        "{\"a\":[1,]}",
        "{\"a\":[1 2]}",
        "{\"a\":[-1]}",
        "{\"a\":[1.0]}",
        "{\"a\":[01]}",
        "{\"a\":[18446744073709551615]}",
        "{\"a\":[18446744073709551616]}",
        "{\"a\":[99999999999999999999]}",
        "{\"a\":[100000000000000000000]}",
        "{\"a\":[\"\"]}",
        "{\"a\":[\"0x\"]}",
        "{\"a\":[\"fg\"]}",
        "{\"a\":1,\"a\":2}",
        "{\"a\\n\":1}",
        "{\"a\":\"\\u0041\"}",
        "{\"a\":\"\xc3\xa9\"}",
        "{\"a\":\"b}",
        "{\"a\":\"\t\"}",
        "{\"a\":9223372036854775807}",
        "{\"a\":0.12345678901234567}",
        "{\"a\":1}/**/",
    };
    struct block_line l = {0};
    (void)state;
    for (size_t i = 0; i < sizeof line / sizeof line[0]; i++)
        if (scan(&l, line[i]) != 0)
            fail_msg("taken: %s", line[i]);
    block_line_free(&l);
}

static void hashes_are_hexadecimal(void **state)
{
    uint64_t id, again;
    (void)state;
    assert_int_equal(block_line_hash("0XffFF", 6, &id), 0);
    assert_int_equal(id, 0xffff);
    assert_int_equal(block_line_hash("0123456789abcdef", 16, &id), 0);
    assert_true(id == 0x0123456789abcdef);
    assert_int_equal(block_line_hash("0123456789abcdef0", 17, &id), 0);
    assert_int_equal(block_line_hash("0x0123456789abcdef0", 19, &again), 0);
    assert_true(id == again && id != 0x123456789abcdef0);
    assert_true(block_line_hash("", 0, &id) < 0 && block_line_hash("0x", 2, &id) < 0);
    assert_true(block_line_hash("12 ", 3, &id) < 0 && block_line_hash("@", 1, &id) < 0);
}

static size_t put_value(struct rng *r, char *out)
{
    static const char *const odd[] = {"null", "1e2", "\"t\"", "\"0x1f\"",
                                      "-0.0", "0.5", "[]",    "{}"};
    switch (rng_below(r, 4)) {
    case 0:
        return (size_t)sprintf(out, "%s", odd[rng_below(r, sizeof odd / sizeof odd[0])]);
    case 1:
        return (size_t)sprintf(out, "%lld", (long long)rng_u64(r) >> rng_below(r, 64));
    case 2:
        return (size_t)sprintf(out, "%.*f", (int)rng_below(r, 9),
                               rng_uniform(r, -1, 1) * (double)rng_below(r, 1 << 30));
    default:
        return (size_t)sprintf(
            out, "[%llu, %llu,\"%llx\"]", (unsigned long long)(rng_u64(r) >> rng_below(r, 64)),
            (unsigned long long)rng_below(r, 100), (unsigned long long)rng_u64(r));
    }
}

static size_t put_line(struct rng *r, char *out)
{
    size_t n = 0;
    out[n++] = '{';
    for (uint64_t i = 0, members = rng_below(r, 5); i <= members; i++) {
        n += (size_t)sprintf(out + n, "%s\"%c\":%s", i > 0 ? "," : "",
                             (char)('a' + rng_below(r, 20)), rng_chance(r, 0.5) ? " " : "");
        n += put_value(r, out + n);
    }
    out[n++] = '}';
    return n;
}

static void random_lines_are_what_json_says(void **state)
{
    struct block_line l = {0};
    struct rng r;
    char text[1024];
    int taken = 0;
    const int lines = scaled(200000);
    (void)state;
    rng_seed(&r, 7, 0);
    for (int i = 0; i < lines; i++) {
        size_t len = put_line(&r, text);
        if (i % 2 == 1)
            len = damage(&r, text, len);
        if (!same_as_json(&l, text, len))
            fail_msg("differs from json-c: %.*s", (int)len, text);
        taken += block_line_scan(&l, text, len) == 1;
    }
    assert_in_range(taken, lines / 4, lines / 4 * 3);
    block_line_free(&l);
}

/* As many digits as there are up to 20, in front of any byte, however near the line's end is. */
static void digits_end_at_any_byte(void **state)
{
    static const char digits[] = "98765432101234567890";
    (void)state;
    for (size_t count = 0; count < sizeof digits; count++)
        for (unsigned byte = 0; byte < 256 * 10; byte++) {
            char end = (char)(byte % 256);
            size_t len = count + 1 + byte / 256, taken = 0;
            if (end >= '0' && end <= '9')
                continue;
            char *text = malloc(len); /* of that length, so that the address sanitizer looks */
            assert_non_null(text);
            memset(text, end, len);
            memcpy(text, digits, count);
            uint64_t plain = 0, n = 0;
            for (; taken < count && taken < SCAN_DIGITS; taken++)
                plain = plain * 10 + (uint64_t)(digits[taken] - '0');
            struct scan s = {text, text + len};
            assert_int_equal(scan_add_digits(&s, SCAN_DIGITS, &n), taken);
            assert_true(n == plain && s.at == text + taken);
            free(text);
        }
}

/* More members than there is room for, and a list that grows again and again. */
static void sizes_have_bounds(void **state)
{
    struct block_line l = {0};
    static char text[1 << 16];
    size_t n = 1;
    (void)state;
    text[0] = '{';
    for (int i = 0; i < BLOCK_LINE_MEMBERS; i++)
        n += (size_t)sprintf(text + n, "%s\"m%d\":%d", i > 0 ? "," : "", i, i);
    strcpy(text + n, "}");
    assert_int_equal(scan(&l, text), 1);
    strcpy(text + n, ",\"more\":1}");
    assert_int_equal(scan(&l, text), 0);
    n = (size_t)sprintf(text, "{\"ids\":[0");
    for (int i = 1; i < 5000; i++)
        n += (size_t)sprintf(text + n, ",%d", i);
    strcpy(text + n, "]}");
    assert_true(same_as_json(&l, text, strlen(text)));
    assert_int_equal(block_line_get(&l, "ids")->count, 5000);
    block_line_free(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_of_traces_are_taken),
        cmocka_unit_test(the_rest_is_left_to_json),
        cmocka_unit_test(hashes_are_hexadecimal),
        cmocka_unit_test(random_lines_are_what_json_says),
        cmocka_unit_test(digits_end_at_any_byte),
        cmocka_unit_test(sizes_have_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
