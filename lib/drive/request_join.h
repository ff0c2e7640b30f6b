/* Joins what the kernel tells of a request of a block device: from its first issue to its last
 * completion, on (device, sector). Requests that are put back and issued again, and those that are
 * completed in parts, are one. Events come in order of time. */
#ifndef KVTRACE_DRIVE_REQUEST_JOIN_H
#define KVTRACE_DRIVE_REQUEST_JOIN_H

#include <stdbool.h>
#include <stdint.h>

enum request_event_kind {
    REQUEST_ISSUED, /* to the driver */
    REQUEST_COMPLETED,
    REQUEST_REQUEUED
};
enum request_what {
    REQUEST_READ,
    REQUEST_WRITE,
    REQUEST_OTHER /* flush, discard: no data of rows */
};
struct request_event {
    int64_t time_ns;
    uint64_t sector; /* of 512 bytes, from the start of the disk */
    uint32_t device; /* as the kernel numbers it: major << 20 | minor */
    uint32_t sectors;
    uint8_t kind, what;
    uint8_t none[6]; /* 0: a pipe takes the whole of it (block_events.h) */
};
/* A request that was issued and has been completed. */
struct request {
    uint64_t sector;
    uint32_t device, sectors;
    bool write;
    int64_t issued_ns, done_ns;
};
struct request_counts {
    uint64_t joined;   /* reads and writes */
    uint64_t requeued; /* times that one was put back */
    uint64_t parts;    /* completions that were not the last of their request */
    uint64_t unjoined; /* completions without an issue, as of those before the trace began */
    uint64_t others;   /* flushes and discards that were issued */
};

struct request_join;
/* NULL: no memory. */
struct request_join *request_join_create(void);
void request_join_free(struct request_join *j);
/* Takes the next event. 1: it completed *r, which is a read or a write; 0: it did not; -ENOMEM. */
int request_join_take(struct request_join *j, const struct request_event *e, struct request *r);
void request_join_count(const struct request_join *j, struct request_counts *c);

#endif
