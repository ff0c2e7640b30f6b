/* counts.h - what a replay counts and times, by tier, operation and phase. One thread. */
#ifndef KVREPLAY_SCHED_COUNTS_H
#define KVREPLAY_SCHED_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include "kvreplay/sched/row.h"
#include "lib/base/hist.h"

enum {
    STATS_OPS = 3,                   /* Read, Write, Delete */
    STATS_PHASES = TRACE_PHASES + 1, /* all and none */
    STATS_GROUPS = TRACE_TIERS * STATS_OPS * STATS_PHASES
};

struct stats_group {
    enum trace_tier tier;
    enum trace_op op;
    enum trace_phase phase;
    uint64_t ops, bytes; /* that ended ok */
    uint64_t failed;     /* that did not */
    int64_t first_start_ns, last_done_ns;
    struct hist *service, *wait, *response, *device; /* ns; wait and response: rows with a Due */
};

struct stats {
    struct stats_group group[STATS_GROUPS]; /* by tier, of one by operation, of one by phase */
    uint64_t rows, ok, absent, corrupt, failed;
    uint64_t head_rows, head_bytes;
    /* Of rows started before from_ns only the counts and bytes above are kept. */
    int64_t from_ns, until_ns; /* monotonic; INT64_MIN and INT64_MAX: the whole run */
    uint64_t warmup_rows;
    uint64_t tokens,
        done_bytes; /* generated, and moved by all tiers: done from from_ns to until_ns */
    uint64_t read_bytes[TRACE_TIERS],
        write_bytes[TRACE_TIERS];            /* with the head's and created ones */
    uint64_t created_objects, created_bytes; /* in the run, met by the look-ahead */
    uint64_t unverified_reads;
    uint64_t reads_before_write;
    uint64_t admitted_beyond;                 /* requests let in without a free worker */
    struct hist *queue;                       /* ns from arrival to admission, of requests */
    struct hist *end_to_end[TRACE_QOSES + 1]; /* ns from arrival to the last row's end, served */
    struct hist *lateness;                    /* ns, client lateness */
    struct hist *recent; /* ns, service time of operations since stats_recent_reset */
    int64_t lag_max_ns;
    int64_t last_done_ns; /* of all rows, monotonic */
    int errors;           /* a histogram had no memory: negative errno */
};

int stats_init(struct stats *s); /* 0 or -ENOMEM */
/* The place in group of a tier, operation and phase. */
static inline unsigned stats_group_at(unsigned tier, unsigned op, unsigned phase)
{
    return (tier * STATS_OPS + op) * STATS_PHASES + phase;
}
void stats_release(struct stats *s);
/* A finished row, its result columns set (times monotonic). */
void stats_add(struct stats *s, const struct row *r);
/* A request was let in at when_ns. */
void stats_admitted(struct stats *s, int64_t arrival_ns, int64_t when_ns);
/* A served request of that QoS (TRACE_NO_QOS: none) has ended. */
void stats_ended(struct stats *s, uint8_t qos, int64_t arrival_ns, int64_t done_ns);
void stats_recent_reset(struct stats *s);
/* Sum over the phases of a tier and operation into *sum (its phase is of no meaning;
 * stats_group_release it). 0 or -ENOMEM. */
int stats_sum(const struct stats *s, unsigned tier, unsigned op, struct stats_group *sum);
void stats_group_release(struct stats_group *g);
/* Mean service time of the operations in all groups; 0 when there are none. */
double stats_service_mean_ns(const struct stats *s);
/* Bytes per second from the first start to the last completion; 0 when there was none. */
double stats_rate(const struct stats_group *g);

#endif
