/* series.h - counts what happened in each interval of time, in any order of rows: one series for
 * each thread, merged at the end. */
#ifndef KVSTAT_COUNT_SERIES_H
#define KVSTAT_COUNT_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/trace/trace.h"

struct coarse_hist;

enum series_direction {
    SERIES_READ,
    SERIES_WRITE,
    SERIES_DIRECTIONS
};
enum series_time {
    SERIES_SERVICE,
    SERIES_RESPONSE,
    SERIES_WAIT, /* Start - Due */
    SERIES_LATE, /* of it, the tool's own delay */
    SERIES_TIMES
};
/* More intervals than this are refused, since each takes memory. */
#define SERIES_MAX      10000
#define SERIES_AUTO_MAX 240

/* One interval. Rows count when they complete; rows of a trace count at their Timestamp. */
struct series_slot {
    struct series_io {
        uint64_t ops, bytes;                     /* rows that did not fail */
        struct coarse_hist *times[SERIES_TIMES]; /* NULL: none */
    } io[TRACE_TIERS][SERIES_DIRECTIONS];
    struct series_queue {
        uint64_t arrived, admitted;    /* requests */
        double arrived_ns;             /* sum of the times of those that arrived */
        double admitted_ns;            /* sum of the arrivals of those that were let in */
        double wait_ns;                /* sum of their waits */
    } queue[TRACE_QOSES];              /* with series_served */
    int64_t change_bytes[TRACE_TIERS]; /* of the tier's contents: see occupancy.h */
    uint64_t hits, misses, generated_tokens, failed;
};

struct series;
/* result: agg_is_result of the file. interval_ns > 0. NULL: no memory. */
struct series *series_create(bool result, int64_t interval_ns);
/* A series that chooses its interval: 1 ms, doubled whenever it needs more than SERIES_AUTO_MAX. */
struct series *series_create_auto(bool result);
/* Before the first row: rows of a result count when they are due, and not when they end; those
 * without such a time as before. Two runs of one trace have the same rows in an interval then. */
void series_by_due(struct series *s);
bool series_is_auto(const struct series *s);
void series_free(struct series *s);
/* 0; -ENOMEM; -ERANGE: more than SERIES_MAX intervals. */
int series_add(struct series *s, const struct trace_row *rows, size_t n, struct err *e);
int series_merge(struct series *into, const struct series *from, struct err *e);

/* Are these results of kvreplay --timing served? Then only the first row of a request has a Due,
 * which is its arrival. */
bool series_served(const struct series *s);
int64_t series_interval_ns(const struct series *s);
/* The number of intervals, from the replay's zero (for a trace: from the interval of its first row)
 * to the last row. */
size_t series_count(const struct series *s);
/* The i-th interval; NULL when nothing happened in it. Lent. */
const struct series_slot *series_at(const struct series *s, size_t i);
/* Contents of a tier before the first interval, in bytes. */
int64_t series_base_bytes(const struct series *s, enum trace_tier tier);
/* The time in ns of rank ceil(ppm n / 1,000,000), within 1.6 %; -1: there is none. */
int64_t series_percentile(const struct series_io *io, enum series_time time, uint32_t ppm);

#endif
