/* kvstat's options: their table, and the checks of options against each other. Runs first;
 * everything after it gets plain values. */
#include "kvstat/options.h"

#include <errno.h>
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
#include "lib/conf/conf.h"
#include "lib/conf/texts.h"
#include "lib/opt/files.h"
#include "lib/opt/tables.h"
#include "lib/trace/gzip.h"

/* More threads than this would wait for the one that reads, and each costs memory. */
#define THREADS_AUTO_MAX 8

struct opt_parser *options_open(struct options *o)
{
    struct opt_parser *p = opt_open("kvstat", "[options] [FILE|FOLDER|- ...]", kvstat_options, o);

    opt_part(p, "spreadsheets (libxlsxwriter)", xlsx_is_built());
    opt_part(p, "input in gzip (zlib)", gzip_is_built());
    return p;
}

static int refuse(struct err *e, const char *option, const char *why)
{
    return err_set(e, -EINVAL, ERR_INPUT, option, "%s", why);
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
    if (files_is_dash(o->hgrm))
        return refuse(e, "--hgrm", "writes files into a folder, not to standard output");

    /* Standard output takes one of the report, a page, a fio job and benchmark results. */
    bool taken = !o->output || files_is_dash(o->output);
    if (files_is_dash(o->html) && taken)
        return refuse(e, "--html",
                      "would mix with the report on standard output: give --output too");
    taken |= files_is_dash(o->html);
    if (files_is_dash(o->fio_job) && taken)
        return refuse(e, "--fio-job",
                      "would mix with the report on standard output: give --output too");
    if (files_is_dash(o->mlperf) && (taken || files_is_dash(o->fio_job)))
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
    char *csv = o->xlsx && !xlsx_is_here() ? options_csv_path(o->xlsx) : NULL;
    bool found = csv && save_is_same(csv, path);

    for (size_t i = 0; i < sizeof(outputs) / sizeof(outputs[0]) && !found; i++)
        found = outputs[i] && save_is_same(outputs[i], path);
    free(csv);
    return found;
}

/* Before anything is read: no output destroys an input or another output, and all have a place. */
static int check_files(const struct options *o, const char *const *files, size_t n, struct err *e)
{
    char *csv = o->xlsx && !xlsx_is_here() ? options_csv_path(o->xlsx) : NULL;
    const struct file_use fixed[] = {
        {FILES_WRITTEN, "--output", o->output ? o->output : "-"},
        {FILES_WRITTEN, "--xlsx", csv ? csv : o->xlsx},
        {FILES_WRITTEN, "--plot", o->plot},
        {FILES_WRITTEN, "--html", o->html},
        {FILES_WRITTEN, "--fio-job", o->fio_job},
        {FILES_WRITTEN, "--mlperf", o->mlperf && run_folder_is_meant(o->mlperf) ? NULL : o->mlperf},
        {FILES_READ, "--reference", o->reference},
        {FILES_READ, "--run", o->run},
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
    size_t most = count + n + OPT_LIST_MAX;
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        most += lists[i].list->count;
    struct file_use *all = malloc(most * sizeof(*all));
    int rc = all ? 0 : err_nomem(e, "names of files");

    if (rc < 0)
        goto out;
    memcpy(all, fixed, sizeof(fixed));
    count += conf_files(all + count, &o->config);
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

/* Only one file can come from standard input, which is the input where none is named. */
static int check_standard_input(const struct options *o, const char *const *files, size_t n,
                                struct err *e)
{
    const char *const others[] = {o->run, o->reference, o->answer, o->measured_again};
    bool input = n == 0 && o->compare.count == 0 && !o->answer;

    for (size_t i = 0; i < n; i++)
        input |= files_is_dash(files[i]);
    for (size_t i = 0; i < o->compare.count; i++)
        input |= files_is_dash(o->compare.item[i]);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        input |= files_is_dash(others[i]);
    return input && conf_is_stdin(&o->config)
               ? refuse(e, "standard input", "only one of --config and the input can come from it")
               : 0;
}

/* --reuse reads its file twice. */
static int check_reuse(const char *const *files, size_t n, struct err *e)
{
    bool once = n == 0;

    for (size_t i = 0; i < n && !once; i++) {
        struct stat st;
        once = files_is_dash(files[i]) ||
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
    const char *const *files, *warning;
    int rc = opt_parse(p, argc, argv, e);

    if (rc != 0)
        return rc;
    size_t n = opt_operands(p, &files);
    rc = check_standard_input(o, files, n, e);
    if (rc == 0)
        rc = conf_read(&o->conf, &o->config, p, e);
    if (rc < 0)
        return rc;
    for (size_t i = 0; (warning = conf_warning(o->conf, i)) != NULL; i++)
        fprintf(stderr, "kvstat: %s\n", warning);
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
