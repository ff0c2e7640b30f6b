/* test_sheet.c - one table in each form: which columns have anything to say, how wide they are, and
 * how a number looks. Bugs looked like a heading that is wider than its column, a column of dashes,
 * a percentile of two samples, or a name from a trace as markup. */
/* builds: plain address arm64 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kvstat/report/xlsx.h"
#include "kvstat/screen/lines.h"
#include "kvstat/sheet/sheet.h"

enum {
    OF_A = SHEET_OWN,
    OF_B = SHEET_OWN << 1
};
static const struct sheet_column columns[] = {
    {"name", 0, 0, SHEET_LEFT},
    {"  ops", FIGURE_OPS, 0, 0},
    {"   moved", FIGURE_EVICT_OPS, 0, SHEET_OPTIONAL | SHEET_NONZERO},
    {"    p50", FIGURE_SERVICE, FIGURE_P50, 0},
    {"    p99", FIGURE_SERVICE, FIGURE_P99, SHEET_OPTIONAL},
    {" GiB/s", FIGURE_GIB_PER_S, 0, OF_A},
    {"b", FIGURE_FAILED, 0, OF_B},
    {"", 0, 0, SHEET_LEFT}};

/* Two parts: n samples of 1 ms to n ms of the first, and none of the second. */
static void put_rows(struct sheet *s, const struct hist *h)
{
    struct figure_id id = figure_id_direction(TRACE_STORAGE, TRACE_READ, FIGURE_OPS);
    struct figure figure[] = {
        {.form = FIGURE_FORM_UNSIGNED, .count = 1234},
        {.form = FIGURE_FORM_UNSIGNED, .count = 0},
        {.form = FIGURE_FORM_DISTRIBUTION, .hist = h},
        {.form = FIGURE_FORM_NUMBER, .number = 0.5},
    };
    static const uint16_t what[] = {FIGURE_OPS, FIGURE_EVICT_OPS, FIGURE_SERVICE, FIGURE_GIB_PER_S};
    for (size_t i = 0; i < 4; i++) {
        id.what = what[i];
        figure[i].id = id;
    }
    sheet_row(s, "a <b>");
    sheet_part(s, &(struct figure_part){figure, 4});
    sheet_word(s, "last");
    sheet_row(s, "\xc3\xa9");
    sheet_part(s, &(struct figure_part){figure, 1});
}

static struct hist *times(unsigned n)
{
    struct hist *h = hist_create();
    assert_non_null(h);
    for (unsigned i = 1; i <= n; i++)
        hist_record(h, (int64_t)i * 1000000);
    return h;
}

/* The table as written by the form; NULL: a screen. */
static char *written(struct sheet s, unsigned samples)
{
    struct hist *h = times(samples);
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    assert_non_null(out);
    s.out = out;
    while (sheet_pass(&s))
        put_rows(&s, h);
    fclose(out);
    hist_free(h);
    return text;
}

static void a_text_has_the_columns_that_say_something(void **state)
{
    (void)state;
    struct sheet s = {SHEET(sheet_text, NULL, columns), .indent = 2, .without = OF_B};
    s.title = "Title";
    s.note = "a note";
    char *text = written(s, 2000);
    assert_string_equal(text, "\nTitle - a note\n"
                              "  name    ops     p50     p99  GiB/s\n"
                              "  a <b> 1,234  1.00 s  1.98 s  0.500 last\n"
                              "  \xc3\xa9     1,234       -       -      -\n");
    free(text);
    /* With 50 samples none lies above P99, and its column would be dashes; few lie above P50. */
    s.without = OF_A;
    s.title = NULL;
    text = written(s, 50);
    assert_string_equal(text, "  name    ops     p50 b\n"
                              "  a <b> 1,234 25.0 ms - last\n"
                              "  \xc3\xa9     1,234       - -\n");
    free(text);
    text = written(s, 6);
    assert_non_null(strstr(text, " 3.00 ms*"));
    free(text);
}

static void a_table_without_rows_is_not_there(void **state)
{
    (void)state;
    struct lines l = {0};
    struct sheet s = {SHEET(sheet_screen, &l, columns)};
    int passes = 0;
    while (sheet_pass(&s))
        passes++;
    assert_int_equal(passes, 1);
    assert_int_equal(l.count, 0);
}

static void a_screen_has_its_lines(void **state)
{
    (void)state;
    static const char *const above[] = {"", "up"};
    static const struct sheet_column two[] = {{"x", 0, 0, SHEET_LEFT}, {"  y", 0, 0, 0}};
    struct lines l = {0};
    struct sheet s = {SHEET(sheet_screen, &l, two), .above = above, .label = "label", .width = 7};
    while (sheet_pass(&s)) {
        sheet_row(&s, "row");
        sheet_number(&s, NULL, 12, FIGURE_UNIT_NONE, "12");
        sheet_row(&s, "other");
        sheet_number(&s, NULL, NAN, FIGURE_UNIT_MS, NULL);
    }
    assert_int_equal(l.count, 4);
    assert_string_equal(l.line[0], "         up");
    assert_string_equal(l.line[1], "label     y");
    assert_string_equal(l.line[2], "row      12");
    assert_string_equal(l.line[3], "other     -");
}

