/* The table of copies, each named by (tier, hash of the key): what is stored now, and what will be
 * stored when every admitted row is done. At most 64 bytes a copy, 80 with links. One thread. */
#ifndef KVREPLAY_WAIT_OBJECTS_H
#define KVREPLAY_WAIT_OBJECTS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/hash.h"

#define OBJECT_SIZE_MAX ((UINT64_C(1) << 47) - 1)

struct object {
    struct hash128 key;
    uint64_t generation; /* of the stored contents */
    void *place;         /* the tier's handle (struct tier_op) */
    uint64_t size : 47;  /* stored bytes; in a survey: bytes needed before the first row */
    uint64_t rows : 17;  /* rows that hold it: it stays in the table */
    uint64_t planned_size : 47;
    uint64_t tier : 2;
    uint64_t live : 1;     /* stored now */
    uint64_t planned : 1;  /* stored once every admitted row is done */
    uint64_t initial : 1;  /* survey: read before it was written */
    uint64_t replaced : 1; /* survey: written, moved or deleted since */
    uint64_t stale : 1;    /* adopted, and not what the store's list says: no read of it is right */
    /* cleaner.c: in its ranking; being removed by it; removed by it, and not written since */
    uint64_t ranked : 1, leaving : 1, removed : 1;
    uint64_t : 7;
};

/* Neighbours in a ranking by use; NULL: none. */
struct object_links {
    struct object *older, *newer;
};

/* The name under which a tier stores the copy: hash of (tier, key). */
struct hash128 object_name(struct hash128 key, unsigned tier);

struct objects;

struct objects *objects_create(void); /* NULL: no memory */
/* Before the first copy: each entry gets struct object_links, 16 bytes more. */
void objects_keep_links(struct objects *o);
void objects_free(struct objects *o);
/* NULL: not there. The entry is valid until objects_settle removes it. */
struct object *objects_find(const struct objects *o, struct hash128 key, unsigned tier);
/* Finds or adds. NULL: no memory, or 2^32 - 2 copies. */
struct object *objects_get(struct objects *o, struct hash128 key, unsigned tier);
/* Removes the copy unless it is live, planned or initial, or a row holds it. */
void objects_settle(struct objects *o, struct object *object);
/* A row holds the copy until it releases it, which also settles it. At most 131,071 rows hold one
 * copy at a time. object may be NULL. */
void objects_hold(struct object *object);
void objects_release(struct objects *o, struct object *object);
/* The links of a copy, in a table that keeps them; the caller's to fill in. */
struct object_links *objects_links(struct object *object);
/* The copy is needed soon: fetches its cell of the index, and a little later its entry. */
void objects_prefetch_cell(const struct objects *o, struct hash128 key, unsigned tier);
void objects_prefetch_entry(const struct objects *o, struct hash128 key, unsigned tier);
size_t objects_count(const struct objects *o);
/* Visits all copies in no particular order. Start with *pos = 0; NULL at the end. Copies may be
 * changed during the walk, but not added or settled. */
struct object *objects_next(const struct objects *o, size_t *pos);
/* Bytes of memory that the table holds. */
size_t objects_bytes(const struct objects *o);

#endif
