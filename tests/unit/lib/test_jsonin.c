/* JSON in: whole documents and streams of elements, with bounds on depth and size, and the line of
 * every mistake. A bug looked like an element cut at a quoted bracket, one that spans two reads of
 * the input torn apart, a number that silently lost its digits, or a cut file taken as whole. */
/* builds: plain address arm64 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/json/jsonin.h"
#include "lib/trace/frame.h"

static char file[] = "/tmp/kvtrace-jsonin.XXXXXX";

static int make_file(void **state)
{
    int fd = mkstemp(file);

    (void)state;
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(file);
}

static void put(const char *text, size_t len)
{
    FILE *f = fopen(file, "w");

    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, len, f), len);
    assert_int_equal(fclose(f), 0);
}

static struct jsonin *parsed(const char *text)
{
    struct jsonin *d = NULL;
    struct err e = {0};

    if (jsonin_parse(&d, text, strlen(text), "text", &e) < 0)
        fail_msg("%s: %s", e.where, e.what);
    return d;
}

static void members_elements_and_scalars(void **state)
{
    (void)state;
    struct jsonin *d =
        parsed("{\"a\": {\"b\": [1, -2.5, \"t\\u00e4\", true, null]}, \"n\": null}\n");
    const struct jsonin_v *root = jsonin_root(d), *list = jsonin_get(root, "a.b");
    const char *key;
    int64_t i = 9;
    uint64_t u = 9;
    double f = 9;
    bool b = false;
    size_t len;

    assert_int_equal(jsonin_count(list), 5);
    assert_true(jsonin_is_array(list));
    assert_false(jsonin_is_array(jsonin_at(list, 0)));
    assert_int_equal(jsonin_i64(jsonin_at(list, 0), &i), 0);
    assert_int_equal(i, 1);
    assert_int_equal(jsonin_i64(jsonin_at(list, 1), &i), -EINVAL);
    assert_int_equal(i, 1);
    assert_int_equal(jsonin_f64(jsonin_at(list, 0), &f), 0);
    assert_true(f == 1);
    assert_int_equal(jsonin_f64(jsonin_at(list, 1), &f), 0);
    assert_true(f == -2.5);
    assert_string_equal(jsonin_text(jsonin_at(list, 2), &len), "t\xc3\xa4");
    assert_int_equal(len, 3);
    assert_int_equal(jsonin_bool(jsonin_at(list, 3), &b), 0);
    assert_true(b);
    assert_null(jsonin_at(list, 4));
    assert_null(jsonin_at(list, 5));
    assert_null(jsonin_get(root, "n"));
    assert_null(jsonin_get(root, "a.c.d"));
    assert_null(jsonin_get(list, "b"));
    assert_non_null(jsonin_member(root, 0, &key));
    assert_string_equal(key, "a");
    assert_null(jsonin_member(root, 2, &key));
    assert_int_equal(jsonin_count(NULL), 0);
    assert_false(jsonin_is_array(NULL));
    assert_int_equal(jsonin_u64(NULL, &u), -EINVAL);
    assert_int_equal(jsonin_bool(NULL, &b), -EINVAL);
    assert_int_equal(jsonin_u64(jsonin_at(list, 2), &u), -EINVAL);
    assert_null(jsonin_text(jsonin_at(list, 0), NULL));
    assert_int_equal(u, 9);
    jsonin_free(d);
}

/* Numbers that fit no whole type. */
static void an_element_is_found_by_a_member(void **state)
{
    (void)state;
    struct jsonin *d =
        parsed("[7, {}, {\"n\": 3}, {\"n\": \"ab\"}, {\"n\": \"a\", \"o\": {\"v\": 1.5}},"
               " {\"n\": \"a\", \"o\": {\"v\": \"2\"}}]");
    const struct jsonin_v *list = jsonin_root(d);

    assert_ptr_equal(jsonin_find(list, "n", "a"), jsonin_at(list, 4));
    assert_null(jsonin_find(list, "n", "b"));
    assert_null(jsonin_find(jsonin_at(list, 4), "n", "a"));
    assert_null(jsonin_find(NULL, "n", "a"));
    assert_true(jsonin_number(jsonin_at(list, 4), "o.v") == 1.5);
    assert_true(isnan(jsonin_number(jsonin_at(list, 5), "o.v")));
    assert_true(isnan(jsonin_number(NULL, "o.v")));
    jsonin_free(d);
}

