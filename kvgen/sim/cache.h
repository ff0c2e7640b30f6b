/* cache.h - the simulated cache as requests use it. A request names entries; an entry is one object
 * of the hierarchy, or a series of them (--granularity). Each operation waits for the one before
 * it, tells its rows to the emitter and its lookups to the curve. */
#ifndef KVGEN_SIM_CACHE_H
#define KVGEN_SIM_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "kvgen/sim/emitter.h"
#include "kvgen/sim/hierarchy.h"
#include "kvgen/sim/opts.h"
#include "kvgen/sim/tier_servers.h"
#include "kvgen/sim/virtual_clock.h"

struct cache;

/* An entry as a request names it. One identity always has the same number of tokens. */
struct cache_entry {
    struct ident id;
    int64_t tokens;         /* 0: not known, which only cache_read allows */
    enum trace_class class; /* of the rows */
    bool later;             /* not the first object of its sequence: without the sequence's state */
};

enum cache_progress {
    CACHE_DONE,
    CACHE_WAIT /* call the same again at job.until_ns */
};
enum cache_look {
    CACHE_LOOK_WAIT, /* call the same again at job.until_ns */
    CACHE_MISS,
    CACHE_HIT
};
/* --max-concurrent-allocs: what a request has of the places for writers. */
enum cache_place {
    CACHE_NO_PLACE,
    CACHE_MAY_WRITE, /* got one while it was parked */
    CACHE_WRITES     /* has it until its write is complete */
};

/* One request's use of the cache: a plain value that its job holds. Zero it, then set the first
 * two. */
struct cache_access {
    const struct request *request; /* the rows' */
    struct sleeper job; /* until_ns: the operation under way is complete; nothing begins before */
    uint32_t part;      /* objects of the entry that are done */
    bool missed;        /* the object was looked up and missed, and is yet to be written */
    bool absent;        /* some object of the entry was not there */
    bool dropped;       /* no tier could hold what was written */
    enum cache_place place;
    struct cache_access *next_parked; /* of those that wait for a place */
};

/* Everything passed stays the caller's. NULL: no memory. */
struct cache *cache_create(const struct sim_opts *o, struct virtual_clock *clock,
                           struct emitter *emitter);
void cache_free(struct cache *c);
const struct hierarchy *cache_hierarchy(const struct cache *c);
/* NULL: operations take no time. */
const struct tier_servers *cache_servers(const struct cache *c);
/* tier_servers_end and tier_servers_advance, where operations take time. */
void cache_end(struct cache *c);
bool cache_advance(struct cache *c, int64_t until_ns);

/* Operations of a request on one entry. Each waits for the one before it. When the run has ended
 * all of them say CACHE_WAIT. */

/* Reads the entry. An object that is not there is a miss. With tokens unknown it ends at the first
 * object that is missing. */
enum cache_progress cache_read(struct cache *c, struct cache_access *a,
                               const struct cache_entry *e);
/* Reads the entry and writes what is missing. */
enum cache_progress cache_fetch(struct cache *c, struct cache_access *a,
                                const struct cache_entry *e);
/* Writes the entry where it is not there yet. */
enum cache_progress cache_store(struct cache *c, struct cache_access *a,
                                const struct cache_entry *e);
/* True: the operation before is not complete, or the run has ended. */
bool cache_busy(struct cache *c, struct cache_access *a);

/* The steps of cache_fetch, for blocks: on one object, and the curve is told apart. */

/* Looks the object up, which reads it. */
enum cache_look cache_look_up(struct cache *c, struct cache_access *a, const struct cache_entry *e);
/* A lookup that cannot hit, whatever is there: a miss. What is there counts as used. */
enum cache_look cache_look_past(struct cache *c, struct cache_access *a,
                                const struct cache_entry *e);
/* Writes the object. */
enum cache_progress cache_write(struct cache *c, struct cache_access *a,
                                const struct cache_entry *e);
void cache_tell_lookup(struct cache *c, const struct cache_entry *e);

/* Before the first request: they take no time. */
void cache_populate(struct cache *c, const struct cache_entry *e); /* writes it */
void cache_remove(struct cache *c, const struct cache_entry *e);   /* deletes it where it is */

#endif
