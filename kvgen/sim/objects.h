/* objects.h - the store of live objects, found by identity and linked by 32-bit numbers. Its memory
 * is that of the most objects that were ever alive at once; nothing is allocated for a single
 * object. */
#ifndef KVGEN_SIM_OBJECTS_H
#define KVGEN_SIM_OBJECTS_H

#include <stdint.h>

#include "kvgen/source/ident.h"

#define OBJECT_NONE UINT32_MAX
enum {
    OBJECTS_SLAB_BITS = 14
};

/* One live object. prev, next and mark belong to the eviction policy of its tier. */
struct object {
    struct ident id;
    uint64_t size; /* bytes */
    uint32_t tokens;
    uint32_t prev, next;
    uint16_t tier; /* where it is, as its owner counts */
    uint8_t mark;
};

/* The inside of the store: read it only through the functions below. It is here so that objects_at
 * costs no call.
 *
 * A slot is 0 when empty. Else its low half is the object's number + 1 and its high half 32 bits of
 * the hash: most probes end without a look at an object, and the table grows without the
 * identities. */
struct objects {
    struct object **slab; /* each of 2^OBJECTS_SLAB_BITS objects, which never move */
    uint64_t *slot;
    uint64_t mask; /* slots - 1; slots is a power of two, at least twice count */
    uint32_t slabs, slabs_cap;
    uint32_t made; /* places given out so far, free ones included */
    uint32_t free; /* chain through .next */
    uint32_t count;
};

struct objects *objects_create(void); /* NULL: no memory */
void objects_free(struct objects *o);

/* The number of the object with this identity; OBJECT_NONE: there is none. */
uint32_t objects_find(const struct objects *o, struct ident id);

/* The object with that number. It stays in place until it is removed. */
static inline struct object *objects_at(const struct objects *o, uint32_t number)
{
    return &o->slab[number >> OBJECTS_SLAB_BITS][number & ((1u << OBJECTS_SLAB_BITS) - 1)];
}

/* Fetches that object from memory, to be written: half of them lie in two lines of the cache.
 * Always inlined: gcc removes calls of a function that does nothing but prefetch. */
static inline __attribute__((always_inline)) void objects_prefetch_at(const struct objects *o,
                                                                      uint32_t number)
{
    const struct object *object = objects_at(o, number);
    __builtin_prefetch(object, 1);
    __builtin_prefetch(&object->mark, 1);
}

/* Adds an object whose identity is not there yet. Its other fields are zero. 0, or -ENOMEM (also
 * for more than 2^31 objects). */
int objects_add(struct objects *o, struct ident id, uint32_t *number);
/* After this no objects_add fails while there are at most count objects. 0 or -ENOMEM. */
int objects_reserve(struct objects *o, uint64_t count);
void objects_remove(struct objects *o, uint32_t number);
uint64_t objects_count(const struct objects *o);
/* Fetches from memory what a later objects_find of id will look at. */
void objects_prefetch(const struct objects *o, struct ident id);
/* The second step, some time after the first: fetches the object, too. */
void objects_prefetch_object(const struct objects *o, struct ident id);

#endif
