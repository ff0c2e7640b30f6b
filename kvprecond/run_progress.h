/* run_progress.h - the line a second about a run that is under way. */
#ifndef KVTRACE_KVPRECOND_RUN_PROGRESS_H
#define KVTRACE_KVPRECOND_RUN_PROGRESS_H

#include <stdint.h>

#include "kvprecond/rounds.h"
#include "lib/base/progress.h"

/* Plain values; the pointers are the caller's. */
struct run_progress {
    struct progress *progress;
    const struct rounds *rounds;
    uint64_t size;              /* bytes of the fill */
    int64_t round_ns;           /* 0: no rounds follow */
    int64_t begun_ns, shown_ns; /* monotonic; of the run, of the last line */
    uint64_t shown_bytes;
};

/* Shows a line if one is due. written: bytes in all, rounds included. */
void run_progress_tick(struct run_progress *p, uint64_t written);

#endif
