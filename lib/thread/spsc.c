/* The queue between two threads of a pipeline: a ring of pointers with one index per side. Each
 * side keeps a copy of the other's index and reads the real one only when the copy says full or
 * empty, so the two sides seldom touch the same cache line. */
#include "lib/thread/spsc.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

struct spsc {
    _Alignas(64) atomic_size_t tail; /* written by the producer: items pushed so far */
    size_t head_seen;                /* producer's copy of head */
    _Alignas(64) atomic_size_t head; /* written by the consumer: items popped so far */
    size_t tail_seen;                /* consumer's copy of tail */
    _Alignas(64) size_t mask;        /* read-only from here on */
    void **slot;
};

struct spsc *spsc_create(size_t capacity)
{
    size_t slots = 1;
    while (slots < capacity) {
        if (slots > SIZE_MAX / 2 / sizeof(void *))
            return NULL;
        slots *= 2;
    }
    struct spsc *q = aligned_alloc(_Alignof(struct spsc), sizeof(*q));
    if (!q)
        return NULL;
    *q = (struct spsc){.mask = slots - 1, .slot = malloc(slots * sizeof(void *))};
    if (!q->slot) {
        free(q);
        return NULL;
    }
    return q;
}

void spsc_free(struct spsc *q)
{
    if (!q)
        return;
    free(q->slot);
    free(q);
}

bool spsc_push(struct spsc *q, void *item)
{
    size_t tail = atomic_load_explicit(&q->tail, memory_order_relaxed);
    if (tail - q->head_seen > q->mask) {
        q->head_seen = atomic_load_explicit(&q->head, memory_order_acquire);
        if (tail - q->head_seen > q->mask)
            return false;
    }
    q->slot[tail & q->mask] = item;
    atomic_store_explicit(&q->tail, tail + 1, memory_order_release);
    return true;
}

void *spsc_peek(struct spsc *q)
{
    size_t head = atomic_load_explicit(&q->head, memory_order_relaxed);
    if (head == q->tail_seen) {
        q->tail_seen = atomic_load_explicit(&q->tail, memory_order_acquire);
        if (head == q->tail_seen)
            return NULL;
    }
    return q->slot[head & q->mask];
}

void *spsc_pop(struct spsc *q)
{
    void *item = spsc_peek(q);
    if (item)
        atomic_store_explicit(&q->head, atomic_load_explicit(&q->head, memory_order_relaxed) + 1,
                              memory_order_release);
    return item;
}

size_t spsc_count(const struct spsc *q)
{
    /* Read head first: tail only grows, so the difference cannot be negative. */
    size_t head = atomic_load_explicit(&q->head, memory_order_acquire);
    size_t tail = atomic_load_explicit(&q->tail, memory_order_acquire);
    size_t count = tail - head;
    return count <= q->mask + 1 ? count : q->mask + 1;
}
