/* kvstat's options: their table, and the checks of options against each other. Runs first;
 * everything after it gets plain values. */
#include "kvstat/options.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kvstat/count/groups.h"
#include "kvstat/draw/gnuplot.h"
#include "kvstat/draw/plot.h"
#include "kvstat/mlperf/run_folder.h"
#include "kvstat/report/xlsx.h"
#include "lib/base/save.h"
#include "lib/opt/files.h"
#include "lib/opt/rows.h"
#include "lib/trace/gzip.h"

#define THREADS_MAX 256
/* More threads than this would wait for the one that reads, and each costs memory. */
#define THREADS_AUTO_MAX 8

#define AT(field) offsetof(struct options, field)

static const struct opt table[] = {
    {.type = OPT_HEADING, .help = "Report"},
    {.name = "full",
     .type = OPT_FLAG,
     .offset = AT(full),
     .marks = OPTIONS_NOT_ANSWER | OPTIONS_NOT_VERIFY | OPTIONS_NOT_DRAWING | OPTIONS_NOT_TABLE,
     .help = "Print every table instead of the one screen that matters most."},
    {.name = "json",
     .type = OPT_FLAG,
     .offset = AT(json),
     .flags = OPT_COMMON,
     .marks = OPTIONS_NOT_DRAWING,
     .help = "Print JSON with the same numbers instead of text."},
    {.name = "csv",
     .type = OPT_FLAG,
     .offset = AT(csv),
     .flags = OPT_COMMON,
     .marks = OPTIONS_NOT_ANSWER | OPTIONS_NOT_DRAWING | OPTIONS_NO_CSV,
     .help = "Print CSV instead of text: one row for each figure, with its run, tier, operation, "
             "value and unit."},
    {.name = "xlsx",
     .type = OPT_TEXT,
     .offset = AT(xlsx),
     .arg = "FILE",
     .flags = OPT_NO_EFFECT | OPT_COMMON,
     .marks = OPTIONS_NOT_ANSWER | OPTIONS_NOT_VERIFY | OPTIONS_NOT_COMPARE | OPTIONS_NOT_DRAWING,
     .help = "Also write a spreadsheet (.xlsx). A build without libxlsxwriter writes FILE as "
             ".csv and says so."},
    {.name = "interval",
     .type = OPT_DURATION,
     .offset = AT(interval_ns),
     .flags = OPT_COMMON,
     .arg = "TIME",
     .def = "0",
     .marks = OPTIONS_NOT_ANSWER | OPTIONS_NOT_VERIFY | OPTIONS_NOT_COMPARE | OPTIONS_NOT_DRAWING |
              OPTIONS_NOT_TABLE,
     .help = "Add a time series with intervals of this length, such as 1s or 100ms; 0: none."},
    {.name = "reuse",
     .type = OPT_FLAG,
     .offset = AT(reuse),
     .marks = OPTIONS_NOT_ANSWER | OPTIONS_NOT_VERIFY | OPTIONS_NOT_COMPARE | OPTIONS_NOT_DRAWING,
     .help = "Add reuse distances: bytes, objects and time between two uses of an object. "
             "Reads the file twice; memory grows with the number of keys."},
    {.name = "hgrm",
     .type = OPT_TEXT,
     .offset = AT(hgrm),
     .arg = "DIR",
     .flags = OPT_NO_EFFECT,
     .marks = OPTIONS_NOT_ANSWER | OPTIONS_NOT_VERIFY | OPTIONS_NOT_COMPARE | OPTIONS_NOT_DRAWING |
              OPTIONS_NOT_TABLE,
     .help = "Write each distribution of times into this folder, as percentile text of "
             "HdrHistogram."},
    {.name = "plot",
     .type = OPT_TEXT,
     .offset = AT(plot),
     .arg = "FILE",
     .flags = OPT_NO_EFFECT | OPT_COMMON,
     .marks = OPTIONS_NOT_ANSWER | OPTIONS_NOT_VERIFY | OPTIONS_NOT_TABLE,
     .help = "Draw the run as .svg or .png, with gnuplot. Latencies, throughput, contents of "
             "the tiers and hit rate; with --compare both runs in one picture; also a curve of "
             "kvgen or the rounds of kvprecond (CSV)."},
    {.name = "html",
     .type = OPT_TEXT,
     .offset = AT(html),
     .arg = "FILE",
     .flags = OPT_NO_EFFECT | OPT_COMMON,
     .marks = OPTIONS_NOT_VERIFY | OPTIONS_NOT_DRAWING | OPTIONS_NOT_TABLE,
     .help = "Write the report, the comparison, or the answer as one HTML page that needs no other "
             "file: "
             "tables, pictures (with gnuplot), and how it was run."},
    {.name = "fio-job",
     .type = OPT_TEXT,
     .offset = AT(fio_job),
     .arg = "FILE",
     .flags = OPT_NO_EFFECT | OPT_COMMON,
     .marks = OPTIONS_NOT_ANSWER | OPTIONS_NOT_VERIFY | OPTIONS_NOT_COMPARE | OPTIONS_NOT_DRAWING |
              OPTIONS_NOT_TABLE,
     .help = "Write a fio job like the replay's storage tier: its mix, sizes, depth and "
             "pauses."},
    {.name = "mlperf",
     .type = OPT_TEXT,
     .offset = AT(mlperf),
     .arg = "FILE|DIR/",
     .flags = OPT_NO_EFFECT | OPT_COMMON,
     .marks = OPTIONS_NOT_ANSWER | OPTIONS_NOT_VERIFY | OPTIONS_NOT_COMPARE | OPTIONS_NOT_DRAWING |
              OPTIONS_NOT_TABLE,
     .help = "Write a results file of the MLPerf Storage KV-cache benchmark, or of several inputs "
             "the folder of a run. Not an official result."},
    {.name = "by",
     .type = OPT_TEXT,
     .offset = AT(by_text),
     .flags = OPT_COMMON,
     .arg = "LIST",
     .def = "tier,op,phase",
     .marks = OPTIONS_NOT_ANSWER | OPTIONS_NOT_VERIFY | OPTIONS_NOT_DRAWING,
     .help = "Columns that make the groups. Any of tier, op, phase, qos, class, user, "
             "status, endpoint, thread, engine, separated by commas."},
    {.name = "max-groups",
     .type = OPT_U64,
     .offset = AT(max_groups),
     .flags = OPT_EXPERT,
     .arg = "N",
     .def = "10000",
     .min = 1,
     .max = 1e9,
     .marks = OPTIONS_NOT_ANSWER | OPTIONS_NOT_VERIFY | OPTIONS_NOT_DRAWING,
     .help =
         "With --by user, endpoint, thread or engine: most groups, about 25 KB each. More end the "
         "run with an error."},
    {.name = "output",
     .letter = 'o',
     .type = OPT_TEXT,
     .offset = AT(output),
     .arg = "FILE",
     .def = "-",
     .flags = OPT_NO_EFFECT | OPT_COMMON,
     .marks = OPTIONS_NOT_DRAWING,
     .help = "Write the report here; - is standard output. A file appears whole or not at all."},
    {.name = "merge",
     .type = OPT_FLAG,
     .offset = AT(merge),
     .flags = OPT_COMMON,
     .marks = OPTIONS_NOT_ANSWER | OPTIONS_NOT_VERIFY | OPTIONS_NOT_COMPARE | OPTIONS_NOT_DRAWING |
              OPTIONS_NOT_TABLE,
     .help = "Report on all files as one run instead of as trials."},
    {.name = "ranks",
     .type = OPT_FLAG,
     .offset = AT(ranks),
     .marks = OPTIONS_NOT_ANSWER | OPTIONS_NOT_VERIFY | OPTIONS_NOT_COMPARE | OPTIONS_NOT_DRAWING,
     .help = "Report on all files, or all results in a folder, as the parts of one run (kvreplay "
             "--part). Figures are those of all rows together; --full lists the parts."},
    {.name = "compare",
     .type = OPT_LIST,
     .offset = AT(compare),
     .flags = OPT_COMMON,
     .arg = "BASE",
     .marks = OPTIONS_NOT_ANSWER | OPTIONS_NOT_VERIFY,
     .help = "Show which figures differ from this run by more than the noise. Repeated: from "
             "several trials of it."},
    {.name = "min-change",
     .type = OPT_SHARE,
     .offset = AT(min_change),
     .arg = "SHARE",
     .def = "0.01",
     .max = 1,
     .marks = OPTIONS_NOT_ANSWER | OPTIONS_NOT_VERIFY | OPTIONS_COMPARE_ONLY,
     .help = "With --compare, the smallest change that counts as one; smaller ones are noise, "
             "however sure they are."},
    {.name = "reference",
     .type = OPT_TEXT,
     .offset = AT(reference),
     .flags = OPT_COMMON,
     .arg = "FILE",
     .marks = OPTIONS_NOT_ANSWER | OPTIONS_NOT_VERIFY | OPTIONS_NOT_COMPARE | OPTIONS_NOT_DRAWING,
     .help = "Check that hit rate, read/write ratio and tokens are within 5 % of another "
             "run's. FILE is a trace, a result or a benchmark's results (JSON)."},
    {.name = "profile",
     .type = OPT_ENUM,
     .offset = AT(asked.profile),
     .flags = OPT_COMMON,
     .def = "none",
     .choices = "none|latency|throughput|mlperf",
     .marks = OPTIONS_NOT_ANSWER | OPTIONS_NOT_VERIFY | OPTIONS_NOT_COMPARE | OPTIONS_NOT_DRAWING,
     .help = "Judge the run (PASS, FAIL, INCONCLUSIVE). latency: P95s within their limits; "
             "throughput: storage moved data and the queue did not grow, at any speed; mlperf: as "
             "the MLPerf benchmark does."},
    {.name = "slo",
     .type = OPT_FLAG,
     .offset = AT(asked.slo),
     .marks = OPTIONS_NOT_ANSWER | OPTIONS_NOT_VERIFY | OPTIONS_NOT_COMPARE | OPTIONS_NOT_DRAWING,
     .help = "Judge the targets of the QoS classes too, P95 to P99.99: end to end, or, where "
             "generation took time, what storage decides of the time to the first token."},
    {.name = "check",
     .type = OPT_FLAG,
     .offset = AT(check),
     .flags = OPT_COMMON,
     .marks = OPTIONS_NOT_ANSWER | OPTIONS_NOT_VERIFY | OPTIONS_NOT_DRAWING,
     .help = "Exit with status 1 if the verdict is bad, 4 if nothing is decided. Bad: "
             "--profile or --slo says FAIL, --compare finds a figure worse, or --reference one "
             "not within 5 %."},
    {.name = "verify-trace",
     .type = OPT_FLAG,
     .offset = AT(verify_trace),
     .flags = OPT_COMMON,
     .marks = OPTIONS_NOT_ANSWER | OPTIONS_NOT_BLKTRACE,
     .help = "Check traces for errors instead of reporting. Order of time, sizes, reads of "
             "objects that are not there or elsewhere, capacities. Exit status 1 if there "
             "are any."},
    {.name = "blktrace",
     .type = OPT_FLAG,
     .offset = AT(blktrace),
     .marks = OPTIONS_NOT_ANSWER | OPTIONS_NOT_KNEE,
     .help =
         "The files are what blktrace recorded (blkparse -d, or the latencies of btt -q or -z): "
         "report the drive's own times."},
    {.name = "knee",
     .type = OPT_FLAG,
     .offset = AT(knee),
     .marks = OPTIONS_NOT_ANSWER,
     .help = "The file has the rounds of kvtrace knee (OUT/rounds.csv): show its steps with their "
             "intervals, the knee and the cliff."},
    {.type = OPT_HEADING, .help = "Answer"},
    {.name = "answer",
     .type = OPT_TEXT,
     .offset = AT(answer),
     .flags = OPT_COMMON,
     .arg = "FILE",
     .help = "Show what a drive gives, from the JSON of kvgen --answer. Exit status 1 if the "
             "verdict is FAIL, 4 if it is INCONCLUSIVE."},
    {.name = "view",
     .type = OPT_ENUM,
     .offset = AT(view),
     .def = "drive",
     .choices = "drive|users|fast-enough|worth|compare",
     .marks = OPTIONS_ANSWER_ONLY,
     .help = "What comes first. drive: what the drive gives; users: with the numbers that were "
             "tried; fast-enough: the verdict on the number asked; worth: the gain beside no "
             "drive; compare: two answers beside each other."},
    {.name = "confirm",
     .type = OPT_LIST,
     .offset = AT(confirm),
     .arg = "RESULT",
     .marks = OPTIONS_ANSWER_ONLY,
     .help = "Result of the answer's window on the drive, compared with that of "
             "--confirm-model. With --view compare: once for each answer, in their order; none "
             "for one that was not run."},
    {.name = "confirm-model",
     .type = OPT_LIST,
     .offset = AT(confirm_model),
     .arg = "RESULT",
     .marks = OPTIONS_ANSWER_ONLY,
     .help = "Result of the same window on the drive's model (kvreplay --tier-engine "
             "2=sim:model=FILE); none where --confirm has none."},
    {.name = "measured-again",
     .type = OPT_TEXT,
     .offset = AT(measured_again),
     .arg = "FILE",
     .marks = OPTIONS_ANSWER_ONLY,
     .help = "A measurement of the drive (kvtrace model) from after the run of --confirm: tells "
             "whether a drive that differs from its model has changed."},
    {.type = OPT_HEADING, .help = "Input"},
    {.name = "run",
     .type = OPT_TEXT,
     .offset = AT(run),
     .flags = OPT_COMMON,
     .arg = "FILE",
     .marks = OPTIONS_NOT_ANSWER | OPTIONS_NOT_COMPARE | OPTIONS_NOT_DRAWING | OPTIONS_NOT_TABLE |
              OPTIONS_NOT_BLKTRACE,
     .help = "Summary (JSON) of the kvreplay or kvgen run that made the input, if the file "
             "has none."},
    {.name = "warmup",
     .type = OPT_DURATION,
     .offset = AT(warmup_ns),
     .flags = OPT_COMMON,
     .arg = "TIME",
     .def = "0",
     .marks = OPTIONS_NOT_ANSWER | OPTIONS_NOT_VERIFY | OPTIONS_NOT_DRAWING,
     .help = "Leave out rows that started in the first TIME of a replay. Default: the time of its "
             "kvreplay --warmup."},
    {.name = "config",
     .type = OPT_TEXT,
     .offset = AT(config),
     .flags = OPT_COMMON,
     .arg = "FILE",
     .marks = OPTIONS_NOT_ANSWER | OPTIONS_NOT_VERIFY | OPTIONS_NOT_DRAWING,
     .help = "YAML configuration: targets of the QoS classes (qos_profiles), limits of "
             "--profile latency (storage_health)."},
    {.name = "skip-bad-rows",
     .type = OPT_FLAG,
     .offset = AT(skip_bad_rows),
     .marks = OPTIONS_NOT_ANSWER | OPTIONS_NOT_DRAWING | OPTIONS_NOT_BLKTRACE,
     .help = "Skip and count bad rows instead of ending at the first."},
    {.type = OPT_HEADING, .help = "Running"},
    {.name = "threads",
     .type = OPT_U64,
     .offset = AT(threads),
     .arg = "N",
     .def = "0",
     .max = THREADS_MAX,
     .flags = OPT_NO_EFFECT | OPT_EXPERT,
     .help = "Threads that read and count; 0: one per processor, at most 8. The report does "
             "not depend on it."},
    OPT_ROW_PROGRESS(AT(progress), 0),
    {.type = OPT_EXAMPLE, .help = "kvstat result.csv.zst"},
    {.type = OPT_EXAMPLE, .help = "kvstat --profile latency --check result.csv.zst"},
    {.type = OPT_EXAMPLE, .help = "kvstat --answer answer.json --view users"},
    {.type = OPT_EXAMPLE, .help = "kvstat --compare before.csv.zst after.csv.zst"},
    {0},
};

