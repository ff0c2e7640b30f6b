/* One operation of the storage tier while a thread serves it: the stages that the object goes
 * through, the call of each, and where its bytes lie. */
#ifndef KVTRACE_TIER_STORAGE_OBJECT_H
#define KVTRACE_TIER_STORAGE_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/io/io.h"
#include "lib/layout/extent.h"
#include "lib/layout/files.h"
#include "lib/tier/storage_where.h"
#include "lib/tier/tier.h"

/* Where objects lie and how they are treated; the same for all objects of a tier. */
struct storage_policy {
    struct layout_files *files;      /* objects are files; NULL: extents of a slab */
    int slab_fd;                     /* the slab; the tier allocates its space */
    const struct extent_pool *space; /* op->place is one of its lists */
    uint64_t slab_begin;             /* offset of the space in the slab */
    struct disk_map map;             /* of the slab, or of the files */
    struct storage_where *where;     /* the thread's; NULL: the map need not be asked twice */
    uint32_t chunk_bytes;
    bool buffered;     /* no O_DIRECT: pages are written back and dropped after each object */
    bool sync_objects; /* fdatasync what was written */
};

/* An object goes through these in order and leaves out what it does not need. */
enum storage_stage {
    STORAGE_CLEAR, /* removes a file that is in the way; most objects begin with the opening */
    STORAGE_OPEN,
    STORAGE_ALLOCATE,
    STORAGE_MOVE,
    STORAGE_SYNC,
    STORAGE_DROP,
    STORAGE_CLOSE,
    STORAGE_RETIRE, /* what was written has another name than what it replaces, which is removed */
    STORAGE_REMOVE,
    STORAGE_DONE
};

struct storage_object {
    struct tier_op *op; /* NULL: unused */
    enum storage_stage stage;
    struct io_req call; /* of the stage; its owner is this object */
    struct layout_name name;
    struct layout_name old; /* of STORAGE_RETIRE, below the same folder */
    int fd;
    bool slot, opened;
    bool occupied;         /* another file of the name was found */
    bool removed;          /* its file is gone */
    bool placed;           /* where it lies on disk was asked */
    bool torn;             /* a failed write left a file that could not be removed */
    uint64_t bytes;        /* to move, in whole blocks */
    uint64_t issued;       /* of these, handed out in chunks */
    uint32_t next_extent;  /* of a slab's object */
    struct extent rest;    /* of the extent that is being handed out */
    bool has_slot;         /* of op->slots */
    int64_t line_since_ns; /* it waits for a slot since then */
    unsigned moving;       /* chunks that have a buffer now */
    unsigned unmoved;      /* of these, chunks whose I/O has not ended */
    unsigned in_flight;    /* chunks at the engine */
    int64_t busy_since_ns; /* when in_flight became more than 0 */
    int64_t full_ns;       /* the thread's time without a free I/O slot, when in_flight became 0 */
    struct storage_object *next;
};

/* Whether it is remembered where the bytes of op, which wants to know, lie: op->where.known. */
void storage_object_recall(struct tier_op *op, const struct storage_policy *p);
/* Takes up op. slot: where in the engine's table its file goes; -1: it gets a descriptor. */
void storage_object_begin(struct storage_object *ob, const struct storage_policy *p,
                          struct tier_op *op, int slot);
/* Goes on to the next stage that the object needs. STORAGE_MOVE: chunks are to be moved.
 * STORAGE_DONE: op->status and op->place are set. All others: call is to be submitted. */
enum storage_stage storage_object_next(struct storage_object *ob, const struct storage_policy *p);
/* Takes the result of the stage's call. */
void storage_object_called(struct storage_object *ob);
/* The next chunk as a request, without its buffer: descriptor, offset, length. */
void storage_object_chunk(struct storage_object *ob, const struct storage_policy *p,
                          struct io_req *r);
/* Checks a chunk that was read, which begins at bytes into the object; a fault goes into op. */
void storage_object_check(const struct storage_object *ob, const struct io_req *r, uint64_t at);

#endif
