/* long_csv.h - figures as CSV with one row for each: narrow, with the same columns whatever was
 * reported, for data frames and databases. */
#ifndef KVSTAT_REPORT_LONG_CSV_H
#define KVSTAT_REPORT_LONG_CSV_H

#include <stdio.h>

#include "kvstat/report/compare.h"
#include "kvstat/report/run_table.h"

/* run,figure,tier,op,part,statistic,value,unit,time_s */
void long_csv_header(FILE *out);
/* The figures of each run. A figure that is not known has an empty value; one that a run does not
 * have has no row. */
void long_csv_runs(FILE *out, const struct run_table *t);
/* The intervals of the time series of a run, as figures that begin with "series.". */
void long_csv_series(FILE *out, const struct run_table *series, const char *run);
/* The spread of each figure over the runs ("trials."), and a comparison ("compare."). */
void long_csv_trials(FILE *out, const struct run_table *t);
void long_csv_compare(FILE *out, const struct compare *c, const struct run_table *base,
                      const struct run_table *new);

#endif
