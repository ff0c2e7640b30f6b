/* Many objects in one file or block device: a header, space that is given out as extents, and, in a
 * slab that was kept, an index of what lies where. One thread at a time. */
#ifndef KVTRACE_TIER_LAYOUT_SLAB_H
#define KVTRACE_TIER_LAYOUT_SLAB_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/hash.h"
#include "lib/tier/extent.h"

/*
 * On storage, little-endian, everything in whole blocks of 4 KiB:
 *   0        the header: "KVTSLAB1", 1 if kept (else 0), 1 if it may be resized (else 0), bytes of
 *            the space, words and objects of the index, XXH3-64 of the 48 bytes before; 8 bytes
 * each 1 MiB    the space, which holds the objects behind   the index in segments of 1 MiB: 8 bytes
 * for the number of words that follow, XXH3-64 of these words, the words. The words of all segments
 * are, object by object: the name (2), the number of extents, and offset and length of each extent
 * in the space.
 */
struct layout_slab_header {
    bool kept;    /* objects are there to be adopted */
    bool resizes; /* the file was empty at first: it may grow, and is emptied at the end */
    uint64_t space_bytes;
};
/* Is block, the first 4 KiB, a slab's? */
bool layout_slab_is_ours(const void *block);
/* 0; -ENOENT: not a slab; other negative errno: it cannot be read. */
int layout_slab_read_header(int fd, struct layout_slab_header *h);

/* Bytes of a slab for capacity bytes of max_objects objects, each with a block of slack. */
uint64_t layout_slab_bytes(uint64_t capacity, uint64_t max_objects);
/* Bytes of the space in a slab of slab_bytes. */
uint64_t layout_slab_space(uint64_t slab_bytes);

struct layout_slab;

struct layout_slab_opts {
    int fd; /* the caller's, for reading and writing; may have O_DIRECT */
    uint64_t space_bytes;
    bool resizes;         /* for the header; the index may then go beyond the file's end */
    uint64_t index_bytes; /* room behind the space */
};
/* Reads the index of a kept slab; a broken one counts as not kept. Writes nothing. */
int layout_slab_open(struct layout_slab **out, const struct layout_slab_opts *o, struct err *e);
void layout_slab_close(struct layout_slab *s);

struct extent_pool *layout_slab_pool(struct layout_slab *s);
int layout_slab_fd(const struct layout_slab *s);
uint64_t layout_slab_begin(void); /* offset of the space */

/* Kept objects that were not adopted yet. */
uint64_t layout_slab_found(const struct layout_slab *s);
/* The extents of a kept object, which become the caller's; 0: there is none of that name. */
uint32_t layout_slab_adopt(struct layout_slab *s, struct hash128 name);
/* Call before the first change: gives up what was not adopted, and says so in the header. Cheap
 * from the second call on. 0 or negative errno. */
int layout_slab_use(struct layout_slab *s);
bool layout_slab_used(const struct layout_slab *s);
/* At the end of a run: adds an object to the index. -ENOSPC: it does not fit behind the space. */
int layout_slab_keep(struct layout_slab *s, struct hash128 name, uint32_t list);
/* Writes the end of the index and then the header. After any failure the slab is not kept. */
int layout_slab_kept(struct layout_slab *s);

#endif
