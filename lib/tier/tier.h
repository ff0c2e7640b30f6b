/* Tiers: engines that hold objects and write, read and delete them asynchronously. One thread, the
 * scheduler's, owns a tier; an engine may have threads of its own behind this interface. Tiers know
 * objects, sizes and buffers, but no traces. Each engine is a file. */
#ifndef KVTRACE_TIER_TIER_H
#define KVTRACE_TIER_TIER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/notes.h"
#include "lib/data/data.h"
#include "lib/io/disk_map.h"
#include "lib/io/io.h"
#include "lib/owner/lease.h"
#include "lib/thread/bell.h"

enum tier_verb {
    TIER_WRITE,
    TIER_READ,
    TIER_DELETE,
    TIER_LOOKUP /* is it there? Only engines whose tier_info.looks_up is set take it */
};
/* In the order of the choices of --verify. */
enum tier_verify {
    TIER_VERIFY_NONE,
    TIER_VERIFY_HEADER,
    TIER_VERIFY_FULL,
    TIER_VERIFY_AUTO /* not for an operation: full on storage, header in memory */
};

/* A part of an operation's time that the engine cannot tell. */
#define TIER_UNKNOWN_NS INT64_MIN

/*
 * What the time of an operation was spent on. The parts do not overlap; what is left of the time
 * from submit to completion is the host's: filling and checking data, scheduling. Each is in ns, or
 * TIER_UNKNOWN_NS.
 */
struct tier_parts {
    int64_t slot_ns;  /* it waited inside for a free I/O slot or buffer */
    int64_t meta_ns;  /* open, create, allocate, close, rename, unlink, discard, look up */
    int64_t io_ns;    /* at least one of its I/Os or copies was in flight */
    int64_t flush_ns; /* fdatasync */
};

/*
 * Who makes the contents of a write to a remote store, in place of the engine: pieces of the size
 * of the store's parts, the last one shorter. The engine's thread calls.
 */
struct tier_source {
    void *ctx;
    /* The piece that begins at byte at. 0 with *contents, which stay until give; -EAGAIN: it is not
     * made yet (tier_remote_more tells when it is); other negative errno: it will never be, and the
     * operation ends with that. May be called again before give. */
    int (*take)(void *ctx, uint64_t at, const void **contents);
    /* The piece at byte at is stored, or (negative errno) it is not. */
    void (*give)(void *ctx, uint64_t at, int status);
};

/*
 * One operation. The caller owns it and leaves it untouched from submit until poll returns it. The
 * caller also orders the operations on one object (reads may run together; a write or delete runs
 * alone), and keeps the live objects within the capacity that it opened the tier with.
 */
enum {
    TIER_CODE_CAP = 40,
    TIER_SAID_CAP = 240,
    TIER_NO_DOOR = UINT8_MAX
};
struct tier_op {
    /* in */
    enum tier_verb verb;
    bool drop;               /* TIER_READ: the object is gone afterwards (demotion, promotion) */
    enum tier_verify verify; /* TIER_READ */
    struct hash128 name;     /* of the copy: the hash of (tier, key); names the file */
    struct data_id id;       /* of the contents: key hash and generation */
    uint64_t size;           /* bytes to write or read; whole blocks are moved */
    uint32_t epoch;   /* adopt, of a store with epochs in its names: that of the object's name */
    uint64_t request; /* engines that serve a request's operations one after another do so for those
                         of the same number; 0: none */
    void *place; /* in and out: the engine's handle of the stored copy, which the caller keeps with
                    the object. NULL before the first write and after a delete */
    const struct tier_source *source; /* TIER_WRITE to a remote store; NULL: contents are made from
                                         id. The caller's */
    void *owner;                      /* the caller's */
    struct slots *slots; /* an engine with tier_info.takes_slots takes one of these for a read or
                            write, before its first I/O, and gives it back after the last. NULL:
                            none is needed. The caller's */
    /* out */
    int status; /* 0; -ENOENT not there; -EINVAL more asked for than stored; other negative errno.
                   -EBADMSG with fault.kind set: corrupt; without: the device's own error;
                   -EREMOTEIO with code set: a remote store refused */
    char code[TIER_CODE_CAP]; /* what it answered: "RESP:OOM" */
    int64_t done_ns;          /* monotonic time of completion */
    /* A read's time from its submission to the first byte of the answer; the submitter sets it to
     * TIER_UNKNOWN_NS, engines that know overwrite it. */
    int64_t first_byte_ns;
    uint8_t door; /* of a store with several (struct tier_door), the one that it went through; the
                     submitter sets it to TIER_NO_DOOR */
    struct disk_where where; /* the submitter sets wanted and clears known; the storage tier fills
                                it in, for operations that end ok */
    struct tier_parts part;
    int64_t ahead_ns;  /* with slots: it waited for one, ready for its first I/O: in no part */
    int64_t late_ns;   /* of that time, after its slot was given */
    int64_t device_ns; /* storage or memory worked for it: meta + io + flush */
    struct data_fault fault; /* when corrupt; the submitter sets its kind to DATA_FAULT_NONE */
    /* the engine's */
    struct tier_op *next;
    int64_t start_ns, given_ns;
    void *state;
    /* out, too: what the store said with code, for people; "": nothing. The submitter clears it. */
    char said[TIER_SAID_CAP];
};

