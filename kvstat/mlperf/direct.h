/* direct.h - the reads and writes that requests made themselves, without demotions and promotions:
 * their times and bytes by tier, as the MLPerf Storage KV-cache benchmark counts them. */
#ifndef KVSTAT_MLPERF_DIRECT_H
#define KVSTAT_MLPERF_DIRECT_H

#include <stdint.h>

#include "lib/base/hist.h"
#include "lib/trace/trace.h"

/* Times of an operation in ns. */
enum direct_time {
    DIRECT_SERVICE,
    DIRECT_DEVICE,
    DIRECT_HOST, /* service without device */
    DIRECT_TIMES
};

enum direct_way {
    DIRECT_READ,
    DIRECT_WRITE,
    DIRECT_WAYS
};

struct direct {
    struct {
        uint64_t ops, bytes;
        struct hist *time[DIRECT_TIMES]; /* NULL where empty */
    } tier[TRACE_TIERS][DIRECT_WAYS];
    uint64_t prefix_bytes; /* of lookups of shared prompts, hit or missed */
};

struct direct *direct_create(void); /* NULL: no memory */
void direct_free(struct direct *d);
/* Counts a row that did not fail, if it is a direct one. 0, -ENOMEM, or -EOVERFLOW. */
int direct_add(struct direct *d, const struct trace_row *row);
/* Adds the counts of from. The same errors. */
int direct_merge(struct direct *into, const struct direct *from);

#endif
