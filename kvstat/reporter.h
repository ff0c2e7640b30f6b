/* reporter.h - makes reports of files: the options of a run of kvstat, the outputs that its reports
 * go to, and the steps from a file to a report. */
#ifndef KVSTAT_REPORTER_H
#define KVSTAT_REPORTER_H

#include <stdbool.h>
#include <stddef.h>

#include "kvstat/count/scan.h"
#include "kvstat/mlperf/run_folder.h"
#include "kvstat/options.h"
#include "kvstat/output.h"
#include "kvstat/parts.h"
#include "kvstat/report/figures.h"
#include "kvstat/report/run_table.h"
#include "kvstat/report/verdict.h"
#include "lib/base/err.h"
#include "lib/json/jsonout.h"

/* Owned by main. */
struct reporter {
    struct options options;
    int argc; /* of the command line, for what tells how it was made */
    char *const *argv;
    struct scan_opts scan;
    struct figures_targets targets[TRACE_QOSES];
    struct verdict_limits limits;
    struct jsonout *json; /* one of these two is used */
    struct output *text;
    struct run_table *runs;    /* gathers the figures of each report; NULL: they are not needed */
    struct run_table *series;  /* gathers the intervals of the one report; NULL: not needed */
    struct run_folder *mlperf; /* of --mlperf FOLDER; NULL: not asked for */
    struct parts *ranks;       /* of --ranks; NULL: not asked for */
    bool several;              /* reports in one output */
    bool hidden;               /* reports are gathered only */
    int status;                /* exit status so far */
};

/* The exit status of a check that could not be decided. */
#define REPORTER_INCONCLUSIVE 4
/* Takes a verdict into the exit status: FAIL weighs more than INCONCLUSIVE, errors more than both.
 */
void reporter_judged(struct reporter *r, enum verdict_outcome outcome);
/* Prints the error and returns its exit status. */
int reporter_complain(const struct err *e);

/* Takes targets and limits from --config or the defaults; prints its warnings. */
void reporter_configure(struct reporter *r);

/* Makes a report of each file. The figures of a file that is the only one go to *only, the caller's
 * to free, unless only is NULL. A cut file is complained of and reported as far as it goes; that
 * and a verdict of FAIL stay in r->status. 0 or a negative errno with *e. */
int reporter_add(struct reporter *r, const char *const *files, size_t n, struct figures **only,
                 struct err *e);
/* Makes one report of all files together. The same codes. */
int reporter_add_pool(struct reporter *r, const char *const *files, size_t n, struct err *e);
/* Adds the figures of a file to runs, and reports nothing. A cut file is an error here. */
int reporter_gather(struct reporter *r, struct run_table *runs, const char *file, struct err *e);

#endif
