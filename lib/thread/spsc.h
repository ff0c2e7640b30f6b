/* A bounded, lock-free queue of pointers from one producer thread to one consumer thread. */
#ifndef KVTRACE_THREAD_SPSC_H
#define KVTRACE_THREAD_SPSC_H

#include <stdbool.h>
#include <stddef.h>

struct spsc;

/* Room for capacity pointers, rounded up to a power of two. NULL: no memory. */
struct spsc *spsc_create(size_t capacity);
void spsc_free(struct spsc *q);
/* Producer only. Returns false when full. Everything written before is visible to the pop. */
bool spsc_push(struct spsc *q, void *item);
/* Consumer only. Returns NULL when empty. */
void *spsc_pop(struct spsc *q);
/* Consumer only. What spsc_pop would return, which stays. */
void *spsc_peek(struct spsc *q);
/* Number of items: exact for the caller's own end, else a bound. */
size_t spsc_count(const struct spsc *q);

#endif
