/* reference.h - whether a run is like a reference: another run, or what an engine's own benchmark
 * reports. */
#ifndef KVSTAT_REPORT_REFERENCE_H
#define KVSTAT_REPORT_REFERENCE_H

#include <stdbool.h>

#include "kvstat/report/run_table.h"

/* A figure this much off, relative to the reference, is still like it. */
#define REFERENCE_TOLERANCE 0.05

enum reference_verdict {
    REFERENCE_OUTSIDE,
    REFERENCE_WITHIN,
    REFERENCE_UNKNOWN /* one of the two lacks the figure */
};

enum {
    REFERENCE_FIGURES = 5
};

/* Means over the runs of each side; NAN: not known. Plain values. */
struct reference {
    struct reference_figure {
        const char *name; /* as in runs.h */
        double reference, actual;
        double difference; /* (actual - reference) / |reference| */
        enum reference_verdict verdict;
    } figure[REFERENCE_FIGURES];    /* hit rate, read/write ratio, token means, tokens a second */
    enum reference_verdict verdict; /* within: all that are known, and one is */
};

void reference_compare(struct reference *out, const struct runs *reference,
                       const struct runs *actual);

#endif
