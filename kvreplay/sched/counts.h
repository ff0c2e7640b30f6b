/* counts.h - what a replay counts and times, by tier, operation and phase. One thread. */
#ifndef KVREPLAY_SCHED_COUNTS_H
#define KVREPLAY_SCHED_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include "kvreplay/sched/row.h"
#include "lib/base/hist.h"

enum {
    COUNTS_OPS = 3,                   /* Read, Write, Delete */
    COUNTS_PHASES = TRACE_PHASES + 1, /* all and none */
    COUNTS_GROUPS = TRACE_TIERS * COUNTS_OPS * COUNTS_PHASES
};

struct counts_group {
    enum trace_tier tier;
    enum trace_op op;
    enum trace_phase phase;
    uint64_t ops, bytes; /* that ended ok */
    uint64_t failed;     /* that did not */
    int64_t first_start_ns, last_done_ns;
    struct hist *service, *wait, *response, *device; /* ns; wait and response: rows with a Due */
};

struct counts {
    struct counts_group group[COUNTS_GROUPS]; /* by tier, of one by operation, of one by phase */
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
    struct hist *recent; /* ns, service time of operations since counts_recent_reset */
    int64_t lag_max_ns;
    int64_t last_done_ns; /* of all rows, monotonic */
    int errors;           /* a histogram had no memory: negative errno */
};

int counts_init(struct counts *s); /* 0 or -ENOMEM */
/* The place in group of a tier, operation and phase. */
static inline unsigned counts_group_at(unsigned tier, unsigned op, unsigned phase)
{
    return (tier * COUNTS_OPS + op) * COUNTS_PHASES + phase;
}
void counts_release(struct counts *s);
/* A finished row, its result columns set (times monotonic). */
void counts_add(struct counts *s, const struct row *r);
/* A request was let in at when_ns. */
void counts_admitted(struct counts *s, int64_t arrival_ns, int64_t when_ns);
/* A served request of that QoS (TRACE_NO_QOS: none) has ended. */
void counts_ended(struct counts *s, uint8_t qos, int64_t arrival_ns, int64_t done_ns);
void counts_recent_reset(struct counts *s);
/* Sum over the phases of a tier and operation into *sum (its phase is of no meaning;
 * counts_group_release it). 0 or -ENOMEM. */
int counts_sum(const struct counts *s, unsigned tier, unsigned op, struct counts_group *sum);
void counts_group_release(struct counts_group *g);
/* Mean service time of the operations in all groups; 0 when there are none. */
double counts_service_mean_ns(const struct counts *s);
/* Bytes per second from the first start to the last completion; 0 when there was none. */
double counts_rate(const struct counts_group *g);

#endif
