/* pending_rows.c - where rows wait that the simulation knows before their time: the moves behind a
 * slow tier. A heap of places in a pool; memory is that of the most rows ever waiting. */
#include "kvgen/sim/pending_rows.h"

#include <errno.h>
#include <stdlib.h>

#include "kvgen/heap.h"

struct place {
    struct sim_row row;
    struct request request; /* what row.request points to, when there is one */
    uint32_t next_free;
};

struct pending_rows {
    struct heap heap;
    struct place *place;
    uint32_t made, cap;
    uint32_t free; /* chain; NONE: empty */
    uint64_t added;
    struct place out;
};

#define NONE UINT32_MAX

struct pending_rows *pending_rows_create(void)
{
    struct pending_rows *p = calloc(1, sizeof *p);
    if (p == NULL)
        return NULL;
    p->free = NONE;
    if (heap_init(&p->heap, 64) < 0) {
        free(p);
        return NULL;
    }
    return p;
}

void pending_rows_free(struct pending_rows *p)
{
    if (p == NULL)
        return;
    heap_free(&p->heap);
    free(p->place);
    free(p);
}

static int take_place(struct pending_rows *p, uint32_t *i)
{
    if (p->free != NONE) {
        *i = p->free;
        p->free = p->place[*i].next_free;
        return 0;
    }
    if (p->made == p->cap) {
        if (p->cap >= NONE / 2)
            return -ENOMEM;
        uint32_t cap = p->cap > 0 ? p->cap * 2 : 64;
        struct place *grown = realloc(p->place, cap * sizeof *grown);
        if (grown == NULL)
            return -ENOMEM;
        p->place = grown;
        p->cap = cap;
    }
    *i = p->made++;
    return 0;
}

int pending_rows_add(struct pending_rows *p, const struct sim_row *row)
{
    uint32_t i;
    if (heap_reserve(&p->heap, p->heap.count + 1) < 0 || take_place(p, &i) < 0)
        return -ENOMEM;
    p->place[i].row = *row;
    if (row->request != NULL)
        p->place[i].request = *row->request;
    heap_push(&p->heap, (struct heap_event){.time_ns = row->time_ns, .tie = p->added++, .item = i});
    return 0;
}

const struct sim_row *pending_rows_take(struct pending_rows *p, int64_t until_ns)
{
    const struct heap_event *top = heap_top(&p->heap);
    if (top == NULL || top->time_ns > until_ns)
        return NULL;
    uint32_t i = heap_pop(&p->heap).item;
    p->out = p->place[i];
    if (p->out.row.request != NULL)
        p->out.row.request = &p->out.request;
    p->place[i].next_free = p->free;
    p->free = i;
    return &p->out.row;
}
