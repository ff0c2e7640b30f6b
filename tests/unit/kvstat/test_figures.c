/* Figures have one identity and one name: a name leads back to the identity, and no two figures
 * share one. The figures of a run, its JSON read back, and its row in a table are the same,
 * whatever they are. Bugs looked like two columns of one name in a table of runs, or a figure that
 * the JSON had and the CSV had not. */
/* builds: plain address arm64 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kvstat/count/provenance.h"
#include "kvstat/count/reuse.h"
#include "kvstat/count/scan.h"
#include "kvstat/document.h"
#include "kvstat/report/figures.h"
#include "kvstat/report/long_csv.h"
#include "kvstat/report/report.h"
#include "kvstat/report/run_table.h"
#include "kvstat/report/verdict.h"

/* ---- names ---- */

static void reads_back(const struct figure_id *id)
{
    char name[FIGURE_NAME], scratch[FIGURE_NAME + 2], again[FIGURE_NAME];
    if (!figure_name(name, id)[0])
        return;
    const struct figure_id back = figure_parse(name, scratch);
    assert_string_equal(figure_name(again, &back), name);
    if (figure_id_compare(id, &back) != 0)
        fail_msg("%s is another figure when it is read back", name);
}

/* All whats and statistics of one part. */
static void whole_part_reads_back(struct figure_id id, unsigned from, unsigned to)
{
    for (unsigned what = from; what <= to; what++)
        for (unsigned s = FIGURE_VALUE; s < FIGURE_STATISTICS; s++) {
            id.what = (uint16_t)what;
            id.statistic = (uint8_t)s;
            reads_back(&id);
        }
}

static void names_lead_back(void **state)
{
    (void)state;
    const unsigned first = FIGURE_FILES, last = FIGURE_OTHER - 1;
    static const uint8_t plain[] = {
        FIGURE_OF_STATUS,     FIGURE_OF_POPULATED,  FIGURE_OF_WARMUP,       FIGURE_OF_PROVENANCE,
        FIGURE_OF_KERNEL,     FIGURE_OF_THROUGHPUT, FIGURE_OF_WALL,         FIGURE_OF_TIER2,
        FIGURE_OF_BOTTLENECK, FIGURE_OF_SHARES,     FIGURE_OF_STORAGE_TIME, FIGURE_OF_CACHE,
        FIGURE_OF_REQUESTS,   FIGURE_OF_REUSE,      FIGURE_OF_VERDICT,      FIGURE_OF_SERIES};
    for (size_t i = 0; i < sizeof(plain); i++) {
        struct figure_id id = figure_id(plain[i], FIGURE_ITSELF);
        reads_back(&id);
        whole_part_reads_back(id, first, last);
    }
    for (unsigned fact = 0; fact < FACTS_SHOWN; fact++) {
        const struct figure_id id = figure_id_fact(fact),
                               scope = figure_id(id.scope, FIGURE_ITSELF);
        reads_back(&id);
        reads_back(&scope);
    }
    /* In the run itself "status" is a section. */
    whole_part_reads_back(figure_id(FIGURE_OF_RUN, FIGURE_ITSELF), first, FIGURE_PROFILE);
    whole_part_reads_back(figure_id(FIGURE_OF_RUN, FIGURE_ITSELF), FIGURE_SENTENCE, last);
    for (unsigned t = 0; t < TRACE_TIERS; t++) {
        static const enum figure_scope scopes[] = {FIGURE_OF_CAPACITY, FIGURE_OF_CACHE_TIER,
                                                   FIGURE_OF_TIER};
        for (size_t i = 0; i < sizeof(scopes) / sizeof(scopes[0]); i++)
            whole_part_reads_back(figure_id_tier(scopes[i], t, FIGURE_ITSELF), first, last);
        whole_part_reads_back(figure_id_direction(t, TRACE_READ, FIGURE_ITSELF), first, last);
        whole_part_reads_back(figure_id_direction(t, TRACE_WRITE, FIGURE_ITSELF), first, last);
    }
    for (unsigned q = 0; q < TRACE_QOSES; q++) {
        struct figure_id id = {.scope = FIGURE_OF_QOS, .by = GROUPS_QOS, .qos = (uint8_t)q};
        reads_back(&id);
        whole_part_reads_back(id, first, last);
        id.scope = FIGURE_OF_TARGETS;
        reads_back(&id);
        whole_part_reads_back(id, first, last);
    }
    for (unsigned p = 0; p < TRACE_PHASES; p++)
        whole_part_reads_back(
            (struct figure_id){.scope = FIGURE_OF_PHASE, .by = GROUPS_PHASE, .phase = (uint8_t)p},
            first, last);
    for (unsigned i = 0; i < FIGURE_LOOKUP_CLASSES; i++)
        whole_part_reads_back(figure_id_class(figure_lookup_classes[i]), first, last);
    whole_part_reads_back(figure_id(FIGURE_OF_LOOKUPS, FIGURE_ITSELF), first, last);
    /* Users may have dots and the words of figures in their names. */
    static const char *const labels[] = {
        "Tier-2/Read/Decode", "-/Generate/-", "a.ops.b", "x.y/z", "p95", "..", "service_us.count"};
    for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++) {
        struct figure_id id = {.scope = FIGURE_OF_GROUP, .label = labels[i]};
        whole_part_reads_back(id, FIGURE_OPS, FIGURE_AT_DRIVE);
        whole_part_reads_back(id, FIGURE_FAILED, FIGURE_BYTES);
    }
    struct figure_id apart = {.scope = FIGURE_OF_APART, .label = "failed GET"};
    whole_part_reads_back(apart, FIGURE_OPS, FIGURE_SERVICE);
    struct figure_id criterion = {.scope = FIGURE_OF_CRITERION, .label = "cpu_p95"};
    whole_part_reads_back(criterion, FIGURE_RELATION, FIGURE_PASSED);
}

