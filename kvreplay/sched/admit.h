/* admit.h - served timing: which request runs on which of N workers, and when it was let in. One
 * thread, the scheduler's; no clock of its own. */
#ifndef KVREPLAY_SCHED_ADMIT_H
#define KVREPLAY_SCHED_ADMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kvreplay/sched/row.h"

struct admit;

/* Told of every request that ends: of that QoS, arrived and done at those moments. */
typedef void (*admit_ended_fn)(void *ctx, uint8_t qos, int64_t arrival_ns, int64_t done_ns);

/* For at most rows rows inside. NULL: no memory. */
struct admit *admit_create(unsigned workers, size_t rows, admit_ended_fn ended, void *ctx);
void admit_free(struct admit *a);
/* The next row of the trace, after order_enter, with a Request: it joins its request, which arrives
 * at arrival_ns. Sets ROW_WAIT_WORKER and Due when it is the first row of a request. */
void admit_enter(struct admit *a, struct row *r, int64_t arrival_ns, int64_t now_ns);
/* The first row of the request at the head of the line when that has arrived and a worker is free
 * (ROW_WAIT_WORKER is cleared then, and *when_ns is when both were so); else NULL. */
struct row *admit_next(struct admit *a, int64_t now_ns, int64_t *when_ns);
/* The same without a free worker, for when every worker waits for a row of a request in line. */
struct row *admit_beyond(struct admit *a, int64_t now_ns, int64_t *when_ns);
/* The row is finished. */
void admit_leave(struct admit *a, struct row *r, int64_t done_ns);
/* Frees workers whose request has no row inside and shows no further one: newest is the number of
 * the last row entered, no_more that none can come now. True: some were freed. */
bool admit_settle(struct admit *a, uint64_t newest, bool no_more);
/* Is a worker held only because more rows of its request may come? */
bool admit_lingers(const struct admit *a);
/* When admit_next may find one: a worker is free and the head of the line arrives then; INT64_MAX:
 * not by time alone. */
int64_t admit_next_ns(const struct admit *a);
/* Requests in line that have arrived. */
size_t admit_waiting(struct admit *a, int64_t now_ns);

#endif
