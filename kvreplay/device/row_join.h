/* Finds the requests at a drive that a row's I/O became: those of its sectors and direction between
 * its first I/O and its end. Requests come in order of completion; the latest are remembered. Not
 * thread-safe. */
#ifndef KVREPLAY_DEVICE_ROW_JOIN_H
#define KVREPLAY_DEVICE_ROW_JOIN_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/drive/request_join.h"
#include "lib/io/disk_map.h"

/* The place and direction that a row asked for. */
struct row_join_ask {
    const struct disk_where *where; /* known */
    bool write;
    int64_t done_ns; /* the row's end, monotonic */
};
/* The drive's work for it. */
struct row_join_answer {
    uint64_t requests, bytes;   /* bytes: with what such requests moved beside the row's */
    int64_t issued_ns, done_ns; /* the first issue, and the last completion */
};

struct row_join;
/* Remembers so many requests, a power of two. NULL: no memory. */
struct row_join *row_join_create(unsigned requests);
void row_join_free(struct row_join *j);
void row_join_request(struct row_join *j, const struct request *r);
/*
 * The requests of a row, for each row once, in order of their ends. Of several requests of the same
 * sectors a row takes one: the first that no other row has taken. 0: there was one at least;
 * -ENOENT: there was none, as of reads from a cache; -ESTALE: some may be forgotten.
 */
int row_join_find(struct row_join *j, const struct row_join_ask *ask, struct row_join_answer *a);

#endif
