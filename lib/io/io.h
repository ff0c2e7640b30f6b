/* io.h - asynchronous reads and writes of whole buffers at offsets of open files, and the calls
 * that open and close these: io_uring, or threads that make plain calls where io_uring is refused.
 * One thread owns an engine. */
#ifndef KVTRACE_IO_IO_H
#define KVTRACE_IO_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/notes.h"

/* In the order of the choices of --ioengine. */
enum io_engine {
    IO_AUTO, /* io_uring where the host allows it, else psync */
    IO_URING,
    IO_PSYNC
};

enum io_call {
    IO_TRANSFER, /* reads or writes buf */
    IO_OPENAT,   /* path below dirfd with flags: fd is set, or the slot fd filled */
    IO_CLOSE,    /* fd */
    IO_ALLOCATE, /* blocks for the first offset bytes of fd; not all file systems can */
    IO_SYNC,     /* fdatasync of fd */
    IO_DROP,     /* fd's clean pages leave the page cache */
    IO_UNLINKAT  /* path below dirfd */
};

/* One I/O or call; the caller's, in place until reaped. Short transfers are continued by the
 * engine. */
struct io_req {
    enum io_call call;
    int fd;
    bool slot; /* fd is a slot of the engine's own table, not a descriptor (see open_slots) */
    bool write;
    void *buf;     /* aligned as O_DIRECT wants (4 KiB) */
    uint32_t len;  /* bytes, multiple of 4 KiB on O_DIRECT */
    int buf_index; /* index of the registered buffer that holds buf, -1: none */
    uint64_t offset;
    int dirfd, flags; /* of IO_OPENAT (O_CLOEXEC is added), IO_UNLINKAT; mode 0644 */
    const char *path;
    void *owner;      /* the caller's */
    int64_t start_ns; /* out: when it was handed to the kernel (or a worker thread began it) */
    int64_t done_ns;  /* out: when its completion was seen */
    int result;       /* out: 0, or negative errno; a read past the end of the file is -ENODATA */
    uint32_t moved;   /* engine's */
    struct io_req *next; /* engine's */
};

struct io_opts {
    unsigned depth;   /* requests in flight at most, 1..16384 */
    unsigned data;    /* of these, transfers at most; 0: all */
    void *pool;       /* buffers to register, NULL: none */
    size_t buf_bytes; /* size of each buffer in pool */
    unsigned bufs;    /* number of buffers in pool */
    const int *file;  /* a descriptor to register: most transfers are on it; NULL: none */
    unsigned slots;   /* table entries for IO_OPENAT to fill; not together with file */
    bool sqpoll, iopoll;
};

struct io; /* an open engine */

/* Engines sit behind this table. */
struct io_ops {
    enum io_engine engine; /* not IO_AUTO */
    const char *name;      /* "io_uring", "psync" */
    int (*open)(struct io **out, const struct io_opts *o, struct err *e);
    /* Queues one request; -EAGAIN when depth are in flight. */
    int (*submit)(struct io *io, struct io_req *req);
    /* Pushes queued requests to the kernel; 0 or negative errno. */
    int (*kick)(struct io *io);
    /* Up to max completions; waits for one until until_ns (monotonic; 0: do not wait) or until
     * io_wake. Returns the number, 0 on time-out or wake, or negative errno. */
    int (*reap)(struct io *io, struct io_req **done, int max, int64_t until_ns);
    /* Any thread: makes a reap that waits return soon. */
    void (*wake)(struct io *io);
    void (*close)(struct io *io); /* no request may be in flight */
};
/* An engine's own state begins with this: io->ops->submit(io, req). The rest is constant after the
 * opening. */
struct io {
    const struct io_ops *ops;
    struct notes fallbacks; /* what the host refused: "buffers not registered (ENOMEM)" */
    struct notes flags;     /* what is in force: "registered buffers", "sqpoll" */
    unsigned slots;         /* of the engine's table, for IO_OPENAT; 0: plain descriptors only */
};

extern const struct io_ops io_uring_ops; /* uring.c */
extern const struct io_ops io_psync_ops; /* psync.c */

/* Makes the call of r, which is no IO_TRANSFER and has no slot, here and now: 0 or negative errno.
 */
int io_call_now(struct io_req *r);

/* Opens engine. IO_AUTO tries io_uring, then psync with the reason as its first fallback. */
int io_open(struct io **out, enum io_engine engine, const struct io_opts *o, struct err *e);

/* Zeroed memory for buffers, aligned to 2 MiB, huge pages if they can be had; NULL: no memory or
 * bytes is 0. unmap takes the same bytes, and NULL. */
void *io_buffers_map(size_t bytes);
void io_buffers_unmap(void *p, size_t bytes);

#endif