struct opt_parser *options_open(struct options *o)
{
    struct opt_parser *p = opt_open("kvstat", "[options] [FILE|FOLDER|- ...]", table, o);

    opt_part(p, "spreadsheets (libxlsxwriter)", xlsx_is_built());
    opt_part(p, "input in gzip (zlib)", gzip_is_built());
    return p;
}

static int refuse(struct err *e, const char *option, const char *why)
{
    return err_set(e, -EINVAL, ERR_INPUT, option, "%s", why);
}

static bool is_dash(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

/* Forms of the report, and outputs that are made of one report or one file. */
static int check_forms(const struct options *o, size_t files, struct err *e)
{
    size_t xlsx_len = o->xlsx ? strlen(o->xlsx) : 0;

    if (o->json && o->csv)
        return refuse(e, "--csv", "does not apply with --json: choose one");
    if (o->full && (o->json || o->csv))
        return refuse(e, "--full", "does not apply with --json or --csv, which have all figures");
    if (o->csv && o->reference)
        return refuse(e, "--reference", "does not apply with --csv");
    if (o->xlsx && (xlsx_len <= 5 || strcmp(o->xlsx + xlsx_len - 5, ".xlsx") != 0))
        return refuse(e, "--xlsx", "the file's name must end in .xlsx");
    if (o->reuse && (o->merge || o->ranks))
        return refuse(e, "--reuse", "does not apply with --merge or --ranks");
    if (o->ranks && o->merge)
        return refuse(e, "--ranks", "does not apply with --merge: choose one");
    if (o->ranks && (o->reference || o->run))
        return refuse(e, o->run ? "--run" : "--reference", "does not apply with --ranks");
    if (o->interval_ns > 0 && files > 1 && !o->ranks)
        return err_set(e, -EINVAL, ERR_INPUT, "--interval", "takes one file, not %zu", files);
    if (o->plot && files > 1 && !o->ranks)
        return err_set(e, -EINVAL, ERR_INPUT, "--plot", "takes one file, not %zu", files);
    if (o->plot && o->compare.count > 1)
        return refuse(e, "--plot", "takes one run on each side: give one --compare");
    if (o->plot && !plot_is_drawable(o->plot))
        return refuse(e, "--plot", "the file's name must end in .svg or .png");
    if (o->html && files > 1 && !o->merge && !o->ranks && o->compare.count == 0)
        return refuse(e, "--html",
                      "shows one report: give one file, --merge, --ranks or --compare");
    bool pooled = o->merge || o->ranks;
    if (o->fio_job && files > 1 && !pooled)
        return refuse(e, "--fio-job", "takes one file, or several with --merge or --ranks");
    bool folder = o->mlperf && run_folder_is_meant(o->mlperf);
    if (o->mlperf && files > 1 && !folder)
        return refuse(e, "--mlperf", "a file takes one input; name a folder (DIR/) for several");
    if (folder && pooled)
        return refuse(e, "--mlperf",
                      "a folder has a file for each input; leave out --merge and --ranks");
    if (o->hgrm && files > 1 && !pooled)
        return refuse(e, "--hgrm", "takes one file, or several with --merge or --ranks");
    /* Names of users come from the trace: they never become paths. */
    if (o->hgrm && o->by & GROUPS_TEXT)
        return refuse(e, "--hgrm", "does not apply with --by user, endpoint, thread or engine");
    if (is_dash(o->hgrm))
        return refuse(e, "--hgrm", "writes files into a folder, not to standard output");

    /* Standard output takes one of the report, a page, a fio job and benchmark results. */
    bool taken = !o->output || is_dash(o->output);
    if (is_dash(o->html) && taken)
        return refuse(e, "--html",
                      "would mix with the report on standard output: give --output too");
    taken |= is_dash(o->html);
    if (is_dash(o->fio_job) && taken)
        return refuse(e, "--fio-job",
                      "would mix with the report on standard output: give --output too");
    if (is_dash(o->mlperf) && (taken || is_dash(o->fio_job)))
        return refuse(e, "--mlperf",
                      "would mix with the report on standard output: give --output too");
    return 0;
}

/* ---- outputs that are inputs ---- */

char *options_csv_path(const char *xlsx)
{
    char *path = NULL;
    int len = (int)(strlen(xlsx) - strlen(".xlsx"));

    return asprintf(&path, "%.*s.csv", len, xlsx) < 0 ? NULL : path;
}

bool options_is_output(const struct options *o, const char *path)
{
    const char *const outputs[] = {o->output, o->xlsx, o->plot, o->html, o->fio_job, o->mlperf};
    char *csv = o->xlsx && !xlsx_is_built() ? options_csv_path(o->xlsx) : NULL;
    bool found = csv && save_is_same(csv, path);

    for (size_t i = 0; i < sizeof(outputs) / sizeof(outputs[0]) && !found; i++)
        found = outputs[i] && save_is_same(outputs[i], path);
    free(csv);
    return found;
}

/* Before anything is read: no output destroys an input or another output, and all have a place. */
static int check_files(const struct options *o, const char *const *files, size_t n, struct err *e)
{
    char *csv = o->xlsx && !xlsx_is_built() ? options_csv_path(o->xlsx) : NULL;
    const struct file_use fixed[] = {
        {FILES_WRITTEN, "--output", o->output ? o->output : "-"},
        {FILES_WRITTEN, "--xlsx", csv ? csv : o->xlsx},
        {FILES_WRITTEN, "--plot", o->plot},
        {FILES_WRITTEN, "--html", o->html},
        {FILES_WRITTEN, "--fio-job", o->fio_job},
        {FILES_WRITTEN, "--mlperf", o->mlperf && run_folder_is_meant(o->mlperf) ? NULL : o->mlperf},
        {FILES_READ, "--reference", o->reference},
        {FILES_READ, "--run", o->run},
        {FILES_READ, "--config", o->config},
        {FILES_READ, "--answer", o->answer},
        {FILES_READ, "--measured-again", o->measured_again},
    };
    size_t count = sizeof(fixed) / sizeof(fixed[0]);
    const struct {
        const char *option;
        const struct opt_list *list;
    } lists[] = {{"--compare", &o->compare},
                 {"--confirm", &o->confirm},
                 {"--confirm-model", &o->confirm_model}};
    size_t most = count + n;
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        most += lists[i].list->count;
    struct file_use *all = malloc(most * sizeof(*all));
    int rc = all ? 0 : err_nomem(e, "names of files");

    if (rc < 0)
        goto out;
    memcpy(all, fixed, sizeof(fixed));
    for (size_t i = 0; i < n; i++)
        all[count++] = (struct file_use){FILES_READ, "the input", files[i]};
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        for (size_t k = 0; k < lists[i].list->count; k++)
            all[count++] = (struct file_use){FILES_READ, lists[i].option, lists[i].list->item[k]};
    rc = files_check(all, count, e);
out:
    free(all);
    free(csv);
    return rc;
}

/* ---- all together ---- */

bool options_confirms(const struct options *o, size_t i)
{
    return i < o->confirm.count && strcmp(o->confirm.item[i], "none") != 0;
}

/* --reuse reads its file twice. */
static int check_reuse(const char *const *files, size_t n, struct err *e)
{
    bool once = n == 0;

    for (size_t i = 0; i < n && !once; i++) {
        struct stat st;
        once = is_dash(files[i]) ||
               (stat(files[i], &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode));
    }
    return once ? refuse(e, "--reuse", "reads its file twice, so it cannot be a pipe") : 0;
}

/* --answer takes its own inputs. n: operands. */
static int check_answer(const struct options *o, size_t n, struct err *e)
{
    const size_t answers = o->view == VIEW_COMPARE ? 2 : 1;

    if (n + 1 != answers)
        return answers == 2
                   ? refuse(e, "--view",
                            "compare takes two answers: kvstat --answer A --view compare B")
                   : refuse(e, "--answer", "takes one file; a second needs --view compare");
    if (o->html && answers > 1)
        return refuse(e, "--html", "shows one answer; --view compare has two");
    if (o->measured_again && (answers > 1 || !options_confirms(o, 0)))
        return refuse(e, "--measured-again", "belongs to one answer, with --confirm");
    if (o->confirm.count != o->confirm_model.count)
        return refuse(e, "--confirm",
                      "and --confirm-model go together: a result on the drive, and one on its "
                      "model");
    for (size_t i = 0; i < o->confirm.count; i++)
        if (options_confirms(o, i) != (strcmp(o->confirm_model.item[i], "none") != 0))
            return refuse(e, "--confirm",
                          "none goes with --confirm-model none: what did not run on the drive is "
                          "compared with nothing");
    if (o->confirm.count > answers)
        return err_set(e, -EINVAL, ERR_INPUT, "--confirm", "is given %zu times for %zu answer%s",
                       o->confirm.count, answers, answers == 1 ? "" : "s");
    if (o->confirm.count > 0 && o->confirm.count < answers)
        return refuse(e, "--confirm", "must be given for both answers, or for none");
    return 0;
}

int options_parse(struct opt_parser *p, struct options *o, int argc, char **argv, struct err *e)
{
    const char *const *files;
    int rc = opt_parse(p, argc, argv, e);

    if (rc != 0)
        return rc;
    size_t n = opt_operands(p, &files);
    bool compares = o->compare.count > 0;
    if (n == 0 && !compares && !o->answer && isatty(STDIN_FILENO))
        return refuse(e, "", "no input: name a trace or result file, or pipe one in");
    if (n > 1 && opt_given(p, "run"))
        return err_set(e, -EINVAL, ERR_INPUT, "--run", "takes one file, not %zu", n);
    if (o->check && !verdict_is_asked(o->asked) && !o->reference && !compares && !o->answer)
        return refuse(e, "--check",
                      "needs --profile, --slo, --compare or --reference, which give the verdict");
    if (o->threads == 0) {
        long cpus = sysconf(_SC_NPROCESSORS_ONLN);
        o->threads = cpus < 1 ? 1 : cpus < THREADS_AUTO_MAX ? (uint64_t)cpus : THREADS_AUTO_MAX;
    }
    if (!opt_given(p, "warmup"))
        o->warmup_ns = -1;
    rc = groups_parse_by(o->by_text, &o->by, e);
    if (rc < 0)
        return rc;
    if (compares && n == 0)
        return refuse(e, "--compare", "needs a base and a new file: kvstat --compare BASE NEW");
    if (compares && o->by & GROUPS_TEXT)
        return refuse(e, "--compare", "does not apply with --by user, endpoint, thread or engine");

    const struct opt_mode modes[] = {
        {.on = compares, .refuses = OPTIONS_NOT_COMPARE, .why = "does not apply with --compare"},
        {.on = !compares, .refuses = OPTIONS_COMPARE_ONLY, .why = "needs --compare"},
        {.on = o->answer != NULL,
         .refuses = OPTIONS_NOT_ANSWER,
         .why = "does not apply with --answer"},
        {.on = o->answer == NULL, .refuses = OPTIONS_ANSWER_ONLY, .why = "needs --answer"},
        {.on = o->verify_trace,
         .refuses = OPTIONS_NOT_VERIFY | OPTIONS_NO_CSV,
         .why = "does not apply with --verify-trace"},
        {.on = o->blktrace,
         .refuses = OPTIONS_NOT_VERIFY | OPTIONS_NOT_BLKTRACE | OPTIONS_NO_CSV,
         .why = "does not apply with --blktrace"},
        {.on = o->knee,
         .refuses = OPTIONS_NOT_VERIFY | OPTIONS_NOT_BLKTRACE | OPTIONS_NOT_KNEE,
         .why = "does not apply with --knee"},
    };
    rc = opt_check_modes(p, modes, sizeof(modes) / sizeof(modes[0]), e);
    if (rc == 0 && o->answer)
        rc = check_answer(o, n, e);
    if (rc == 0 && o->reuse)
        rc = check_reuse(files, n, e);
    if (rc == 0)
        rc = check_forms(o, n, e);
    if (rc == 0)
        rc = check_files(o, files, n, e);
    return rc == 0 && o->plot ? gnuplot_find(e) : rc;
}
