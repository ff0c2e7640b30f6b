/* JSON out: valid documents whose numbers read back as they were, and files that appear whole or
 * not at all. A bug looked like "nan" in a document, 0.1 as 0.10000000000000001, a summary cut by
 * a full disk that looked whole, or a temporary file left behind. */
/* builds: plain address arm64 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/json/jsonout.h"

static void expect_text(struct jsonout *j, const char *want)
{
    const char *got = jsonout_text(j, false);

    assert_non_null(got);
    assert_string_equal(got, want);
    jsonout_free(j);
}

static void nesting_and_every_type(void **state)
{
    (void)state;
    struct jsonout *j = jsonout_create();

    jsonout_u64(j, "u", UINT64_MAX);
    jsonout_i64(j, "i", INT64_MIN);
    jsonout_bool(j, "b", true);
    jsonout_null(j, "n");
    jsonout_text_value(j, "t", NULL);
    jsonout_array(j, "a");
    jsonout_object(j, NULL);
    jsonout_text_value(j, "path", "a/b \"q\"\n");
    jsonout_end(j);
    jsonout_u64(j, NULL, 7);
    jsonout_null(j, NULL);
    jsonout_end(j);
    jsonout_object(j, "o");
    jsonout_end(j);
    expect_text(j, "{\"u\":18446744073709551615,\"i\":-9223372036854775808,\"b\":true,\"n\":null,"
                   "\"t\":null,\"a\":[{\"path\":\"a/b \\\"q\\\"\\n\"},7,null],\"o\":{}}");
}

static void doubles_are_the_shortest_that_read_back(void **state)
{
    (void)state;
    struct jsonout *j = jsonout_create();

    jsonout_array(j, "v");
    jsonout_f64(j, NULL, 0.1);
    jsonout_f64(j, NULL, 1.0 / 3);
    jsonout_f64(j, NULL, 0.1 + 0.2);
    jsonout_f64(j, NULL, 1e300);
    jsonout_f64(j, NULL, 5);
    jsonout_f64(j, NULL, -0.25);
    jsonout_f64(j, NULL, (double)NAN);
    jsonout_f64(j, NULL, (double)INFINITY);
    jsonout_end(j);
    expect_text(j, "{\"v\":[0.1,0.3333333333333333,0.30000000000000004,1e+300,5,-0.25,null,null]}");
}

static void what_is_not_known_is_null(void **state)
{
    (void)state;
    struct jsonout *j = jsonout_create();

    jsonout_array(j, "v");
    jsonout_u64_if(j, NULL, false, 1);
    jsonout_u64_if(j, NULL, true, 0);
    jsonout_bool_if(j, NULL, false, true);
    jsonout_bool_if(j, NULL, true, false);
    jsonout_f64_known(j, NULL, -1);
    jsonout_f64_known(j, NULL, 0);
    jsonout_text_known(j, NULL, NULL);
    jsonout_text_known(j, NULL, "");
    jsonout_text_known(j, NULL, "t");
    jsonout_end(j);
    expect_text(j, "{\"v\":[null,0,null,false,null,0,null,null,\"t\"]}");
}

static void text_that_is_no_utf8_is_mended(void **state)
{
    (void)state;
    struct jsonout *j = jsonout_create();

    jsonout_text_value(j, "t", "a\xff\xc3\xa4\xed\xa0\x80\xf0\x9f\x98\x80\xe2\x82");
    expect_text(j, "{\"t\":\"a?\xc3\xa4???\xf0\x9f\x98\x80??\"}");
}

static int raw(const char *json, const char *want)
{
    struct jsonout *j = jsonout_create();
    int rc = jsonout_raw(j, "r", json, strlen(json));

    expect_text(j, want);
    return rc;
}

static void raw_json_is_checked(void **state)
{
    (void)state;
    static const char *const bad[] = {"",    " ",      "{",      "{\"a\":1} x", "[1,]",
                                      "nul", "{a: 1}", "'text'", "\"open",      "[1}"};

    assert_int_equal(raw("{\"a\": [1, 2.50]}", "{\"r\":{\"a\":[1,2.50]}}"), 0);
    assert_int_equal(raw(" 5", "{\"r\":5}"), 0);
    assert_int_equal(raw("null\n", "{\"r\":null}"), 0);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(raw(bad[i], "{}"), -EINVAL);
}

static void pretty_text_ends_with_a_newline(void **state)
{
    (void)state;
    struct jsonout *j = jsonout_create();

    jsonout_u64(j, "a", 1);
    assert_string_equal(jsonout_text(j, true), "{\n  \"a\": 1\n}\n");
    jsonout_free(j);
}

static void identity_names_program_and_host(void **state)
{
    (void)state;
    char *argv[] = {(char *)(uintptr_t) "kvgen", (char *)(uintptr_t) "--seed"};
    struct jsonout *j = jsonout_create();
    const char *text;

    jsonout_identity(j, "kvgen", 2, argv, INT64_C(86400) * 1000000000);
    text = jsonout_text(j, false);
    assert_non_null(strstr(text, "{\"program\":\"kvgen\",\"version\":\"" KVTRACE_VERSION
                                 "\",\"command\":[\"kvgen\",\"--seed\"],\"host\":{\"name\":\""));
    assert_non_null(strstr(text, "\"memory_bytes\":"));
    assert_non_null(strstr(text, "\"started\":\"1970-01-02T00:00:00Z\"}"));
    jsonout_free(j);
}

struct fields {
    uint64_t seed;
    double gb;
    int64_t wait;
    bool flag;
    const char *text;
    const char *output;
    int mode;
    struct opt_list list;
};

static void options_keep_their_types(void **state)
{
    (void)state;
    static const struct opt table[] = {
        {.type = OPT_HEADING, .help = "All"},
        {.name = "seed", .type = OPT_U64, .offset = offsetof(struct fields, seed), .help = "h"},
        {.name = "gb", .type = OPT_F64, .offset = offsetof(struct fields, gb), .help = "h"},
        {.name = "wait",
         .type = OPT_DURATION,
         .offset = offsetof(struct fields, wait),
         .help = "h"},
        {.name = "flag", .type = OPT_FLAG, .offset = offsetof(struct fields, flag), .help = "h"},
        {.name = "text", .type = OPT_TEXT, .offset = offsetof(struct fields, text), .help = "h"},
        {.name = "output",
         .type = OPT_TEXT,
         .offset = offsetof(struct fields, output),
         .flags = OPT_NO_EFFECT,
         .help = "h"},
        {.name = "mode",
         .type = OPT_ENUM,
         .offset = offsetof(struct fields, mode),
         .choices = "one|two|three",
         .help = "h"},
        {.name = "list", .type = OPT_LIST, .offset = offsetof(struct fields, list), .help = "h"},
        {0},
    };
    const char *args[] = {"kvgen",  "--seed", "3",      "--gb=0.5", "--wait", "1500ms", "--flag",
                          "--mode", "two",    "--list", "a",        "--list", "b",      NULL};
    struct fields f;
    struct err e = {0};
    struct opt_parser *p = opt_open("kvgen", "", table, &f);
    struct jsonout *j = jsonout_create();

    assert_int_equal(opt_parse(p, 13, (char **)(uintptr_t)args, &e), 0);
    jsonout_options(j, p);
    expect_text(j,
                "{\"seed\":3,\"gb\":0.5,\"wait\":1.5,\"flag\":true,\"text\":null,\"mode\":\"two\","
                "\"list\":[\"a\",\"b\"]}");
    opt_close(p);
}

/* ---- files ---- */

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/kvtrace-jsonout.XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    char path[400];
    DIR *d = opendir(folder);

    (void)state;
    for (struct dirent *at; d && (at = readdir(d)) != NULL;) {
        snprintf(path, sizeof(path), "%s/%s", folder, at->d_name);
        unlink(path);
    }
    closedir(d);
    return rmdir(folder);
}

