/* The plan of a fill: where each write lies and what it holds, as plain functions of its number. It
 * knows no files and no devices. */
#ifndef KVPRECOND_PLAN_H
#define KVPRECOND_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/data/data.h"

/* In the order of the choices of --mode. */
enum plan_mode {
    PLAN_SEQUENTIAL, /* from the first byte to the last */
    PLAN_RANDOM,     /* every write once, in random order */
    PLAN_KV,         /* objects of one size, each from its first byte to its last */
    PLAN_STREAM      /* as PLAN_SEQUENTIAL, in large chunks */
};

/* All sizes in bytes and multiples of DATA_BLOCK. write_bytes and file_bytes are above 0. */
struct plan_opts {
    enum plan_mode mode;
    uint64_t region;       /* what is written over; a larger volume goes over it in passes */
    uint64_t volume;       /* of the fill; rounded up to whole writes (objects) */
    uint64_t file_bytes;   /* not PLAN_KV: the region is files of this size, the last one shorter */
    uint64_t object_bytes; /* PLAN_KV: of each object; region >= object_bytes */
    bool file_per_object;  /* PLAN_KV: else objects follow each other in one file */
    uint32_t write_bytes;  /* of one write, at most */
    uint64_t seed;         /* of order and contents */
};

/* One thread writes a unit in order: a single write, or an object. */
struct plan {
    struct plan_opts o;
    uint64_t pass_units;      /* units that cover the region once */
    uint64_t units;           /* of the fill; later ones go on in the same way */
    uint64_t writes_per_unit; /* 1, except for objects */
    uint64_t file_units;      /* units of a full file */
    unsigned half_bits;       /* of each half of the permutation */
};

void plan_init(struct plan *p, const struct plan_opts *o);

/* One write. */
struct plan_part {
    uint64_t pass, file, offset; /* over the region; number of its file; in that file */
    uint32_t len;
    bool last;            /* of its unit */
    struct data_id id;    /* of its contents, for data_fill */
    uint64_t first_block; /* for data_fill */
};
/* The write of unit that begins at its byte at. Any unit: the passes go on beyond p->units. */
struct plan_part plan_part(const struct plan *p, uint64_t unit, uint64_t at);

/* Bytes of the fill: the volume in whole writes (objects). */
uint64_t plan_volume_bytes(const struct plan *p);
/* Bytes of file number file. */
uint64_t plan_file_bytes(const struct plan *p, uint64_t file);
/* Files of the region. */
uint64_t plan_files(const struct plan *p);
/* Bytes that a pass writes: objects may leave a rest of the region. */
uint64_t plan_pass_bytes(const struct plan *p);

#endif
