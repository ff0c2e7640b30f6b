/* run_tables.h - tables of runs: folders, files of rows and JSON documents side by side, and runs
 * held against a reference. */
#ifndef KVSTAT_RUN_TABLES_H
#define KVSTAT_RUN_TABLES_H

#include "kvstat/inputs.h"
#include "kvstat/reporter.h"
#include "lib/base/err.h"
#include "lib/opt/opt.h"

/* Gathers a row of figures for each run of the inputs in a->runs and reports the table. What is no
 * run in a folder is left out with a remark. 0, -ENOENT (no run at all) or another negative errno
 * with *e. */
int run_tables_report(struct answer *a, const struct opt_parser *p, const struct inputs *in,
                      struct err *e);

/* Holds a->runs against the runs of options.reference and reports it. The same codes. */
int run_tables_compare(struct answer *a, struct err *e);

#endif
