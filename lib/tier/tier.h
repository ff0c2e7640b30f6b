/* tier.h - engines that hold objects: write, read and delete them asynchronously. The scheduler is
 * one thread and owns the tier; engines may have threads of their own behind this interface. Tiers
 * know objects, sizes and buffers, nothing of traces. */
#ifndef KVTRACE_TIER_TIER_H
#define KVTRACE_TIER_TIER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/bell.h"
#include "lib/base/err.h"
#include "lib/base/notes.h"
#include "lib/data/data.h"

enum tier_verb {
    TIER_WRITE,
    TIER_READ,
    TIER_DELETE
};
enum tier_verify {
    TIER_VERIFY_NONE,
    TIER_VERIFY_HEADER,
    TIER_VERIFY_FULL
};

/*
 * One operation; the caller's, in place and untouched from submit until poll returns it. The caller
 * orders operations on one object (readers together; a write or delete alone) and keeps the sum of
 * live sizes within the capacity it opened the tier with.
 */
struct tier_op {
    /* in */
    enum tier_verb verb;
    bool drop;               /* TIER_READ: the object is gone afterwards (demotion, promotion) */
    enum tier_verify verify; /* TIER_READ */
    struct hash128 name;     /* of the copy: hash of (tier, key); names the file */
    struct data_id id;       /* contents: key hash and generation */
    uint64_t size;           /* bytes to write or read; a whole number of blocks is moved */
    void *place; /* in and out: the engine's handle of the stored copy; NULL before the first write
                    and after delete. The caller keeps it with the object */
    void *owner; /* the caller's */
    /* out */
    int status; /* 0; -ENOENT absent; -EINVAL more asked than stored; -EBADMSG corrupt; -errno */
    int64_t done_ns;         /* monotonic time of completion */
    int64_t device_ns;       /* time in which at least one of its I/Os or copies was in flight */
    struct data_fault fault; /* when corrupt */
    /* engine's */
    struct tier_op *next;
    int64_t start_ns;
    void *state;
};

struct tier_info {
    const char *engine;     /* "io_uring", "psync", "memory", "cuda", "simulated", "null" */
    bool simulated;         /* times are modelled, nothing was moved */
    bool verifies;          /* reads check what they got */
    unsigned threads;       /* that serve operations; 0: none of its own */
    char target[256];       /* directory, "host memory", "GPU 0", "GPU 0, GPU 1" */
    char device[160];       /* model of drive or GPU; "" unknown */
    struct notes fallbacks; /* what was asked for and could not be had */
    struct notes flags;     /* what is in force */
    uint64_t ios;           /* I/Os finished so far; 0: not counted */
    int64_t io_ns; /* sum of their times in flight: by elapsed time, the mean number in flight */
};

struct tier;
struct tier_ops {
    /* Takes op; completes it later. 0, or -EAGAIN (too many inside: poll first). Never blocks. */
    int (*submit)(struct tier *t, struct tier_op *op);
    /* Pushes submitted operations on; call once after a batch of submits. */
    void (*kick)(struct tier *t);
    /* Up to max completed operations. Never blocks; the bell given to open rings when there are
     * new. */
    size_t (*poll)(struct tier *t, struct tier_op **done, size_t max);
    /* Monotonic time at which a poll will find something although no bell rings (simulated tiers);
     * INT64_MAX: none. */
    int64_t (*next_ns)(struct tier *t);
    /* Size and generation of an object left by an earlier run (storage only): 0 with *size,
     * *generation and op->place, or -ENOENT. Synchronous, before the run; a slab's must be of op's
     * size. A first block that is not ours gives generation 0. */
    int (*adopt)(struct tier *t, struct tier_op *op, uint64_t *size, uint64_t *generation);
    void (*describe)(const struct tier *t, struct tier_info *info);
    /* Nothing may be in flight. First failure in *e. Frees t. */
    int (*close)(struct tier *t, struct err *e);
};
struct tier {
    const struct tier_ops *ops;
};

/* Storage: objects as files in a directory (dirfd stays the caller's) or in a slab. */
struct layout_slab;
struct tier_storage_opts {
    int dirfd;
    struct layout_slab *slab; /* the caller's; NULL: files in dirfd */
    const char *path;         /* for describe; copied */
    int engine;               /* enum io_engine */
    uint64_t chunk_bytes;     /* multiple of 4 KiB, 4 KiB..64 MiB */
    unsigned iodepth;         /* I/Os in flight in all */
    unsigned threads;         /* rings, each with its thread; 0: 1 */
    bool sqpoll, iopoll;
    bool buffered;     /* do not even try O_DIRECT; a slab was opened accordingly */
    bool sync_objects; /* fdatasync each object when written */
    uint32_t shape;    /* of all contents (data_shape) */
    unsigned max_ops;  /* operations inside at most */
};
int tier_storage_open(struct tier **out, const struct tier_storage_opts *o, struct bell *bell,
                      struct err *e);

/* Host memory: an arena of capacity bytes (plus a block of slack an object), huge pages where they
 * can be had, copies by threads. */
struct tier_host_opts {
    uint64_t capacity;    /* bytes of objects */
    uint64_t max_objects; /* live at once; slack */
    unsigned threads;     /* 0: 1 */
    bool prefault; /* touch all of the arena now, so that page faults stay out of latencies; else a
                      thread touches it ahead of use */
    bool wrap; /* any amount of objects, over each other in capacity bytes; reads not verified */
    unsigned max_ops;
};
int tier_host_open(struct tier **out, const struct tier_host_opts *o, struct bell *bell,
                   struct err *e);

/* GPU: an arena from cudaMalloc on each device, pinned staging, streams per direction. An object
 * lies whole on the device with the most room, of equal ones the first given, and on several only
 * when it fits whole on none. -ENODEV with *e: built without CUDA, no driver, or no such device. */
enum {
    TIER_GPU_MAX = 16
};
struct tier_gpu_opts {
    int gpu[TIER_GPU_MAX]; /* device numbers, each once */
    unsigned gpus;         /* 1 to TIER_GPU_MAX */
    uint64_t capacity;     /* bytes of objects, of all devices; each has the same share */
    uint64_t max_objects;
    bool wrap; /* as the host's */
    uint64_t chunk_bytes;
    unsigned max_ops;
};
int tier_gpu_open(struct tier **out, const struct tier_gpu_opts *o, struct bell *bell,
                  struct err *e);
/* Number of GPUs that the CUDA runtime sees; 0 with the reason in why (cap bytes). */
int tier_gpu_count(char *why, size_t cap);

/* Simulated: operations queue for the server that is free first; each takes latency + size /
 * bandwidth of one server. Nothing is stored; reads are not verified. */
enum {
    TIER_SIM_SERVERS_MAX = 256
};
struct tier_sim_opts {
    uint64_t bytes_per_s; /* 0: infinite */
    int64_t latency_ns;
    unsigned servers;              /* 0: 1 */
    int64_t stall_at_ns, stall_ns; /* does nothing for stall_ns, stall_at_ns after its first
                                      operation came; 0, 0: never stalls */
    const char *label;             /* for describe: "simulated GPU"; copied */
};
int tier_sim_open(struct tier **out, const struct tier_sim_opts *o, struct bell *bell,
                  struct err *e);

/* Null: completes at once, stores nothing. */
int tier_null_open(struct tier **out, struct bell *bell, struct err *e);

#endif
