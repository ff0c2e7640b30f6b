/* room.h - which bytes each write of a fill is: where it lies and what it holds, as plain functions
 * of its number. Knows no files and no devices. */
#ifndef KVTRACE_KVPRECOND_PLAN_H
#define KVTRACE_KVPRECOND_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/data/data.h"

enum plan_mode {
    PLAN_SEQUENTIAL, /* from the first byte to the last */
    PLAN_RANDOM,     /* every write once, in random order */
    PLAN_KV          /* objects of one size, each from its first byte to its last */
};

/* All sizes in bytes, multiples of DATA_BLOCK, write_bytes and file_bytes above 0. */
struct plan_opts {
    enum plan_mode mode;
    uint64_t region;       /* what can be written over; more than that is written in passes */
    uint64_t volume;       /* of the fill; rounded up to whole writes (objects) */
    uint64_t file_bytes;   /* not PLAN_KV: the region is files of this size, the last one shorter */
    uint64_t object_bytes; /* PLAN_KV: of each object; region >= object_bytes */
    bool file_per_object;  /* PLAN_KV: else objects lie one after the other in one file */
    uint32_t write_bytes;  /* of one write, at most */
    uint64_t seed;         /* of order and contents */
};

/* A unit is what one thread writes in order: one write, or an object. */
struct plan {
    struct plan_opts o;
    uint64_t pass_units;      /* units that cover the region once */
    uint64_t units;           /* of the fill; those that follow go on in the same way */
    uint64_t writes_per_unit; /* 1 but for objects */
    uint64_t file_units;      /* units of a full file */
    unsigned half_bits;       /* of the permutation's halves */
};

void plan_init(struct plan *p, const struct plan_opts *o);

/* One write. */
struct plan_part {
    uint64_t pass, file, offset; /* of the region; its file; in that file */
    uint32_t len;
    bool last;            /* of its unit */
    struct data_id id;    /* of its contents, for data_fill */
    uint64_t first_block; /* for data_fill */
};
/* The write of unit (any number: beyond p->units the passes go on) that begins at byte at of it. */
struct plan_part plan_part(const struct plan *p, uint64_t unit, uint64_t at);

/* Bytes of the fill: the volume in whole writes (objects). */
uint64_t plan_volume_bytes(const struct plan *p);
/* Bytes of file number file. */
uint64_t plan_file_bytes(const struct plan *p, uint64_t file);
/* Files of the region. */
uint64_t plan_files(const struct plan *p);
/* Bytes of the region that the plan writes over in a pass: objects may leave a rest. */
uint64_t plan_pass_bytes(const struct plan *p);

#endif
