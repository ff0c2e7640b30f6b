/* storage_object.h - an operation of the storage tier while a worker serves it: where its bytes
 * are, and the calls that come before and after the moving of them. */
#ifndef KVTRACE_TIER_STORAGE_OBJECT_H
#define KVTRACE_TIER_STORAGE_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/io/io.h"
#include "lib/tier/extent.h"
#include "lib/tier/layout_files.h"
#include "lib/tier/tier.h"

/* Where objects are and how they are treated; the same for all objects of a tier. */
struct storage_policy {
    struct layout_files *files;      /* objects are files; NULL: they are extents of a slab */
    int slab_fd;                     /* the slab and its space, which the tier allocates */
    const struct extent_pool *space; /* op->place is a list of it */
    uint64_t slab_begin;             /* offset of the space in the slab */
    uint32_t chunk_bytes;
    bool buffered;     /* not O_DIRECT: written back and dropped from the page cache */
    bool sync_objects; /* fdatasync what was written */
};

/* What may happen to an object, in this order; what it does not need is left out. */
enum storage_stage {
    STORAGE_OPEN,
    STORAGE_ALLOCATE,
    STORAGE_MOVE,
    STORAGE_SYNC,
    STORAGE_DROP,
    STORAGE_CLOSE,
    STORAGE_REMOVE,
    STORAGE_DONE
};

struct storage_object {
    struct tier_op *op; /* NULL: unused */
    enum storage_stage stage;
    struct io_req call; /* of the stage; its owner is the object */
    struct layout_name name;
    int fd;
    bool slot, opened;
    uint64_t bytes;  /* to move, whole blocks */
    uint64_t issued; /* of those, given to the engine */
    unsigned moving; /* chunks that have a buffer now */
    unsigned in_flight;
    int64_t busy_since_ns;
    uint32_t next_extent;
    struct extent rest; /* of the extent that is being moved */
    struct storage_object *next;
};

/* Takes op up: its first stage follows from storage_object_next. slot: of the engine's table, for
 * its file; -1: a descriptor. */
void storage_object_begin(struct storage_object *ob, const struct storage_policy *p,
                          struct tier_op *op, int slot);
/* The next stage that the object needs. For all but STORAGE_MOVE and STORAGE_DONE, call is filled
 * and to be submitted; at the end op->status and op->place are set. */
enum storage_stage storage_object_next(struct storage_object *ob, const struct storage_policy *p);
/* What the call of the stage came to. */
void storage_object_called(struct storage_object *ob);
/* Request for the next chunk: offset, descriptor and len, at most len bytes. */
void storage_object_chunk(struct storage_object *ob, const struct storage_policy *p,
                          struct io_req *r);
/* Contents of the chunk r, at bytes into the object: made, or checked into op's status and fault.
 */
void storage_object_fill(const struct storage_object *ob, const struct io_req *r, uint64_t at);
void storage_object_check(const struct storage_object *ob, const struct io_req *r, uint64_t at);

#endif
