/* The storage under Tier-2: a directory of files, or a slab in a directory, in a regular file or on
 * a block device. Opens it with all guards, sizes a slab, and leaves it as asked. One thread. */
#ifndef KVREPLAY_PREPARE_STORAGE_H
#define KVREPLAY_PREPARE_STORAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "kvreplay/wait/objects.h"
#include "kvreplay/wait/room.h"
#include "lib/io/target_device.h"
#include "lib/io/target_dir.h"
#include "lib/io/target_part.h"
#include "lib/layout/slab.h"
#include "lib/owner/inventory_files.h"

/* Each in the order of the choices of its option. */
enum storage_layout { /* --layout */
    STORAGE_LAYOUT_AUTO,
    STORAGE_LAYOUT_FILES,
    STORAGE_LAYOUT_SLAB
};
enum storage_sync { /* --sync */
    STORAGE_SYNC_NONE,
    STORAGE_SYNC_END,
    STORAGE_SYNC_OBJECT
};

enum storage_spread { /* --config spread */
    STORAGE_SPREAD_HASH,
    STORAGE_SPREAD_CAPACITY
};

/* The paths that one store lies on. */
struct storage_list {
    const char *const *path;
    unsigned count; /* 1 to SPREAD_MAX */
    enum storage_spread spread;
};
/* Divides the store: into equal parts or by size, but where an earlier run kept objects, into the
 * parts that it kept. Nothing is opened for writing. Class ERR_INPUT: a place named twice;
 * ERR_TARGET: what was kept is a part of another store. */
int storage_divide(const struct storage_list *l, bool destroy_data, struct target_part *part,
                   struct err *e);

/* How many of the targets lie on the file system that target i is on or will be; 1 at least. */
unsigned storage_sharers(const struct storage_list *l, unsigned i);

struct storage_opts {
    const char *path;
    unsigned sharers; /* targets of this run on its file system, of all ranks, itself included */
    enum storage_layout layout;
    bool destroy_data; /* may overwrite a device or a file that is not ours, or what was kept */
    bool keep;         /* objects are to stay */
    bool shared;       /* by several processes of this run, with files in a directory */
    bool joins;        /* ... of which another one has taken it, and will leave it */
    uint64_t data_seed;
    bool buffered;           /* no O_DIRECT */
    bool files_only;         /* objects are files in a directory, as an engine lays them out */
    uint64_t bytes;          /* capacity asked for; 0: not asked */
    bool evicts;             /* a trace may need more than that: a cleaner makes room */
    struct target_part part; /* of the store's objects */
    double reserve;          /* share of the file system that stays free, or TARGET_RESERVE_AUTO */
    uint64_t inflight;       /* objects */
};

/* The room that a trace needs on one target; all bytes and objects are of it alone. */
struct storage_need {
    uint64_t peak, peak_objects;         /* at once */
    uint64_t noted_bytes, noted_objects; /* that may be there already, beside the peak */
    uint64_t largest;                    /* object, bytes */
};

/* Plain state, filled by storage_open. Zero it first. */
struct storage {
    struct storage_opts o;
    struct target_dir *target;    /* the directory; NULL: a file or device */
    struct inventory_files *list; /* of what is kept, for files in a directory; else NULL */
    uint32_t epoch;               /* of this run, in the names of these files */
    struct layout_slab *slab;     /* NULL: objects are files */
    int fd;                       /* of the slab, else of the directory */
    bool open;
    bool own_fd;   /* fd is a slab's */
    bool resizes;  /* the slab's file is ours to lengthen and to empty */
    bool was_kept; /* objects of an earlier run are there */
    bool unsure;   /* ... and may be torn: verify them before they are used */
    bool torn;     /* so may objects of this run */
    struct target_device device;
    dev_t file_system;
    int node;       /* NUMA node of the engine's threads; negative: any */
    char path[256]; /* for reports */
};

/* Tells that a marker is watched (struct owner_opts). */
void storage_say_waits(const char *where, const char *who, unsigned seconds);
void storage_say_late(const char *where, uint64_t objects);
/* Opens o->path. The size of a slab is that of its file or device; a file that was empty or is ours
 * becomes as large as the trace needs. room's capacity and max_objects are cut to what a slab
 * holds. need: NULL from a pipe. Negative errno with *e, class ERR_TARGET when it is too small.
 */
int storage_open(struct storage *s, const struct storage_opts *o, const struct storage_need *need,
                 struct room *room, struct err *e);
/* The lease of a directory; NULL for a slab elsewhere, which a lock or the kernel guards. */
struct lease *storage_lease(const struct storage *s);
/* The trace has no rows for the target at path: nothing is opened or made there, which is said. A
 * path that could not be used is refused all the same. Negative errno with *e, as storage_open. */
int storage_check_unused(const char *path, struct err *e);
/* Before the clock starts, when rows will change something: marks a slab as in use on its device
 * now, so that the first of these rows does not wait for it. */
int storage_begin(struct storage *s, struct err *e);
/* Bytes of kept objects in a slab that were not adopted and stay. */
uint64_t storage_beside(const struct storage *s);
/* Bytes that are free now; UINT64_MAX: not known. */
uint64_t storage_free(const struct storage *s);
/* Forces what was written to the device. Where that fails, nobody knows what of it is there: the
 * kernel tells each failure once. */
int storage_sync(struct storage *s, struct err *e);
/* keep: objects stay; of a slab, only those in objects. What is known to be torn, or may be, the
 * next run is told. Idempotent. */
int storage_close(struct storage *s, bool keep, const struct objects *objects, struct err *e);

#endif
