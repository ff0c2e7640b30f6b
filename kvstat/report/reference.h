/* reference.h - tells whether runs are like a reference: another run, or the result of an engine's
 * own benchmark. */
#ifndef KVSTAT_REPORT_REFERENCE_H
#define KVSTAT_REPORT_REFERENCE_H

#include <stdio.h>

#include "kvstat/report/run_table.h"
#include "lib/json/jsonout.h"

enum reference_verdict {
    REFERENCE_OUTSIDE,
    REFERENCE_WITHIN,
    REFERENCE_UNKNOWN /* one of the two lacks the figure */
};

enum {
    /* hit rate, read/write ratio, two means of tokens, generated tokens a second; where the
     * reference has them, requests and all tokens a second; of recorded requests, whose summary
     * kvgen wrote, hit rate, end-to-end times and times to the first token */
    REFERENCE_FIGURES = 12
};

/* Means over the runs of each side; NAN: not known. Plain values. */
struct reference {
    struct reference_figure {
        double reference, actual;
        double difference; /* (actual - reference) / |reference| */
        enum reference_verdict verdict;
    } figure[REFERENCE_FIGURES];
    enum reference_verdict verdict; /* within: all figures that are known, and one is */
};

void reference_compare(struct reference *out, const struct run_table *reference,
                       const struct run_table *actual);

/* A section of the text, and the member reference of the JSON. file: the reference's name. */
void reference_text(FILE *out, const char *file, const struct reference *r);
void reference_json(struct jsonout *j, const char *file, const struct reference *r);

#endif
