/* timers.h - rows that wait for a time: the earliest first, in the order of the trace where times
 * are equal. */
#ifndef KVREPLAY_SCHED_TIMERS_H
#define KVREPLAY_SCHED_TIMERS_H

#include <stddef.h>
#include <stdint.h>

#include "kvreplay/sched/row.h"

struct timers;

struct timers *timers_create(size_t rows); /* for at most rows rows; NULL: no memory */
void timers_free(struct timers *t);
void timers_add(struct timers *t, struct row *r); /* r->wake_ns is set and stays */
/* Time of the earliest row; INT64_MAX: there is none. */
int64_t timers_next_ns(const struct timers *t);
struct row *timers_pop(struct timers *t, int64_t now_ns); /* NULL: none is due */

/* A row was admitted that is due at due_ns (TRACE_NONE: at once); at most rows of them lie ahead.
 */
void timers_expect(struct timers *t, int64_t due_ns, int64_t now_ns);
/* Rows admitted whose time has come so far, near enough where times are out of order. */
uint64_t timers_arrived(struct timers *t, int64_t now_ns);

#endif
