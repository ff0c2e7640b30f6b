/* groups.h - counts rows by any product of tier, operation, phase, QoS, class, status, user,
 * endpoint, thread and engine. */
#ifndef KVSTAT_COUNT_GROUPS_H
#define KVSTAT_COUNT_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/hist.h"
#include "lib/trace/trace.h"

enum groups_by {
    GROUPS_TIER = 1,
    GROUPS_OP = 2,
    GROUPS_PHASE = 4,
    GROUPS_QOS = 8,
    GROUPS_CLASS = 16,
    GROUPS_USER = 32,
    GROUPS_STATUS = 64,
    GROUPS_ENDPOINT = 128,
    GROUPS_THREAD = 256,
    GROUPS_ENGINE = 512,
    /* names that the file gives */
    GROUPS_TEXT = GROUPS_USER | GROUPS_ENDPOINT | GROUPS_THREAD | GROUPS_ENGINE,
    GROUPS_DEFAULT = GROUPS_TIER | GROUPS_OP | GROUPS_PHASE
};

/* The values measured for a row; times in ns, sizes in bytes. */
enum group_metric {
    GROUP_SIZE,
    GROUP_SERVICE,    /* issue to completion */
    GROUP_WAIT,       /* Start - Due */
    GROUP_RESPONSE,   /* wait + service */
    GROUP_DEVICE,     /* part of service in which the I/O or copy was in flight */
    GROUP_FIRST_BYTE, /* issue to the first byte of the answer; of targets that tell it */
    GROUP_QUEUE,      /* first I/O to the drive, and what the drive took; of results that tell it */
    GROUP_DRIVE,
    GROUP_METRICS
};

/* Columns of texts, of which there may be any number. */
enum group_text {
    GROUP_USER,
    GROUP_ENDPOINT,
    GROUP_THREAD,
    GROUP_ENGINE,
    GROUP_TEXTS
};
static inline unsigned group_text_bit(enum group_text text)
{
    return text == GROUP_USER       ? GROUPS_USER
           : text == GROUP_ENDPOINT ? GROUPS_ENDPOINT
           : text == GROUP_THREAD   ? GROUPS_THREAD
                                    : GROUPS_ENGINE;
}

/* The words that all rows of a group share. Columns that are not grouped by hold the enums'
 * TRACE_NO_... values (op: TRACE_OPS). */
struct group_key {
    uint8_t tier, op, phase, qos, class;
    int32_t status;
    struct trace_str text[GROUP_TEXTS];
};

struct group {
    struct group_key key;
    uint64_t ops;     /* rows */
    uint64_t failed;  /* of them: status there and not ok */
    uint64_t bytes;   /* sizes of the rows that did not fail */
    uint64_t moved;   /* the same of Read and Write rows only: a Delete moves nothing */
    int64_t first_ns; /* earliest start and latest end in the file being read; */
    int64_t last_ns;  /* INT64_MAX and INT64_MIN when there is none */
    uint64_t span_ns; /* sum of last - first over the files that were ended */
    struct hist *metric[GROUP_METRICS];
};

/* The values of a row, computed once for all tables that it goes into. */
struct group_sample {
    const struct trace_row *row;
    bool ok;                      /* no status, or "ok": only these enter bytes and histograms */
    unsigned metrics;             /* values in value[]; the rest is unknown */
    int64_t start_ns, end_ns;     /* TRACE_NONE: unknown */
    int64_t value[GROUP_METRICS]; /* TRACE_NONE: unknown */
};

struct groups;

/* A table by a mask of enum groups_by. NULL: no memory. One thread. */
/* The most groups, where users, endpoints, threads or engines make them. */
void groups_limit(struct groups *g, size_t most);
struct groups *groups_create(unsigned by);
void groups_free(struct groups *g);
unsigned groups_by(const struct groups *g);

/* Adds n rows, at most GROUPS_BLOCK. 0, -ENOMEM, -EFBIG (too many groups), or -EOVERFLOW (bytes do
 * not fit 64 bits). */
#define GROUPS_BLOCK 16
int groups_add(struct groups *g, const struct group_sample *s, size_t n);
/* Adds all groups of from; into may be by fewer columns, which pools groups. Same errors. */
int groups_merge(struct groups *into, const struct groups *from);
/* Ends a file: adds last - first of every group to its span_ns. */
void groups_end_file(struct groups *g);

/* Sorts the groups (by the enums, then by user, endpoint, thread and engine) and counts them. 0 or
 * -ENOMEM
 * (*count is 0 then). groups_at: the i-th after that. Lent. */
int groups_sort(struct groups *g, size_t *count);
const struct group *groups_at(const struct groups *g, size_t i);
/* The group with that tier and operation, in a table by these two; NULL: there is none. */
const struct group *groups_find(const struct groups *g, uint8_t tier, uint8_t op);

/* The number of a key among all combinations of the columns in by, texts aside: dense, and in the
 * order in which groups are shown. groups_places: how many there are. */
size_t groups_place(unsigned by, const struct group_key *k);
size_t groups_places(unsigned by);

/* Makes a mask of "tier,op,class". 0, or -EINVAL with *e naming the unknown or repeated column. */
int groups_parse_by(const char *text, unsigned *by, struct err *e);

#endif
