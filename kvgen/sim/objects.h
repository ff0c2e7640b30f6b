/* objects.h - the store of live objects, found by identity and linked by 32-bit numbers. Its memory
 * is that of the most objects that were ever alive at once; nothing is allocated for a single
 * object. */
#ifndef KVGEN_SIM_OBJECTS_H
#define KVGEN_SIM_OBJECTS_H

#include <stdint.h>

#include "kvgen/source/ident.h"

#define OBJECT_NONE UINT32_MAX

/* One live object. prev, next and mark belong to the eviction policy of its tier. */
struct object {
    struct ident id;
    uint64_t size; /* bytes */
    uint32_t tokens;
    uint32_t prev, next;
    uint8_t tier; /* enum trace_tier */
    uint8_t mark;
};

struct objects;

struct objects *objects_create(void); /* NULL: no memory */
void objects_free(struct objects *o);

/* The number of the object with this identity; OBJECT_NONE: there is none. */
uint32_t objects_find(const struct objects *o, struct ident id);
/* The object with that number. It stays in place until it is removed. */
struct object *objects_at(const struct objects *o, uint32_t number);
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
