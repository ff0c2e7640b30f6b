/* The maps of the MLPerf benchmark's files: each row that names a figure names one of kvstat's own,
 * places of figures and of comparisons are each given once, and what a map reads has its unit. A
 * bug looked like a name with a slip in it, whose member was silently 0 in what was written and
 * missing from what was read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "kvstat/mlperf/results.h"
#include "kvstat/mlperf/run_folder.h"

static void check_rows(const struct map_row *m, unsigned places[32], unsigned told[32])
{
    char scratch[FIGURE_NAME], name[FIGURE_NAME];
    for (; m->name; m++) {
        if (m->form == MAP_OBJECT)
            check_rows(m->in, places, told);
        if (m->form != MAP_READ)
            places[m->place]++;
        told[m->told]++;
        if (!m->figure)
            continue;
        const struct figure_id id = figure_parse(m->figure, scratch);
        assert_int_not_equal(id.scope, FIGURE_OF_OTHER);
        assert_null(id.label); /* a name that is kept lends no text */
        assert_string_equal(figure_name(name, &id), m->figure);
    }
}

static void check_map(const struct map_row *map, unsigned places, unsigned told)
{
    unsigned place[32] = {0}, shown[32] = {0};
    check_rows(map, place, shown);
    for (unsigned i = 1; i < 32; i++) {
        assert_int_equal(place[i], i <= places);
        assert_true(shown[i] <= 1);
        if (told)
            assert_int_equal(shown[i], i <= told);
    }
}

static void test_names(void **state)
{
    (void)state;
    check_map(mlperf_results_map, 20, 0);
    check_map(mlperf_option_map, 8, 8);
    check_map(mlperf_summary_map, 0, 0);
}

struct figures_read {
    size_t n;
    struct {
        char name[64];
        double number;
    } of[8];
};

static int take(void *arg, const struct figure *f)
{
    struct figures_read *r = arg;
    char name[FIGURE_NAME];
    snprintf(r->of[r->n].name, sizeof(r->of[0].name), "%s", figure_name(name, &f->id));
    r->of[r->n].number = f->form == FIGURE_FORM_TRUTH ? f->truth : f->number;
    r->n++;
    return 0;
}

/* In the order of their places; ms become the figure's unit, GiB bytes, and an older name counts.
 */
static void test_read(void **state)
{
    static const char text[] =
        "{\"summary\": {\"cache_stats\": {\"nvme_read_p95_ms\": 2, \"decode_bytes_read_gb\": 0.5},"
        " \"elapsed_time\": 3, \"end_to_end_latency_ms\": {\"p99\": 7, \"p999\": 8}}, \"valid\": "
        "false}";
    static const struct {
        const char *name;
        double number;
    } expected[] = {{"elapsed_s", 3},
                    {"throughput.decode_bytes_read", 536870912},
                    {"requests.end_to_end_ms.p99", 7},
                    {"tiers.Tier-2.read.service_us.p95", 2000},
                    {"run.valid", 0}};
    struct figures_read r = {0};
    struct map_names names = {0};
    struct jsonin *doc;
    struct err e;
    (void)state;
    assert_int_equal(jsonin_parse(&doc, text, strlen(text), "text", &e), 0);
    for (int i = 0; i < 2; i++) { /* the second time, names are known */
        r.n = 0;
        assert_int_equal(map_read(mlperf_results_map, jsonin_root(doc), &names, take, &r), 0);
    }
    jsonin_free(doc);
    assert_int_equal(r.n, 5);
    for (size_t i = 0; i < r.n; i++) {
        assert_string_equal(r.of[i].name, expected[i].name);
        assert_true(r.of[i].number == expected[i].number);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_names), cmocka_unit_test(test_read)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