/* The sum of the parts that device_ns has; TIER_UNKNOWN_NS when one of them is not known. */
static inline int64_t tier_parts_device_ns(const struct tier_parts *p)
{
    if (p->meta_ns == TIER_UNKNOWN_NS || p->io_ns == TIER_UNKNOWN_NS ||
        p->flush_ns == TIER_UNKNOWN_NS)
        return TIER_UNKNOWN_NS;
    return p->meta_ns + p->io_ns + p->flush_ns;
}

struct tier_info {
    const char *engine;     /* "io_uring", "psync", "memory", "cuda", "simulated", "null" */
    bool simulated;         /* times come from a model; nothing was moved */
    bool verifies;          /* reads are checked */
    bool takes_slots;       /* of tier_op.slots */
    bool looks_up;          /* it takes TIER_LOOKUP, as the engine does that it acts like */
    bool keeps_cache;       /* the page cache is left alone: reads may come from it */
    unsigned threads;       /* that serve operations; 0: the engine has none */
    unsigned loops;         /* enum gap_of of these threads */
    char target[256];       /* a directory, "host memory", "GPU 0", "GPU 0, GPU 1" */
    char device[160];       /* model of the drive or GPU; "" unknown */
    struct notes fallbacks; /* what was asked for and could not be had */
    struct notes flags;     /* what is in force */
    /* Whether buffers and I/O are so: 1 yes, 0 no, -1 not known or without meaning. */
    int huge_pages, registered, direct;
    bool engine_pages; /* buffers lie in pages as an engine's do, of whatever kind these are */
    double pages_run;  /* mean run of adjacent pages in them; 0: not known */
    uint64_t ios;      /* I/Os finished so far; 0: not counted */
    int64_t io_ns; /* sum of their times in flight: by elapsed time, the mean number in flight */
};

struct tier;

