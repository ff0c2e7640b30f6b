/* Many objects in one file or block device: a header, space that is given out as extents, and, in a
 * slab that was kept, an index of what lies where. One thread at a time. */
#ifndef KVTRACE_LAYOUT_SLAB_H
#define KVTRACE_LAYOUT_SLAB_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/hash.h"
#include "lib/io/target_part.h"
#include "lib/layout/extent.h"

/*
 * On storage, little-endian, everything in whole blocks of 4 KiB:
 *   0           the header, words of 8 bytes: "KVTSLAB3"; 0 in use, 1 kept, 2 in use by a run that
 *               keeps what the index names; 1 if it may be resized (else 0), and in bits 16 to 31
 *               and 32 to 47 the slots of its part of a store on several targets (both 0: it is
 *               all of the store); 1 if objects may be torn (else 0); bytes of the space; offset
 *               of the index behind the space; words, objects and bytes of objects in it; XXH3-64
 *               of the 72 bytes before
 *   1 MiB       the space, which holds the objects
 *   behind it   the index in segments of 1 MiB: 8 bytes for the number of words that follow,
 *               XXH3-64 of these words, the words. The words of all segments are, object by object:
 *               the name (2), the generation of its contents, the number of extents, and offset and
 *               length of each extent in the space. In a slab of an earlier version ("KVTSLAB2")
 *               there is no generation
 * The header is written last and is one sector: a power cut leaves the old index valid or the new
 * one.
 */
struct layout_slab_header {
    bool kept;    /* objects are there to be adopted */
    bool resizes; /* the file was empty at first: it may grow, and is emptied at the end */
    struct target_part part; /* of the store's objects */
    uint64_t space_bytes;
    uint64_t index_bytes;    /* from the end of the space to that of the index */
    uint64_t objects, bytes; /* kept */
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
    bool resizes;            /* for the header; the index may then go beyond the file's end */
    struct target_part part; /* of all objects, for the header; zero: all of them */
    uint64_t index_bytes;    /* room behind the space */
    bool keeps;              /* what is kept stays valid while the run goes on, as far as it can */
    bool destroys;           /* kept objects that are not adopted go with the first change */
};
/* Reads the index of a kept slab. Writes nothing. Where objects are to stay, the space is the
 * header's, or larger by its index_bytes at least. */
int layout_slab_open(struct layout_slab **out, const struct layout_slab_opts *o, struct err *e);
void layout_slab_close(struct layout_slab *s);

struct extent_pool *layout_slab_pool(struct layout_slab *s);
int layout_slab_fd(const struct layout_slab *s);
uint64_t layout_slab_begin(void); /* offset of the space */

/* Kept objects that were not adopted yet, with their bytes. */
uint64_t layout_slab_found(const struct layout_slab *s, uint64_t *bytes);
/* The slab was kept, and its index cannot be used: the objects are there, but nobody knows where.
 */
bool layout_slab_broken(const struct layout_slab *s);
/* A run that kept what the index names has died: verify objects before they are used. */
bool layout_slab_unsure(const struct layout_slab *s);
/* Some of the objects that will be kept may be torn: the header will tell the next run. */
void layout_slab_doubt(struct layout_slab *s);
/* The extents of a kept object, which become the caller's, and its generation (0: not known); 0:
 * there is none of that name. */
uint32_t layout_slab_adopt(struct layout_slab *s, struct hash128 name, uint64_t *generation);
/* Call before the first change: says in the header that the slab is in use, and gives up what was
 * not adopted unless it is to stay (keeps without destroys). Cheap from the second call on. 0 or
 * negative errno. */
int layout_slab_use(struct layout_slab *s);
bool layout_slab_used(const struct layout_slab *s);
/* At the end of a run, for each object that is to be kept, before the first layout_slab_keep. */
void layout_slab_measure(struct layout_slab *s, uint32_t list);
/* Adds an object to the index. -ENOSPC: it does not fit behind the space. */
int layout_slab_keep(struct layout_slab *s, struct hash128 name, uint64_t generation,
                     uint32_t list);
/* Writes the end of the index, forces it and the objects to the device, then the header. After a
 * failure what was kept before is all that is kept. */
int layout_slab_kept(struct layout_slab *s);

#endif
