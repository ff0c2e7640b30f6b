/* When rows go: the trace's clock in the replay's time, the pauses of --timing closed, and the rows
 * that wait for their time. One thread, the scheduler's; it reads no clock. */
#ifndef KVREPLAY_WAIT_PACE_H
#define KVREPLAY_WAIT_PACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kvreplay/wait/row.h"
#include "lib/trace/trace.h"

/* ---- the trace's clock ---- */

struct pace_clock {
    double speed;                  /* times of the trace are divided by this */
    bool arrivals;                 /* a request comes at its Arrival, not at its Timestamps */
    int64_t zero_ns, zero_time_ns; /* the same moment: monotonic, and on the trace's clock */
};

/* When the row, or the request that it belongs to, comes on the trace's clock. */
int64_t pace_begins_ns(bool arrivals, const struct trace_row *t);
/* A time span of the trace in ns of the replay, clamped to 126 years: times are untrusted. */
int64_t pace_scaled_ns(const struct pace_clock *c, double trace_ns);
/* When time_ns of the trace comes in the replay. */
int64_t pace_at_ns(const struct pace_clock *c, int64_t time_ns);
/* The same for a row that is to run then: a time before the clock's zero is the zero, since no
 * target could have served it earlier. */
int64_t pace_due_ns(const struct pace_clock *c, int64_t time_ns);

/* ---- closed timing: each user's rows one after another, with the trace's pauses between ---- */

struct pace_users;

/* For at most rows rows inside; clock stays the caller's. NULL: no memory. */
struct pace_users *pace_users_create(const struct pace_clock *clock, size_t rows);
void pace_users_free(struct pace_users *p);
/* The next row of the trace that has a user, after order_enter; its Due is that of the Timestamp.
 * While an earlier row of the user is inside, sets ROW_WAIT_USER; else sets Due, unless this is the
 * user's first row. */
void pace_users_enter(struct pace_users *p, struct row *r);
/* The row is finished. Returns the next row of its user, with its Due set and ROW_WAIT_USER
 * cleared; NULL: none is inside. */
struct row *pace_users_leave(struct pace_users *p, struct row *r, int64_t done_ns);

/* ---- rows that wait for a time ---- */

struct timers;

struct timers *timers_create(size_t rows); /* for at most rows rows; NULL: no memory */
void timers_free(struct timers *t);
/* r->wake_ns is set and does not change. */
void timers_add(struct timers *t, struct row *r);
/* Time of the earliest row; INT64_MAX: there is none. */
int64_t timers_next_ns(const struct timers *t);
/* The earliest row, in the order of the trace where times are equal; NULL: none is due. */
struct row *timers_pop(struct timers *t, int64_t now_ns);

/* Counts a row that was admitted and is due at due_ns (TRACE_NONE: at once). */
void timers_expect(struct timers *t, int64_t due_ns, int64_t now_ns);
/* Rows counted so far whose time has come; about right when the times are out of order. */
uint64_t timers_arrived(struct timers *t, int64_t now_ns);

#endif
