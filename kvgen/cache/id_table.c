/* Numbers for ids: open addressing with linear probing, and removal by moving back what follows, so
 * that no marks are left behind. Which chunks there are and where is left to its users. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/cache/id_table.h"
#include "lib/base/memory.h"

enum {
    FIRST_CAP = 64,
    AHEAD = 16 /* slots whose ids are fetched before they are moved */
};
#define MAX_IDS (UINT32_C(1) << 30)
/* The next free number stands in place of an id, and must not be taken for one. */
#define FREE(next) ((uint64_t)(next) ^ UINT64_C(0x9e3779b97f4a7c15))

void id_table_free(struct id_table *t)
{
    if (t->link)
        *t->link = t->next;
    if (t->next)
        t->next->link = t->link;
    free(t->id);
    free(t->slot);
    *t = (struct id_table){0};
}

void id_table_link(struct id_table *t, struct id_table **list)
{
    t->next = *list;
    t->link = list;
    if (t->next)
        t->next->link = &t->next;
    *list = t;
}

int id_table_widen(struct id_table *t, uint32_t ids)
{
    if (memory_resize(&t->slot, ids, sizeof(*t->slot)) < 0)
        return -ENOMEM;
    memset(t->slot + t->slots, 0, (ids - t->slots) * sizeof(*t->slot));
    t->slots = ids;
    t->by_id = true;
    if (t->direct)
        t->cap = ids;
    return 0;
}

static uint32_t after(const struct id_table *t, uint32_t at)
{
    return at + 1 < t->slots ? at + 1 : 0;
}

/* The other bits of a slot. */
static uint32_t mark(const struct id_table *t, uint64_t id)
{
    return (uint32_t)(hash_mix(id) >> 32) & ~t->numbers;
}

static void place(struct id_table *t, uint32_t number)
{
    uint32_t at = id_table_home(t, t->id[number]);
    while (t->slot[at] != 0)
        at = after(t, at);
    t->slot[at] = mark(t, t->id[number]) | (number + 1);
}

static int make_slots(struct id_table *t, uint32_t slots)
{
    uint32_t *old = t->slot;
    const uint32_t old_slots = t->slots, old_numbers = t->numbers;
    t->slot = memory_scattered((slots + UINT64_C(1)) * sizeof(*t->slot));
    if (!t->slot) {
        t->slot = old;
        return -ENOMEM;
    }
    memset(t->slot, 0, (slots + UINT64_C(1)) * sizeof(*t->slot));
    t->slots = slots;
    while (t->numbers < t->cap)
        t->numbers = 2 * t->numbers + 1;
    /* New homes come in the order of the old ones; ids come from anywhere in memory. */
    for (uint32_t i = 0; i < old_slots; i++) {
        if (i + AHEAD < old_slots && old[i + AHEAD] != 0)
            __builtin_prefetch(&t->id[(old[i + AHEAD] & old_numbers) - 1]);
        if (old[i] != 0)
            place(t, (old[i] & old_numbers) - 1);
    }
    free(old);
    return 0;
}

static size_t id_bytes(const struct id_table *t)
{
    return t->by_id ? sizeof(*t->small_id) : sizeof(*t->id);
}

int id_table_reserve(struct id_table *t, uint64_t more)
{
    uint64_t need = t->count + more;
    if (t->direct)
        return 0;
    if (more > MAX_IDS || need > MAX_IDS)
        return -ENOMEM;
    if (need > t->cap) {
        uint64_t cap = t->cap + (uint64_t)t->cap / 2;
        if (cap < FIRST_CAP)
            cap = FIRST_CAP;
        if (cap < need)
            cap = need;
        if (memory_resize(&t->id, cap * id_bytes(t), 1) < 0)
            return -ENOMEM;
        t->cap = (uint32_t)cap;
    }
    return t->by_id || t->slots == 2 * t->cap ? 0 : make_slots(t, 2 * t->cap);
}

void *id_table_grow_item(struct id_table *t, void *array, uint32_t *room, size_t item_bytes)
{
    if (id_table_reserve(t, 1))
        return NULL;
    if (*room >= t->cap)
        return array;
    array = realloc(array, t->cap * item_bytes);
    if (array)
        *room = t->cap;
    return array;
}

uint32_t id_table_search(const struct id_table *t, uint64_t id)
{
    if (t->slots == 0)
        return ID_NONE;
    const uint32_t its = mark(t, id);
    for (uint32_t at = id_table_home(t, id); t->slot[at] != 0; at = after(t, at)) {
        const uint32_t number = (t->slot[at] & t->numbers) - 1;
        if ((t->slot[at] & ~t->numbers) == its && t->id[number] == id)
            return number;
    }
    return ID_NONE;
}

uint32_t id_table_add(struct id_table *t, uint64_t id)
{
    uint32_t number;
    if (t->direct) {
        t->count++;
        t->slot[id] = (uint32_t)id;
        return (uint32_t)id - 1;
    }
    if (t->free != 0) {
        number = t->free - 1;
        t->free = t->by_id ? t->small_id[number] : (uint32_t)FREE(t->id[number]);
    } else
        number = t->made++;
    t->count++;
    if (t->by_id) {
        t->small_id[number] = (uint32_t)id;
        t->slot[id] = number + 1;
    } else {
        t->id[number] = id;
        place(t, number);
    }
    return number;
}

/* Slots from one to another, forwards. */
static uint32_t distance(const struct id_table *t, uint32_t from, uint32_t to)
{
    return to >= from ? to - from : to + t->slots - from;
}

/* Its slot is empty from now on. */
static void unplace(struct id_table *t, uint32_t number)
{
    uint32_t hole = id_table_home(t, t->id[number]);
    while ((t->slot[hole] & t->numbers) != number + 1)
        hole = after(t, hole);
    for (uint32_t at = after(t, hole); t->slot[at] != 0; at = after(t, at)) {
        /* It moves into the hole unless its home lies between the hole and itself. */
        uint32_t from = id_table_home(t, t->id[(t->slot[at] & t->numbers) - 1]);
        if (distance(t, from, at) >= distance(t, hole, at)) {
            t->slot[hole] = t->slot[at];
            hole = at;
        }
    }
    t->slot[hole] = 0;
}

void id_table_remove(struct id_table *t, uint32_t number)
{
    if (t->direct) {
        t->slot[number + 1] = 0;
        t->count--;
        return;
    }
    if (t->by_id) {
        t->slot[t->small_id[number]] = 0;
        t->small_id[number] = t->free;
    } else {
        unplace(t, number);
        t->id[number] = FREE(t->free);
    }
    t->free = number + 1;
    t->count--;
}

uint64_t id_table_memory(const struct id_table *t)
{
    return (t->direct ? 0 : t->cap * id_bytes(t)) +
           (t->slots + (t->by_id ? 0 : UINT64_C(1))) * sizeof(*t->slot);
}
