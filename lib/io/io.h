/* Asynchronous reads and writes of whole buffers at offsets of open files, and the calls that open
 * and close such files. Two engines do this: io_uring, and a pool of threads with plain calls for
 * hosts that refuse io_uring. An engine belongs to one thread. */
#ifndef KVTRACE_IO_IO_H
#define KVTRACE_IO_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/notes.h"
#include "lib/io/gap_list.h"

/* In the order of the choices of --config ioengine. */
enum io_engine {
    IO_AUTO, /* io_uring where the host allows it, else psync */
    IO_URING,
    IO_PSYNC
};

enum io_call {
    IO_TRANSFER, /* reads or writes buf */
    IO_OPENAT,   /* opens path below dirfd with flags; sets fd, or fills the slot fd */
    IO_CLOSE,    /* closes fd */
    IO_ALLOCATE, /* takes blocks for the first offset bytes of fd; some file systems cannot */
    IO_SYNC,     /* fdatasync of fd */
    IO_DROP,     /* drops the clean pages of fd from the page cache */
    IO_UNLINKAT  /* removes path below dirfd */
};

/* One request. The caller owns it and leaves it in place until it is reaped. The engine continues
 * short transfers. */
/* A request that gets nothing but EAGAIN for so long ends with it. */
#define IO_AGAIN_NS INT64_C(1000000000)

struct io_req {
    enum io_call call;
    int fd;
    bool slot; /* fd is a slot of the engine's table, not a descriptor; see io.slots */
    bool write;
    void *buf;     /* aligned for O_DIRECT (4 KiB) */
    uint32_t len;  /* bytes; a multiple of 4 KiB for O_DIRECT */
    int buf_index; /* index of the registered buffer that holds buf; -1: none */
    uint64_t offset;
    int dirfd, flags; /* for IO_OPENAT (which adds O_CLOEXEC and makes files with mode 0644) and
                         IO_UNLINKAT */
    const char *path;
    void *owner;         /* the caller's */
    int64_t start_ns;    /* out: handed to the kernel. By psync: transfers, when a thread begins
                            them; calls, when they are put in line for one */
    int64_t done_ns;     /* out: the engine saw the completion */
    int result;          /* out: 0, negative errno or IO_PAST_END */
    uint32_t moved;      /* the engine's */
    int64_t again_ns;    /* the engine's: since when the kernel only says EAGAIN; 0: it does not */
    struct io_req *next; /* the engine's */
};

/* Result of a read past the end of the file. No errno: the kernel gives ENODATA for a medium error.
 */
enum {
    IO_PAST_END = -4096
};

struct io_opts {
    unsigned depth;        /* most requests in flight, 1..16384 */
    unsigned data;         /* most transfers among them; 0: all */
    void *pool;            /* buffers to register; NULL: none */
    size_t buf_bytes;      /* size of each buffer in pool */
    unsigned bufs;         /* number of buffers in pool */
    const int *file;       /* a descriptor to register, used by most transfers; NULL: none */
    unsigned slots;        /* wanted slots for IO_OPENAT; 0 when file is set */
    struct gap_list *gaps; /* the caller's, for the engine's threads; may be NULL */
    bool sqpoll, iopoll;   /* wishes for io_uring; what the host refuses is in the fallbacks */
};

struct io;

/* The table of an engine. Errors are negative errno. */
struct io_ops {
    enum io_engine engine; /* IO_URING or IO_PSYNC */
    const char *name;      /* "io_uring", "psync" */
    int (*open)(struct io **out, const struct io_opts *o, struct err *e);
    /* Queues a request; -EAGAIN when depth are in flight. */
    int (*submit)(struct io *io, struct io_req *req);
    /* Pushes queued requests to the kernel. */
    int (*kick)(struct io *io);
    /* Takes up to max completions. Without one it waits for the first until until_ns (monotonic; 0:
     * does not wait) or until wake. Returns the number; 0 after a time-out or a wake. */
    int (*reap)(struct io *io, struct io_req **done, int max, int64_t until_ns);
    /* Makes a waiting reap return soon. Any thread. */
    void (*wake)(struct io *io);
    /* No request may be in flight. */
    void (*close)(struct io *io);
};

/* Every engine's state begins with this: io->ops->submit(io, req). Constant after the opening. */
struct io {
    const struct io_ops *ops;
    struct notes fallbacks; /* what the host refused: "buffers not registered (ENOMEM)" */
    struct notes flags;     /* what is in force: "registered buffers", "sqpoll" */
    bool registered;        /* the buffers */
    unsigned at_once;       /* most transfers that are at the device at once */
    unsigned slots;         /* IO_OPENAT may fill the slots 0 to slots - 1; 0: descriptors only */
};

extern const struct io_ops io_uring_ops; /* uring.c */
extern const struct io_ops io_psync_ops; /* psync.c */

/* Why the kernel refused a ring with that errno, in brackets behind a blank, as far as it can be
 * told: a setting, a sandbox, a limit; else "". root stands before the names of files that are
 * read: "". Returns why. */
enum {
    IO_WHY_CAP = 80
};
const char *io_uring_why(const char *root, int errnum, char why[IO_WHY_CAP]);

/* Opens an engine. With IO_AUTO, the reason for psync is the first of its fallbacks. 0; -EINVAL:
 * bad options; else the errno of the engine. */
int io_open(struct io **out, enum io_engine engine, const struct io_opts *o, struct err *e);

/* Makes the call of r at once, in the caller's thread; r is no IO_TRANSFER and has no slot. 0 or
 * negative errno. */
int io_call_now(struct io_req *r);
/* The kernel said EAGAIN: true: try again; false: it has said so for IO_AGAIN_NS. */
bool io_again(struct io_req *r);

/* Does the memory at p lie in huge pages? 1, 0, or -1: the kernel does not tell. */
int io_buffers_huge(const void *p);
/* How many pages in the first bytes at p lie one behind the other in physical memory, on average. A
 * run is one segment of an I/O, and a device takes so many segments at once. 0: none is in memory,
 * or the kernel does not tell (/proc/self/pagemap, which tells the administrator only). */
double io_buffers_run(const void *p, size_t bytes);
enum io_pages {
    IO_PAGES_HUGE,  /* where the host has them */
    IO_PAGES_SMALL, /* ordinary ones */
    IO_PAGES_PLAIN  /* what a program gets that asks for no kind */
};
/* Zeroed memory for buffers, aligned to 2 MiB, plain one to a page. NULL: no memory, or bytes is 0.
 * Nothing is reserved of what is not touched, but for huge pages that the host has set aside. unmap
 * takes the same bytes; p may be NULL. */
void *io_buffers_map(size_t bytes, enum io_pages pages);
void io_buffers_unmap(void *p, size_t bytes);

#endif