static unsigned count_files(void)
{
    DIR *d = opendir(folder);
    unsigned n = 0;

    while (readdir(d))
        n++;
    closedir(d);
    return n - 2;
}

static void read_file(const char *path, char *buf, size_t n)
{
    FILE *f = fopen(path, "r");

    assert_non_null(f);
    buf[fread(buf, 1, n - 1, f)] = '\0';
    fclose(f);
}

static void save_replaces_a_file_and_keeps_links(void **state)
{
    (void)state;
    struct jsonout *j = jsonout_create();
    struct err e = {0};
    char path[128], link[128], text[64];
    struct stat st;
    mode_t mask = umask(027);

    snprintf(path, sizeof(path), "%s/s.json", folder);
    snprintf(link, sizeof(link), "%s/link.json", folder);
    assert_int_equal(symlink("s.json", link), 0);
    assert_int_equal(jsonout_save(j, path, &e), 0);
    jsonout_u64(j, "a", 1);
    assert_int_equal(jsonout_save(j, link, &e), 0);
    read_file(path, text, sizeof(text));
    assert_string_equal(text, "{\n  \"a\": 1\n}\n");
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    assert_int_equal(lstat(link, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(count_files(), 2);
    umask(mask);
    jsonout_free(j);
}

static void save_that_fails_says_so_and_leaves_nothing(void **state)
{
    (void)state;
    struct jsonout *j = jsonout_create();
    struct err e = {0};
    char path[128];

    assert_int_equal(jsonout_save(j, "/dev/full", &e), -ENOSPC);
    assert_int_equal(e.class, ERR_OUTPUT);
    assert_string_equal(e.where, "/dev/full");
    snprintf(path, sizeof(path), "%s/none/s.json", folder);
    assert_int_equal(jsonout_save(j, path, &e), -ENOENT);
    assert_string_equal(e.where, path);
    assert_true(jsonout_save(j, folder, &e) < 0); /* a directory */
    /* the rename fails, and what was written beside is removed */
    snprintf(path, sizeof(path), "%s/", folder);
    assert_true(jsonout_save(j, path, &e) < 0);
    assert_int_equal(count_files(), 0);
    jsonout_free(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nesting_and_every_type),
        cmocka_unit_test(doubles_are_the_shortest_that_read_back),
        cmocka_unit_test(what_is_not_known_is_null),
        cmocka_unit_test(text_that_is_no_utf8_is_mended),
        cmocka_unit_test(raw_json_is_checked),
        cmocka_unit_test(pretty_text_ends_with_a_newline),
        cmocka_unit_test(identity_names_program_and_host),
        cmocka_unit_test(options_keep_their_types),
        cmocka_unit_test_setup_teardown(save_replaces_a_file_and_keeps_links, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(save_that_fails_says_so_and_leaves_nothing, make_folder,
                                        remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
