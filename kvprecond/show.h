/* show.h - the line a second about a run that is under way. */
#ifndef KVTRACE_KVPRECOND_SHOW_H
#define KVTRACE_KVPRECOND_SHOW_H

#include <stdint.h>

#include "kvprecond/rounds.h"
#include "lib/progress.h"

/* Plain values; the pointers are the caller's. */
struct show {
    struct progress *progress;
    const struct rounds *rounds;
    uint64_t size;              /* bytes of the fill */
    int64_t round_ns;           /* 0: no rounds follow */
    int64_t begun_ns, shown_ns; /* monotonic; of the run, of the last line */
    uint64_t shown_bytes;
};

/* Shows a line if one is due. written: bytes in all, rounds included. */
void show_tick(struct show *s, uint64_t written);

#endif
