/* Beside the scheduler: a binary heap of the rows that wait for their due time or for the end of a
 * generation. Its array is taken at the start; it never grows. */
#include "kvreplay/sched/timers.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

struct timers {
    size_t count, room;
    /* due times of rows admitted and not come due yet, first in first out */
    int64_t *expected;
    size_t expected_first, expected_count;
    uint64_t arrived;
    struct row *heap[];
};

struct timers *timers_create(size_t rows)
{
    struct timers *t = malloc(sizeof(*t) + rows * sizeof(struct row *));
    if (!t)
        return NULL;
    *t = (struct timers){.room = rows, .expected = calloc(rows, sizeof(int64_t))};
    if (!t->expected) {
        free(t);
        return NULL;
    }
    return t;
}

void timers_free(struct timers *t)
{
    if (t)
        free(t->expected);
    free(t);
}

uint64_t timers_arrived(struct timers *t, int64_t now_ns)
{
    while (t->expected_count > 0 && t->expected[t->expected_first] <= now_ns) {
        t->expected_first = (t->expected_first + 1) % t->room;
        t->expected_count--;
        t->arrived++;
    }
    return t->arrived;
}

void timers_expect(struct timers *t, int64_t due_ns, int64_t now_ns)
{
    timers_arrived(t, now_ns);
    if (due_ns <= now_ns || t->expected_count == t->room) { /* full: the times are out of order */
        t->arrived++;
        return;
    }
    t->expected[(t->expected_first + t->expected_count++) % t->room] = due_ns;
}

static bool timers_before(const struct row *a, const struct row *b)
{
    return a->wake_ns != b->wake_ns ? a->wake_ns < b->wake_ns : a->number < b->number;
}

void timers_add(struct timers *t, struct row *r)
{
    assert(t->count < t->room);
    size_t i = t->count++;
    for (size_t up; i > 0 && timers_before(r, t->heap[up = (i - 1) / 2]); i = up)
        t->heap[i] = t->heap[up];
    t->heap[i] = r;
}

int64_t timers_next_ns(const struct timers *t)
{
    return t->count ? t->heap[0]->wake_ns : INT64_MAX;
}

struct row *timers_pop(struct timers *t, int64_t now_ns)
{
    if (timers_next_ns(t) > now_ns || t->count == 0)
        return NULL;
    struct row *top = t->heap[0], *last = t->heap[--t->count];
    size_t i = 0;
    for (size_t down; (down = 2 * i + 1) < t->count; i = down) {
        if (down + 1 < t->count && timers_before(t->heap[down + 1], t->heap[down]))
            down++;
        if (!timers_before(t->heap[down], last))
            break;
        t->heap[i] = t->heap[down];
    }
    t->heap[i] = last;
    return top;
}
