/* heap.h - events by time: a binary heap of (time, tie, item). Equal times go by the smaller tie,
 * so that runs repeat. */
#ifndef KVGEN_HEAP_H
#define KVGEN_HEAP_H

#include <stddef.h>
#include <stdint.h>

struct heap_event {
    int64_t time_ns;
    uint64_t tie;
    uint32_t item;
};

struct heap {
    struct heap_event *event;
    size_t count, cap;
};

/* Room for cap events, never more; 0 or -ENOMEM. */
int heap_init(struct heap *h, size_t cap);
/* Makes the room for at least cap events. */
int heap_reserve(struct heap *h, size_t cap);
void heap_free(struct heap *h);
/* The heap must have room. */
void heap_push(struct heap *h, struct heap_event e);
/* The earliest, left in place; NULL: empty. */
const struct heap_event *heap_top(const struct heap *h);
struct heap_event heap_pop(struct heap *h);

#endif
