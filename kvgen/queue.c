/* queue.c - between the source and the workers: one ring per quality of service. Requests enter in
 * order of arrival, so the ring of the highest priority that holds any has the next one in front.
 */
#include "kvgen/queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    CLASSES = 3,
    FIRST_RING = 64
};

struct ring {
    struct request *item;
    uint64_t head, count, cap; /* cap is a power of two, or 0 */
    int64_t priority;
};

struct queue {
    struct ring ring[CLASSES]; /* by enum trace_qos */
};

struct queue *queue_create(const int64_t priority[3])
{
    struct queue *q = calloc(1, sizeof *q);
    for (int i = 0; q != NULL && i < CLASSES; i++)
        q->ring[i].priority = priority[i];
    return q;
}

void queue_free(struct queue *q)
{
    for (int i = 0; q != NULL && i < CLASSES; i++)
        free(q->ring[i].item);
    free(q);
}

static int ring_grow(struct ring *r)
{
    uint64_t cap = r->cap ? r->cap * 2 : FIRST_RING;
    struct request *item = malloc(cap * sizeof *item);
    if (item == NULL)
        return -ENOMEM;
    uint64_t to_end = r->cap - r->head < r->count ? r->cap - r->head : r->count;
    if (r->count > 0) {
        memcpy(item, r->item + r->head, to_end * sizeof *item);
        memcpy(item + to_end, r->item, (r->count - to_end) * sizeof *item);
    }
    free(r->item);
    r->item = item;
    r->head = 0;
    r->cap = cap;
    return 0;
}

int queue_push(struct queue *q, const struct request *request)
{
    struct ring *r = &q->ring[request->qos];
    if (r->count == r->cap && ring_grow(r) < 0)
        return -ENOMEM;
    r->item[(r->head + r->count++) & (r->cap - 1)] = *request;
    return 0;
}

/* Rings of equal priority share it: the earlier submission goes first. */
static bool goes_before(const struct ring *a, const struct ring *b)
{
    if (a->priority != b->priority)
        return a->priority > b->priority;
    return a->item[a->head].number < b->item[b->head].number;
}

bool queue_pop(struct queue *q, struct request *out)
{
    struct ring *best = NULL;
    for (int i = 0; i < CLASSES; i++)
        if (q->ring[i].count > 0 && (best == NULL || goes_before(&q->ring[i], best)))
            best = &q->ring[i];
    if (best == NULL)
        return false;
    *out = best->item[best->head];
    best->head = (best->head + 1) & (best->cap - 1);
    best->count--;
    return true;
}

uint64_t queue_length(const struct queue *q)
{
    uint64_t n = 0;
    for (int i = 0; i < CLASSES; i++)
        n += q->ring[i].count;
    return n;
}