/* The table of an engine. All calls come from the thread that owns the tier. */
struct tier_ops {
    /* Takes op and completes it later. 0; -EAGAIN: too many inside, poll first. Never blocks. */
    int (*submit)(struct tier *t, struct tier_op *op);
    /* Sends off what was submitted; call it once after a batch. */
    void (*kick)(struct tier *t);
    /* Takes up to max completed operations. Never blocks. The bell given to open rings when there
     * are new ones. */
    size_t (*poll)(struct tier *t, struct tier_op **done, size_t max);
    /* When a poll will find something although no bell rings (simulated tiers), in monotonic time;
     * INT64_MAX: never. */
    int64_t (*next_ns)(struct tier *t);
    /* Finds an object that an earlier run of op->epoch left (storage only). 0 with *size,
     * *generation and op->place; -ENOENT: none. -EISNAM: what has its name is no object of ours.
     * -EPROTOTYPE: its contents have another shape, so it must be written anew. A slab's object
     * must have op's size. Generation 0: its first block is not ours. With op->verify set, the
     * headers of all its blocks are read first: -EBADMSG, one is not of this object and generation.
     * -ESTALE: see listed.h; a slab's index is its list. Synchronous; for before the run. */
    int (*adopt)(struct tier *t, struct tier_op *op, uint64_t *size, uint64_t *generation);
    /* Names all objects that lie in the store, until found returns negative errno, which is then
     * returned. NULL: names do not tell which objects they are of. For before the run. */
    int (*names)(struct tier *t, int (*found)(void *ctx, struct hash128 name, uint32_t epoch),
                 void *ctx, struct err *e);
    /* *place: the handle of an object of that epoch and length, whether it is there or not. During
     * a run only of epochs that were asked for before it. 0 or negative errno. NULL with names. */
    int (*place)(struct tier *t, uint32_t epoch, uint64_t bytes, void **place);
    void (*describe)(const struct tier *t, struct tier_info *info);
    /* A write failed, and a part of its object may still lie where the next run adopts it. With
     * nothing in flight. NULL: never. */
    bool (*torn)(const struct tier *t);
    /* The store is not this run's any more: nothing is written or removed there, such operations
     * end with -ESTALE. Any thread. NULL: never. */
    bool (*lost)(const struct tier *t);
    /* Frees t; nothing may be in flight. Returns the first failure of the run, with *e. */
    int (*close)(struct tier *t, struct err *e);
};
/* For engines that begin operations at once and store nothing: kick, and adopt. */
void tier_kick_nothing(struct tier *t);
int tier_adopt_nothing(struct tier *t, struct tier_op *op, uint64_t *size, uint64_t *generation);

/*
 * Slots in flight (slots.c): how many operations may have I/O at a time. An engine that takes them
 * itself has more operations inside than slots, and opens the next ones and checks the last ones
 * while all slots are at the device. Those that wait get theirs in the order in which they asked,
 * whichever engine or thread they belong to.
 */
struct slots;
/* A thread that asks for its operations; embedded in its state, zeroed. */
struct slots_user {
    void (*wake)(void *ctx); /* makes it call slots_granted soon; any thread */
    void *ctx;
    struct slots *slots; /* that it asked last */
    atomic_uint granted; /* operations that have got theirs, and were not told of */
};
/* count slots, free since INT64_MIN. NULL: no memory. */
struct slots *slots_create(unsigned count);
void slots_free(struct slots *s);
/* Takes a slot for an operation whose engine takes none: *since_ns, when it became free. False:
 * none is free, or others wait. Any thread. */
bool slots_try(struct slots *s, int64_t *since_ns);
/* For the user's operation: true, it has a slot. False: slots_granted will tell. */
bool slots_take(struct tier_op *op, struct slots_user *user);
/* How many operations of the user, in the order in which they asked, have got a slot since the last
 * call, at their given_ns. */
unsigned slots_granted(struct slots_user *user);
/* Takes back a question that slots_granted has not answered. */
void slots_leave(struct tier_op *op, struct slots_user *user);
/* A slot is free at now_ns: the one who has waited longest gets it. giver, who needs no waking, may
 * be NULL. */
void slots_give(struct slots *s, const struct slots_user *giver, int64_t now_ns);

/* Every engine's state begins with this: t->ops->submit(t, op). */
struct tier {
    const struct tier_ops *ops;
};
/* The operations that an engine need not have. */
static inline bool tier_torn(const struct tier *t)
{
    return t->ops->torn && t->ops->torn(t);
}
static inline bool tier_lost(const struct tier *t)
{
    return t->ops->lost && t->ops->lost(t);
}

