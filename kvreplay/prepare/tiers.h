/* The three tiers of a replay: which engine works under each, how much room each has, and opening
 * and closing engines and target. Call the verbs in their order below. One thread. */
#ifndef KVREPLAY_PREPARE_TIERS_H
#define KVREPLAY_PREPARE_TIERS_H

#include <stdbool.h>
#include <stdint.h>

#include "kvreplay/doors.h"
#include "kvreplay/prepare/storage.h"
#include "kvreplay/prepare/survey.h"
#include "kvreplay/wait/room.h"
#include "lib/io/io.h"
#include "lib/ranks/claims.h"
#include "lib/thread/bell.h"
#include "lib/tier/listed.h"
#include "lib/tier/spread.h"
#include "lib/tier/tier.h"
#include "lib/tier/uri.h"

#define TIERS_NO_LIMIT (UINT64_MAX / 4) /* bytes of a room */

/* In the order of the choices of --overflow. */
enum tiers_overflow {
    TIERS_OVERFLOW_FAIL,
    TIERS_OVERFLOW_WRAP
};

/* The tiers that are asked for. Whatever it points to must outlive them. */
struct tiers_opts {
    bool null;               /* empty engines under all tiers */
    const char *gpu;         /* the text of --gpu */
    double gib[TRACE_TIERS]; /* capacity; of the GPU tier, of each GPU; 0: not asked for */
    enum tiers_overflow overflow;
    uint64_t sim_gpu_bytes_per_s; /* of a GPU that is simulated */
    int64_t sim_gpu_latency_ns;
    uint64_t inflight; /* objects */
    uint64_t ahead;    /* more that are inside, of engines that take slots */
    bool evicts;       /* Tier-2 may need more room than there is: a cleaner makes it */
    bool any_order;    /* requests run in another order than the trace's (--timing served) */
    uint64_t chunk_bytes;
    struct storage_opts storage;           /* of each target; path and part are tiers.c's */
    struct storage_list targets;           /* count 0: there is no storage */
    const struct target_part *part;        /* of each target (storage_divide) */
    const struct claim_others *others;     /* of each target; NULL: there are no other ranks */
    const struct uri *remote[TRACE_TIERS]; /* stores behind a network; NULL: none */
    int64_t timeout_ns;                    /* of remote stores, as the next */
    unsigned retries;
    const struct uri *like; /* the engine that storage is to act like; NULL: in kvtrace's own way */
    /* of the storage engine */
    enum io_engine io;
    unsigned iodepth, rings; /* of each target */
    bool sqpoll, iopoll, sync_objects;
    enum io_pages pages;
    double compress_ratio, dedup_ratio;
    uint64_t first_generation; /* of this run's writes */
    unsigned rank;             /* among the processes of this run */
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
    unsigned threads;         /* TIERS_HOST; 0: by the number of processors */
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
    struct tier *remote[TRACE_TIERS]; /* the engine of TIERS_REMOTE, which tier may lie over */
    struct tier *listed[TRACE_TIERS + SPREAD_MAX]; /* of kept stores; closed with tier */
    unsigned listeds;
    struct tier_info info[TRACE_TIERS];
    uint64_t ios_before[TRACE_TIERS]; /* of info, when the clock started */
    int64_t io_ns_before[TRACE_TIERS];
    /* the doors of remote stores and of several paths: now, and when the clock started */
    unsigned doors[TRACE_TIERS]; /* 0: the tier is neither */
    struct tier_door door[TRACE_TIERS][TIER_DOORS_MAX], door_before[TRACE_TIERS][TIER_DOORS_MAX];
    double door_share[TRACE_TIERS][TIER_DOORS_MAX]; /* of the objects */
    bool verifies[TRACE_TIERS], takes_slots[TRACE_TIERS];
    struct storage *storage;  /* the targets of Tier-2; storages of them are, or may be, open */
    struct room *target_room; /* of each, where there are several */
    struct tiers_adopted {
        uint64_t bytes;
        uint64_t staying_bytes; /* in addition to the survey's peak: the trace neither replaces nor
                                   removes these objects */
    } * adopted;                /* on each target */
    unsigned storages;
    bool kept[TRACE_TIERS], unsure[TRACE_TIERS]; /* what an earlier run left: struct storage */
    bool torn; /* closed: a failed write of this run may have left a part of its object */
    struct gap_list *gaps; /* the caller's, set before the opening */
};

/* Takes the texts of --tier-engine, before the trace is read. -EINVAL with *e. */
int tiers_parse(struct tiers *t, const struct opt_list *engines, struct err *e);
/* Decides the engines. With a survey, tiers without rows get none. Negative errno with *e. */
int tiers_choose(struct tiers *t, struct err *e);
/* Decides capacities: the option, else the trace's provenance (JSON or NULL), else what the trace
 * needs. Storage is settled by tiers_storage_room. Class ERR_TARGET with the peak when a tier is
 * too small. */
int tiers_size(struct tiers *t, const char *provenance, struct err *e);
/* Says that the trace needs more in a tier at its peak than of (its name for messages) has.
 * -ENOSPC. */
int tiers_too_small(struct err *e, unsigned tier, uint64_t peak, uint64_t has, const char *of);
/* Opens target and engines, which ring bell and tell gaps. */
int tiers_open(struct tiers *t, struct bell *bell, struct err *e);
/* Checks the room on each storage target beside what was adopted there. Refuses one too small for
 * its peak and the staying bytes of objects that the trace only reads. */
int tiers_storage_room(struct tiers *t, struct err *e);
/* Before the clock starts, when rows will change something in Tier-2: storage_begin of each. */
int tiers_storage_begin(struct tiers *t, struct err *e);
/* Forces what was written in Tier-2 to the devices. */
int tiers_storage_sync(struct tiers *t, struct err *e);
/* Bytes that are free now on the target that is door of Tier-2, or on the only one; UINT64_MAX: not
 * known. */
uint64_t tiers_storage_free(const struct tiers *t, unsigned door);
/* Whether closing leaves the objects of remote stores there. Without it, what was kept stays. */
void tiers_keep(struct tiers *t, bool keep);
/* After adoption: kept objects that were adopted need no further memory. */
void tiers_settle(struct tiers *t);
/* The sums over the lists of kept stores; state is that of the worst. False: there is none. */
bool tiers_lists(const struct tiers *t, struct tier_listed_facts *f);
/* Asks the open engines again what they are, and what they had to do without. */
void tiers_describe(struct tiers *t);
/* The doors of a tier, to be judged. What it points to is the caller's and the tiers'. */
struct doors tiers_doors(const struct tiers *t, unsigned tier, const struct counts *counts);
/* The number of the path that is door of Tier-2; a tier with one path has no doors. */
static inline unsigned tiers_target(const struct tiers *t, unsigned door)
{
    return door < t->storages ? door : 0;
}
/* The devices under Tier-2, each once, by name; device has room for SPREAD_MAX. Their number. */
unsigned tiers_devices(const struct tiers *t, const struct target_device **device);
/* The clock starts: what the engines moved so far is no part of the run. */
void tiers_began(struct tiers *t);
/* Threads that serve operations, of all engines. */
unsigned tiers_threads(const struct tiers *t);
/* Closes what is open, the targets last. keep: their objects stay; a run that did not begin (ran is
 * false) leaves each as it was. The first failure is in *e. Idempotent. */
int tiers_close(struct tiers *t, bool ran, bool keep, const struct objects *objects, struct err *e);

#endif
