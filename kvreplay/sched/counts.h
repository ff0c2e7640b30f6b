/* Counts and times of a replay: rows, bytes, and histograms by tier, operation and phase. One
 * thread. */
#ifndef KVREPLAY_SCHED_COUNTS_H
#define KVREPLAY_SCHED_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include "kvreplay/wait/admission.h"
#include "kvreplay/wait/row.h"
#include "lib/base/hist.h"

/* Requests by the second of the run in which they arrived. */
struct counts_seconds {
    uint64_t *requests; /* NULL: none */
    size_t count;
};

enum {
    COUNTS_SECONDS_MAX = 1 << 20,     /* the last one has all that came later */
    COUNTS_OPS = 3,                   /* Read, Write, Delete */
    COUNTS_PHASES = TRACE_PHASES + 1, /* all, and none */
    COUNTS_GROUPS = TRACE_TIERS * COUNTS_OPS * COUNTS_PHASES
};

/* The parts of service time (struct tier_parts), and what is left of it. */
enum counts_part {
    COUNTS_SLOT,
    COUNTS_META,
    COUNTS_IO,
    COUNTS_FLUSH,
    COUNTS_HOST,
    COUNTS_PARTS
};

enum counts_held {
    COUNTS_HELD_SERVICE,
    COUNTS_HELD_DEVICE,
    COUNTS_HELD
};

struct counts_group {
    enum trace_tier tier;
    enum trace_op op;
    enum trace_phase phase;
    uint64_t ops, bytes; /* of rows that ended ok */
    uint64_t failed;     /* rows that did not end ok */
    int64_t first_start_ns, last_done_ns;
    /* ns, of rows that ended ok; wait and response only of those with a Due */
    struct hist *service, *wait, *response, *device;
    /* ns, of those rows whose tier can tell. Parts that took no time are the usual case and only
     * counted, until counts_settle. */
    struct hist *part[COUNTS_PARTS];
    /* ns, service and device times of rows that gaps lengthened: as they were, and without it. Rows
     * of the burst after a stop of the process came all at once, which no trace asked for: they are
     * in held alone. */
    struct hist *held[COUNTS_HELD], *freed[COUNTS_HELD];
    uint64_t burst; /* of those */
    uint64_t zeros[COUNTS_PARTS];
};

/* Operations through one of the doors of a tier (struct tier_door). */
struct counts_door {
    uint64_t full; /* rows that ended with ENOSPC there */
    /* The time in which at least one row was there, and the bytes of all. 0: not known (a store
     * behind a network). */
    int64_t busy_ns, busy_since_ns;
    uint64_t busy_bytes;
    unsigned in_flight;
    struct counts_group op[COUNTS_OPS]; /* of all phases; of its times, service and device only */
};

/* Service and device times (enum counts_held), ns, of Tier-2 rows that ended ok in the measured
 * time: of those that ran beside others' traffic on the devices, and of those that did not.
 * pending: ended since the last interval of others.h. */
struct counts_beside {
    struct hist *pending[COUNTS_HELD], *calm[COUNTS_HELD], *shared[COUNTS_HELD];
};

/* Reads whose contents were not what was written, and of them: those that found another write of
 * their object, and those that found another object. */
struct counts_differing {
    uint64_t corrupt, stale, wrong;
};

