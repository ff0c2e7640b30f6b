/* layout_slab.h - many objects in one file or block device: a header, space given out as extents,
 * and, when the slab was kept, an index of what lies where. One thread. */
#ifndef KVTRACE_TIER_LAYOUT_SLAB_H
#define KVTRACE_TIER_LAYOUT_SLAB_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/hash.h"
#include "lib/tier/extent.h"

/*
 * On storage, little-endian, everything in whole blocks of 4 KiB:
 *   0        header: "KVTSLAB1", 1: kept (else 0), 1: may be resized (else 0), bytes of space,
 *            words and objects of the index, XXH3-64 of the 48 bytes before; 8 bytes each
 *   1 MiB    space, in which objects are
 *   behind   the index in segments of 1 MiB: 8 bytes words that follow, XXH3-64 of these, words.
 *            The words of all segments are, object by object: name (2), extents, offset and length
 *            of each in the space.
 */
struct layout_slab_header {
    bool kept;    /* objects are there to be adopted */
    bool resizes; /* the file was empty at first: it may grow, and be emptied at the end */
    uint64_t space_bytes;
};
/* Is block, the first 4 KiB, a slab's? */
bool layout_slab_is_ours(const void *block);
/* 0; -ENOENT: not a slab; or negative errno. */
int layout_slab_read_header(int fd, struct layout_slab_header *h);

/* Bytes of a slab whose space takes capacity bytes of max_objects objects, a block of slack each;
 * and the space that a slab of so many bytes has. */
uint64_t layout_slab_bytes(uint64_t capacity, uint64_t max_objects);
uint64_t layout_slab_space(uint64_t slab_bytes);

struct layout_slab;

struct layout_slab_opts {
    int fd; /* the caller's; read and write; O_DIRECT is fine */
    uint64_t space_bytes;
    bool resizes;         /* for the header; and the index may go beyond the file's end */
    uint64_t index_bytes; /* room behind the space */
};
/* Writes nothing. A kept index is read; one that does not hold together is left, as if the slab had
 * not been kept. */
int layout_slab_open(struct layout_slab **out, const struct layout_slab_opts *o, struct err *e);
void layout_slab_close(struct layout_slab *s);

struct extent_pool *layout_slab_pool(struct layout_slab *s);
int layout_slab_fd(const struct layout_slab *s);
uint64_t layout_slab_begin(void); /* offset of the space */
/* Objects of the kept index that were not adopted. */
uint64_t layout_slab_found(const struct layout_slab *s);

/* The extents of a kept object become the caller's; 0: there is none of that name. */
uint32_t layout_slab_adopt(struct layout_slab *s, struct hash128 name);
/* Before the first change: what was not adopted is given up, the header says so. Cheap when done
 * before. 0 or negative errno. */
int layout_slab_use(struct layout_slab *s);
bool layout_slab_used(const struct layout_slab *s);
/* At the end: adds an object to the index, then writes its end and the header. -ENOSPC: it does not
 * fit behind the space. After a failure the slab counts as not kept. */
int layout_slab_keep(struct layout_slab *s, struct hash128 name, uint32_t list);
int layout_slab_kept(struct layout_slab *s);

#endif
