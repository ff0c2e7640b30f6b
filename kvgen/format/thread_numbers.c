/* thread_numbers.c - two heaps: threads in use by the time at which they end, free ones by number.
 * Memory is that of the most operations in flight at once. */
#include "kvgen/format/thread_numbers.h"

#include <errno.h>
#include <stdlib.h>

#include "kvgen/heap.h"

struct thread_numbers {
    struct heap used;   /* time: end; item: thread */
    struct heap unused; /* time: thread */
    uint32_t count;
};

struct thread_numbers *thread_numbers_create(void)
{
    struct thread_numbers *c = calloc(1, sizeof(*c));
    if (!c)
        return NULL;
    if (heap_init(&c->used, 64) < 0 || heap_init(&c->unused, 64) < 0) {
        thread_numbers_free(c);
        return NULL;
    }
    return c;
}

void thread_numbers_free(struct thread_numbers *c)
{
    if (!c)
        return;
    heap_free(&c->used);
    heap_free(&c->unused);
    free(c);
}

int thread_numbers_take(struct thread_numbers *c, int64_t start_ns, int64_t end_ns,
                        unsigned *thread)
{
    const struct heap_event *first;
    while ((first = heap_top(&c->used)) && first->time_ns <= start_ns) {
        uint32_t ended = heap_pop(&c->used).item;
        heap_push(&c->unused, (struct heap_event){.time_ns = ended, .item = ended});
    }
    if (!heap_top(&c->unused)) {
        if (heap_reserve(&c->used, c->count + 1) < 0 || heap_reserve(&c->unused, c->count + 1) < 0)
            return -ENOMEM;
        heap_push(&c->unused, (struct heap_event){.time_ns = c->count, .item = c->count});
        c->count++;
    }
    *thread = heap_pop(&c->unused).item;
    heap_push(&c->used, (struct heap_event){.time_ns = end_ns, .tie = *thread, .item = *thread});
    return 0;
}
