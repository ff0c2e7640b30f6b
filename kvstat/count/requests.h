/* requests.h - what each inference request went through: its rows are summed in a bounded table and
 * the request is counted when no row of it was seen for a long while. */
#ifndef KVSTAT_COUNT_REQUESTS_H
#define KVSTAT_COUNT_REQUESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/hist.h"
#include "lib/trace/trace.h"

/* A request is whole when no two of its rows in sequence lie further apart than this many rows, and
 * at most this many requests are open at once. */
#define REQUESTS_WINDOW_ROWS ((uint64_t)1 << 20)
#define REQUESTS_OPEN_MAX    ((size_t)1 << 18)

/* ---- the requests in a run of consecutive rows: one thread's ---- */

struct requests_run;
struct requests_run *requests_run_create(bool result); /* NULL: no memory */
/* Requests of which a row started before warmup_ns on the replay's clock are left out. */
void requests_run_leave_out(struct requests_run *r, int64_t warmup_ns);
void requests_run_free(struct requests_run *r);
void requests_run_clear(struct requests_run *r);
/* 0 or -ENOMEM. */
int requests_run_add(struct requests_run *r, const struct trace_row *rows, size_t n);

/* ---- all of them ---- */

/* A request's times, in ns, and the parts that the bottleneck is told from. */
enum requests_metric {
    REQUESTS_END_TO_END, /* arrival to last completion, generation included */
    REQUESTS_QUEUE,      /* arrival to first start */
    REQUESTS_STORAGE,    /* service time of all its KV operations, in all tiers */
    REQUESTS_GENERATION,
    REQUESTS_METRICS
};
enum requests_part {
    REQUESTS_PART_QUEUE,
    REQUESTS_PART_GPU,
    REQUESTS_PART_CPU,
    REQUESTS_PART_HOST,   /* Tier-2: service less device time */
    REQUESTS_PART_DEVICE, /* Tier-2 */
    REQUESTS_PART_GENERATION,
    REQUESTS_PARTS
};

struct requests_totals {
    uint64_t count;  /* requests, or what was seen of them */
    uint64_t cut;    /* counted again after a gap beyond the window */
    uint64_t failed; /* with a row that is corrupt or an errno: in no time and within no target */
    uint64_t with_arrival; /* whose arrival on the clock of the rows is known */
    double end_to_end_ns, part_ns[REQUESTS_PARTS]; /* sums */
    struct {
        uint64_t count, within_target;         /* end to end within target_ns of requests_create */
        struct hist *metric[REQUESTS_METRICS]; /* NULL where empty */
    } qos[TRACE_NO_QOS + 1];
    struct hist *metric[REQUESTS_METRICS];
};

struct requests;
/* target_ns: by QoS. NULL: no memory. */
struct requests *requests_create(bool result, const int64_t target_ns[TRACE_QOSES]);
void requests_free(struct requests *r);
/* Appends the run of the next rows, in file order. rows: how many it had. 0 or -ENOMEM. */
int requests_append(struct requests *r, const struct requests_run *run, uint64_t rows);
/* Ends a file: counts all that are open. */
int requests_end_file(struct requests *r);
/* Adds what another file's table counted. */
int requests_merge(struct requests *into, const struct requests *from);
const struct requests_totals *requests_totals(const struct requests *r);

#endif
