/* objects.h - the store of live objects: found by identity, linked by 32-bit numbers. Memory is
 * that of the most objects ever alive at once; nothing is allocated per object. */
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

/* The number of the object with this identity, or OBJECT_NONE. */
uint32_t objects_find(const struct objects *o, struct ident id);
/* The object with that number; in place until it is removed. */
struct object *objects_at(const struct objects *o, uint32_t number);
/* Adds an object whose identity is not there yet; its fields but id are zero. 0, or -ENOMEM (also
 * for more than 2^31 objects). */
int objects_add(struct objects *o, struct ident id, uint32_t *number);
/* Makes sure that no objects_add fails while there are at most count objects; 0 or -ENOMEM. */
int objects_reserve(struct objects *o, uint64_t count);
void objects_remove(struct objects *o, uint32_t number);
uint64_t objects_count(const struct objects *o);
/* Asks the processor to fetch what a later objects_find of id will look at. */
void objects_prefetch(const struct objects *o, struct ident id);
/* Second step, some time after the first: fetches the object too. */
void objects_prefetch_object(const struct objects *o, struct ident id);

#endif
