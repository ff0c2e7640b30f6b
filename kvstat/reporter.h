/* answer.h - what a run of kvstat was asked for and what its reports go to; a file becomes a
 * report here. */
#ifndef KVSTAT_REPORTER_H
#define KVSTAT_REPORTER_H

#include <stdbool.h>
#include <stddef.h>

#include "kvstat/count/scan.h"
#include "kvstat/options.h"
#include "kvstat/output.h"
#include "kvstat/report/figures.h"
#include "kvstat/report/run_table.h"
#include "kvstat/report/verdict.h"
#include "lib/base/err.h"
#include "lib/json/jsonout.h"

/* Owned by main. */
struct answer {
    struct options options;
    struct scan_opts scan;
    struct figures_targets targets[TRACE_QOSES];
    struct assess_limits limits;
    struct jsonout *json; /* one of these two is used */
    struct output *text;
    struct runs *runs;   /* what reports are gathered in: for CSV, trials, comparisons, tables */
    struct runs *series; /* the intervals of one report, for CSV */
    bool several;        /* reports in one output */
    bool hidden;         /* reports are gathered only */
    int status;          /* exit status so far */
};

/* Prints the error, once; the exit status that it has. */
int answer_complain(const struct err *e);

/* Targets and limits from --config or the defaults; warnings of it are printed. 0 or negative errno
 * with *e. */
int answer_configure(struct answer *a, struct err *e);

/* A report of each file. The scan of a file that is the only one goes to *only, the caller's to
 * free, unless only is NULL. A cut file is complained of and reported as far as it goes; that and a
 * verdict of FAIL stay in a->status. */
int answer_add(struct answer *a, const char *const *files, size_t n, struct scan **only,
               struct err *e);
/* One report of all files together. */
int answer_add_pool(struct answer *a, const char *const *files, size_t n, struct err *e);
/* Of several reports with --profile: the last line of the text, which runs pass. */
void answer_verdict(const struct answer *a);

#endif
