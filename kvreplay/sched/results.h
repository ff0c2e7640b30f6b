/* Finished rows on their way to the trace writer. Their times come in as monotonic ns and leave
 * relative to the replay's zero. Rows that end before zero is known wait in an unlinked scratch
 * file. One thread. */
#ifndef KVREPLAY_SCHED_RESULTS_H
#define KVREPLAY_SCHED_RESULTS_H

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/io/disk_map.h"
#include "lib/tier/tier.h"
#include "lib/trace/write.h"

struct results;
struct row;

/* A row that has ended, with what was asked of its disk. */
struct results_question {
    const struct disk_where *where;
    enum trace_op op;
    uint64_t size;
    int64_t start_ns, latency_ns, device_ns; /* monotonic; of the last, TRACE_NONE: not known */
};
/* Who knows more of a row some time after its end. */
struct results_late {
    void *ctx;
    /* Rows that ended before that time (monotonic) may be asked about. */
    int64_t (*until)(void *ctx);
    /* Fills in what it knows: queue_ns, drive_ns. */
    void (*ask)(void *ctx, const struct results_question *q, struct trace_extra *x);
};

/* Writes to w, which stays the caller's; NULL: no result rows are wanted. rank: of a part of a run;
 * TRACE_NONE: there are no parts. */
int results_open(struct results **out, struct trace_writer *w, int64_t rank, struct err *e);
void results_close(struct results *r);
/* The doors of a tier, whose names are the Endpoint of its rows; the caller's. */
void results_doors(struct results *r, unsigned tier, const struct tier_door *door, unsigned doors);
/* From the zero on, rows whose place on disk was asked are held back until late can be asked about
 * them; all rows stay in the order of their ends. late->ctx stays the caller's. */
void results_wait_for(struct results *r, const struct results_late *late);
/* Writes the rows that are held back; late can be asked about all of them now. As results_put. */
int results_settle(struct results *r, struct err *e);
/* The zero of all times is known now: writes the rows that wait for it. */
int results_zero(struct results *r, int64_t zero_ns, struct err *e);
/* Hands what was written over to the output, twice a second at most. For calls at any rate. */
void results_flush(struct results *r, int64_t now_ns);
/* One finished row. -EPIPE: the reader of the output went away. */
int results_put(struct results *r, const struct row *row, struct err *e);

#endif
