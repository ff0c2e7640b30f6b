/* times.h - tables of times in the text report: 110 columns at most. */
#ifndef KVSTAT_REPORT_TIMES_H
#define KVSTAT_REPORT_TIMES_H

#include <stdint.h>
#include <stdio.h>

#include "lib/base/hist.h"

/* The heading of a section; note: what it is about, may be empty. */
void times_heading(FILE *out, const char *title, const char *note);

/* most, or the samples of h (NULL: none) where these are more. */
uint64_t times_most(uint64_t most, const struct hist *h);
/* How many of hist_percentiles a table has whose longest row has most samples: the higher ones
 * would be dashes. */
unsigned times_percentiles(uint64_t most);
/* label: of the first column, width characters wide. */
void times_header(FILE *out, const char *label, int width, unsigned percentiles);
/* A row of values in ns; nothing where h is NULL or empty. */
void times_row(FILE *out, const char *label, int width, const struct hist *h, unsigned percentiles);

#endif
