/* objects.h - the live copies of the replay, named by (tier, hash of the key): what is stored now
 * and what will be when every row admitted so far is done. At most 64 bytes a copy. One thread. */
#ifndef KVREPLAY_SCHED_OBJECTS_H
#define KVREPLAY_SCHED_OBJECTS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/hash.h"

#define OBJECT_SIZE_MAX ((UINT64_C(1) << 47) - 1)

struct object {
    struct hash128 key;
    uint64_t generation; /* of the stored contents */
    void *place;         /* the tier's handle (struct tier_op) */
    uint64_t size : 47;  /* stored bytes; in a survey: bytes needed before the first row */
    uint64_t rows : 17;  /* that hold it: it stays where it is */
    uint64_t planned_size : 47;
    uint64_t tier : 2;
    uint64_t live : 1;     /* stored */
    uint64_t planned : 1;  /* there once every admitted row is done */
    uint64_t initial : 1;  /* survey: read before it was written */
    uint64_t replaced : 1; /* survey: written, moved or deleted since */
    uint64_t : 11;
};

struct objects;

struct objects *objects_create(void); /* NULL: no memory */
void objects_free(struct objects *o);
/* NULL: not there. Valid until objects_settle takes it away. */
struct object *objects_find(const struct objects *o, struct hash128 key, unsigned tier);
/* Finds or adds; NULL: no memory (or 2^32 - 2 copies). */
struct object *objects_get(struct objects *o, struct hash128 key, unsigned tier);
/* Forgets the copy if it is neither stored nor planned nor initial, and no row holds it. */
void objects_settle(struct objects *o, struct object *object);
/* A row needs the copy until it releases it, which settles it; 131,071 rows may at a time. NULL is
 * allowed. */
void objects_hold(struct object *object);
void objects_release(struct objects *o, struct object *object);
/* A call for the copy comes soon: fetches the cell of the index; a little later, the entry. */
void objects_prefetch_cell(const struct objects *o, struct hash128 key, unsigned tier);
void objects_prefetch_entry(const struct objects *o, struct hash128 key, unsigned tier);
size_t objects_count(const struct objects *o);
/* Walks all copies in no particular order: start with *pos = 0; NULL at the end. Copies may be
 * changed, not added or settled, meanwhile. */
struct object *objects_next(const struct objects *o, size_t *pos);
/* Bytes held, for tests of the bound. */
size_t objects_bytes(const struct objects *o);

#endif
