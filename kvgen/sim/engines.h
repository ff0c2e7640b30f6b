/* engines.h - the engines that compute prefills: each does one after the other, the highest class
 * first, within a class first come first served. Nothing interrupts a prefill. */
#ifndef KVGEN_SIM_ENGINES_H
#define KVGEN_SIM_ENGINES_H

#include <stdbool.h>
#include <stdint.h>

#include "kvgen/sim/prefill_time.h"
#include "kvgen/sim/virtual_clock.h"
#include "lib/trace/trace.h"

enum {
    ENGINES_MAX = 4096
};

/* What computes. A plain value. */
struct prefill_model {
    struct prefill_time time;
    uint32_t engines;         /* from 1 to ENGINES_MAX */
    uint32_t tensor_parallel; /* GPUs of each */
    uint32_t host_ranks;      /* the host carries the bytes of a row this many times */
    double link_bytes_per_s;  /* between host and engine; 0: takes no time */
    int64_t load_overhead_ns; /* once a request that loads from below Tier-0 */
};

/* What an engine does for a request that has loaded what it found, in ns, without waiting: the
 * bytes over the link and the overhead of loading, then t(cached, fresh). below_bytes: of the rows
 * that were read below Tier-0; below: there were some. */
int64_t prefill_model_ns(const struct prefill_model *p, uint64_t cached, uint64_t fresh, bool below,
                         uint64_t below_bytes);
/* The engine of a user, by the hash of the name. kvreplay does the same. */
uint32_t prefill_engine_of(uint32_t engines, const char *user, size_t len);

struct engines;

/* priority[q] is that of requests of class q. NULL: no memory. The clock stays the caller's. */
struct engines *engines_create(uint32_t count, const int64_t priority[TRACE_QOSES],
                               struct virtual_clock *clock);
void engines_free(struct engines *e);
/* true: the engine is the job's from now on. false: the job is parked, and woken when it is. */
bool engines_take(struct engines *e, uint32_t engine, uint8_t qos, struct sleeper *job);
/* The job that has the engine is done with it: the next one gets it. */
void engines_give(struct engines *e, uint32_t engine);
/* How long engines had jobs until now, all together. */
int64_t engines_busy_ns(const struct engines *e);

#endif
