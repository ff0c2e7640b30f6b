/* heap.h - events by time, the earliest first. Of equal times the smaller tie comes first, so that
 * runs repeat. */
#ifndef KVTRACE_SORT_HEAP_H
#define KVTRACE_SORT_HEAP_H

#include <stddef.h>
#include <stdint.h>

struct heap_event {
    int64_t time_ns;
    uint64_t tie;
    uint32_t item; /* for the caller's own use */
};

struct heap {
    struct heap_event *event;
    size_t count, cap;
};

/* An empty heap with room for cap events; 0 or -ENOMEM. */
int heap_init(struct heap *h, size_t cap);
/* Makes room for at least cap events; 0 or -ENOMEM. */
int heap_reserve(struct heap *h, size_t cap);
void heap_free(struct heap *h);
/* O(log n). The heap must have room. */
void heap_push(struct heap *h, struct heap_event e);
/* The earliest event, left in place; NULL: the heap is empty. */
const struct heap_event *heap_top(const struct heap *h);
/* Removes the earliest event. O(log n). The heap must not be empty. */
struct heap_event heap_pop(struct heap *h);

#endif
