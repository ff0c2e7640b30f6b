/* Served timing: requests stand in line until they have arrived and one of N workers is free.
 * Decides which request is let in, and when. One thread, the scheduler's; it reads no clock. */
#ifndef KVREPLAY_SCHED_ADMISSION_H
#define KVREPLAY_SCHED_ADMISSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kvreplay/sched/row.h"

struct admission;

/* Called for every request that ends: its QoS, and when it arrived and was done. */
typedef void (*admission_ended_fn)(void *ctx, uint8_t qos, int64_t arrival_ns, int64_t done_ns,
                                   int64_t late_ns);

/* For at most rows rows inside. NULL: no memory. */
struct admission *admission_create(unsigned workers, size_t rows, admission_ended_fn ended,
                                   void *ctx);
void admission_free(struct admission *a);
/* The next row of the trace that has a Request, after order_enter; its request arrives at
 * arrival_ns. Sets ROW_WAIT_WORKER and Due when it is the first row of its request. */
void admission_enter(struct admission *a, struct row *r, int64_t arrival_ns, int64_t now_ns);
/* Lets the request at the head of the line in, when it has arrived and a worker is free. Returns
 * its first row, with ROW_WAIT_WORKER cleared and *when_ns set to when both were so; else NULL. */
struct row *admission_next(struct admission *a, int64_t now_ns, int64_t *when_ns);
/* The same without a free worker, for when every worker waits for a row of a request in line. */
struct row *admission_beyond(struct admission *a, int64_t now_ns, int64_t *when_ns);
/* The row is finished. */
void admission_leave(struct admission *a, struct row *r, int64_t done_ns);
/* Ends the requests that have no row inside and seem to have no further row: newest is the number
 * of the row that entered last; no_more says that no row can come now. True: some workers were
 * freed. */
bool admission_settle(struct admission *a, uint64_t newest, bool no_more);
/* Does a request hold a worker only because more rows of it may come? */
bool admission_lingers(const struct admission *a);
/* When admission_next may let a request in by time alone: a worker is free, and the head of the
 * line arrives then; INT64_MAX: never. */
int64_t admission_next_ns(const struct admission *a);
/* Requests in line that have arrived. */
size_t admission_waiting(struct admission *a, int64_t now_ns);
/* Are there requests inside that have not arrived yet? As of the last admission_waiting. */
bool admission_expects(const struct admission *a);

#endif
