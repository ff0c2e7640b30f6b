/* place.h - where a fill goes: files in a directory, or one regular file. Guards, opening, room and
 * clean-up are here; which bytes go where is a plain function of the offset in the fill. */
#ifndef KVTRACE_KVPRECOND_PLACE_H
#define KVTRACE_KVPRECOND_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/data.h"
#include "lib/err.h"

struct place_opts {
    const char *path;     /* a directory (created if missing) or a regular file that exists */
    uint64_t size;        /* of the fill, a multiple of DATA_BLOCK */
    uint64_t file_bytes;  /* of each file in a directory, a multiple of DATA_BLOCK */
    uint64_t seed;        /* of the contents */
    double reserve_share; /* of the file system that stays free, 0..1 */
    unsigned depth;       /* writes in flight at most: bounds the files open at once */
    bool destroy_data;    /* data that is not ours may be overwritten */
};

struct place;
struct place_file; /* one open file of it */

/* Takes the target and checks its room. Errors of class ERR_TARGET: refused by a guard, in use, not
 * a directory or regular file, less room than size. o->path is lent until place_close. */
int place_open(struct place **out, const struct place_opts *o, struct err *e);

/* What stands at an offset of the fill: len bytes (at most max) that lie in one file, and the name
 * of their contents for data_fill. Needs no open file, so buffers can be filled ahead. */
struct place_part {
    uint64_t file;   /* number of the file */
    uint64_t offset; /* in that file */
    uint32_t len;
    struct data_id id;
};
struct place_part place_part(const struct place *p, uint64_t at, uint32_t max);

/* Opens the part's file if it is not open yet: its descriptor in *fd. Parts come in order of
 * offset; each ends with place_done. -ENOSPC when the file system is full; class ERR_FAILED. */
int place_begin(struct place *p, const struct place_part *part, struct place_file **file, int *fd,
                struct err *e);
/* The part's write has ended. A file whose every part ended is closed. 0 or -errno. */
int place_done(struct place *p, struct place_file *file, uint32_t len, struct err *e);

/* Makes what was written durable. */
int place_sync(struct place *p, struct err *e);

int place_fd(const struct place *p);      /* of the directory or file */
bool place_direct(const struct place *p); /* written with O_DIRECT */
bool place_is_dir(const struct place *p);
uint64_t place_files(const struct place *p); /* files begun so far */

/* keep: leaves what was written. Else a directory's files are removed (and the directory, if we
 * created it) and a file is cut to the length that it had. Frees p, also on failure. */
int place_close(struct place *p, bool keep, struct err *e);

#endif
