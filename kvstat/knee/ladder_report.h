/* ladder_report.h - what kvstat --knee shows of a ladder: as text, JSON and CSV. */
#ifndef KVSTAT_KNEE_LADDER_REPORT_H
#define KVSTAT_KNEE_LADDER_REPORT_H

#include <stdio.h>

#include "kvstat/knee/ladder.h"
#include "lib/json/jsonout.h"

/* The table, and sentences: whether the drive changed, and its knee and cliff in the last line. */
void ladder_text(FILE *out, const struct ladder *l);
/* Members of the object that is open. */
void ladder_json(struct jsonout *j, const struct ladder *l);
/* A line for each step, which kvstat --plot draws: percentiles of reads, or of writes where none
 * were read; Knee is 1 at the steps that may be the knee, if one is for sure. */
void ladder_csv(FILE *out, const struct ladder *l);

#endif
