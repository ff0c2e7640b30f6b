/* The store behind the hierarchy: objects in slabs that never move, and a table from identity to
 * place (open addressing, linear probing, backward-shift deletion). Which tier an object is in and
 * when it goes is decided in hierarchy.c and the policies. */
#include "kvgen/sim/objects.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"
#include "lib/base/memory.h"

enum {
    SLAB_OBJECTS = 1 << OBJECTS_SLAB_BITS,
    MOST_SLABS = 16, /* that are taken at once */
    FIRST_SLOTS = 1 << 10
};
#define MAX_OBJECTS ((uint32_t)1 << 31)

static uint32_t tag_of(struct ident id)
{
    return (uint32_t)hash_mix(id.lo ^ id.hi * UINT64_C(0x9e3779b97f4a7c15));
}

/* Slabs are taken as many as there are, so that large stores lie on huge pages and small ones stay
 * small: how many with the slab of that number, when it is the first of them. */
static uint32_t slabs_at_once(uint32_t first)
{
    return first == 0 ? 1 : first < MOST_SLABS ? first : MOST_SLABS;
}

static uint64_t *new_slots(uint64_t slots)
{
    uint64_t *slot = memory_scattered(slots * sizeof(*slot));
    if (slot)
        memset(slot, 0, slots * sizeof(*slot));
    return slot;
}

static uint64_t home_of(const struct objects *o, uint64_t slot)
{
    return slot >> 32 & o->mask;
}

struct objects *objects_create(void)
{
    struct objects *o = calloc(1, sizeof(*o));
    if (!o)
        return NULL;
    o->slot = new_slots(FIRST_SLOTS);
    if (!o->slot) {
        free(o);
        return NULL;
    }
    o->mask = FIRST_SLOTS - 1;
    o->free = OBJECT_NONE;
    return o;
}

void objects_free(struct objects *o)
{
    if (!o)
        return;
    for (uint32_t i = 0; i < o->slabs; i += slabs_at_once(i))
        free(o->slab[i]);
    free(o->slab);
    free(o->slot);
    free(o);
}

uint64_t objects_count(const struct objects *o)
{
    return o->count;
}

uint32_t objects_find(const struct objects *o, struct ident id)
{
    uint32_t tag = tag_of(id);
    for (uint64_t at = tag & o->mask;; at = (at + 1) & o->mask) {
        uint64_t slot = o->slot[at];
        if (slot == 0)
            return OBJECT_NONE;
        uint32_t number = (uint32_t)slot - 1;
        if (slot >> 32 == tag && ident_equal(objects_at(o, number)->id, id))
            return number;
    }
}

void objects_prefetch(const struct objects *o, struct ident id)
{
    __builtin_prefetch(&o->slot[tag_of(id) & o->mask]);
}

void objects_prefetch_object(const struct objects *o, struct ident id)
{
    uint32_t tag = tag_of(id);
    for (uint64_t at = tag & o->mask; o->slot[at] != 0; at = (at + 1) & o->mask)
        if (o->slot[at] >> 32 == tag) {
            objects_prefetch_at(o, (uint32_t)o->slot[at] - 1);
            return;
        }
}

static void place(struct objects *o, uint64_t slot)
{
    uint64_t at = home_of(o, slot);
    while (o->slot[at] != 0)
        at = (at + 1) & o->mask;
    o->slot[at] = slot;
}

static int grow_table(struct objects *o)
{
    uint64_t *old = o->slot;
    uint64_t old_slots = o->mask + 1;
    uint64_t *grown = new_slots(old_slots * 2);
    if (!grown)
        return -ENOMEM;
    o->slot = grown;
    o->mask = old_slots * 2 - 1;
    for (uint64_t i = 0; i < old_slots; i++)
        if (old[i] != 0)
            place(o, old[i]);
    free(old);
    return 0;
}

static int grow_slabs(struct objects *o)
{
    uint32_t more = slabs_at_once(o->slabs);
    if (o->slabs + more > o->slabs_cap) {
        uint32_t cap = o->slabs_cap ? o->slabs_cap * 2 : MOST_SLABS;
        if (memory_resize(&o->slab, cap, sizeof(*o->slab)) < 0)
            return -ENOMEM;
        o->slabs_cap = cap;
    }
    struct object *slab = memory_scattered(more * SLAB_OBJECTS * sizeof(*slab));
    if (!slab)
        return -ENOMEM;
    for (uint32_t i = 0; i < more; i++)
        o->slab[o->slabs++] = slab + (size_t)i * SLAB_OBJECTS;
    return 0;
}

static int take_place(struct objects *o, uint32_t *number)
{
    if (o->free != OBJECT_NONE) {
        *number = o->free;
        o->free = objects_at(o, o->free)->next;
        return 0;
    }
    if (o->made == MAX_OBJECTS)
        return -ENOMEM;
    if (o->made == (uint64_t)o->slabs * SLAB_OBJECTS && grow_slabs(o) < 0)
        return -ENOMEM;
    *number = o->made++;
    return 0;
}

int objects_reserve(struct objects *o, uint64_t count)
{
    if (count > MAX_OBJECTS)
        return -ENOMEM;
    while (count * 2 > o->mask + 1)
        if (grow_table(o) < 0)
            return -ENOMEM;
    while (count > (uint64_t)o->slabs * SLAB_OBJECTS)
        if (grow_slabs(o) < 0)
            return -ENOMEM;
    return 0;
}

int objects_add(struct objects *o, struct ident id, uint32_t *number)
{
    if ((uint64_t)o->count * 2 > o->mask && grow_table(o) < 0)
        return -ENOMEM;
    if (take_place(o, number) < 0)
        return -ENOMEM;
    *objects_at(o, *number) = (struct object){.id = id};
    place(o, (uint64_t)tag_of(id) << 32 | (*number + 1));
    o->count++;
    return 0;
}

/* Empties the slot. Later slots of the same run move back where a probe would stop too early. */
static void empty_slot(struct objects *o, uint64_t at)
{
    for (uint64_t next = (at + 1) & o->mask; o->slot[next] != 0; next = (next + 1) & o->mask) {
        uint64_t distance = (next - home_of(o, o->slot[next])) & o->mask;
        if (distance >= ((next - at) & o->mask)) {
            o->slot[at] = o->slot[next];
            at = next;
        }
    }
    o->slot[at] = 0;
}

void objects_remove(struct objects *o, uint32_t number)
{
    struct object *object = objects_at(o, number);
    uint64_t slot = (uint64_t)tag_of(object->id) << 32 | (number + 1);
    uint64_t at = home_of(o, slot);
    while (o->slot[at] != slot)
        at = (at + 1) & o->mask;
    empty_slot(o, at);
    object->next = o->free;
    o->free = number;
    o->count--;
}
