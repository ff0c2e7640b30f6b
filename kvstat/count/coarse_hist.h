/* coarse_hist.h - histograms for where there are many: 32 buckets for each power of two, in memory
 * that is allocated where values fall. */
#ifndef KVSTAT_COUNT_COARSE_HIST_H
#define KVSTAT_COUNT_COARSE_HIST_H

#include <stdint.h>

struct coarse_hist;

void coarse_hist_free(struct coarse_hist *h);
/* Adds a value to *h, which is created when it is NULL. Negative values count as 0. 0 or -ENOMEM.
 */
int coarse_hist_record(struct coarse_hist **h, int64_t value);
/* Adds all counts of from (NULL: none) to *into, which is created when it is NULL. 0 or -ENOMEM. */
int coarse_hist_merge(struct coarse_hist **into, const struct coarse_hist *from);

/* The value of rank ceil(ppm n / 1,000,000), within 1.6 %; -1: there is none. */
int64_t coarse_hist_percentile(const struct coarse_hist *h, uint32_t ppm);
/* How many values lie in the bucket of bound or above it. Values that share the bucket of the bound
 * are within 3.2 % of it. NULL: 0. */
uint64_t coarse_hist_from(const struct coarse_hist *h, int64_t bound);

#endif
