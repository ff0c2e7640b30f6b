/* The table of copies: room.c keeps what will be stored, dispatch.c what is stored now. Entries lie
 * in chunks that never move; an open-addressed index of 32-bit entry numbers finds them. Memory
 * grows with the number of copies, not with the number of rows. */
#include "kvreplay/wait/objects.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"

enum {
    OBJECTS_CHUNK = 1024,
    OBJECTS_INDEX_MIN = 1024,
    OBJECTS_FREE_TIER = 3
};

_Static_assert(sizeof(struct object) == 48, "48 bytes and at most 10.7 of index stay under 64");

struct objects {
    char **chunk;
    size_t entry_bytes;
    size_t chunks, chunk_slots;
    uint32_t used;  /* entries taken from the chunks so far */
    uint32_t spare; /* first free entry, number + 1; 0: none. The next one is in its generation */
    size_t count;
    uint32_t *index; /* entry number + 1; 0: empty */
    size_t index_size;
};

struct hash128 object_name(struct hash128 key, unsigned tier)
{
    uint64_t salted[3] = {key.lo, key.hi, tier};
    return hash_128(salted, sizeof(salted));
}

static struct object *objects_entry(const struct objects *o, uint32_t number)
{
    return (struct object *)(o->chunk[number / OBJECTS_CHUNK] +
                             number % OBJECTS_CHUNK * o->entry_bytes);
}

static size_t objects_home(const struct objects *o, struct hash128 key, unsigned tier)
{
    return (size_t)(key.lo + tier * UINT64_C(0x9E3779B97F4A7C15)) & (o->index_size - 1);
}

struct objects *objects_create(void)
{
    struct objects *o = calloc(1, sizeof(*o));
    if (!o)
        return NULL;
    o->entry_bytes = sizeof(struct object);
    o->index_size = OBJECTS_INDEX_MIN;
    o->index = calloc(o->index_size, sizeof(*o->index));
    if (!o->index) {
        free(o);
        return NULL;
    }
    return o;
}

void objects_free(struct objects *o)
{
    if (!o)
        return;
    for (size_t i = 0; i < o->chunks; i++)
        free(o->chunk[i]);
    free(o->chunk);
    free(o->index);
    free(o);
}

void objects_keep_links(struct objects *o)
{
    assert(o->used == 0);
    o->entry_bytes = sizeof(struct object) + sizeof(struct object_links);
}

/* The cell of the copy in the index, or the empty cell where it would go. */
static size_t objects_probe(const struct objects *o, struct hash128 key, unsigned tier)
{
    size_t i = objects_home(o, key, tier);
    for (; o->index[i]; i = (i + 1) & (o->index_size - 1)) {
        const struct object *e = objects_entry(o, o->index[i] - 1);
        if (hash128_equal(e->key, key) && e->tier == tier)
            break;
    }
    return i;
}

struct object *objects_find(const struct objects *o, struct hash128 key, unsigned tier)
{
    uint32_t cell = o->index[objects_probe(o, key, tier)];
    return cell ? objects_entry(o, cell - 1) : NULL;
}

static bool objects_grow_index(struct objects *o)
{
    size_t old_size = o->index_size;
    uint32_t *old = o->index;
    uint32_t *index = calloc(old_size * 2, sizeof(*index));
    if (!index)
        return false;
    o->index = index;
    o->index_size = old_size * 2;
    for (size_t i = 0; i < old_size; i++) {
        if (!old[i])
            continue;
        const struct object *e = objects_entry(o, old[i] - 1);
        index[objects_probe(o, e->key, e->tier)] = old[i];
    }
    free(old);
    return true;
}

/* The number of a free entry; UINT32_MAX: there is none, and no memory for one. */
static uint32_t objects_take(struct objects *o)
{
    if (o->spare) {
        uint32_t number = o->spare - 1;
        o->spare = (uint32_t)objects_entry(o, number)->generation;
        return number;
    }
    if (o->used >= UINT32_MAX - 1)
        return UINT32_MAX;
    if (o->used < o->chunks * OBJECTS_CHUNK)
        return o->used++;
    if (memory_room(&o->chunk, &o->chunk_slots, o->chunks, sizeof(*o->chunk), 64) < 0)
        return UINT32_MAX;
    o->chunk[o->chunks] = malloc(OBJECTS_CHUNK * o->entry_bytes);
    if (!o->chunk[o->chunks])
        return UINT32_MAX;
    o->chunks++;
    return o->used++;
}

struct object *objects_get(struct objects *o, struct hash128 key, unsigned tier)
{
    assert(tier < OBJECTS_FREE_TIER);
    size_t cell = objects_probe(o, key, tier);
    if (o->index[cell])
        return objects_entry(o, o->index[cell] - 1);
    if ((o->count + 1) * 4 > o->index_size * 3) {
        if (!objects_grow_index(o))
            return NULL;
        cell = objects_probe(o, key, tier);
    }
    uint32_t number = objects_take(o);
    if (number == UINT32_MAX)
        return NULL;
    struct object *e = objects_entry(o, number);
    memset(e, 0, sizeof(*e));
    e->key = key;
    e->tier = tier & 3;
    o->index[cell] = number + 1;
    o->count++;
    return e;
}

void objects_settle(struct objects *o, struct object *object)
{
    if (object->live || object->planned || object->initial || object->rows)
        return;
    size_t mask = o->index_size - 1, hole = objects_probe(o, object->key, object->tier);
    uint32_t number = o->index[hole] - 1;
    /* Later cells of the run move back into the hole, so that no probe ends too early. */
    for (size_t i = (hole + 1) & mask; o->index[i]; i = (i + 1) & mask) {
        const struct object *e = objects_entry(o, o->index[i] - 1);
        size_t home = objects_home(o, e->key, e->tier);
        if (((i - home) & mask) >= ((i - hole) & mask)) {
            o->index[hole] = o->index[i];
            hole = i;
        }
    }
    o->index[hole] = 0;
    object->tier = OBJECTS_FREE_TIER;
    object->generation = o->spare;
    o->spare = number + 1;
    o->count--;
}

void objects_hold(struct object *object)
{
    if (object)
        object->rows++;
}

void objects_release(struct objects *o, struct object *object)
{
    if (!object)
        return;
    object->rows--;
    objects_settle(o, object);
}

struct object_links *objects_links(struct object *object)
{
    return (struct object_links *)(object + 1);
}

void objects_prefetch_cell(const struct objects *o, struct hash128 key, unsigned tier)
{
    __builtin_prefetch(&o->index[objects_home(o, key, tier)]);
}

void objects_prefetch_entry(const struct objects *o, struct hash128 key, unsigned tier)
{
    uint32_t cell = o->index[objects_home(o, key, tier)];
    if (cell)
        __builtin_prefetch(objects_entry(o, cell - 1), 1);
}

size_t objects_count(const struct objects *o)
{
    return o->count;
}

struct object *objects_next(const struct objects *o, size_t *pos)
{
    while (*pos < o->used) {
        struct object *e = objects_entry(o, (uint32_t)(*pos)++);
        if (e->tier != OBJECTS_FREE_TIER)
            return e;
    }
    return NULL;
}

size_t objects_bytes(const struct objects *o)
{
    return o->chunks * OBJECTS_CHUNK * o->entry_bytes + o->chunk_slots * sizeof(*o->chunk) +
           o->index_size * sizeof(*o->index);
}