static void a_distribution_of_zeros_says_so(void **state)
{
    (void)state;
    static const struct sheet_column of[] = {{"t", 0, 0, SHEET_LEFT},
                                             {"    n", 0, FIGURE_COUNT, 0},
                                             {"  mean", 0, FIGURE_MEAN, 0},
                                             {"   p50", 0, FIGURE_P50, 0},
                                             {"   p90", 0, FIGURE_P90, SHEET_SPARE},
                                             {"   p99", 0, FIGURE_P99, SHEET_OPTIONAL}};
    struct hist *h = hist_create();
    struct figure f = {.id = figure_id_direction(TRACE_STORAGE, TRACE_READ, FIGURE_SERVICE),
                       .form = FIGURE_FORM_DISTRIBUTION,
                       .hist = h};
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    assert_non_null(out);
    for (int i = 0; i < 1000; i++)
        hist_record(h, 0);
    struct sheet s = {SHEET(sheet_text, out, of)};
    while (sheet_pass(&s)) {
        sheet_row(&s, "a");
        sheet_statistics(&s, &f);
    }
    fclose(out);
    /* All optional columns are there, so that the spare one is not. */
    assert_string_equal(text, "t     n   mean    p50    p99\na 1,000  all 0\n");
    free(text);
    hist_free(h);
}

static void a_page_has_names_and_exact_values(void **state)
{
    (void)state;
    char *text = written((struct sheet){SHEET(sheet_html, NULL, columns), .without = OF_B}, 50);
    assert_non_null(strstr(text, "<th scope=\"col\">name</th><th scope=\"col\">  ops</th>"));
    assert_null(strstr(text, ">b</th>"));
    assert_non_null(strstr(text,
                           "<tr><th scope=\"row\">a &lt;b&gt;</th><td><data "
                           "title=\"tiers.Tier-2.read.ops\" value=\"1234\">1,234</data></td>"));
    assert_non_null(strstr(text, "<td class=\"text\">last</td>\n</tr>\n"));
    assert_non_null(strstr(text, "tiers.Tier-2.read.service_us.p50 is not known"));
    free(text);
}

static void a_page_marks_words_and_labels(void **state)
{
    (void)state;
    static const struct sheet_column two[] = {{"x", 0, 0, 0}, {"y", 0, 0, 0}};
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    assert_non_null(out);
    struct sheet s = {SHEET(sheet_html, out, two), .title = "T"};
    sheet_begin(&s);
    sheet_row(&s, NULL);
    sheet_marked(&s, "part", "key c1");
    sheet_marked(&s, "FAIL", "bad");
    sheet_row(&s, "n");
    sheet_cell(&s, &(struct sheet_cell){
                       .is_number = true, .name = "a.b", .number = 2, .ns = NAN, .after = "ms"});
    sheet_row(&s, "empty");
    sheet_cell(&s, &(struct sheet_cell){0});
    sheet_end(&s);
    fclose(out);
    assert_string_equal(
        text, "<h3>T</h3>\n<div class=\"box narrow\"><table>\n<thead><tr><th scope=\"col\">x</th>"
              "<th scope=\"col\">y</th></tr></thead>\n<tbody>\n"
              "<tr><th scope=\"row\"><i class=\"key c1\"></i>part</th><td class=\"bad\">FAIL</td>\n"
              "</tr>\n<tr><th scope=\"row\">n</th><td><data title=\"a.b\" value=\"2\">2</data> ms"
              "</td></tr>\n<tr><th scope=\"row\">empty</th><td></td></tr>\n"
              "</tbody></table></div>\n");
    free(text);
}

static void a_spreadsheet_is_written_whole_or_not(void **state)
{
    (void)state;
    static const struct sheet_column two[] = {{"x", 0, 0, 0}, {"y", 0, 0, 0}};
    char path[] = "/tmp/test_sheet_XXXXXX", begin[2] = "";
    struct xlsx *x = NULL;
    struct err e = {0};
    if (!xlsx_is_built())
        skip();
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(xlsx_create(&x, path, &e), 0);
    struct sheet s = {SHEET(sheet_xlsx, x, two), .title = "one"};
    sheet_begin(&s);
    sheet_row(&s, "a");
    sheet_number(&s, NULL, 1.5, FIGURE_UNIT_NONE, NULL);
    assert_int_equal(xlsx_save(x, &e), 0);
    xlsx_free(x);
    assert_int_equal(read(fd, begin, 2), 0); /* the file was replaced */
    close(fd);
    FILE *saved = fopen(path, "r");
    assert_non_null(saved);
    assert_int_equal(fread(begin, 1, 2, saved), 2);
    assert_memory_equal(begin, "PK", 2);
    fclose(saved);
    assert_int_equal(xlsx_create(&x, path, &e), 0);
    s = (struct sheet){.form = &sheet_xlsx, .out = x, .title = "wide"};
    sheet_begin(&s);
    s.at = 1 << 14; /* the first that a spreadsheet has not */
    sheet_word(&s, "beyond");
    assert_int_equal(xlsx_save(x, &e), -EFBIG);
    xlsx_free(x);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_has_the_columns_that_say_something),
        cmocka_unit_test(a_table_without_rows_is_not_there),
        cmocka_unit_test(a_screen_has_its_lines),
        cmocka_unit_test(a_distribution_of_zeros_says_so),
        cmocka_unit_test(a_page_has_names_and_exact_values),
        cmocka_unit_test(a_page_marks_words_and_labels),
        cmocka_unit_test(a_spreadsheet_is_written_whole_or_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
