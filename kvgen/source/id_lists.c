/* Buffers for the blocks of requests. The sources of blocks fill them; the simulator says when a
 * request needs its blocks no more. */
#include "kvgen/source/id_lists.h"
#include "lib/base/memory.h"

#include <stdlib.h>

/* The blocks of one request, or a free buffer. */
struct id_list {
    uint64_t *id;
    size_t cap;
    uint32_t next_free; /* as id_lists.free */
};

uint64_t *id_lists_take(struct id_lists *l, size_t count, uint32_t *number)
{
    if (l->free == 0) {
        if (memory_resize(&l->list, (l->count + 1), sizeof(*l->list)) < 0)
            return NULL;
        l->list[l->count] = (struct id_list){0};
        l->free = ++l->count;
    }
    struct id_list *list = &l->list[l->free - 1];
    if (count >= list->cap) {
        if (memory_resize(&list->id, (count + 1), sizeof(*list->id)) < 0)
            return NULL;
        list->cap = count + 1;
    }
    *number = l->free - 1;
    l->free = list->next_free;
    return list->id;
}

void id_lists_give_back(struct id_lists *l, uint32_t number)
{
    l->list[number].next_free = l->free;
    l->free = number + 1;
}

void id_lists_free(struct id_lists *l)
{
    for (uint32_t i = 0; i < l->count; i++)
        free(l->list[i].id);
    free(l->list);
    *l = (struct id_lists){0};
}