/* Names of other programs stay as they are. */
static void other_names_stay(void **state)
{
    (void)state;
    static const char *const names[] = {"options.buffered",
                                        "rows.total",
                                        "tiers.Tier-1.engine",
                                        "tiers.Tier-1.read.object_bytes_mean",
                                        "tiers.Tier-1.delete.service_us",
                                        "tiers.Tier-9.read.ops",
                                        "groups.Tier-1.op",
                                        "groups.x",
                                        "phases.Prefill.other",
                                        "a",
                                        "a.",
                                        ".a",
                                        ".",
                                        "run.",
                                        "tiers.",
                                        "lookups.all.hits",
                                        "requests.by_qos.other.count",
                                        "cache.lookups.evict.hits"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char scratch[128], name[FIGURE_NAME];
        const struct figure_id id = figure_parse(names[i], scratch);
        assert_string_equal(figure_name(name, &id), names[i]);
        assert_int_equal(id.what, FIGURE_OTHER);
    }
}

/* ---- a run ---- */

static const char rows[] =
    "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request,User,QoS,Class,Tokens,Arrival,"
    "Duration_us,Due,Eligible,Start,Latency_us,Device_us,Status\n"
    "0.0,Write,1048576,Tier-0,a,Prefill,1,u.x,interactive,user,100,0.0,,0.0,0.0,0.001,2000,1500,"
    "ok\n"
    "0.0,Read,2097152,Tier-2,b,Decode,1,u.x,interactive,user,200,0.0,,0.0,0.0,0.003,9000,8000,ok\n"
    "0.1,Read,2097152,Tier-2,b,Decode,2,u/y,batch,rag,200,0.1,,0.1,0.1,0.103,7000,6000,EIO\n"
    "0.1,Miss,0,,c,Prefill,2,u/y,batch,rag,,0.1,,0.1,0.1,0.101,0,,ok\n"
    "0.1,Generate,0,,,,1,u.x,interactive,user,10,0.0,30000,0.0,0.0,0.02,30000,,ok\n";

