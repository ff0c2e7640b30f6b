/* point_report.h - what kvstat --knee shows of the runs of kvtrace model: as text, JSON and CSV. */
#ifndef KVSTAT_KNEE_POINT_REPORT_H
#define KVSTAT_KNEE_POINT_REPORT_H

#include <stdio.h>

#include "kvstat/knee/point.h"
#include "lib/json/jsonout.h"

/* A line for each step. */
void points_text(FILE *out, const struct points *p);
/* Members of the object that is open. */
void points_json(struct jsonout *j, const struct points *p);
/* A line for each step, without spaces: what is not known is empty. */
void points_csv(FILE *out, const struct points *p);
/* A run as lines of the table that points_add_table takes, with their header. */
void point_run_csv(FILE *out, const struct point_run *run);

#endif
