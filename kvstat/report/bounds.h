/* bounds.h - the confidence of a percentile that is compared with a limit. */
#ifndef KVSTAT_REPORT_BOUNDS_H
#define KVSTAT_REPORT_BOUNDS_H

#include <stdint.h>

#include "kvstat/count/blocks.h"
#include "lib/base/hist.h"

/* Each bound holds with this probability (one-sided). */
#define BOUNDS_CONFIDENCE 0.95

enum bounds_answer {
    BOUNDS_WITHIN,   /* the percentile is below the limit */
    BOUNDS_BEYOND,   /* it is not */
    BOUNDS_UNDECIDED /* the samples do not tell */
};

struct bounds {
    double low, high;         /* of the percentile, in the unit of the values; high is INFINITY when
                                 no value is known to lie above it */
    double independent;       /* samples behind it that do not depend on each other */
    double samples_to_decide; /* how many samples like these would tell, with the share seen so far;
                                 INFINITY: the share is the limit's own; 0: they tell */
    enum bounds_answer answer;
};

/* The percentile ppm (0 < ppm < 1,000,000) of values against limit. series: the same values in the
 * order of time (NULL: independent ones). The values are not empty. Clopper and Pearson 1934 for
 * the share of values that are not below the limit, in as many independent samples as the series is
 * worth. */
struct bounds bounds_of(const struct hist *values, const struct blocks *series, uint32_t ppm,
                        int64_t limit);

#endif
