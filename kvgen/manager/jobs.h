/* jobs.h - the transfers of a manager that are under way: each begins with a number and is told to
 * the listener, and its keys are kept until it is done. */
#ifndef KVGEN_MANAGER_JOBS_H
#define KVGEN_MANAGER_JOBS_H

#include <stddef.h>

#include "kvgen/cache/cache.h"

/* A list of keys. Zero it before the first use; the caller frees .key. */
struct job_keys {
    uint64_t *key;
    size_t count, cap;
};
int job_keys_add(struct job_keys *k, uint64_t key); /* 0 or -ENOMEM */

/* A transfer under way. */
struct job {
    uint64_t id;
    enum kv_transfer_kind kind;
    enum trace_tier from, to;
    bool in_step;
    void *owner;      /* the manager's, ... */
    uint64_t more[3]; /* ... to be set when it has begun */
    uint64_t *keys;   /* that were to be kept; NULL: it is done */
    uint64_t count;
};

/* Zero it before the first use. */
struct jobs {
    struct job *job; /* by id less first */
    size_t cap;
    uint64_t first, next; /* ids: of job[0], and of the next transfer */
    uint64_t open;
};

void jobs_release(struct jobs *j);
/* A transfer of those keys begins; t's id and keys are set here. kept: what is to be known at its
 * end; NULL: its keys. Returns it, in place until the next one begins, for its owner to be set;
 * NULL: no memory, and nothing was told. */
struct job *jobs_begin(struct jobs *j, const struct kv_listener *l, const struct kv_transfer *t,
                       const struct job_keys *keys, const struct job_keys *kept);
/* It is done: fills *out, whose keys the caller frees. */
void jobs_end(struct jobs *j, uint64_t id, struct job *out);
/* The transfer of that kind that has been under way longest; NULL: there is none. It stays in place
 * until the next one begins. */
const struct job *jobs_oldest(const struct jobs *j, enum kv_transfer_kind kind);

#endif
