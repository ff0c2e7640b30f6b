/* pace.h - closed timing: each user's rows one after another, with the trace's pauses between them.
 * One thread, the scheduler's; no clock of its own. */
#ifndef KVREPLAY_SCHED_PACE_H
#define KVREPLAY_SCHED_PACE_H

#include <stddef.h>
#include <stdint.h>

#include "kvreplay/sched/row.h"
#include "kvreplay/sched/schedule.h"

struct pace;

/* For at most rows rows inside; schedule stays the caller's. NULL: no memory. */
struct pace *pace_create(const struct schedule *schedule, size_t rows);
void pace_free(struct pace *p);
/* The next row of the trace, after order_enter, of a user; its Due is that of the Timestamp. Sets
 * ROW_WAIT_USER while an earlier row of the user is inside, else Due when the user was seen. */
void pace_enter(struct pace *p, struct row *r);
/* The row is finished: the next one of its user, whose Due is known now and ROW_WAIT_USER cleared;
 * NULL: none is inside. */
struct row *pace_leave(struct pace *p, struct row *r, int64_t done_ns);

#endif
