/* id_lists.h - lists of block ids that a source lends to the simulator, in buffers that are used
 * again: memory is that of the requests under way. One thread. */
#ifndef KVGEN_SOURCE_ID_LISTS_H
#define KVGEN_SOURCE_ID_LISTS_H

#include <stddef.h>
#include <stdint.h>

struct id_list;

/* Zero it before use. */
struct id_lists {
    struct id_list *list;
    uint32_t count, free; /* free: 1 + the first free list; 0: none */
};

/* A list with room for count ids, and its number. NULL: no memory. */
uint64_t *id_lists_take(struct id_lists *l, size_t count, uint32_t *number);
/* Nobody reads the list any more. */
void id_lists_give_back(struct id_lists *l, uint32_t number);
void id_lists_free(struct id_lists *l);

#endif
