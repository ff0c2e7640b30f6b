/* The kernel's event io_uring_queue_async_work: io_uring could not begin an I/O or call at once,
 * and gives it to a thread that may wait. Source: events/io_uring/io_uring_queue_async_work/format
 * in tracefs; operations have the numbers of linux/io_uring.h. */
#ifndef KVTRACE_DRIVE_URING_WORKERS_H
#define KVTRACE_DRIVE_URING_WORKERS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/drive/event_format.h"

enum {
    URING_WORKERS_THREADS = 256
};
/* The kind of operation that was given. */
enum uring_given {
    URING_GIVEN_NOT_OURS, /* by a thread of another process */
    URING_GIVEN_READ,
    URING_GIVEN_WRITE,
    URING_GIVEN_CALL /* open, allocate, sync, remove ... */
};

struct uring_workers {
    pid_t owner;
    uint16_t id; /* of the event: its common_type */
    struct event_field pid, opcode;
    unsigned threads; /* of the owner, that gave something: they may have ended since */
    uint64_t thread[URING_WORKERS_THREADS];
};

/* Takes the format of the event; owner: the process whose I/Os are meant. 0; -EINVAL or -ENOENT:
 * this kernel's event does not tell what is needed; -EXDEV: this process's namespace has other
 * numbers for threads than events have. */
int uring_workers_learn(struct uring_workers *w, pid_t owner, const char *format);
/* Takes an event of len bytes. Returns its enum uring_given; -EINVAL: it is cut. To be called while
 * the thread that gave it is there, or after it had given something before. */
int uring_workers_take(struct uring_workers *w, const void *event, size_t len);

#endif
