/* runs.h - the figures of several runs side by side, by the names that they have in the JSON. */
#ifndef KVSTAT_REPORT_RUN_TABLE_H
#define KVSTAT_REPORT_RUN_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "kvstat/report/figures.h"
#include "kvstat/report/json_leaves.h"
#include "kvstat/report/statistics.h"
#include "lib/base/err.h"

struct runs;
struct runs *runs_create(void); /* NULL: no memory */
void runs_free(struct runs *r);

/* Adds a run. 0; -EINVAL: it is a trace and the others are results, or the reverse; -ENOMEM. */
int runs_add(struct runs *r, const struct figures *f, struct err *e);

/* A figure of the run that is being added, and its end: a json_leaf_fn, and what document.h wants.
 * A name given twice keeps its first value. Figures of runs_add may have others put before them. 0
 * or -ENOMEM. */
int runs_put(void *runs, const struct json_leaf *leaf);
int runs_end(void *runs);
/* The next figure of all runs: so that it comes first. 0 or -ENOMEM. */
int runs_reserve(struct runs *r, const char *name);
/* Traces and results may stand side by side from here on: a table, not trials. */
void runs_allow_mixed(struct runs *r);

/* Adds each interval of its time series as a run. */
int runs_add_series(struct runs *r, const struct figures *f, struct err *e);

/* Whether the runs are replays; else they are traces. */
bool runs_is_result(const struct runs *r);
size_t runs_count(const struct runs *r);
/* Figures in the order in which they were first met; names as json_leaves.h says. Lent. */
size_t runs_figures(const struct runs *r);
const char *runs_name(const struct runs *r, size_t figure);
/* The figure in that run: its text ("" when the run lacks it), its number (NAN when it is none). */
const char *runs_text(const struct runs *r, size_t run, size_t figure);
double runs_number(const struct runs *r, size_t run, size_t figure);
/* The figure of that name: "" also when no run has it. */
const char *runs_text_of(const struct runs *r, size_t run, const char *name);
/* What the run is called: its figure "run", or its files. */
const char *runs_label(const struct runs *r, size_t run);
/* Whether it was judged by that profile, passed, and is not known to be invalid. */
bool runs_passed(const struct runs *r, size_t run, const char *profile);
/* The figure over the runs that have it as a number. */
struct stats_sample runs_sample(const struct runs *r, size_t figure);
/* The figure of that name, or runs_figures when there is none. */
size_t runs_find(const struct runs *r, const char *name);

#endif
