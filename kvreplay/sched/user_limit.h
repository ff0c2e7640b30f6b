/* user_limit.h - only the first so many users of a trace. One thread. */
#ifndef KVREPLAY_SCHED_USER_LIMIT_H
#define KVREPLAY_SCHED_USER_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/trace/trace.h"

struct user_limit;

struct user_limit *user_limit_create(uint64_t users); /* NULL: no memory */
void user_limit_free(struct user_limit *l);
/* Of every row, in the order of the trace: is it one of the first users', or nobody's? */
bool user_limit_passes(struct user_limit *l, const struct trace_row *t);

#endif
