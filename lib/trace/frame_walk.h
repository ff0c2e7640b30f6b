/* frame_walk.h - private to frame.c: the frames of a zstd file one after another, not decompressed.
 * Layout of a frame: RFC 8878, 3.1. */
#ifndef KVTRACE_TRACE_FRAME_WALK_H
#define KVTRACE_TRACE_FRAME_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/trace/frame_source.h"

#define FRAME_MAX ((size_t)64 << 20) /* bytes of a frame of our own; we write about 4 MiB */

/* Set s, zero the rest; the two texts are freed by the caller. All functions that fail set s's
 * sticky error. */
struct frame_walk {
    struct frame_source *s;
    bool own;         /* the file is one of ours: a seek table must end it */
    bool table_last;  /* the last frame seen was a seek table */
    char *provenance; /* JSON of the first such frame met, malloc'ed; NULL: none yet */
    char *summary;    /* of the last one met */
};

/* A buffer that grows; zero it before, free at. */
struct frame_bytes {
    unsigned char *at;
    size_t len, cap;
};

/* Do the first four bytes of a frame, little endian, say so? */
bool frame_is_data(uint32_t magic);
bool frame_is_skippable(uint32_t magic);
/* Goes to the next frame that holds data, through skippable ones: 1, 0 at the end, negative errno:
 * -EBADMSG when the file is cut or none begins there. */
int frame_walk_next(struct frame_walk *w, struct err *e);
/* Takes the skippable frame that begins here, keeping the JSON of ours. 0 or negative errno. */
int frame_walk_skippable(struct frame_walk *w, struct err *e);
/* Copies the frame of data that begins here. 1; 0 when the file ends within it, b having what there
 * is; negative errno: -E2BIG when it is larger than FRAME_MAX. */
int frame_walk_copy(struct frame_walk *w, struct frame_bytes *b, struct err *e);
/* -EBADMSG, with the offset reached and why the file cannot end there. */
int frame_walk_cut(struct frame_walk *w, struct err *e, const char *why);
/* In the file, of what comes next. */
uint64_t frame_walk_offset(const struct frame_walk *w);
/* Makes *buf of *cap bytes hold len at least. False: no memory. */
bool frame_room(unsigned char **buf, size_t *cap, size_t len);

#endif