/* A file of the text that lives until the descriptor is closed. */
static int file_of(char path[64], const char *text)
{
    int fd = memfd_create("rows", 0);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fd;
}

static const struct figures_targets targets[TRACE_QOSES] = {
    {{50, 100, 150, 200}}, {{100, 200, 350, 500}}, {{1000, 5000, 7500, 10000}}};

/* The figures of rows, judged. path must live on. */
static struct figures *report_of(const char *const *path, unsigned by, struct verdict *verdict)
{
    const struct scan_opts opts = {
        .by = by, .threads = 2, .target_ns = {1, 1, 1}, .warmup_ns = SCAN_WARMUP_AUTO};
    const struct verdict_limits limits = {500, 200, 150, 0.3};
    struct figures_source source = {.files = path, .file_count = 1, .targets = targets};
    struct provenance p;
    struct figures *f = NULL;
    struct err e = {0};
    assert_int_equal(scan_file(&source.scan, path[0], &opts, &e), 0);
    assert_int_equal(reuse_file(&source.reuse, path[0], false, &e), 0);
    assert_int_equal(provenance_read(&p, NULL, NULL, "{\"seed\": 7, \"model\": \"m\"}", &e), 0);
    source.provenance = &p;
    assert_int_equal(figures_create(&f, &source, &e), 0);
    provenance_free(&p);
    verdict_judge(verdict, (struct verdict_asked){.profile = VERDICT_LATENCY}, &limits, f);
    return f;
}

/* Every cell of a table of one run, by name. */
static void same_runs(const struct run_table *a, const struct run_table *b)
{
    for (size_t i = 0; i < run_table_columns(a); i++) {
        const struct figure x = run_table_cell(a, 0, i);
        const struct figure y = run_table_cell(b, 0, run_table_find(b, *run_table_id(a, i)));
        char name[FIGURE_NAME], left[FIGURE_TEXT], right[FIGURE_TEXT];
        const struct figure_id run_name = run_table_name();
        figure_name(name, run_table_id(a, i));
        if (figure_id_compare(run_table_id(a, i), &run_name) == 0)
            continue; /* a document's run has the name of the document */
        if (run_table_find(b, *run_table_id(a, i)) == run_table_columns(b))
            fail_msg("%s is in one of the two only", name);
        if (strcmp(figure_text(&x, left), figure_text(&y, right)) != 0)
            fail_msg("%s: %s and %s", name, figure_text(&x, left), figure_text(&y, right));
    }
}

static void json_has_what_the_table_has(void **state)
{
    (void)state;
    static const unsigned by[] = {GROUPS_DEFAULT, GROUPS_USER | GROUPS_OP,
                                  GROUPS_CLASS | GROUPS_STATUS};
    for (size_t i = 0; i < sizeof(by) / sizeof(by[0]); i++) {
        char path[64], json_path[64], program[] = "kvstat";
        const char *const files[] = {path};
        char *const argv[] = {program};
        struct run_table *counted = run_table_create(), *read_back = run_table_create();
        struct jsonout *j = jsonout_create();
        struct verdict verdict;
        struct err e = {0};
        int fd = file_of(path, rows);
        struct figures *f = report_of(files, by[i], &verdict);
        jsonout_identity(j, "kvstat", 1, argv, 0);
        report_json(j, f);
        int json_fd = file_of(json_path, jsonout_text(j, true));
        const struct document_sink sink = {run_table_put, run_table_end, read_back};
        assert_int_equal(document_read(json_path, &sink, &e), 0);
        assert_int_equal(run_table_add(counted, f, &e), 0);
        assert_int_equal(run_table_runs(read_back), 1);
        assert_in_range(run_table_columns(counted), 300, 3000);
        same_runs(counted, read_back);
        same_runs(read_back, counted);
        jsonout_free(j);
        run_table_free(counted);
        run_table_free(read_back);
        figures_free(f);
        close(fd);
        close(json_fd);
    }
}

