/* row_list.h - rows in line, first in first out. A row is in one line at most. */
#ifndef KVREPLAY_SCHED_ROW_LIST_H
#define KVREPLAY_SCHED_ROW_LIST_H

#include <stddef.h>

#include "kvreplay/sched/row.h"

struct row_list {
    struct row *head, *tail;
    size_t count;
};

static inline void list_append(struct row_list *l, struct row *r)
{
    r->next = NULL;
    if (l->tail)
        l->tail->next = r;
    else
        l->head = r;
    l->tail = r;
    l->count++;
}

/* Of a list that is not empty. */
static inline struct row *list_pop(struct row_list *l)
{
    struct row *r = l->head;
    l->head = r->next;
    if (!l->head)
        l->tail = NULL;
    l->count--;
    return r;
}

#endif
