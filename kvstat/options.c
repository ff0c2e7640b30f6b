/* kvstat's options: the table that the parser, --help and the test of the man page read, and the
 * checks of what they mean together. */
#include "kvstat/options.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kvstat/count/groups.h"
#include "kvstat/report/plot.h"
#include "kvstat/report/xlsx.h"
#include "lib/base/save.h"
#include "lib/opt/opt_rows.h"

#define THREADS_MAX 256
/* More threads than this would wait for the one that reads, and each costs memory. */
#define THREADS_AUTO_MAX 8

#define FIELD(name) offsetof(struct options, name)

static const struct opt table[] = {
    {.type = OPT_HEADING, .help = "Report"},
    {.name = "json",
     .type = OPT_FLAG,
     .offset = FIELD(json),
     .help = "Print JSON with the same numbers instead of text."},
    {.name = "csv",
     .type = OPT_FLAG,
     .offset = FIELD(csv),
     .help = "Print CSV instead of text: a header with the names of the JSON, and a row a run."},
    {.name = "xlsx",
     .type = OPT_TEXT,
     .offset = FIELD(xlsx),
     .arg = "FILE",
     .flags = OPT_NO_EFFECT,
     .help = "Write a spreadsheet (.xlsx) with the numbers of the JSON too; a build without "
             "libxlsxwriter writes FILE as .csv and says so."},
    {.name = "interval",
     .type = OPT_DURATION,
     .offset = FIELD(interval_ns),
     .arg = "TIME",
     .def = "0",
     .help = "Add a time series with intervals of this length, as 1s or 100ms; 0: none. The CSV is "
             "then that series."},
    {.name = "reuse",
     .type = OPT_FLAG,
     .offset = FIELD(reuse),
     .help =
         "Add reuse distances: the bytes, objects and time between two uses of an object. Reads "
         "the file twice; memory grows with its keys."},
    {.name = "hgrm",
     .type = OPT_TEXT,
     .offset = FIELD(hgrm),
     .arg = "DIR",
     .flags = OPT_NO_EFFECT,
     .help = "Write each distribution of times to this folder as percentile text of HdrHistogram."},
    {.name = "plot",
     .type = OPT_TEXT,
     .offset = FIELD(plot),
     .arg = "FILE",
     .flags = OPT_NO_EFFECT,
     .help = "Draw latencies, throughput, contents of the tiers and hit rate to this .svg or .png, "
             "with gnuplot; also a curve of kvgen or the rounds of kvprecond (CSV)."},
    {.name = "fio-job",
     .type = OPT_TEXT,
     .offset = FIELD(fio_job),
     .arg = "FILE",
     .flags = OPT_NO_EFFECT,
     .help = "Distil the replay's storage tier into a job for fio: mix, sizes, depth, pauses."},
    {.name = "mlperf",
     .type = OPT_TEXT,
     .offset = FIELD(mlperf),
     .arg = "FILE",
     .flags = OPT_NO_EFFECT,
     .help = "Write the replay's figures as a results file of the MLPerf Storage KV-cache "
             "benchmark. Not an official result."},
    {.name = "by",
     .type = OPT_TEXT,
     .offset = FIELD(by_text),
     .arg = "LIST",
     .def = "tier,op,phase",
     .help = "Columns whose combinations make the groups: any of tier, op, phase, qos, class, "
             "user, status, separated by commas."},
    {.name = "output",
     .letter = 'o',
     .type = OPT_TEXT,
     .offset = FIELD(output),
     .arg = "FILE",
     .def = "-",
     .flags = OPT_NO_EFFECT,
     .help = "Write the report here; - is standard output. A file appears whole or not at all."},
    {.name = "merge",
     .type = OPT_FLAG,
     .offset = FIELD(merge),
     .help = "Pool all files into one report instead of taking them for trials."},
    {.name = "compare",
     .type = OPT_LIST,
     .offset = FIELD(compare),
     .arg = "BASE",
     .help = "Tell which figures of the files differ from this one's by more than the noise; "
             "repeated: from those of several trials."},
    {.name = "reference",
     .type = OPT_TEXT,
     .offset = FIELD(reference),
     .arg = "FILE",
     .help = "Say whether hit rate, read/write ratio, tokens a request and tokens a second are "
             "within 5 % of this trace's, result's or benchmark's (JSON)."},
    {.name = "profile",
     .type = OPT_ENUM,
     .offset = FIELD(profile),
     .arg = "NAME",
     .def = "none",
     .choices = "none|latency|throughput",
     .help = "Judge the run: PASS or FAIL by latencies and hit rate, or by bandwidth."},
    {.name = "check",
     .type = OPT_FLAG,
     .offset = FIELD(check),
     .help = "Exit with status 1 unless the verdict of --profile is PASS, the run valid, and "
             "--reference finds all that is known within 5 %."},
    {.name = "verify-trace",
     .type = OPT_FLAG,
     .offset = FIELD(verify_trace),
     .help =
         "Check traces instead of reporting: order of time, sizes, reads of what is not there or "
         "elsewhere, capacities. Exit status 1 when something is found."},
    {.type = OPT_HEADING, .help = "Input"},
    {.name = "run",
     .type = OPT_TEXT,
     .offset = FIELD(run),
     .arg = "FILE",
     .help =
         "Summary (JSON) of the kvreplay or kvgen that made the input, for files that carry none."},
    {.name = "warmup",
     .type = OPT_DURATION,
     .offset = FIELD(warmup_ns),
     .arg = "TIME",
     .def = "0",
     .help = "Leave out what started within that time of a replay; unless given, what its summary "
             "tells of kvreplay --warmup."},
    {.name = "config",
     .type = OPT_TEXT,
     .offset = FIELD(config),
     .arg = "FILE",
     .help = "Configuration in YAML; its qos_profiles give the targets of the QoS classes, its "
             "storage_health the limits of --profile latency."},
    {.name = "skip-bad-rows",
     .type = OPT_FLAG,
     .offset = FIELD(skip_bad_rows),
     .help = "Count bad rows and report them at the end instead of stopping at the first."},
    {.type = OPT_HEADING, .help = "Running"},
    {.name = "threads",
     .type = OPT_U64,
     .offset = FIELD(threads),
     .arg = "N",
     .def = "0",
     .max = THREADS_MAX,
     .flags = OPT_NO_EFFECT,
     .help = "Threads that read and count; 0: as many as processors, at most 8. The report is the "
             "same with any number."},
    OPT_ROW_PROGRESS(FIELD(progress)),
    {0},
};

