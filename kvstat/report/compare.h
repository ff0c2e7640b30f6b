/* compare.h - which figures of new runs differ from those of base runs by more than the noise. */
#ifndef KVSTAT_REPORT_COMPARE_H
#define KVSTAT_REPORT_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

#include "kvstat/count/scan.h"
#include "kvstat/report/run_table.h"
#include "lib/base/err.h"

/* Share of false changes among those found, and the probability of finding one where there is
 * none: 1 - 99 %. */
#define COMPARE_ALPHA 0.01

/* One side. scan: of the run when it is the only one, else NULL. All lent. */
struct compare_side {
    const struct runs *runs;
    const struct scan *scan;
};

struct compare_figure {
    const char *name; /* as in runs.h; lent by the base */
    double base, new; /* means over the runs */
    double change;    /* (new - base) / |base|; NAN when base is 0 */
    double p;         /* p-value of statistics.h; NAN: the noise is not known */
    bool changed;
    int better; /* of a changed one: 1 for the better, -1 for the worse, 0 neither */
};

struct compare {
    size_t base_runs, new_runs;
    size_t count, tested;
    size_t better, worse, neither;  /* of those that changed */
    bool one_load;                  /* no two runs are known to be of different traces */
    bool valid;                     /* no run on either side is known not to be */
    bool result;                    /* replays, not traces: nothing of a trace is better */
    struct compare_figure figure[]; /* those of headline.h that both sides have */
};

/* One run on each side: the noise is that of the operations in it. Else that between the runs.
 * Freed with free(). -EINVAL: a trace and a result; -ENOMEM. */
int compare_sides(struct compare **out, const struct compare_side *base,
                  const struct compare_side *new, struct err *e);

#endif
