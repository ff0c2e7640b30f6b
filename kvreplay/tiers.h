/* The three tiers of a replay: which engine works under each, how much room each has, and opening
 * and closing engines and target. Call the verbs in their order below. One thread. */
#ifndef KVREPLAY_TIERS_H
#define KVREPLAY_TIERS_H

#include <stdbool.h>
#include <stdint.h>

#include "kvreplay/sched/room.h"
#include "kvreplay/storage.h"
#include "kvreplay/survey.h"
#include "lib/base/bell.h"
#include "lib/io/io.h"
#include "lib/opt/opt.h"
#include "lib/tier/tier.h"
#include "lib/tier/uri.h"

/* In the order of the choices of --overflow. */
enum tiers_overflow {
    TIERS_OVERFLOW_FAIL,
    TIERS_OVERFLOW_WRAP
};

/* What was asked for. What it points to must outlive the tiers. */
struct tiers_opts {
    bool null;               /* empty engines under all tiers */
    const char *gpu;         /* the text of --gpu */
    double gib[TRACE_TIERS]; /* capacity; of the GPU tier, of each GPU; 0: not asked for */
    enum tiers_overflow overflow;
    uint64_t sim_gpu_bytes_per_s; /* of a GPU that is simulated */
    int64_t sim_gpu_latency_ns;
    uint64_t inflight; /* objects */
    bool any_order;    /* requests run in another order than the trace's (--timing served) */
    uint64_t chunk_bytes;
    struct storage_opts storage;
    const struct uri *remote[TRACE_TIERS]; /* stores behind a network; NULL: none */
    int64_t timeout_ns;                    /* of remote stores, as the next */
    unsigned retries;
    const struct uri *like; /* the engine that storage is to act like; NULL: in kvtrace's own way */
    /* of the storage engine */
    enum io_engine io;
    unsigned iodepth, rings;
    bool sqpoll, iopoll, sync_objects;
    enum io_pages pages;
    double compress_ratio, dedup_ratio;
};

enum tiers_kind {
    TIERS_NONE,
    TIERS_STORAGE,
    TIERS_HOST,
    TIERS_GPU,
    TIERS_SIM,
    TIERS_NULL,
    TIERS_REMOTE
};

/* The engine of a tier. */
struct tiers_choice {
    enum tiers_kind kind;
    int gpu[TIER_GPU_MAX]; /* device numbers */
    unsigned gpus;
    struct tier_sim_opts sim; /* TIERS_SIM ... */
    struct drive_model
        *drive;        /* ... unless it is this measured drive; owned, tiers_close frees it */
    char instead[320]; /* what was meant and why it is not so; "" */
};

/* Plain state, filled by the verbs below. Zero it and set the first two. */
struct tiers {
    struct tiers_opts o;
    const struct survey *surveyed; /* what the trace needs; NULL from a pipe */
    struct tiers_choice choice[TRACE_TIERS];
    struct room room[TRACE_TIERS];
    uint64_t arena[TRACE_TIERS];         /* bytes of objects that a memory or GPU engine holds */
    uint64_t slack_objects[TRACE_TIERS]; /* objects there that may need a block of slack each */
    bool wrap[TRACE_TIERS];              /* the arena's space is used again: capacity has no end */
    bool exact[TRACE_TIERS];             /* the room is known from a survey or an option */
    struct tier *tier[TRACE_TIERS];
    struct tier_info info[TRACE_TIERS];
    uint64_t ios_before[TRACE_TIERS]; /* of info, when the clock started */
    int64_t io_ns_before[TRACE_TIERS];
    /* the doors of remote stores: now, and when the clock started */
    unsigned doors[TRACE_TIERS]; /* 0: the tier is no such store */
    struct tier_door door[TRACE_TIERS][TIER_DOORS_MAX], door_before[TRACE_TIERS][TIER_DOORS_MAX];
    bool verifies[TRACE_TIERS];
    struct storage storage;
    bool kept[TRACE_TIERS], unsure[TRACE_TIERS]; /* what an earlier run left: struct storage */
    struct gap_list *gaps;                       /* the caller's, set before the opening */
};

/* Takes the texts of --tier-engine, before the trace is read. -EINVAL with *e. */
int tiers_parse(struct tiers *t, const struct opt_list *engines, struct err *e);
/* Decides the engines. With a survey, tiers without rows get none. Negative errno with *e. */
int tiers_choose(struct tiers *t, struct err *e);
/* Decides capacities: the option, else the trace's provenance (JSON or NULL), else what the trace
 * needs. Storage is settled by tiers_storage_room. Class ERR_TARGET with the peak when a tier is
 * too small. */
int tiers_size(struct tiers *t, const char *provenance, struct err *e);
/* Opens target and engines, which ring bell and tell gaps. */
int tiers_open(struct tiers *t, struct bell *bell, struct err *e);
/* Checks the room on the storage target, of which adopted objects hold kept_bytes. Refuses a target
 * too small for the peak and the staying_bytes of objects that the trace only reads. */
int tiers_storage_room(struct tiers *t, uint64_t kept_bytes, uint64_t staying_bytes, struct err *e);
/* Whether closing leaves the objects of remote stores there. Without it, what was kept stays. */
void tiers_keep(struct tiers *t, bool keep);
/* Asks the open engines again what they are, and what they had to do without. */
void tiers_describe(struct tiers *t);
/* The clock starts: what the engines moved so far is no part of the run. */
void tiers_began(struct tiers *t);
/* Threads that serve operations, of all engines. */
unsigned tiers_threads(const struct tiers *t);
/* Closes what is open, the target last (keep: its objects stay). The first failure is in *e.
 * Idempotent. */
int tiers_close(struct tiers *t, bool keep, const struct objects *objects, struct err *e);

#endif
