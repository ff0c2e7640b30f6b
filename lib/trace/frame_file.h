/* The bytes of an input file or pipe in order, and the zstd frames in them, not decompressed.
 * Private to frame.c. */
#ifndef KVTRACE_TRACE_FRAME_FILE_H
#define KVTRACE_TRACE_FRAME_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/trace/frame_format.h"

#define FRAME_FILE_BUFFER ((size_t)256 << 10) /* over one zstd block with its header */
#define FRAME_MAX         ((size_t)64 << 20) /* bytes of a frame of our own; we write about 4 MiB */
#define FRAME_MAX_JSON    ((uint32_t)16 << 20)

/* Zero it before open. Every function that fails sets error, which sticks: later reads return it
 * again. */
struct frame_file {
    int fd;
    bool is_stdin, regular;
    char *name;
    int64_t base;          /* where reading began (standard input may be a file in its middle) */
    uint64_t size, offset; /* bytes in all, 0: unknown; offset of buf[have] */
    unsigned char *buf;
    size_t at, have; /* buf[at..have) was read and not yet taken */
    bool eof;
    struct err error;
    bool damaged;    /* the error says that the file is damaged, not cut */
    bool unfinished; /* the error says that one of our files ends with a whole frame, without the
                        seek table: nobody finished it */
    bool patient;    /* a pipe is read on after the first signal (stop_ends_reading) */

    bool own;        /* one of our files: it begins with a provenance frame, a seek table ends it */
    bool table_last; /* the frame last seen was a seek table */
    char *provenance; /* JSON of the first such frame; NULL: none seen yet */
    char *summary;    /* JSON of the last such frame */
};

int frame_file_open(struct frame_file *f, const char *path, struct err *e);
void frame_file_close(struct frame_file *f);
int frame_file_rewind(struct frame_file *f, struct err *e);
/* Offset in the file of the byte that comes next. */
uint64_t frame_file_offset(const struct frame_file *f);

/* Returns the error that was set. */
int frame_file_fail(const struct frame_file *f, struct err *e);
/* Set and return -EBADMSG: the file ends here although it must not; its bytes are wrong. */
int frame_file_cut(struct frame_file *f, const char *why, struct err *e);
int frame_file_damaged(struct frame_file *f, const char *why, struct err *e);

/* -EINTR when a signal wants reading to end (lib/base/stop.h), else 0. */
int frame_file_look(struct frame_file *f, struct err *e);
/* Reads once, directly into p; sets eof. Returns the bytes read or a negative errno, -EINTR as
 * frame_file_look does, also while a pipe is silent. */
int64_t frame_file_read(struct frame_file *f, void *p, size_t cap, struct err *e);
/* Makes at least need bytes available at buf[at]; fewer only at the end of the file. */
int frame_file_fill(struct frame_file *f, size_t need, struct err *e);

/* Do the first four bytes of a frame mark it as data, or as skippable? */
bool frame_is_data(uint32_t magic);
bool frame_is_skippable(uint32_t magic);
/* Goes to the next frame of data, through skippable ones. 1; 0 at the end; -EBADMSG when the file
 * is cut, or no frame begins there. */
int frame_file_next(struct frame_file *f, struct err *e);
/* Takes the skippable frame that begins here; keeps the JSON of ours. 0 or negative errno. */
int frame_file_skippable(struct frame_file *f, struct err *e);
/* Copies the frame of data that begins here to *b. 1; 0 when the file ends within it (b then has
 * the part that is there); -E2BIG when it is larger than FRAME_MAX. */
int frame_file_copy(struct frame_file *f, struct frame_bytes *b, struct err *e);
/* Reads the summary of a regular file through the seek table at its end, if there is one. The place
 * of reading stays. 0 or negative errno. */
int frame_file_find_summary(struct frame_file *f, struct err *e);

#endif