/* Storage (storage.c): objects as files in a directory or as extents of a slab. */
struct layout_slab;
struct tier_storage_opts {
    int dirfd;           /* the caller's */
    struct lease *lease; /* asked before each change; the caller's; NULL: nobody else is there */
    struct layout_slab *slab; /* the caller's; NULL: files in dirfd */
    uint32_t epoch;           /* of this run, in the names of its files; not 0. Not for a slab */
    const char *path;         /* for describe; copied */
    enum io_engine engine;
    uint64_t chunk_bytes; /* a multiple of 4 KiB, 4 KiB to 64 MiB */
    unsigned iodepth;     /* I/Os in flight in all, 1 to 4096 */
    unsigned threads;     /* each with an I/O engine, 64 at most; 0: 1 */
    bool sqpoll, iopoll;
    bool buffered;     /* no O_DIRECT even where it works; a slab's descriptor has its own flags */
    bool sync_objects; /* fdatasync each object that was written */
    enum io_pages pages;    /* of the buffers */
    uint64_t objects;       /* that will be stored; 0: not known */
    uint64_t largest_bytes; /* object of the run; buffers are no larger; 0: not known */
    uint64_t moves;   /* objects that are written or read; no more buffers than that takes; 0: not
                         known */
    uint32_t shape;   /* of all contents (data_shape) */
    unsigned max_ops; /* most operations inside */
    unsigned engines; /* of this kind that this process opens: they share its descriptors; 0: 1
                       */
    unsigned first;   /* number of its first thread, for reports */
    struct gap_list *gaps; /* the caller's, told when threads were kept from running; may be NULL */
};
int tier_storage_open(struct tier **out, const struct tier_storage_opts *o, struct bell *bell,
                      struct err *e);

/* Host memory (host.c): an arena, in huge pages where they can be had, with threads that copy. */
enum {
    TIER_HOST_THREADS_MAX = 16
};
struct tier_host_opts {
    uint64_t capacity;    /* bytes of objects */
    uint64_t max_objects; /* live at once: each may need a block of slack */
    unsigned threads;     /* TIER_HOST_THREADS_MAX at most; 0: 1 */
    bool prefault; /* touch the whole arena now, so that no page fault is in a latency; else a
                      thread touches it ahead of use */
    bool wrap; /* any amount of objects, over each other in capacity bytes; reads not verified */
    unsigned max_ops;
    struct gap_list *gaps; /* as of storage */
};
int tier_host_open(struct tier **out, const struct tier_host_opts *o, struct bell *bell,
                   struct err *e);

/* GPU (gpu.c): an arena from cudaMalloc on each device, pinned buffers, a stream for each thread.
 * An object lies whole on the device with the most room (of equal ones the first given), and on
 * several only when it fits whole on none. -ENODEV: built without CUDA, no driver, or no such
 * device. */
enum {
    TIER_GPU_MAX = 16
};
struct tier_gpu_opts {
    int gpu[TIER_GPU_MAX]; /* device numbers, each once */
    unsigned gpus;         /* 1 to TIER_GPU_MAX */
    uint64_t capacity;     /* bytes of objects on all devices; each has the same share */
    uint64_t max_objects;  /* as of the host */
    bool wrap;             /* as of the host */
    uint64_t chunk_bytes;
    unsigned max_ops;
    struct gap_list *gaps; /* as of storage */
};
int tier_gpu_open(struct tier **out, const struct tier_gpu_opts *o, struct bell *bell,
                  struct err *e);
/* Number of GPUs that the CUDA runtime sees; 0 with the reason in why (cap bytes). */
int tier_gpu_count(char *why, size_t cap);

/* Simulated (sim.c): an operation goes to the server that is free first and takes latency + size /
 * bandwidth of one server. Nothing is stored; reads are not verified. */
enum {
    TIER_SIM_SERVERS_MAX = 256
};
struct tier_sim_opts {
    uint64_t bytes_per_s; /* of one server; 0: infinite */
    int64_t latency_ns;
    unsigned servers;    /* 0: 1 */
    int64_t stall_at_ns; /* from its first operation on ... */
    int64_t stall_ns;    /* ... it stands still for so long; 0: never */
    const char *label;   /* for describe: "simulated GPU"; copied */
};
int tier_sim_open(struct tier **out, const struct tier_sim_opts *o, struct bell *bell,
                  struct err *e);

