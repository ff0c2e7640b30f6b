/* Beside the scheduler: its slots for operations in flight. The one free for longest goes first, so
 * that Eligible, which a slot may delay, is never later than it must be. */
#include "kvreplay/sched/flights.h"

#include <stdlib.h>

struct flight {
    struct tier_op op;
    struct flight *next;
    int64_t freed_ns; /* when the operation before was done */
};

struct flights {
    struct flight *head, *tail; /* free ones */
    size_t busy;
    struct flight slot[];
};

struct flights *flights_create(unsigned slots)
{
    struct flights *f = calloc(1, sizeof(*f) + slots * sizeof(struct flight));

    if (!f)
        return NULL;
    f->busy = slots;
    for (unsigned i = 0; i < slots; i++)
        flights_give(f, &f->slot[i], INT64_MIN);
    return f;
}

void flights_free(struct flights *f)
{
    free(f);
}

struct flight *flights_next(const struct flights *f)
{
    return f->head;
}

void flights_take(struct flights *f)
{
    f->head = f->head->next;
    if (!f->head)
        f->tail = NULL;
    f->busy++;
}

void flights_give(struct flights *f, struct flight *slot, int64_t done_ns)
{
    slot->freed_ns = done_ns;
    slot->next = NULL;
    *(f->tail ? &f->tail->next : &f->head) = slot;
    f->tail = slot;
    f->busy--;
}

size_t flights_busy(const struct flights *f)
{
    return f->busy;
}

struct tier_op *flight_op(struct flight *slot)
{
    return &slot->op;
}

int64_t flight_freed_ns(const struct flight *slot)
{
    return slot->freed_ns;
}

struct flight *flight_of(struct tier_op *op)
{
    return (struct flight *)((char *)op - offsetof(struct flight, op));
}
