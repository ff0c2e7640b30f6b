/* show.h - the progress line of a replay. */
#ifndef KVREPLAY_SHOW_H
#define KVREPLAY_SHOW_H

#include <stdint.h>

#include "kvreplay/stats.h"
#include "lib/progress.h"
#include "lib/trace.h"

/* Zero it, then set progress. */
struct show {
    struct progress *progress;
    int64_t zero_ns; /* 0: the clock has not started */
    int64_t last_ns;
    uint64_t last_bytes;
};

void show_began(struct show *s, int64_t zero_ns);
/* Shows a line when one is due. */
void show_tick(struct show *s, const struct trace_reader *trace, const struct stats *st);

#endif