static void no_whole_number(const char *text)
{
    struct jsonin *d = parsed(text);
    uint64_t u;
    int64_t i;

    assert_int_equal(jsonin_u64(jsonin_root(d), &u), -EINVAL);
    assert_int_equal(jsonin_i64(jsonin_root(d), &i), -EINVAL);
    jsonin_free(d);
}

static void whole_numbers_fit_or_are_refused(void **state)
{
    (void)state;
    struct jsonin *d =
        parsed("[18446744073709551614, -5, 3.0, 1e3, 1e300, 9223372036854775808, 1e999, 0.5]");
    const struct jsonin_v *v = jsonin_root(d);
    uint64_t u;
    int64_t i;
    double f;

    assert_int_equal(jsonin_u64(jsonin_at(v, 0), &u), 0);
    assert_true(u == UINT64_MAX - 1);
    assert_int_equal(jsonin_i64(jsonin_at(v, 0), &i), -EINVAL);
    assert_int_equal(jsonin_u64(jsonin_at(v, 1), &u), -EINVAL);
    assert_int_equal(jsonin_u64(jsonin_at(v, 2), &u), 0);
    assert_int_equal(u, 3);
    assert_int_equal(jsonin_i64(jsonin_at(v, 3), &i), 0);
    assert_int_equal(i, 1000);
    assert_int_equal(jsonin_i64(jsonin_at(v, 4), &i), -EINVAL);
    assert_int_equal(jsonin_i64(jsonin_at(v, 5), &i), -EINVAL);
    assert_int_equal(jsonin_u64(jsonin_at(v, 5), &u), 0);
    assert_int_equal(jsonin_f64(jsonin_at(v, 6), &f), -EINVAL);
    assert_int_equal(jsonin_u64(jsonin_at(v, 7), &u), -EINVAL);
    jsonin_free(d);
    no_whole_number("99999999999999999999");
    no_whole_number("-99999999999999999999");
}

