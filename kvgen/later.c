/* later.c - where rows wait that the simulation knows before their time: the moves behind a slow
 * tier. A heap of places in a pool; memory is that of the most rows ever waiting. */
#include "kvgen/later.h"

#include <errno.h>
#include <stdlib.h>

#include "kvgen/heap.h"

struct place {
    struct sim_row row;
    struct request request; /* what row.request points to, when there is one */
    uint32_t next_free;
};

struct later {
    struct heap heap;
    struct place *place;
    uint32_t made, cap;
    uint32_t free; /* chain; NONE: empty */
    uint64_t added;
    struct place out;
};

#define NONE UINT32_MAX

struct later *later_create(void)
{
    struct later *l = calloc(1, sizeof *l);
    if (l == NULL)
        return NULL;
    l->free = NONE;
    if (heap_init(&l->heap, 64) < 0) {
        free(l);
        return NULL;
    }
    return l;
}

void later_free(struct later *l)
{
    if (l == NULL)
        return;
    heap_free(&l->heap);
    free(l->place);
    free(l);
}

static int take_place(struct later *l, uint32_t *i)
{
    if (l->free != NONE) {
        *i = l->free;
        l->free = l->place[*i].next_free;
        return 0;
    }
    if (l->made == l->cap) {
        if (l->cap >= NONE / 2)
            return -ENOMEM;
        uint32_t cap = l->cap > 0 ? l->cap * 2 : 64;
        struct place *grown = realloc(l->place, cap * sizeof *grown);
        if (grown == NULL)
            return -ENOMEM;
        l->place = grown;
        l->cap = cap;
    }
    *i = l->made++;
    return 0;
}

int later_add(struct later *l, const struct sim_row *row)
{
    uint32_t i;
    if (heap_reserve(&l->heap, l->heap.count + 1) < 0 || take_place(l, &i) < 0)
        return -ENOMEM;
    l->place[i].row = *row;
    if (row->request != NULL)
        l->place[i].request = *row->request;
    heap_push(&l->heap, (struct heap_event){.time_ns = row->time_ns, .tie = l->added++, .item = i});
    return 0;
}

const struct sim_row *later_take(struct later *l, int64_t until_ns)
{
    const struct heap_event *top = heap_top(&l->heap);
    if (top == NULL || top->time_ns > until_ns)
        return NULL;
    uint32_t i = heap_pop(&l->heap).item;
    l->out = l->place[i];
    if (l->out.row.request != NULL)
        l->out.row.request = &l->out.request;
    l->place[i].next_free = l->free;
    l->free = i;
    return &l->out.row;
}
