/* bell.h - an event count: sleep until somebody rings, without losing a ring. Ringing is one
 * atomic add when nobody sleeps. Built on futex(2). */
#ifndef KVTRACE_BASE_BELL_H
#define KVTRACE_BASE_BELL_H

#include <stdint.h>

struct bell;

struct bell *bell_create(void); /* NULL: no memory */
void bell_free(struct bell *b);
/* The present count; take it before looking for work. Any thread. */
uint32_t bell_seen(const struct bell *b);
/* Adds one and wakes all sleepers. Any thread. */
void bell_ring(struct bell *b);
/* Sleeps until the count differs from seen or the monotonic clock reaches until_ns (INT64_MAX: no
 * limit). 0: rung; -ETIMEDOUT; -EINTR. */
int bell_wait(struct bell *b, uint32_t seen, int64_t until_ns);

#endif
