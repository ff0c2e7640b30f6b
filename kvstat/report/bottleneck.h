/* bottleneck.h - what requests spend their time on, and whether one of it stands out. */
#ifndef KVSTAT_REPORT_BOTTLENECK_H
#define KVSTAT_REPORT_BOTTLENECK_H

#include <stdbool.h>

#include "kvstat/count/requests.h"
#include "kvstat/report/figure.h"

enum {
    BOTTLENECK_SHARES = FIGURE_SHARE_TOOL - FIGURE_SHARE_QUEUE + 2,
    BOTTLENECK_DEVICE_PARTS = 3 /* meta, io, flush */
};
/* The bottleneck is at least this share of end-to-end time, and so many times the next one. */
#define BOTTLENECK_SHARE  0.4
#define BOTTLENECK_FACTOR 1.5

/* The part of the i-th share: those from FIGURE_SHARE_QUEUE on, and waits for other rows. */
static inline enum figure_what bottleneck_part(unsigned i)
{
    return i + 1 < BOTTLENECK_SHARES ? (enum figure_what)(FIGURE_SHARE_QUEUE + i) : FIGURE_ROWS;
}

/* The words for a share: in the report, in the report's list of all shares, and on the screen. */
extern const struct bottleneck_words {
    const char *title, *brief, *screen;
} bottleneck_words[BOTTLENECK_SHARES];
/* The share that has this name in JSON; if none has it, the last one. */
unsigned bottleneck_share(const char *member);

struct bottleneck {
    double
        shares[BOTTLENECK_SHARES]; /* of bottleneck_part; those known add up to 1; NAN: unknown */
    enum figure_what what;         /* a share; FIGURE_SHARE_STORAGE also for all of Tier-2;
                                      FIGURE_ITSELF: none stands out */
    double share;                  /* its share, with that of the queue which it made; of the
                                      largest when none stands out */
    enum figure_what foremost[2];  /* the two largest, the second FIGURE_ITSELF when there is one */
};

/* False: no request took any time. device_parts: summed meta, I/O and flush times of Tier-2 by the
 * replay's summary, which split the device time of the rows; unknown (NAN) ones leave it all I/O.
 */
bool bottleneck_find(struct bottleneck *b, const struct requests_totals *r,
                     const double device_parts[BOTTLENECK_DEVICE_PARTS], bool result);

#endif