struct opt_parser *options_open(struct options *o)
{
    return opt_open("kvstat", "[options] [FILE|FOLDER|- ...]", table, o);
}

static bool ends_with(const char *text, const char *end)
{
    size_t len = strlen(text), tail = strlen(end);
    return len > tail && strcmp(text + len - tail, end) == 0;
}

/* What means nothing together. */
/* The report, a job and results that share standard output are none of them of any use. */
static int check_standard_output(const struct options *o, struct err *e)
{
    const struct {
        const char *option, *file;
    } outputs[] = {{"--fio-job", o->fio_job}, {"--mlperf", o->mlperf}};
    bool taken = !o->output || strcmp(o->output, "-") == 0;
    for (size_t i = 0; i < sizeof(outputs) / sizeof(outputs[0]); i++) {
        if (!outputs[i].file || strcmp(outputs[i].file, "-") != 0)
            continue;
        if (taken)
            return err_set(e, -EINVAL, ERR_INPUT, outputs[i].option,
                           "would mix with the report on standard output: give --output too");
        taken = true;
    }
    return 0;
}

static int check_forms(const struct options *o, size_t files, struct err *e)
{
    if (o->json && o->csv)
        return err_set(e, -EINVAL, ERR_INPUT, "--csv", "is another form than --json: give one");
    if (o->csv && o->reference)
        return err_set(e, -EINVAL, ERR_INPUT, "--reference", "has no CSV: give --json or neither");
    if (o->xlsx && !ends_with(o->xlsx, ".xlsx"))
        return err_set(e, -EINVAL, ERR_INPUT, "--xlsx", "the file's name must end in .xlsx");
    if (o->reuse && o->merge)
        return err_set(e, -EINVAL, ERR_INPUT, "--reuse", "means nothing with --merge");
    if (o->interval_ns > 0 && files > 1)
        return err_set(e, -EINVAL, ERR_INPUT, "--interval", "is for one file, not %zu", files);
    if (o->plot && files > 1)
        return err_set(e, -EINVAL, ERR_INPUT, "--plot", "draws one file, not %zu", files);
    if (o->plot && !plot_is_drawable(o->plot))
        return err_set(e, -EINVAL, ERR_INPUT, "--plot", "the file's name must end in .svg or .png");
    if (o->fio_job && files > 1 && !o->merge)
        return err_set(e, -EINVAL, ERR_INPUT, "--fio-job",
                       "is made of one report: give one file, or --merge");
    if (o->mlperf && files > 1)
        return err_set(e, -EINVAL, ERR_INPUT, "--mlperf", "is of one run: give one file");
    if (o->hgrm && files > 1 && !o->merge)
        return err_set(e, -EINVAL, ERR_INPUT, "--hgrm",
                       "writes the distributions of one report: give one file, or --merge");
    /* Names of users are the trace's: they never become paths. */
    if (o->hgrm && o->by & GROUPS_USER)
        return err_set(e, -EINVAL, ERR_INPUT, "--hgrm", "writes no files by user");
    if (o->hgrm && strcmp(o->hgrm, "-") == 0)
        return err_set(e, -EINVAL, ERR_INPUT, "--hgrm",
                       "writes files into a folder, not to standard output");
    return check_standard_output(o, e);
}

/* ---- outputs that are inputs ---- */

