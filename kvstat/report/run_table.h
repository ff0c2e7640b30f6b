/* run_table.h - the figures of several runs side by side: a column for each identity, a row for
 * each run. Also prints the table itself, as text and JSON. */
#ifndef KVSTAT_REPORT_RUN_TABLE_H
#define KVSTAT_REPORT_RUN_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "kvstat/count/statistics.h"
#include "kvstat/report/figures.h"
#include "lib/base/err.h"
#include "lib/json/jsonout.h"

struct run_table;
struct run_table *run_table_create(void); /* NULL: no memory */
void run_table_free(struct run_table *t);

/* ---- filling it ---- */

/* Adds a run, and all that f points at is copied. 0; -EINVAL: it is a trace and the others are
 * results, or the reverse; -ENOMEM. */
int run_table_add(struct run_table *t, const struct figures *f, struct err *e);
/* Adds each interval of the time series, which f has, as a run. 0 or -ENOMEM. */
int run_table_add_series(struct run_table *t, const struct figures *f, struct err *e);

/* A figure of the run that is being added (a figure_fn), and the end of that run; what is put
 * before run_table_add belongs to the same run. The first of two values for one figure counts. 0 or
 * -ENOMEM. */
int run_table_put(void *table, const struct figure *f);
int run_table_end(void *table);
/* Makes this figure the next column. 0 or -ENOMEM. */
int run_table_reserve(struct run_table *t, struct figure_id id);
/* Traces and results may stand side by side from here on: the runs are not trials. */
void run_table_allow_mixed(struct run_table *t);

/* The name of a run in a table of several kinds of runs. */
static inline struct figure_id run_table_name(void)
{
    return figure_id(FIGURE_OF_PROVENANCE, FIGURE_ITSELF);
}

/* ---- reading it ---- */

/* The last run added is a replay; else a trace. */
bool run_table_is_result(const struct run_table *t);
size_t run_table_runs(const struct run_table *t);
size_t run_table_columns(const struct run_table *t);
/* The identity of a column; columns are in the order in which figures first came. Lent. */
const struct figure_id *run_table_id(const struct run_table *t, size_t column);
/* The column of a figure, or run_table_columns when no run has it. */
size_t run_table_find(const struct run_table *t, struct figure_id id);

/* A cell: FIGURE_FORM_UNKNOWN when the run lacks the figure. Lists have become a text. */
struct figure run_table_cell(const struct run_table *t, size_t run, size_t column);
/* Whether the run has the figure, known or unknown. */
bool run_table_has(const struct run_table *t, size_t run, size_t column);
/* Its value by identity; unknown: NAN, "" or false. */
double run_table_number(const struct run_table *t, size_t run, struct figure_id id);
const char *run_table_text(const struct run_table *t, size_t run, struct figure_id id);
bool run_table_is(const struct run_table *t, size_t run, struct figure_id id);
bool run_table_is_not(const struct run_table *t, size_t run, struct figure_id id);
/* The name of a run in the table, or its files. */
const char *run_table_label(const struct run_table *t, size_t run);

/* The values of a column in the runs that have it as a number. */
struct statistics_sample run_table_sample(const struct run_table *t, size_t column);

/* ---- printing it ---- */

/* Text: a line a run, with the figures that are looked at first. */
void run_table_report_text(FILE *out, const struct run_table *t);
/* JSON: the member runs, with all figures of each under their flat names. */
void run_table_report_json(struct jsonout *j, const struct run_table *t);

#endif
