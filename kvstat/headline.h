/* headline.h - which figures a person looks at first: those that the text of trials and comparisons
 * shows and that changes are looked for in. */
#ifndef KVSTAT_HEADLINE_H
#define KVSTAT_HEADLINE_H

#include <stdbool.h>

#include "kvstat/scan.h"
#include "lib/hist.h"

/* name: of a figure, as in runs.h. */
bool headline_is(const char *name);
/* The distribution that the figure of that name is of, and the percentile (0: its mean); NULL when
 * it is of none. Lent by the scan. */
const struct hist *headline_hist(const struct scan *scan, const char *name, uint32_t *ppm);

#endif
