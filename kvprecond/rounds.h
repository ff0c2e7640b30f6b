/* The rounds of a run, and the verdict after each of them. */
#ifndef KVPRECOND_ROUNDS_H
#define KVPRECOND_ROUNDS_H

#include <stdbool.h>
#include <stdint.h>

#include "kvprecond/fill.h"
#include "kvprecond/steady.h"
#include "kvprecond/witness.h"
#include "lib/base/err.h"

/* In the order of the choices of --config track. */
enum rounds_track {
    ROUNDS_BANDWIDTH, /* bytes a second */
    ROUNDS_IOPS,      /* writes a second */
    ROUNDS_LATENCY    /* mean ns of a write */
};
const char *rounds_track_name(enum rounds_track track);

struct round {
    int64_t start_ns, elapsed_ns; /* start: counted from the start of the first round */
    uint64_t bytes, writes;
    double bytes_per_s, iops, mean_ns;
    int64_t p99_ns;
    char disturbed[DISTURBANCE_WHY]; /* by what; "": by nothing that is known */
    struct steady verdict; /* on the undisturbed rounds up to this one; of a disturbed one all 0 */
};

/* Plain values. Before the first round, zero it and set track. */
struct rounds {
    enum rounds_track track;
    unsigned count;
    struct round round[STEADY_ROUNDS];
    unsigned judged;                /* rounds that were not disturbed */
    double value[STEADY_ROUNDS];    /* the tracked figure, by undisturbed round */
    unsigned number[STEADY_ROUNDS]; /* which of round each of these is */
};

/* Adds the next round and judges; at most STEADY_ROUNDS times. disturbed: by what, so that the
 * round says nothing of the target; "": by nothing. True: steady. */
bool rounds_add(struct rounds *r, const struct fill_span *span, const char *disturbed);
/* Does the last round end a steady window? */
bool rounds_steady(const struct rounds *r);
/* The last round that was not disturbed; NULL: there is none. */
const struct round *rounds_last(const struct rounds *r);

/* Writes CSV to path ("-": standard output), with the columns of kvtrace(5), section Rounds. Class
 * ERR_OUTPUT. */
int rounds_save(const struct rounds *r, const char *path, struct err *e);

#endif
