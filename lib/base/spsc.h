/* spsc.h - bounded queue of pointers, one producer thread and one consumer thread, lock-free. */
#ifndef KVTRACE_BASE_SPSC_H
#define KVTRACE_BASE_SPSC_H

#include <stdbool.h>
#include <stddef.h>

struct spsc;

/* Room for capacity pointers (rounded up to a power of two); NULL: no memory. */
struct spsc *spsc_create(size_t capacity);
void spsc_free(struct spsc *q);
/* Producer only: false when full. Release order: what was written before is visible to pop. */
bool spsc_push(struct spsc *q, void *item);
/* Consumer only: NULL when empty. */
void *spsc_pop(struct spsc *q);
/* Number of items; exact for the calling end's own view, a lower or upper bound else. */
size_t spsc_count(const struct spsc *q);

#endif
