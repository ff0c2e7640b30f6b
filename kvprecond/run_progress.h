/* The progress line of a run: one a second at most. */
#ifndef KVPRECOND_RUN_PROGRESS_H
#define KVPRECOND_RUN_PROGRESS_H

#include <stdint.h>

#include "kvprecond/rounds.h"
#include "lib/base/progress.h"

/* Plain values; the pointers are the caller's. */
struct run_progress {
    struct progress *progress;
    const struct rounds *rounds;
    uint64_t size;              /* bytes of the fill */
    int64_t round_ns;           /* 0: no rounds follow */
    int64_t begun_ns, shown_ns; /* monotonic: start of the run, time of the last line */
    uint64_t shown_bytes;       /* written at the last line */
};

/* Shows a line if one is due. written: all bytes so far, rounds included. */
void run_progress_tick(struct run_progress *p, uint64_t written);

#endif
