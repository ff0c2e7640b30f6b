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

/* Every table on one run, 100 columns at most where names of users and groups have room in it.
 * verdict: NULL: not asked for. */
void report_text(FILE *out, const struct figures *f, const struct verdict *verdict);
/* The tables that options ask for: reuse distances, groups that are not by the default columns, the
 * time series. report_text has them too. */
void report_text_asked(FILE *out, const struct figures *f);
/* Adds the members of the report to the object that is open. */
void report_json(struct jsonout *j, const struct figures *f);

/* The sheets of a spreadsheet: summary, tiers, phases, groups; trials when asked for, and series
 * unless it is NULL. False: no memory. */
bool report_xlsx(struct xlsx *x, const struct run_table *t, const struct run_table *series,
                 bool trials);

#endif
