/* Input files, plain, zstd or gzip: told apart by their first bytes and decompressed as needed, as
 * a stream or in pieces by several threads. Output is in frame_out.h. */
#ifndef KVTRACE_TRACE_FRAME_H
#define KVTRACE_TRACE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

struct frame_in_opts {
    bool long_window; /* allow zstd windows over 2^27 (up to 2^31) */
    bool patient;     /* read a pipe on after the first signal (stop_ends_reading) */
};

/* An input. One thread at a time, except for frame_text below. */
struct frame_in;

/* Opens path ("-": standard input); o may be NULL. -ENOENT and the like with *e (class ERR_INPUT);
 * a directory is refused. */
int frame_in_open(struct frame_in **out, const char *path, const struct frame_in_opts *o,
                  struct err *e);
void frame_in_close(struct frame_in *in);
const char *frame_in_name(const struct frame_in *in); /* path, or "standard input" */
/* Returns whether the input can be read again from the start: a regular file can. */
bool frame_in_can_rewind(const struct frame_in *in);
int frame_in_rewind(struct frame_in *in, struct err *e);
/* Bytes of the file consumed so far, and its size (0: unknown, a pipe). For progress. */
void frame_in_progress(const struct frame_in *in, uint64_t *consumed, uint64_t *total);

/* Reads up to cap bytes of decompressed data. Returns their count, 0 at the end, or a negative
 * errno: -EBADMSG for a cut or damaged zstd or gzip stream, after all bytes before that place;
 * -EINTR once a signal wants reading to end (lib/base/stop.h). Errors stick. */
int64_t frame_in_read(struct frame_in *in, void *buf, size_t cap, struct err *e);
/* Tells what -EBADMSG of frame_in_read or frame_in_take meant: damaged, or else cut. */
bool frame_in_is_damaged(const struct frame_in *in);
/* Tells whether it meant that one of our own files ends with a whole frame, but not with the seek
 * table: whoever wrote it did not finish. */
bool frame_in_is_unfinished(const struct frame_in *in);
/* Gives bytes back: later frame_in_read calls (not frame_in_take) return them first, then what
 * follows or the error that did. For looking at the begin of an input. 0 or -ENOMEM. */
int frame_in_unread(struct frame_in *in, const void *buf, size_t len);

/* JSON of the provenance frame at the begin of the file, NULL if there is none. Known after open.
 */
const char *frame_in_provenance(const struct frame_in *in);
/* JSON of the summary frame, NULL if there is none. Known after open for a regular file with a seek
 * table, else when the end was read. */
const char *frame_in_summary(const struct frame_in *in);

/*
 * Parallel reading: frame_in_take gives the next piece of the input, in order (the caller locks, so
 * that one thread takes at a time). Of our own files (with a provenance frame; frames are cut at
 * row ends) a piece is one compressed frame, which frame_text decompresses in the calling thread.
 * Of others it is a block of at most FRAME_BLOCK decompressed bytes, cut anywhere.
 */
enum {
    FRAME_BLOCK = 1 << 20
};
struct frame_piece; /* reused for many pieces, by one thread at a time */
struct frame_piece *frame_piece_create(void);
void frame_piece_free(struct frame_piece *p);
/* 1, 0 at the end, negative errno as frame_in_read. */
int frame_in_take(struct frame_in *in, struct frame_piece *p, struct err *e);
/* Returns whether pieces of this input begin and end at row ends. */
bool frame_in_whole_rows(const struct frame_in *in);
/* The piece's bytes, lent until the next take with it, with 64 readable bytes behind them. The
 * first call decompresses. A whole but damaged frame gives -EBADMSG and no bytes. A cut frame gives
 * the bytes before the cut; the next take then gives -EBADMSG. */
int frame_text(struct frame_piece *p, const char **text, size_t *len, struct err *e);
/* Returns whether the file ends within this piece: its last row may be incomplete. */
bool frame_is_cut(const struct frame_piece *p);

#endif
