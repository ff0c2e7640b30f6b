/* report.h - figures as text for people and as JSON for programs. Nothing is computed or read here.
 */
#ifndef KVSTAT_REPORT_REPORT_H
#define KVSTAT_REPORT_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "kvstat/report/figures.h"
#include "lib/json/jsonout.h"

/* Writes the report to out, 110 columns at most; errors stay in out. Groups other than the default
 * ones add a table. */
void report_text(FILE *out, const struct figures *f);

/* Adds the members of the report (files, elapsed_s, rows, groups...) to the object that is open. */
void report_json(struct jsonout *j, const struct figures *f);

/* Sections of the text: requests, reuse distances. */
void report_requests_text(FILE *out, const struct figures *f);
void report_reuse_text(FILE *out, const struct reuse *r);

/* The time series: a table of the text, the member series of the JSON, and the members of its i-th
 * interval in the object that is open. contents: bytes in the tiers before it, 0 before the first;
 * moved on by the call. */
void report_series_text(FILE *out, const struct figures *f);
void report_series_json(struct jsonout *j, const struct figures *f);
void report_series_interval(struct jsonout *j, const struct figures *f, size_t i,
                            int64_t contents[TRACE_TIERS]);

struct runs;
/* Several runs as trials; two sides compared. */
void report_trials_text(FILE *out, const struct runs *r);
void report_trials_json(struct jsonout *j, const struct runs *r);
/* Runs of any kind: a line a run with the figures that are looked at first; all figures. */
void report_table_text(FILE *out, const struct runs *r);
void report_table_json(struct jsonout *j, const struct runs *r);
/* Runs held against a reference, file its name. */
struct reference;
void report_reference_text(FILE *out, const char *file, const struct reference *f);
void report_reference_json(struct jsonout *j, const char *file, const struct reference *f);
struct compare;
void report_compare_text(FILE *out, const struct compare *c, const struct runs *base,
                         const struct runs *new);
void report_compare_json(struct jsonout *j, const struct compare *c, const struct runs *base,
                         const struct runs *new);

/* What --verify-trace found in a file. */
struct verify;
void report_verify_text(FILE *out, const char *file, const struct verify *v);
void report_verify_json(struct jsonout *j, const char *file, const struct verify *v);

/* A job for fio like the run's storage tier; false, and nothing written, when f is no result file
 * or has no reads and writes there. */
bool report_fio(FILE *out, const struct figures *f);

/* Adds the members of a results file of the MLPerf Storage KV-cache benchmark that its aggregator
 * reads; false, and nothing added, when f is no result file. */
bool report_mlperf(struct jsonout *j, const struct figures *f);

/* A script for gnuplot that draws four panels, 1200 x 800, to its standard output; needs
 * scan->series. */
void report_plot(FILE *out, const struct figures *f, bool svg);

/* Scripts for what kvgen --curve and the rounds of kvprecond are; false: nothing to draw. */
struct columns;
bool report_curve_plot(FILE *out, const struct columns *c, bool svg);
bool report_rounds_plot(FILE *out, const struct columns *c, bool svg);

/* The sheets of a spreadsheet: summary, tiers, phases, groups; trials when asked for, and series
 * unless it is NULL. False: no memory. */
struct xlsx;
bool report_xlsx(struct xlsx *x, const struct runs *r, const struct runs *series, bool trials);

/* CSV: a header and a row a run; errors stay in out. */
void report_csv(FILE *out, const struct runs *r);

/* The verdict: a section of the text, its answer in words, the member assessment of the JSON. */
struct assess;
void report_assess_text(FILE *out, const struct assess *a);
void report_assess_verdict(FILE *out, const struct assess *a);
/* How many of the runs pass, and which do not. */
void report_assess_runs(FILE *out, const struct runs *r, const char *profile);
void report_assess_json(struct jsonout *j, const struct assess *a);

#endif
