/* Two heaps: numbers in use by the end of their operation, and free numbers. For the logs of other
 * tools, whose operations name a thread. Memory is that of the most operations in flight at once.
 */
#include "kvgen/format/thread_numbers.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/sort/heap.h"

struct thread_numbers {
    struct heap used;   /* time: end; item: number */
    struct heap unused; /* time and item: number */
    uint32_t count;
};

struct thread_numbers *thread_numbers_create(void)
{
    struct thread_numbers *t = calloc(1, sizeof(*t));
    if (!t)
        return NULL;
    if (heap_init(&t->used, 64) < 0 || heap_init(&t->unused, 64) < 0) {
        thread_numbers_free(t);
        return NULL;
    }
    return t;
}

void thread_numbers_free(struct thread_numbers *t)
{
    if (!t)
        return;
    heap_free(&t->used);
    heap_free(&t->unused);
    free(t);
}

int thread_numbers_take(struct thread_numbers *t, int64_t start_ns, int64_t end_ns,
                        unsigned *thread)
{
    const struct heap_event *first;
    while ((first = heap_top(&t->used)) && first->time_ns <= start_ns) {
        uint32_t ended = heap_pop(&t->used).item;
        heap_push(&t->unused, (struct heap_event){.time_ns = ended, .item = ended});
    }
    if (!heap_top(&t->unused)) {
        if (heap_reserve(&t->used, t->count + 1) < 0 || heap_reserve(&t->unused, t->count + 1) < 0)
            return -ENOMEM;
        heap_push(&t->unused, (struct heap_event){.time_ns = t->count, .item = t->count});
        t->count++;
    }
    *thread = heap_pop(&t->unused).item;
    heap_push(&t->used, (struct heap_event){.time_ns = end_ns, .tie = *thread, .item = *thread});
    return 0;
}