/* Two reads of 2 MiB of which one failed, one hit and one miss. */
static void figures_are_found(void **state)
{
    (void)state;
    char path[64];
    const char *const files[] = {path};
    struct verdict verdict;
    int fd = file_of(path, rows);
    struct figures *f = report_of(files, GROUPS_DEFAULT, &verdict);
    const struct figure_id read = figure_id_direction(TRACE_STORAGE, TRACE_READ, FIGURE_SERVICE);
    assert_int_equal(figures_count(f, figure_id(FIGURE_OF_RUN, FIGURE_ROWS)), 5);
    assert_int_equal(figures_count(f, figure_id(FIGURE_OF_STATUS, FIGURE_FAILED)), 1);
    assert_int_equal(figures_count(f, figure_id_direction(TRACE_STORAGE, TRACE_READ, FIGURE_OPS)),
                     2);
    assert_true(figures_number(f, figure_id_statistic(read, FIGURE_P95)) == 9000);
    assert_true(figures_number(f, figure_id_statistic(read, FIGURE_COUNT)) == 1);
    assert_true(isnan(figures_number(f, read)));
    assert_int_equal(hist_max(figures_hist(f, read)), 9000000);
    assert_true(
        isnan(figures_number(f, figure_id_direction(TRACE_CPU, TRACE_READ, FIGURE_GIB_PER_S))));
    assert_int_equal(figures_count(f, figure_id_class(TRACE_RAG)), 0);
    assert_string_equal(figures_text(f, figure_id(FIGURE_OF_PROVENANCE, FIGURE_MODEL)), "m");
    assert_true(figures_is(f, figure_id(FIGURE_OF_RUN, FIGURE_CUT)) == false);
    assert_true(figures_is_not(f, figure_id(FIGURE_OF_RUN, FIGURE_CUT)));
    /* A group for each operation, tier and phase, each found once. */
    struct figure_part part = {0};
    size_t groups = 0;
    while (figures_next(f, FIGURE_OF_GROUP, &part)) {
        assert_non_null(figure_in(&part, FIGURE_OPS));
        assert_null(figure_in(&part, FIGURE_LOOKUPS));
        groups++;
    }
    assert_int_equal(groups, 4);
    figures_free(f);
    close(fd);
}

/* A figure added to those of a part is in every form that is made of them. */
static void an_added_figure_is_everywhere(void **state)
{
    (void)state;
    char path[64], *csv = NULL;
    const char *const files[] = {path};
    struct run_table *t = run_table_create();
    struct jsonout *j = jsonout_create();
    struct verdict verdict;
    struct err e = {0};
    size_t len;
    int fd = file_of(path, rows);
    struct figures *f = report_of(files, GROUPS_DEFAULT, &verdict);
    figures_put(f, &(struct figure){.id = figure_id(FIGURE_OF_REUSE, FIGURE_BUSY),
                                    .form = FIGURE_FORM_NUMBER,
                                    .number = 1234.5});
    assert_true(figures_number(f, figure_id(FIGURE_OF_REUSE, FIGURE_BUSY)) == 1234.5);
    assert_int_equal(run_table_add(t, f, &e), 0);
    FILE *out = open_memstream(&csv, &len);
    long_csv_runs(out, t);
    fclose(out);
    assert_non_null(strstr(csv, ",reuse.busy_s,,,,,1234.5,s,\n"));
    report_json(j, f);
    assert_non_null(strstr(jsonout_text(j, true), "\"busy_s\": 1234.5"));
    free(csv);
    jsonout_free(j);
    run_table_free(t);
    figures_free(f);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_lead_back),
        cmocka_unit_test(other_names_stay),
        cmocka_unit_test(json_has_what_the_table_has),
        cmocka_unit_test(figures_are_found),
        cmocka_unit_test(an_added_figure_is_everywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
