/* An event count: a thread sleeps until another one rings, and no ring is lost. Ringing costs one
 * atomic add when nobody sleeps. Built on futex(2). */
#ifndef KVTRACE_THREAD_BELL_H
#define KVTRACE_THREAD_BELL_H

#include <stdint.h>

struct bell;

struct bell *bell_create(void); /* NULL: no memory */
void bell_free(struct bell *b);
/* Returns the present count. Take it before you look for work, then pass it to bell_wait. Any
 * thread. */
uint32_t bell_seen(const struct bell *b);
/* Adds one to the count and wakes all sleepers. Any thread. */
void bell_ring(struct bell *b);
/* Sleeps until the count differs from seen, or until the monotonic clock reaches until_ns
 * (INT64_MAX: no limit). Returns 0 (the bell rang), -ETIMEDOUT or -EINTR. */
int bell_wait(struct bell *b, uint32_t seen, int64_t until_ns);

#endif
