/* lanes.c - two heaps: lanes in use by the time at which they end, free ones by number. Memory is
 * that of the most operations in flight at once. */
#include "kvgen/lanes.h"

#include <errno.h>
#include <stdlib.h>

#include "kvgen/heap.h"

struct lanes {
    struct heap used;   /* time: end; item: lane */
    struct heap unused; /* time: lane */
    uint32_t count;
};

struct lanes *lanes_create(void)
{
    struct lanes *l = calloc(1, sizeof *l);
    if (l == NULL)
        return NULL;
    if (heap_init(&l->used, 64) < 0 || heap_init(&l->unused, 64) < 0) {
        lanes_free(l);
        return NULL;
    }
    return l;
}

void lanes_free(struct lanes *l)
{
    if (l == NULL)
        return;
    heap_free(&l->used);
    heap_free(&l->unused);
    free(l);
}

int lanes_take(struct lanes *l, int64_t start_ns, int64_t end_ns, unsigned *lane)
{
    const struct heap_event *first;
    while ((first = heap_top(&l->used)) != NULL && first->time_ns <= start_ns) {
        uint32_t ended = heap_pop(&l->used).item;
        heap_push(&l->unused, (struct heap_event){.time_ns = ended, .item = ended});
    }
    if (heap_top(&l->unused) == NULL) {
        if (heap_reserve(&l->used, l->count + 1) < 0 || heap_reserve(&l->unused, l->count + 1) < 0)
            return -ENOMEM;
        heap_push(&l->unused, (struct heap_event){.time_ns = l->count, .item = l->count});
        l->count++;
    }
    *lane = heap_pop(&l->unused).item;
    heap_push(&l->used, (struct heap_event){.time_ns = end_ns, .tie = *lane, .item = *lane});
    return 0;
}