/* A measured drive (drive.c): operations share a rate that depends on them; deletes take no time.
 * Nothing is stored; reads are not verified. The model stays the caller's. max_ops: as of storage.
 */
struct drive_model;
int tier_drive_open(struct tier **out, const struct drive_model *model, unsigned max_ops,
                    struct err *e);

/* Stores behind a network (resp.c, s3.c). */
struct uri;
struct tier_remote_opts {
    const struct uri *uri; /* the caller's */
    const char *program;   /* for the marker; letters */
    bool keep;             /* objects are to stay */
    bool destroys;         /* what an earlier run kept may be removed */
    bool joins;            /* another process of this run has taken the store, and will leave it */
    uint64_t data_seed;
    /* As in struct owner_opts. */
    void (*waits)(const char *where, const char *who, unsigned seconds);
    void (*late)(const char *where, uint64_t objects);
    int64_t timeout_ns; /* without progress, before an operation fails with -ETIMEDOUT */
    unsigned retries;   /* of a request, after errors that may pass */
    uint32_t shape;     /* of all contents (data_shape) */
    unsigned max_ops;
    uint64_t largest_bytes; /* object of the run; 0: not known */
    struct gap_list *gaps;  /* as of storage */
};
/* False: this build has no CUDA, no hiredis, no libcurl, and the function behind it fails. */
bool tier_gpu_is_built(void);
bool tier_resp_is_built(void);
bool tier_s3_is_built(void);

/* Redis and all that speak its protocol. A password comes from REDISCLI_AUTH. -ENOTSUP: built
 * without hiredis, or (rediss:) without TLS. */
int tier_resp_open(struct tier **out, const struct tier_remote_opts *o, struct bell *bell,
                   struct err *e);
/* An object store that speaks S3. Keys come from the environment or a profile (s3_keys.h).
 * -ENOTSUP: built without libcurl, or the store has no conditional PUT and is not unlocked. */
int tier_s3_open(struct tier **out, const struct tier_remote_opts *o, struct bell *bell,
                 struct err *e);
/* Facts about a remote store that is open. */
struct tier_remote_facts {
    bool kept;           /* an earlier run left its objects, for adopt */
    bool unsure;         /* ... and may have torn some: verify them */
    uint64_t room_bytes; /* free; UINT64_MAX: not known */
};
void tier_remote_look(const struct tier *tier, struct tier_remote_facts *f);
/*
 * A door to a tier's store: an endpoint of a remote store, with what went through it since the tier
 * was opened, or one of several paths, of which only the endpoint is known.
 */
enum {
    TIER_DOORS_MAX = 64,
    TIER_ENDPOINT_CAP = 256,
    TIER_INTERFACE_CAP = 16
};
struct tier_door {
    char endpoint[TIER_ENDPOINT_CAP];   /* an address, or the path as it was given */
    char interface[TIER_INTERFACE_CAP]; /* of the network; "": not known, or none */
    uint64_t requests;                  /* that ended, with those that were repeated */
    uint64_t retries;                   /* of them, repetitions */
    uint64_t connections;               /* made */
    int64_t retransmits;                /* segments that TCP sent again; -1: not known */
};
/* Fills in the doors of the store. Returns how many there are, 1 at least. */
unsigned tier_remote_doors(const struct tier *tier, struct tier_door door[TIER_DOORS_MAX]);
/* Sources of writes have more contents, or will have no more. Any thread. */
void tier_remote_more(struct tier *tier);
/* Where the list of what is kept lies (lib/tier/listed.h) and the lease on the store, both valid
 * until the tier is closed; and the epoch of this run. */
struct inventory_store;
const struct inventory_store *tier_remote_list(const struct tier *tier);
struct lease *tier_remote_lease(const struct tier *tier);
uint32_t tier_remote_epoch(const struct tier *tier);
/* Whether closing leaves the objects there. Without it, what an earlier run kept stays. */
void tier_remote_keep(struct tier *tier, bool keep);

/* Null (null.c): completes at once and stores nothing. */
int tier_null_open(struct tier **out, struct bell *bell, struct err *e);

#endif
