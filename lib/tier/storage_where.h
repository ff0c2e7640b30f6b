/* Remembers where objects of a storage thread lie on the disk, so that the file system is asked
 * once for each and not at each read (1 to 2 us). Holds some thousands, by their names; of two
 * that share a place the later one. One thread. */
#ifndef KVTRACE_TIER_STORAGE_WHERE_H
#define KVTRACE_TIER_STORAGE_WHERE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/hash.h"
#include "lib/io/disk_map.h"

struct storage_where;
/* NULL: no memory. */
struct storage_where *storage_where_create(void);
/* s may be NULL. */
void storage_where_free(struct storage_where *s);
/* Fetches what storage_where_get will look at. */
void storage_where_ahead(const struct storage_where *s, struct hash128 name);
/* An object of so many bytes: its extents into *w, which is empty. False: not remembered. */
bool storage_where_get(const struct storage_where *s, struct hash128 name, uint64_t bytes,
                       struct disk_where *w);
/* Remembers it, where *w is known and of one extent. */
void storage_where_put(struct storage_where *s, struct hash128 name, uint64_t bytes,
                       const struct disk_where *w);
/* The object is written anew or removed. s may be NULL. */
void storage_where_forget(struct storage_where *s, struct hash128 name);

#endif