char *options_csv_path(const char *xlsx)
{
    char *path = NULL;
    int len = (int)(strlen(xlsx) - strlen(".xlsx"));
    return asprintf(&path, "%.*s.csv", len, xlsx) < 0 ? NULL : path;
}

/* The option that writes to path; NULL: none. */
static const char *output_option(const struct options *o, const char *path)
{
    const struct {
        const char *option, *file;
    } outputs[] = {{"--output", o->output},
                   {"--xlsx", o->xlsx},
                   {"--plot", o->plot},
                   {"--fio-job", o->fio_job},
                   {"--mlperf", o->mlperf}};
    char *csv = o->xlsx && !xlsx_is_built() ? options_csv_path(o->xlsx) : NULL;
    const char *found = csv && save_is_same(csv, path) ? "--xlsx" : NULL;
    for (size_t i = 0; i < sizeof(outputs) / sizeof(outputs[0]) && !found; i++)
        if (outputs[i].file && save_is_same(outputs[i].file, path))
            found = outputs[i].option;
    free(csv);
    return found;
}

bool options_is_output(const struct options *o, const char *path)
{
    return output_option(o, path) != NULL;
}

static int refuse_output(const struct options *o, const char *input, struct err *e)
{
    const char *option = input ? output_option(o, input) : NULL;
    return option
               ? err_set(e, -EINVAL, ERR_INPUT, option, "would overwrite %s, which is read", input)
               : 0;
}

static int check_outputs(const struct options *o, const char *const *files, size_t n, struct err *e)
{
    const char *const others[] = {o->reference, o->run, o->config};
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = refuse_output(o, files[i], e);
    for (size_t i = 0; i < o->compare.count && rc == 0; i++)
        rc = refuse_output(o, o->compare.item[i], e);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]) && rc == 0; i++)
        rc = refuse_output(o, others[i], e);
    return rc;
}

static int check_reuse(const struct options *o, const char *const *files, size_t n, struct err *e)
{
    struct stat st;
    bool once = n == 0;
    for (size_t i = 0; i < n && !once; i++)
        once = strcmp(files[i], "-") == 0 ||
               (stat(files[i], &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode));
    return o->reuse && once ? err_set(e, -EINVAL, ERR_INPUT, "--reuse",
                                      "reads its file twice: give one, not a pipe")
                            : 0;
}

static int check_verify(const struct opt_parser *p, const struct options *o, struct err *e)
{
    if (!o->verify_trace)
        return 0;
    return opt_refuse(p, e, "means nothing with --verify-trace", "csv", "by", "interval", "hgrm",
                      "plot", "fio-job", "mlperf", "merge", "compare", "reference", "profile",
                      "check", "reuse", "xlsx", "config", "warmup", NULL);
}

static int check_compare(const struct opt_parser *p, const struct options *o, size_t files,
                         struct err *e)
{
    if (o->compare.count == 0)
        return 0;
    if (files == 0)
        return err_set(e, -EINVAL, ERR_INPUT, "--compare",
                       "needs a base and a new file: kvstat --compare BASE NEW");
    if (o->by & GROUPS_USER)
        return err_set(e, -EINVAL, ERR_INPUT, "--compare", "does not compare single users");
    return opt_refuse(p, e, "means nothing with --compare", "csv", "interval", "hgrm", "plot",
                      "fio-job", "mlperf", "merge", "reference", "xlsx", "reuse", "profile",
                      "check", "run", NULL);
}

static uint64_t threads_auto(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    if (n < 1)
        return 1;
    return n < THREADS_AUTO_MAX ? (uint64_t)n : THREADS_AUTO_MAX;
}

int options_parse(struct opt_parser *p, struct options *o, int argc, char **argv, struct err *e)
{
    const char *const *files;
    int rc = opt_parse(p, argc, argv, e);
    if (rc != 0)
        return rc;
    size_t n = opt_operands(p, &files);
    if (n == 0 && o->compare.count == 0 && isatty(STDIN_FILENO))
        return err_set(e, -EINVAL, ERR_INPUT, "",
                       "no input: name a trace or result file, or pipe one in");
    if (n > 1 && opt_given(p, "run"))
        return err_set(e, -EINVAL, ERR_INPUT, "--run", "describes one input, not %zu", n);
    if (o->check && !o->profile && !o->reference)
        return err_set(e, -EINVAL, ERR_INPUT, "--check",
                       "needs --profile or --reference, which give the verdict");
    if (o->threads == 0)
        o->threads = threads_auto();
    if (!opt_given(p, "warmup"))
        o->warmup_ns = -1;
    rc = groups_parse_by(o->by_text, &o->by, e);
    if (rc == 0)
        rc = check_compare(p, o, n, e);
    if (rc == 0)
        rc = check_verify(p, o, e);
    if (rc == 0)
        rc = check_reuse(o, files, n, e);
    if (rc == 0)
        rc = check_outputs(o, files, n, e);
    return rc < 0 ? rc : check_forms(o, n, e);
}
