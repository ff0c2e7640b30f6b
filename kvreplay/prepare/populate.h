/* Brings the tiers into the state that the trace expects, before the clock starts: objects that it
 * reads before it writes them are adopted from an earlier run, or written. The main thread. */
#ifndef KVREPLAY_PREPARE_POPULATE_H
#define KVREPLAY_PREPARE_POPULATE_H

#include <stdint.h>

#include "kvreplay/prepare/survey.h"
#include "kvreplay/prepare/tiers.h"
#include "kvreplay/wait/objects.h"
#include "lib/base/progress.h"

struct populated {
    uint64_t objects, bytes;                 /* written */
    uint64_t left_objects, left_bytes;       /* not written: the target was full, and is cleaned */
    uint64_t adopted_objects, adopted_bytes; /* found */
    uint64_t torn_objects;                   /* found and not whole, after a run that was killed */
    /* By the list of what is kept. Reads of the first two fail. */
    uint64_t lost_objects;    /* listed and not there */
    uint64_t stale_objects;   /* there in another size or generation than listed */
    uint64_t foreign_objects; /* their name is there, and is no file of ours */
};

/* Zero it and set the first part, which stays the caller's. */
struct populate {
    const struct survey *survey;
    struct tiers *tiers;
    struct objects *objects; /* get the objects that are in the tiers */
    struct progress *progress;
    struct bell *bell;
    unsigned inflight;   /* writes at a time */
    uint64_t generation; /* of the next object that is written */
    struct populated done;
    uint64_t left_bytes[SPREAD_MAX]; /* by target, of objects that were not written */
    bool stuck; /* a second signal came, and writes are still in flight: the tiers must stay */
};

/* Adopts objects that an earlier run left with the right size, and takes their room. 0 or negative
 * errno with *e. */
int populate_adopt(struct populate *p, struct err *e);
/* Writes the others and takes their room. 0, or negative errno with *e; -EINTR: a signal came. */
int populate_write(struct populate *p, struct err *e);

#endif
