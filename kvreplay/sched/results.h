/* Finished rows on their way to the trace writer. Their times come in as monotonic ns and leave
 * relative to the replay's zero. Rows that end before zero is known wait in an unlinked scratch
 * file. One thread. */
#ifndef KVREPLAY_SCHED_RESULTS_H
#define KVREPLAY_SCHED_RESULTS_H

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/tier/tier.h"
#include "lib/trace/write.h"

struct results;
struct row;

/* Writes to w, which stays the caller's; NULL: no result rows are wanted. rank: of a part of a run;
 * TRACE_NONE: there are no parts. */
int results_open(struct results **out, struct trace_writer *w, int64_t rank, struct err *e);
void results_close(struct results *r);
/* The doors of a tier, whose names are the Endpoint of its rows; the caller's. */
void results_doors(struct results *r, unsigned tier, const struct tier_door *door, unsigned doors);
/* The zero of all times is known now: writes the rows that wait for it. */
int results_zero(struct results *r, int64_t zero_ns, struct err *e);
/* Hands what was written over to the output, twice a second at most. For calls at any rate. */
void results_flush(struct results *r, int64_t now_ns);
/* One finished row. -EPIPE: the reader of the output went away. */
int results_put(struct results *r, const struct row *row, struct err *e);

#endif