static void bad_documents(void **state)
{
    (void)state;
    static const struct {
        const char *text, *where;
    } cases[] = {
        {"", "f:1"},     {"{", "f:1"},     {"{\n\"a\": 1\n", "f:3"}, {"{\"a\":\n x}", "f:2"},
        {"[1,]", "f:1"}, {"{} {}", "f:1"}, {"[1]\n\n]", "f:3"},      {"\"a\xff\"", "f:1"},
        {"[01]", "f:1"}, {"tru", "f:1"},   {"\"open", "f:1"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct jsonin *d;
        struct err e = {0};
        assert_int_equal(jsonin_parse(&d, cases[i].text, strlen(cases[i].text), "f", &e), -EINVAL);
        assert_string_equal(e.where, cases[i].where);
        assert_int_equal(strncmp(e.what, "not JSON: ", 10), 0);
    }
}

static int parse_deep(size_t depth)
{
    char text[512];
    struct jsonin *d = NULL;
    int rc;

    memset(text, '[', depth);
    memset(text + depth, ']', depth);
    rc = jsonin_parse(&d, text, 2 * depth, "deep", NULL);
    if (rc == 0)
        jsonin_free(d);
    return rc;
}

static void depth_is_bounded(void **state)
{
    (void)state;
    assert_int_equal(parse_deep(60), 0);
    assert_int_equal(parse_deep(66), -EINVAL);
    assert_int_equal(parse_deep(200), -EINVAL);
}

static void texts_are_unescaped(void **state)
{
    (void)state;
    static const struct {
        const char *json, *text;
        size_t len;
    } cases[] = {
        {"\"\"", "", 0},
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8},
        {"\"a\\u0000b\"", "a\0b", 3},
        {"\"\\u00E4\\u20ac\\ud83d\\ude00\"", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", 9},
        {"\"\\ud83dx\\ude00\"", "\xef\xbf\xbdx\xef\xbf\xbd", 7},
        {"\"\\ud83d\\u0041\"",
         "\xef\xbf\xbd"
         "A",
         4},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct jsonin *d = parsed(cases[i].json);
        size_t len = 99;
        const char *text = jsonin_text(jsonin_root(d), &len);
        assert_int_equal(len, cases[i].len);
        assert_memory_equal(text, cases[i].text, len + 1);
        jsonin_free(d);
    }
}

static void of_members_with_one_name_the_last_counts(void **state)
{
    (void)state;
    struct jsonin *d = parsed("{\"a\": 1, \"b\": {\"a\": 2}, \"a\": 3}");
    int64_t i;

    assert_int_equal(jsonin_i64(jsonin_get(jsonin_root(d), "a"), &i), 0);
    assert_int_equal(i, 3);
    assert_int_equal(jsonin_i64(jsonin_get(jsonin_root(d), "b.a"), &i), 0);
    assert_int_equal(i, 2);
    assert_int_equal(jsonin_members(jsonin_root(d)), 3);
    assert_int_equal(jsonin_members(jsonin_get(jsonin_root(d), "a")), 0);
    jsonin_free(d);
}

/* A bug looked like two minutes for 80,000 members, each found by counting from the first. */
static void every_member_of_a_large_object_is_reached_at_once(void **state)
{
    (void)state;
    enum {
        MEMBERS = 300000
    };
    char *text = malloc((size_t)MEMBERS * 20), *p = text;
    const char *key;
    int64_t sum = 0, i;

    assert_non_null(text);
    for (int k = 0; k < MEMBERS; k++)
        p += sprintf(p, "%c\"k%d\":%d", k ? ',' : '{', k, k);
    strcpy(p, "}");
    struct jsonin *d = parsed(text);
    for (size_t k = 0; k < jsonin_members(jsonin_root(d)); k++) {
        assert_int_equal(jsonin_i64(jsonin_member(jsonin_root(d), k, &key), &i), 0);
        sum += i;
    }
    assert_int_equal(sum, (int64_t)MEMBERS * (MEMBERS - 1) / 2);
    assert_string_equal(key, "k299999");
    jsonin_free(d);
    free(text);
}

static void files_are_loaded_up_to_a_size(void **state)
{
    (void)state;
    struct jsonin *d;
    struct err e = {0};

    put("{\"a\": 1}\n", 9);
    assert_int_equal(jsonin_load(&d, file, 9, &e), 0);
    jsonin_free(d);
    assert_int_equal(jsonin_load(&d, file, 8, &e), -EFBIG);
    assert_string_equal(e.where, file);
    assert_int_equal(jsonin_load(&d, "/tmp/kvtrace-no-such.json", 8, &e), -ENOENT);
}

/* ---- streams ---- */

struct stream {
    struct frame_in *in;
    struct jsonin_stream *s;
    struct err e;
};

static struct stream opened(const char *text, size_t len, size_t max)
{
    struct stream t = {0};

    put(text, len);
    assert_int_equal(frame_in_open(&t.in, file, NULL, &t.e), 0);
    assert_int_equal(jsonin_stream_open(&t.s, t.in, max, &t.e), 0);
    return t;
}

static void closed(struct stream *t)
{
    jsonin_stream_close(t->s);
    frame_in_close(t->in);
}

/* A bug looked like 9.8 GB for a file of 23 KB, and then an error about its form. */
static void memory_has_a_limit_and_an_option_that_raises_it(void **state)
{
    (void)state;
    const struct jsonin_limit limit = {.bytes = 32 * 4 + 9, .option = "--more"};
    struct jsonin *d;
    struct err e = {0};

    assert_int_equal(jsonin_parse_within(&d, "[1, 2, 3]", 9, &limit, "f", &e), 0);
    jsonin_free(d);
    assert_int_equal(jsonin_parse_within(&d, "[1,2,3,4]", 9, &limit, "f", &e), -EFBIG);
    assert_string_equal(e.where, "f:1");
    assert_non_null(strstr(e.what, "memory (--more allows more)"));
    /* Commas and brackets in texts are no values. */
    assert_int_equal(jsonin_parse_within(&d, "[\",[{\\\"\"]", 9, &limit, "f", &e), 0);
    jsonin_free(d);

    struct stream t = opened("{}\n\n[1,2,3,4]\n", 14, 1000);
    const struct jsonin_v *v;
    jsonin_stream_limit(t.s, &limit);
    assert_int_equal(jsonin_stream_next(t.s, &v, &t.e), 1);
    assert_int_equal(jsonin_stream_next(t.s, &v, &t.e), -EFBIG);
    assert_non_null(strstr(t.e.where, ":3"));
    closed(&t);
}

/* The stream gives the whole numbers of "a" and lines, and then ends. */
static void expect_elements(const char *text, const int64_t *want, const uint64_t *lines, size_t n)
{
    struct stream t = opened(text, strlen(text), 1000);
    const struct jsonin_v *v;

    for (size_t i = 0; i < n; i++) {
        int64_t a = -1;
        if (jsonin_stream_next(t.s, &v, &t.e) != 1)
            fail_msg("%s: %s", t.e.where, t.e.what);
        assert_int_equal(jsonin_i64(jsonin_get(v, "a"), &a), 0);
        assert_int_equal(a, want[i]);
        assert_int_equal(jsonin_stream_line(t.s), lines[i]);
    }
    assert_int_equal(jsonin_stream_next(t.s, &v, &t.e), 0);
    assert_int_equal(jsonin_stream_next(t.s, &v, &t.e), 0);
    closed(&t);
}

static void lines_and_arrays(void **state)
{
    (void)state;
    static const int64_t a[] = {1, 2};
    static const uint64_t one_two[] = {1, 2}, two_four[] = {2, 4}, two_three[] = {2, 3};

    expect_elements("{\"a\":1}\n{\"a\":2}\n", a, one_two, 2);
    expect_elements("{\"a\":1}\n{\"a\":2}", a, one_two, 2);
    expect_elements("\xef\xbb\xbf{\"a\":1}\r\n{\"a\":2}\r\n", a, one_two, 2);
    expect_elements("\n{\"a\":1}\n\n  {\"a\":2}  \n\n", a, two_four, 2);
    expect_elements("[\n{\"a\":1, \"s\":\"}],\\\"[{\\\\\"},\n{\"a\":2,\n\"b\":[[1],[2]]}\n]\n", a,
                    two_three, 2);
    expect_elements(" [{\"a\":1},\n{\"a\":2}]", a, one_two, 2);
    expect_elements("", a, one_two, 0);
    expect_elements("\n \n", a, one_two, 0);
    expect_elements("[]", a, one_two, 0);
    expect_elements("[ \n ]\n\n", a, one_two, 0);
}

/* The stream ends in an error on that line after good elements. */
static void expect_stream_error(const char *text, int good, unsigned line, const char *what)
{
    struct stream t = opened(text, strlen(text), 1000);
    const struct jsonin_v *v;
    char where[64];
    int rc;

    while ((rc = jsonin_stream_next(t.s, &v, &t.e)) == 1)
        good--;
    assert_int_equal(good, 0);
    assert_true(rc < 0);
    snprintf(where, sizeof(where), "%s:%u", file, line);
    assert_string_equal(t.e.where, where);
    if (!strstr(t.e.what, what))
        fail_msg("got: %s, wanted: %s", t.e.what, what);
    assert_int_equal(t.e.class, ERR_INPUT);
    closed(&t);
}

static void bad_streams(void **state)
{
    (void)state;
    expect_stream_error("{\"a\":1}\n{\"a\":", 1, 2, "ends too early");
    expect_stream_error("{\"a\":1}\n\n{\"a\": nope}\n{}\n", 1, 3, "not JSON");
    expect_stream_error("{\"a\":1} {\"a\":2}\n", 0, 1, "unexpected text");
    expect_stream_error("{\n\"a\":1}\n", 0, 1, "ends too early");
    expect_stream_error("[{\"a\":1},\n{\"a\":2}", 2, 2, "ends inside the array");
    expect_stream_error("[{\"a\":1},\n{\"a\":2},\n", 2, 3, "ends inside the array");
    expect_stream_error("[{\"a\":1}\n", 1, 2, "ends inside the array");
    expect_stream_error("[", 0, 1, "ends inside the array");
    expect_stream_error("[{\"a\":1}\n{\"a\":2}]", 1, 2, "missing comma");
    expect_stream_error("[1 2]", 0, 1, "unexpected text");
    expect_stream_error("[{\"a\":[1}]", 0, 1, "not JSON");
    expect_stream_error("[1,\n]", 1, 2, "ends too early");
    expect_stream_error("[,1]", 0, 1, "ends too early");
    expect_stream_error("[1]\n 2", 1, 2, "unexpected text after the end of the array");
    expect_stream_error("[1}", 1, 1, "missing comma");
    expect_stream_error("[\"", 0, 1, "ends inside the array");
}

/* Elements longer than a read of the input, cut anywhere by it. */
static void elements_span_reads(void **state)
{
    (void)state;
    enum {
        COUNT = 400,
        PAD = 3001
    };
    size_t room = (size_t)COUNT * (PAD + 64);
    char *text = malloc(room), *pad = malloc(PAD + 1);

    assert_non_null(text);
    assert_non_null(pad);
    memset(pad, '{', PAD);
    pad[PAD] = '\0';
    for (int kind = 0; kind < 2; kind++) {
        size_t len = 0, i = 0;
        struct stream t;
        const struct jsonin_v *v;
        if (kind == 1)
            text[len++] = '[';
        for (int k = 0; k < COUNT; k++)
            len += (size_t)sprintf(text + len, "%s{\"a\":%d,\"p\":\"%.*s\"}\n",
                                   kind && k ? "," : "", k, (k * 7919) % PAD, pad);
        if (kind == 1)
            text[len++] = ']';
        t = opened(text, len, 4000);
        for (; jsonin_stream_next(t.s, &v, &t.e) == 1; i++) {
            uint64_t a = 0;
            size_t pad_len = 0;
            assert_int_equal(jsonin_u64(jsonin_get(v, "a"), &a), 0);
            assert_int_equal(a, i);
            assert_non_null(jsonin_text(jsonin_get(v, "p"), &pad_len));
            assert_int_equal(pad_len, (i * 7919) % PAD);
            assert_int_equal(jsonin_stream_line(t.s), i + 1);
        }
        assert_int_equal(i, COUNT);
        assert_int_equal(t.e.code, 0);
        closed(&t);
    }
    free(text);
    free(pad);
}

static void large_elements_are_refused(void **state)
{
    (void)state;
    char text[3000];

    memset(text, ' ', sizeof(text));
    text[0] = '\n';
    text[1] = '{';
    text[1500] = '}';
    text[2999] = '\0';
    expect_stream_error(text, 0, 2, "an element is larger than 1000 bytes");
    text[0] = '[';
    expect_stream_error(text, 0, 1, "an element is larger than 1000 bytes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_elements_and_scalars),
        cmocka_unit_test(an_element_is_found_by_a_member),
        cmocka_unit_test(whole_numbers_fit_or_are_refused),
        cmocka_unit_test(bad_documents),
        cmocka_unit_test(depth_is_bounded),
        cmocka_unit_test(texts_are_unescaped),
        cmocka_unit_test(of_members_with_one_name_the_last_counts),
        cmocka_unit_test(every_member_of_a_large_object_is_reached_at_once),
        cmocka_unit_test(memory_has_a_limit_and_an_option_that_raises_it),
        cmocka_unit_test(files_are_loaded_up_to_a_size),
        cmocka_unit_test(lines_and_arrays),
        cmocka_unit_test(bad_streams),
        cmocka_unit_test(elements_span_reads),
        cmocka_unit_test(large_elements_are_refused),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
