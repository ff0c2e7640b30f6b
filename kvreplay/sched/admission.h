/* admission.h - served timing: which request runs on which of N workers, and when it was let in.
 * One thread, the scheduler's; no clock of its own. */
#ifndef KVREPLAY_SCHED_ADMISSION_H
#define KVREPLAY_SCHED_ADMISSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kvreplay/sched/row.h"

struct admission;

/* Told of every request that ends: of that QoS, arrived and done at those moments. */
typedef void (*admission_ended_fn)(void *ctx, uint8_t qos, int64_t arrival_ns, int64_t done_ns);

/* For at most rows rows inside. NULL: no memory. */
struct admission *admission_create(unsigned workers, size_t rows, admission_ended_fn ended,
                                   void *ctx);
void admission_free(struct admission *a);
/* The next row of the trace, after order_enter, with a Request: it joins its request, which arrives
 * at arrival_ns. Sets ROW_WAIT_WORKER and Due when it is the first row of a request. */
void admission_enter(struct admission *a, struct row *r, int64_t arrival_ns, int64_t now_ns);
/* The first row of the request at the head of the line when that has arrived and a worker is free
 * (ROW_WAIT_WORKER is cleared then, and *when_ns is when both were so); else NULL. */
struct row *admission_next(struct admission *a, int64_t now_ns, int64_t *when_ns);
/* The same without a free worker, for when every worker waits for a row of a request in line. */
struct row *admission_beyond(struct admission *a, int64_t now_ns, int64_t *when_ns);
/* The row is finished. */
void admission_leave(struct admission *a, struct row *r, int64_t done_ns);
/* Frees workers whose request has no row inside and shows no further one: newest is the number of
 * the last row entered, no_more that none can come now. True: some were freed. */
bool admission_settle(struct admission *a, uint64_t newest, bool no_more);
/* Is a worker held only because more rows of its request may come? */
bool admission_lingers(const struct admission *a);
/* When admission_next may find one: a worker is free and the head of the line arrives then;
 * INT64_MAX: not by time alone. */
int64_t admission_next_ns(const struct admission *a);
/* Requests in line that have arrived. */
size_t admission_waiting(struct admission *a, int64_t now_ns);

#endif
