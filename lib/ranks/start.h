/* start.h - the instant at which parts of a run begin together, by the clocks of their hosts. */
#ifndef KVTRACE_RANKS_START_H
#define KVTRACE_RANKS_START_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"

/* Reads the text of --start-at: "+2s" (from now_wall_ns), seconds since 1970 ("1767225600.5"), or a
 * date and time of ISO 8601 ("2026-01-01T00:00:00Z", UTC unless it says otherwise). *wall_ns: since
 * 1970. 0 or -EINVAL with *e; class ERR_TARGET with -ETIME when the instant has passed. */
int start_parse(const char *text, int64_t now_wall_ns, int64_t *wall_ns, struct err *e);

/* The wall clock's state, as the kernel has it from whoever sets the clock (adjtimex(2)). */
struct start_clock {
    bool known;
    bool synchronised;
    int64_t error_ns; /* at most, by that program's own estimate */
};
/* Errors beyond this make a start doubtful. */
#define START_ERROR_MAX_NS INT64_C(100000000)
void start_clock_read(struct start_clock *c);
/* Why the clock cannot be trusted for a start; NULL: it can. */
const char *start_clock_doubt(const struct start_clock *c);

/* Sleeps until the wall clock shows wall_ns. *zero_ns: that instant on the monotonic clock;
 * *late_ns: how much later than that the caller woke. 0; -EINTR: a signal came; -ETIME with *e,
 * class ERR_TARGET: the instant had passed when the call was made. */
int start_wait(int64_t wall_ns, int64_t *zero_ns, int64_t *late_ns, struct err *e);

#endif
