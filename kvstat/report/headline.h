/* headline.h - which figures a person looks at first: those that the text of trials and comparisons
 * shows and that changes are looked for in. */
#ifndef KVSTAT_REPORT_HEADLINE_H
#define KVSTAT_REPORT_HEADLINE_H

#include <stdbool.h>

#include "kvstat/count/scan.h"
#include "lib/base/hist.h"

enum headline_kind {
    HEADLINE_NUMBER,
    HEADLINE_SHARE, /* 0..1 */
    HEADLINE_BYTES,
    HEADLINE_GIB,
    HEADLINE_US,
    HEADLINE_MS
};

/* How a figure is called, where it stands, and what its values are. */
struct headline {
    char label[32], section[160];
    char unit[8]; /* what follows the value that the kind makes; may be empty */
    enum headline_kind kind;
    bool of_group;
    int better; /* 1: more is better, -1: less is, 0: neither */
};

/* name: of a figure, as in runs.h. */
bool headline_is(const char *name);
/* Of a name for which headline_is holds. The section of a group's figure is the group: "Tier-2 Read
 * Decode". */
void headline_of(struct headline *h, const char *name);
/* The distribution that the figure of that name is of, and the percentile (0: its mean); NULL when
 * it is of none. Lent by the scan. */
const struct hist *headline_hist(const struct scan *scan, const char *name, uint32_t *ppm);

#endif
