/* report.h - the forms of a report, all made of the figures of figures.h. Nothing is computed or
 * read here. Errors of writing stay in the stream or document. */
#ifndef KVSTAT_REPORT_REPORT_H
#define KVSTAT_REPORT_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "kvstat/report/figures.h"
#include "lib/json/jsonout.h"

struct run_table;
struct verdict;
struct xlsx;

/* The report on one run, 110 columns at most. Groups that are not by the default columns get tables
 * of their own. verdict: NULL: not asked for. */
void report_text(FILE *out, const struct figures *f, const struct verdict *verdict);
/* Adds the members of the report to the object that is open. */
void report_json(struct jsonout *j, const struct figures *f);

/* The sheets of a spreadsheet: summary, tiers, phases, groups; trials when asked for, and series
 * unless it is NULL. False: no memory. */
bool report_xlsx(struct xlsx *x, const struct run_table *t, const struct run_table *series,
                 bool trials);

#endif
