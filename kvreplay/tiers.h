/* tiers.h - the three tiers of a replay: which engine stands under each, how much room it has,
 * opening and closing them and the storage target. */
#ifndef KVREPLAY_TIERS_H
#define KVREPLAY_TIERS_H

#include <stdbool.h>
#include <stdint.h>

#include "kvreplay/options.h"
#include "kvreplay/sched/room.h"
#include "kvreplay/storage.h"
#include "kvreplay/survey.h"
#include "lib/base/bell.h"
#include "lib/tier/tier.h"

enum tiers_kind {
    TIERS_NONE,
    TIERS_STORAGE,
    TIERS_HOST,
    TIERS_GPU,
    TIERS_SIM,
    TIERS_NULL
};

struct tiers_choice {
    enum tiers_kind kind;
    int gpu[TIER_GPU_MAX]; /* device numbers */
    unsigned gpus;
    struct tier_sim_opts sim; /* simulated */
    char instead[320];        /* why not what was meant; "" */
};

/* All public: plain state, filled by the verbs below in their order. Zero it first. */
struct tiers {
    struct tiers_choice choice[TRACE_TIERS];
    struct room room[TRACE_TIERS];
    uint64_t arena[TRACE_TIERS]; /* bytes of objects that memory and GPU engines are opened with */
    uint64_t slack_objects[TRACE_TIERS]; /* that may take a block more than their bytes there */
    bool wrap[TRACE_TIERS];              /* the arena's space is used again: capacity has no end */
    bool exact[TRACE_TIERS];             /* room is known from a survey or an option */
    struct tier *tier[TRACE_TIERS];
    struct tier_info info[TRACE_TIERS];
    uint64_t ios_before[TRACE_TIERS]; /* of info, when the clock started */
    int64_t io_ns_before[TRACE_TIERS];
    bool verifies[TRACE_TIERS];
    struct storage storage;
};

/* Decides the engines. surveyed: NULL from a pipe, else tiers without rows get none. */
int tiers_choose(struct tiers *t, const struct options *o, const struct survey *surveyed,
                 struct err *e);
/* Decides capacities: option, else provenance (JSON or NULL), else what the trace needs. Class
 * ERR_TARGET with the peak when a tier is too small. Storage without an option is settled by
 * tiers_storage_room. */
int tiers_size(struct tiers *t, const struct options *o, const struct survey *surveyed,
               const char *provenance, struct err *e);
/* Opens target and engines. surveyed: NULL from a pipe. */
int tiers_open(struct tiers *t, const struct options *o, const struct survey *surveyed,
               struct bell *bell, struct err *e);
/* Asks the open engines again what they are and what they had to do without. */
void tiers_describe(struct tiers *t);
/* The clock starts: what the engines have moved so far is no part of the run. */
void tiers_began(struct tiers *t);
/* Threads that serve operations, of all engines. */
unsigned tiers_threads(const struct tiers *t);
/* Room on the target, of which kept_bytes are held by adopted objects; refuses a target too small
 * for the peak and, beside it, the staying_bytes of objects that no row touches but to read. */
int tiers_storage_room(struct tiers *t, const struct options *o, const struct survey *surveyed,
                       uint64_t kept_bytes, uint64_t staying_bytes, struct err *e);
/* Closes what is open, the target last (keep: objects stay). First failure in *e. Idempotent. */
int tiers_close(struct tiers *t, bool keep, const struct objects *objects, struct err *e);

#endif
