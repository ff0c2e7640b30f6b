/* screen.h - the reports of kvstat that fit one screen (lines.h). They show the figures of
 * figures.h that matter most, in the order in which people ask; the tables of --full have the rest.
 * Nothing is computed or read here. */
#ifndef KVSTAT_SCREEN_SCREEN_H
#define KVSTAT_SCREEN_SCREEN_H

#include <stdio.h>

#include "kvstat/report/compare.h"
#include "kvstat/report/figures.h"
#include "kvstat/report/run_table.h"
#include "kvstat/report/verdict.h"

/* One run. verdict: NULL: it was not judged. */
void screen_run(FILE *out, const struct figures *f, const struct verdict *verdict);
/* Several runs of one load. asked: what they were judged by, if anything. */
void screen_trials(FILE *out, const struct run_table *t, struct verdict_asked asked);
void screen_comparison(FILE *out, const struct compare *c, const struct run_table *base,
                       const struct run_table *new);

#endif
