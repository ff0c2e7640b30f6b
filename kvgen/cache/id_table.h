/* id_table.h - numbers for 64-bit ids: a hash table that takes 16 bytes for each id that there is
 * room for. Numbers are small and used again, so that what belongs to an id stands in an array of
 * the caller's. Where ids are small themselves (chain_numbers.h) the table is an array. One thread
 * at a time. */
#ifndef KVGEN_CACHE_ID_TABLE_H
#define KVGEN_CACHE_ID_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/hash.h"

#define ID_NONE UINT32_MAX

/* Zero it before the first use. */
struct id_table {
    union { /* by number; of a free number, the next free one (id_table.c) */
        uint64_t *id;
        uint32_t *small_id; /* by_id */
    };
    /* Number + 1 in the bits of numbers, and in the others what tells most ids apart without a look
     * at id; 0: empty. One more than slots: the number that was found last (not by_id). */
    uint32_t *slot;
    uint32_t slots;   /* twice cap */
    uint32_t numbers; /* one less than a power of two, at least cap */
    uint32_t cap;     /* numbers that there is room for */
    uint32_t made;    /* numbers given out so far */
    uint32_t count;   /* in use */
    uint32_t free;    /* the first free number + 1; 0: none */
    /* Ids are below slots: slot is by id and holds number + 1. */
    bool by_id;
    /* Set before the first call, of a table that gets ids of its own (chain_numbers.h) and will
     * have most of them: the number of an id is the one before it, whether or not it is in the
     * table, so that what belongs to ids side by side lies side by side, too. */
    bool direct;
    struct id_table *next, **link; /* of a list of tables (id_table_link) */
};

void id_table_free(struct id_table *t);
/* All ids are below that many, of which it may have been told fewer before. The first call comes
 * before all others. 0 or -ENOMEM. */
int id_table_widen(struct id_table *t, uint32_t ids);
/* Puts the table, which stays where it is, into a list, which id_table_free takes it out of. */
void id_table_link(struct id_table *t, struct id_table **list);
/* After this, id_table_add works for that many more ids; all numbers are below cap. 0 or -ENOMEM
 * (also for more than 2^30 ids). */
int id_table_reserve(struct id_table *t, uint64_t more);
/* The same for one id more, and for what belongs to it: the array with an item for each number, of
 * which it had *room. NULL: no memory, and the array is as it was. */
void *id_table_grow_item(struct id_table *t, void *array, uint32_t *room, size_t item_bytes);
static inline void *id_table_reserve_item(struct id_table *t, void *array, uint32_t *room,
                                          size_t item_bytes)
{
    return t->count < t->cap && *room >= t->cap ? array
                                                : id_table_grow_item(t, array, room, item_bytes);
}
uint32_t id_table_add(struct id_table *t, uint64_t id); /* id must be absent */
void id_table_remove(struct id_table *t, uint32_t number);
static inline uint64_t id_table_id(const struct id_table *t, uint32_t number)
{
    return t->direct ? number + UINT64_C(1) : t->by_id ? t->small_id[number] : t->id[number];
}
/* For direct tables only. */
static inline bool id_table_has(const struct id_table *t, uint64_t id)
{
    return t->slot[id] != 0;
}
uint64_t id_table_memory(const struct id_table *t); /* bytes */

/* The slots are no power of two, so that they take no more room than is said. */
static inline uint32_t id_table_home(const struct id_table *t, uint64_t id)
{
    return (uint32_t)(((hash_mix(id) & UINT32_MAX) * t->slots) >> 32);
}

enum {
    ID_TABLE_AHEAD = 8 /* ids of a list that are worth to be expected */
};
/* The id is looked for, added or removed soon: its slot comes from memory meanwhile. */
static inline void id_table_expect(const struct id_table *t, uint64_t id)
{
    if (t->slots)
        __builtin_prefetch(&t->slot[t->by_id ? id : id_table_home(t, id)]);
}

uint32_t id_table_search(const struct id_table *t, uint64_t id); /* ID_NONE: absent */
/* ID_NONE: absent. Ids that came one after the other are looked for one after the other, as a rule,
 * or backwards: so the numbers beside the last one that was found (*last, at first 0) are tried
 * first, which needs no way to a distant part of memory. */
static inline uint32_t id_table_find_near(const struct id_table *t, uint64_t id, uint32_t *last)
{
    if (t->by_id)
        return t->slot[id] - 1;
    if (*last + 1 < t->made && t->id[*last + 1] == id)
        return ++*last;
    if (*last > 0 && *last <= t->made && t->id[*last - 1] == id)
        return --*last;
    const uint32_t number = id_table_search(t, id);
    if (number != ID_NONE)
        *last = number;
    return number;
}
/* The same, near what this call found last. */
static inline uint32_t id_table_find(const struct id_table *t, uint64_t id)
{
    return t->slots ? id_table_find_near(t, id, &t->slot[t->slots]) : ID_NONE;
}

#endif
