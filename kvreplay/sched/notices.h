/* notices.h - lines on standard error during a run: the first failures of each kind, then only a
 * count. */
#ifndef KVREPLAY_SCHED_NOTICES_H
#define KVREPLAY_SCHED_NOTICES_H

#include <stdint.h>

#include "kvreplay/sched/row.h"
#include "lib/base/progress.h"
#include "lib/tier/tier.h"

enum {
    NOTICES_MAX = 10
};

struct notices {
    struct progress *progress; /* cleared before a line; may be NULL */
    uint64_t corrupt, failed;  /* met */
};

/* kvreplay: row 7 (Tier-2 Read, key K): corrupt: block B at offset O: why */
void notices_corrupt(struct notices *n, const struct row *r, const struct data_fault *fault);
/* A row that ended with an errno, or absent where that ends the run. */
void notices_failed(struct notices *n, const struct row *r);
/* A row that ended with ENOSPC: what was needed and what is free, in its tier or on the target
 * under it (target_free; UINT64_MAX: not known). */
void notices_no_space(struct notices *n, const struct row *r, const struct room *room,
                      uint64_t target_free);
void notices_line(struct notices *n, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* What was not said line by line. */
void notices_end(struct notices *n);

#endif
