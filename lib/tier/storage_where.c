/* Beside storage_object.c, which asks here before it asks disk_map.c. Only this process writes the
 * objects of a store, and each object has one thread, so what is remembered stays so until that
 * thread writes or removes the object. The table is small: the data of objects drives its entries
 * out of the processor's caches, but its part of the page table stays there. */
#include "lib/tier/storage_where.h"

#include <stdlib.h>
#include <string.h>

enum {
    WHERE_ENTRIES = 1 << 13, /* 128 KiB */
    SECTORS_BITS = 24,       /* of an object: up to 8 GiB */
    SECTOR_BITS = 64 - SECTORS_BITS
};

struct entry {
    uint64_t name;  /* .lo; .hi says which entry */
    uint64_t place; /* sector << SECTORS_BITS | sectors; 0: nothing is remembered */
};
struct storage_where {
    bool used;     /* memory that nobody needs is not touched */
    uint32_t disk; /* of all that is remembered */
    struct entry *entry;
};

struct storage_where *storage_where_create(void)
{
    struct storage_where *s = calloc(1, sizeof(*s));

    if (s && !(s->entry = malloc(WHERE_ENTRIES * sizeof(s->entry[0])))) {
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

static struct entry *entry_of(const struct storage_where *s, struct hash128 name)
{
    return &s->entry[name.hi % WHERE_ENTRIES];
}

void storage_where_ahead(const struct storage_where *s, struct hash128 name)
{
    if (s->used)
        __builtin_prefetch(entry_of(s, name));
}

static uint64_t sectors_of(uint64_t bytes)
{
    return (bytes + DISK_SECTOR - 1) / DISK_SECTOR;
}

bool storage_where_get(const struct storage_where *s, struct hash128 name, uint64_t bytes,
                       struct disk_where *w)
{
    const uint64_t sectors = sectors_of(bytes), mask = (UINT64_C(1) << SECTORS_BITS) - 1;

    if (!s->used)
        return false;
    const struct entry e = *entry_of(s, name);
    if (e.place == 0 || (e.place & mask) != sectors || e.name != name.lo)
        return false;
    w->count = 1;
    w->at[0] = (struct disk_extent){
        .sector = e.place >> SECTORS_BITS, .sectors = sectors, .disk = s->disk};
    return true;
}

void storage_where_put(struct storage_where *s, struct hash128 name, uint64_t bytes,
                       const struct disk_where *w)
{
    const struct disk_extent *x = &w->at[0];

    if (!w->known || w->count != 1 || x->sectors != sectors_of(bytes) ||
        x->sectors >> SECTORS_BITS || x->sector >> SECTOR_BITS || (s->used && x->disk != s->disk))
        return;
    if (!s->used)
        memset(s->entry, 0, WHERE_ENTRIES * sizeof(s->entry[0]));
    s->used = true;
    s->disk = x->disk;
    *entry_of(s, name) =
        (struct entry){.name = name.lo, .place = x->sector << SECTORS_BITS | x->sectors};
}

void storage_where_forget(struct storage_where *s, struct hash128 name)
{
    if (!s || !s->used)
        return;
    struct entry *e = entry_of(s, name);
    if (e->name == name.lo)
        e->place = 0;
}
