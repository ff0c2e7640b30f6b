/* flights.h - the slots in flight: one operation each, handed out longest free first, each with the
 * moment since when it is free. One thread, the scheduler's. */
#ifndef KVREPLAY_SCHED_FLIGHTS_H
#define KVREPLAY_SCHED_FLIGHTS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/tier/tier.h"

struct flight;
struct flights;

/* slots of them, all free since INT64_MIN. NULL: no memory. */
struct flights *flights_create(unsigned slots);
void flights_free(struct flights *f);
/* The slot free for longest, which stays free until flights_take; NULL: none is. */
struct flight *flights_next(const struct flights *f);
void flights_take(struct flights *f);
/* Its operation was done then. */
void flights_give(struct flights *f, struct flight *slot, int64_t done_ns);
size_t flights_busy(const struct flights *f);

struct tier_op *flight_op(struct flight *slot);
int64_t flight_freed_ns(const struct flight *slot);
/* The slot of an operation of flight_op. */
struct flight *flight_of(struct tier_op *op);

#endif
