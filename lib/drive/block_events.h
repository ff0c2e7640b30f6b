/* The kernel's events of requests at block devices: an instance of tracefs of our own records them
 * on the monotonic clock, and they are read from there. Needs the rights to use tracefs, which root
 * has. kvtrace-trace reads them for a user without these rights, and writes them to a pipe. */
#ifndef KVTRACE_DRIVE_BLOCK_EVENTS_H
#define KVTRACE_DRIVE_BLOCK_EVENTS_H

#include <stdint.h>
#include <sys/types.h>

#include "lib/base/err.h"
#include "lib/drive/request_join.h"

enum {
    BLOCK_EVENTS_DEVICES = 64,
    BLOCK_EVENTS_INSTANCES = 16 /* at once: the kernel's buffers are nobody's memory */
};
/* Major and minor number, as the kernel has them. */
enum {
    BLOCK_EVENTS_MAJORS = 1 << 12,
    BLOCK_EVENTS_MINORS = 1 << 20
};

struct block_events_counts {
    uint64_t lost;   /* events that had no room in the kernel's buffers */
    uint64_t broken; /* pages and events that could not be read */
    /* I/Os and calls that io_uring could not begin at once, and gave to a thread that may wait. */
    uint64_t workers_known; /* 1: the kernel has the event */
    uint64_t worker_reads, worker_writes, worker_calls;
};

/* Marks among the events in the pipe of kvtrace-trace: struct request_event with this kind. */
enum block_mark {
    BLOCK_MARK_READY = 16, /* the instance is made; the first byte on standard input begins */
    BLOCK_MARK_UNTIL,      /* all before time_ns were given; the first: it records */
    BLOCK_MARK_END         /* struct block_events_counts follows, and nothing behind it */
};

struct block_events;
/* Makes the instance, which records nothing yet. device: major << 20 | minor. owner: the process
 * whose calls of io_uring are counted; for another than this one, there may be
 * BLOCK_EVENTS_INSTANCES in all. Class ERR_TARGET: -EPERM or -EACCES, not permitted; -ENOENT,
 * there is no tracefs or it lacks the events; -EUSERS, there are too many instances. */
int block_events_open(struct block_events **out, const uint32_t *device, unsigned n, pid_t owner,
                      struct err *e);
/* Records from now on. 0 or negative errno with *e. */
int block_events_begin(struct block_events *b, struct err *e);
/* Gives what was recorded, one processor after another, and for each in order of time. *until_ns:
 * what comes later is not before that time. 0 or negative errno, also what take returned. */
int block_events_read(struct block_events *b,
                      int (*take)(void *ctx, const struct request_event *event), void *ctx,
                      int64_t *until_ns);
/* Records no more; what was recorded can still be read. */
void block_events_stop(struct block_events *b);
/* After the stop and the last reading. */
void block_events_count(struct block_events *b, struct block_events_counts *c);
/* Removes the instance. b may be NULL. */
void block_events_close(struct block_events *b);

/* Removes the instance of a process that has ended without doing so, which may take a moment. */
void block_events_remove(pid_t pid);

#endif
