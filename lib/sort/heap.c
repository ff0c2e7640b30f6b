/* A binary heap, which orders what happens next: users' requests in a source, the ends of workers
 * in the simulation, the runs of a merge. */
#include "lib/sort/heap.h"
#include "lib/base/memory.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

int heap_init(struct heap *h, size_t cap)
{
    *h = (struct heap){.event = calloc(cap ? cap : 1, sizeof(*h->event)), .cap = cap};
    return !h->event ? -ENOMEM : 0;
}

int heap_reserve(struct heap *h, size_t cap)
{
    if (cap <= h->cap)
        return 0;
    if (memory_resize(&h->event, cap * 2, sizeof(*h->event)) < 0)
        return -ENOMEM;
    h->cap = cap * 2;
    return 0;
}

void heap_free(struct heap *h)
{
    free(h->event);
    *h = (struct heap){0};
}

static bool earlier(const struct heap_event *a, const struct heap_event *b)
{
    return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->tie < b->tie;
}

void heap_push(struct heap *h, struct heap_event e)
{
    assert(h->count < h->cap);
    size_t at = h->count++;
    for (; at > 0 && earlier(&e, &h->event[(at - 1) / 2]); at = (at - 1) / 2)
        h->event[at] = h->event[(at - 1) / 2];
    h->event[at] = e;
}

const struct heap_event *heap_top(const struct heap *h)
{
    return h->count > 0 ? &h->event[0] : NULL;
}

struct heap_event heap_pop(struct heap *h)
{
    assert(h->count > 0);
    struct heap_event top = h->event[0];
    struct heap_event last = h->event[--h->count];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < h->count; at = child) {
        if (child + 1 < h->count && earlier(&h->event[child + 1], &h->event[child]))
            child++;
        if (!earlier(&h->event[child], &last))
            break;
        h->event[at] = h->event[child];
    }
    h->event[at] = last;
    return top;
}
