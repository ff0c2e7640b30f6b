/* transfers.h - how long an engine's transfers take, and which are done: over the link between host
 * and GPU, one after the other in each direction, and to and from the tier of files by its model
 * (tier_model.h). One thread. */
#ifndef KVGEN_SERVE_TRANSFERS_H
#define KVGEN_SERVE_TRANSFERS_H

#include <stdbool.h>
#include <stdint.h>

#include "kvgen/cache/cache.h"
#include "kvgen/speed/tier_model.h"

/* The share of the link's peak that loads and stores of many blocks reach. */
#define TRANSFERS_LINK_SHARE 0.8

struct transfers_opts {
    uint64_t link_bytes_s;          /* a direction, at peak; 0: it takes no time */
    uint64_t ranks;                 /* the host carries the bytes of a row this many times */
    int64_t load_ns;                /* once for each load */
    uint64_t chunk_bytes;           /* of one key of a transfer, of one rank */
    const struct tier_model *files; /* of Tier-2; not given: it takes no time */
    struct transfers *with;         /* of another engine, on whose files these wait, too; or NULL */
    /* Threads for reads and for writes between host memory and a measured drive: each has
     * one object in it, and the others wait in the order in which they were handed over. 0: as many
     * as there are objects. What a step waits for has the drive for itself, with as many objects
     * in it; 0: one. */
    uint64_t threads[2];
    bool in_turn; /* in place of threads: each transfer has one object in the drive */
};

/* A transfer under way. */
struct transfer {
    uint64_t id; /* the cache's */
    enum kv_transfer_kind kind;
    const struct kv_request *request; /* NULL: nobody's */
};

/* Transfers of the tier of files so far, [0] reads, [1] writes. Objects are keys of transfers, with
 * the bytes of all ranks; in_flight_ns is the sum of the times that the drive had each, without its
 * wait for a thread (divided by a time: the mean depth, J. Little, Operations Research 9(3), 1961).
 */
struct transfers_files {
    uint64_t bytes[2], objects[2];
    int64_t in_flight_ns[2];
};

struct transfers;

/* The model of the files stays the caller's. Those that share files may be freed in any order, but
 * then none may be used any more. NULL: no memory. */
struct transfers *transfers_create(const struct transfers_opts *o);
void transfers_free(struct transfers *t); /* takes NULL */

/* One begins, at now_ns in that step. Transfers with the GPU start at the end of the step, those
 * below it at once; one of the step itself delays it. 0 or -ENOMEM. */
int transfers_begin(struct transfers *t, const struct kv_transfer *what, int64_t now_ns,
                    uint64_t step);
/* The step cannot compute before that transfer is done. */
void transfers_flush(struct transfers *t, uint64_t id, int64_t now_ns, uint64_t step);
/* By how much transfers delay the step that begins now, in ns: the larger of what those of its own
 * and what those before it that it awaits take. */
int64_t transfers_delay_ns(const struct transfers *t);
struct transfers_waits {
    int64_t own_ns, flush_ns; /* the two */
    int64_t loading_ns;       /* its own loads on the link, without what they wait for */
};
const struct transfers_waits *transfers_waits(const struct transfers *t); /* lent */
/* The step takes until end_ns: its transfers with the GPU start then. */
void transfers_start(struct transfers *t, int64_t end_ns);

/* When the next one ends that began before that step; INT64_MAX: there is none. */
int64_t transfers_next_ns(struct transfers *t, uint64_t step);
/* true: some began in that step, or later. */
bool transfers_since(const struct transfers *t, uint64_t step);
/* Takes out one that is done by now_ns: below the GPU; or with the GPU, if the output of that step,
 * or of one before, can say so. false: there is none. */
bool transfers_take(struct transfers *t, bool gpu, int64_t now_ns, uint64_t step,
                    struct transfer *out);
const struct transfers_files *transfers_files(const struct transfers *t); /* lent */
uint64_t transfers_count(const struct transfers *t);                      /* under way */

#endif