struct counts {
    struct counts_beside beside[2];           /* by TRACE_READ, TRACE_WRITE */
    int64_t foreign_ns;                       /* the last end of an interval with such traffic */
    struct counts_group group[COUNTS_GROUPS]; /* see counts_group_at */
    struct counts_door *door[TRACE_TIERS];    /* doors of them */
    unsigned doors[TRACE_TIERS];
    uint64_t rows, ok, absent, failed;
    uint64_t lost;                                                /* of failed */
    struct counts_differing differing, differing_of[TRACE_TIERS]; /* in all, and by tier */
    uint64_t head_rows, head_bytes; /* of rows that ran before the clock started */
    /* The measured time, monotonic; INT64_MIN and INT64_MAX: the whole run. A row that starts
     * before from_ns appears only in the counts and bytes above. */
    int64_t from_ns, until_ns;
    uint64_t warmup_rows;
    uint64_t tokens, done_bytes; /* generated; moved by all tiers: done from from_ns to until_ns */
    /* with those of the head and of created objects */
    uint64_t read_bytes[TRACE_TIERS], write_bytes[TRACE_TIERS];
    uint64_t created_objects, created_bytes; /* written during the run because a read needed them */
    /* Tier-2: writes that found no room (each once); with --on-full evict (cleaner.c) what was
     * removed for them, and reads of what was removed */
    uint64_t full_writes, cleanings, removed_objects, removed_bytes, removed_misses;
    uint64_t unverified_reads;
    uint64_t reads_before_write; /* reads that started too early: must be 0 */
    uint64_t admitted_beyond;    /* requests let in without a free worker */
    uint64_t inherited;          /* requests let in with the class of one that waited for them */
    uint64_t in_turn;            /* requests let in before a higher class, as the tenth */
    uint64_t capacity_exceeded;  /* requests and rows let go on without room */
    struct hist *lookup;         /* ns, of lookups of reads and misses on Tier-2 */
    /* Loads (reads) and stores (writes) of Tier-2, beside each other. */
    struct counts_both {
        unsigned stores;             /* in flight */
        uint64_t begun;              /* stores so far */
        struct hist *alone, *beside; /* ns, service times of loads that overlapped no store, and of
                                        those that did */
        double load_ns, store_ns;    /* sums of service times */
    } both;
    uint64_t looked_up, found; /* lookups; of them, those that found the object */
    struct hist *queue;        /* ns from arrival to admission, of requests */
    /* By QoS; with the requests in line at the end, of which there were waiting, and their wait so
     * far. */
    struct hist *queued[TRACE_QOSES + 1];
    uint64_t waiting[TRACE_QOSES + 1];
    struct counts_seconds waiting_since[TRACE_QOSES + 1];
    uint64_t entered[TRACE_QOSES + 1]; /* requests read, of those that arrive before the end */
    struct hist *first_token[TRACE_QOSES + 1]; /* ns from arrival to the end of the prefill */
    struct hist *end_to_end[TRACE_QOSES + 1];  /* ns from arrival to the end of the last row */
    struct hist *lateness; /* ns, client lateness of rows with I/O: Start - max(Due, Eligible) */
    /* ns, response times of all such rows with a Due, and end to end of all requests: each as it
     * was, and without what the tool added: its lateness, and stops of the process */
    struct hist *response[2], *whole[2];
    uint64_t due_rows; /* with I/O, of those with a Due */
    int64_t first_due_ns, last_due_ns;
    struct hist *recent;  /* ns, service times since counts_recent_reset */
    int64_t lag_max_ns;   /* from Due to Start */
    int64_t lag_late_ns;  /* the client's own part of it */
    int64_t last_done_ns; /* of all rows, monotonic */
    int errors;           /* negative errno: a histogram had no memory */
};

int counts_init(struct counts *s); /* 0, or -ENOMEM; counts_release also then */
void counts_release(struct counts *s);
/* From now on counts rows by the doors of a tier as well. 0 or -ENOMEM. */
int counts_doors(struct counts *s, unsigned tier, unsigned doors);
/* The place in group of a tier, operation and phase. */
static inline unsigned counts_group_at(unsigned tier, unsigned op, unsigned phase)
{
    return (tier * COUNTS_OPS + op) * COUNTS_PHASES + phase;
}
/* A row has started. */
void counts_started(struct counts *s, struct row *r);
/* A finished row, its result columns set (times monotonic). */
void counts_add(struct counts *s, const struct row *r);
/* A request of that QoS (TRACE_NO_QOS: none) was let in. */
void counts_admitted(struct counts *s, uint8_t qos, int64_t arrival_ns,
                     const struct admission_way *way);
/* A request was in line at the end: since_ns after the start of the clock (negative: before). */
void counts_waited(struct counts *s, uint8_t qos, int64_t since_ns, int64_t wait_ns);
/* A served request of that QoS (TRACE_NO_QOS: none) has ended; added_ns: by the tool, its lateness
 * with the rows or by stops of the process. */
void counts_ended(struct counts *s, uint8_t qos, int64_t arrival_ns, int64_t done_ns,
                  int64_t added_ns);
/* The Prefill row r, its result columns set, has ended; its request arrived at arrival_ns. */
void counts_first_token(struct counts *s, const struct row *r, int64_t arrival_ns);
/* A lookup on Tier-2 has ended. */
void counts_looked_up(struct counts *s, int64_t took_ns, bool found);
void counts_recent_reset(struct counts *s);
/* An interval of others.h has ended. */
void counts_beside_ended(struct counts *s, int64_t now_ns, bool foreign);
/* Moves all zeros into the histograms; for the report. */
void counts_settle(struct counts *s);
/* Sums the phases of a tier and operation into *sum, whose phase means nothing then. 0 or -ENOMEM;
 * counts_group_release it in either case. */
int counts_sum(const struct counts *s, unsigned tier, unsigned op, struct counts_group *sum);
void counts_group_release(struct counts_group *g);
/* Bytes per second from the first start to the last completion; 0 when no time went by. */
double counts_rate(const struct counts_group *g);

#endif
