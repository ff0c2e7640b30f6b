/* Beside storage_object.c, which asks here before it asks disk_map.c. Only this process writes the
 * objects of a store, and each object has one thread, so what is remembered stays so until that
 * thread writes or removes the object. */
#include "lib/tier/storage_where.h"

#include <stdlib.h>
#include <string.h>

enum {
    WHERE_ENTRIES = 1 << 15,
    WHERE_LINE = 64 /* bytes of a line of the processor's cache: an entry lies in one */
};

struct entry {
    struct hash128 name;
    uint64_t sector;
    uint32_t sectors; /* 0: nothing is remembered */
    uint32_t disk;
};
struct storage_where {
    bool used; /* memory that nobody needs is not touched */
    struct entry *entry;
};

struct storage_where *storage_where_create(void)
{
    struct storage_where *s = calloc(1, sizeof(*s));

    if (s && !(s->entry = aligned_alloc(WHERE_LINE, WHERE_ENTRIES * sizeof(s->entry[0])))) {
        free(s);
        return NULL;
    }
    return s;
}

void storage_where_free(struct storage_where *s)
{
    if (!s)
        return;
    free(s->entry);
    free(s);
}

/* Threads share objects by name.lo. */
static size_t place_of_name(struct hash128 name)
{
    return name.hi % WHERE_ENTRIES;
}

void storage_where_ahead(const struct storage_where *s, struct hash128 name)
{
    if (s->used)
        __builtin_prefetch(&s->entry[place_of_name(name)]);
}

static uint64_t sectors_of(uint64_t bytes)
{
    return (bytes + DISK_SECTOR - 1) / DISK_SECTOR;
}

bool storage_where_get(const struct storage_where *s, struct hash128 name, uint64_t bytes,
                       struct disk_where *w)
{
    if (!s->used)
        return false;
    const struct entry *e = &s->entry[place_of_name(name)];
    if (e->sectors != sectors_of(bytes) || !hash128_equal(e->name, name))
        return false;
    w->count = 1;
    w->at[0] = (struct disk_extent){.sector = e->sector, .sectors = e->sectors, .disk = e->disk};
    return true;
}

void storage_where_put(struct storage_where *s, struct hash128 name, uint64_t bytes,
                       const struct disk_where *w)
{
    if (!w->known || w->count != 1 || w->at[0].sectors != sectors_of(bytes) ||
        w->at[0].sectors > UINT32_MAX)
        return;
    if (!s->used)
        memset(s->entry, 0, WHERE_ENTRIES * sizeof(s->entry[0]));
    s->used = true;
    s->entry[place_of_name(name)] = (struct entry){.name = name,
                                                   .sector = w->at[0].sector,
                                                   .sectors = (uint32_t)w->at[0].sectors,
                                                   .disk = w->at[0].disk};
}

void storage_where_forget(struct storage_where *s, struct hash128 name)
{
    if (!s || !s->used)
        return;
    struct entry *e = &s->entry[place_of_name(name)];
    if (hash128_equal(e->name, name))
        e->sectors = 0;
}
