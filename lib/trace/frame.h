/* frame.h - bytes in and out of files, plain or zstd (libzstd stays in frame.c): input streams told
 * by their first bytes, independent frames with a seek table, skippable frames for JSON.
 * Formats: RFC 8878 (zstd), and zstd's contrib/seekable_format for the seek table. */
#ifndef KVTRACE_TRACE_FRAME_H
#define KVTRACE_TRACE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

/* Skippable frames: magic 0x184D2A50 + n. Ours hold one JSON object each. */
#define FRAME_MAGIC_PROVENANCE 0x184D2A5Bu /* first in a file: what decides the rows */
#define FRAME_MAGIC_SUMMARY    0x184D2A5Cu /* before the seek table: kvreplay's summary */
#define FRAME_MAGIC_SEEK_TABLE 0x184D2A5Eu /* ends the file */
#define FRAME_SEEKABLE_MAGIC   0x8F92EAB1u /* last 4 bytes of the seek table */

/* ---- input: a byte stream, decompressed as needed ---- */

struct frame_in_opts {
    bool long_window; /* allow zstd windows over 2^27 (up to 2^31) */
};

/* An input: "-" is standard input. One thread at a time, but for frame_text below. */
struct frame_in;

/* o may be NULL. -ENOENT... with *e (class ERR_INPUT); a directory is refused. */
int frame_in_open(struct frame_in **out, const char *path, const struct frame_in_opts *o,
                  struct err *e);
void frame_in_close(struct frame_in *in);
const char *frame_in_name(const struct frame_in *in); /* path, or "standard input" */
bool frame_in_is_zstd(const struct frame_in *in);
/* Can it be read again from the start? (a regular file) */
bool frame_in_can_rewind(const struct frame_in *in);
int frame_in_rewind(struct frame_in *in, struct err *e);
/* Bytes of the file consumed so far and its size (0: unknown, a pipe): for progress. */
void frame_in_progress(const struct frame_in *in, uint64_t *consumed, uint64_t *total);

/* Up to cap bytes of decompressed data into buf: count, 0 at the end, negative errno. A cut or
 * damaged zstd stream is -EBADMSG after all bytes before the cut were returned; a pipe is -EINTR
 * once lib/base/stop.h has a signal. */
int64_t frame_in_read(struct frame_in *in, void *buf, size_t cap, struct err *e);

/* Gives bytes back: the next frame_in_read calls (not frame_in_take) return a copy of them first,
 * then what follows, or the error that did. For looking at how an input begins. 0 or -ENOMEM. */
int frame_in_unread(struct frame_in *in, const void *buf, size_t len);

/* JSON of the provenance frame that begins the file, NULL if none; known after open. */
const char *frame_in_provenance(const struct frame_in *in);
/* JSON of the summary frame: known after open for a regular file with a seek table, else after the
 * end was read; NULL if none. */
const char *frame_in_summary(const struct frame_in *in);

/*
 * Parallel reading: next piece of the input in order (one thread at a time, the caller locks). For
 * our own files (provenance frame: frames are cut at row ends) a piece is one compressed frame that
 * frame_text decompresses in the calling thread; for others it is a block of decompressed bytes
 * of at most FRAME_BLOCK, cut anywhere. 1, 0 at the end, negative errno.
 */
enum {
    FRAME_BLOCK = 1 << 20
};
struct frame_piece; /* created by the caller, reused for many pieces, one thread at a time */
struct frame_piece *frame_piece_create(void);
void frame_piece_free(struct frame_piece *p);
int frame_in_take(struct frame_in *in, struct frame_piece *p, struct err *e);
/* True when pieces of this input begin and end at row ends. */
bool frame_in_whole_rows(const struct frame_in *in);
/* The piece's bytes, lent until the next take with it, 64 readable bytes behind them; decompresses
 * on first call. A frame that is whole but damaged gives -EBADMSG and no bytes; the bytes of a cut
 * one come, and the next take gives -EBADMSG. */
int frame_text(struct frame_piece *p, const char **text, size_t *len, struct err *e);
/* The piece is the first part of a frame that the file ends in: its last row may not be whole. */
bool frame_is_cut(const struct frame_piece *p);

/* ---- output: frames ---- */

struct frame_encoder;                                  /* one thread's compressor */
struct frame_encoder *frame_encoder_create(int level); /* 1..19; NULL: no memory */
void frame_encoder_free(struct frame_encoder *c);
/* One independent frame with content size and checksum of src, into dst of at least
 * frame_bound(len) bytes; *out_len its size. */
size_t frame_bound(size_t len);
int frame_encode(struct frame_encoder *c, const void *src, size_t len, void *dst, size_t cap,
                 size_t *out_len, struct err *e);
/* The same for parts of one long frame, in order; last ends it. dst holds at least
 * frame_bound(len). */
int frame_encode_part(struct frame_encoder *c, const void *src, size_t len, bool last, void *dst,
                      size_t cap, size_t *out_len, struct err *e);
/* A skippable frame holding data: 8 + len bytes at dst. */
size_t frame_put_skippable(void *dst, uint32_t magic, const void *data, size_t len);

/* Sizes of the frames written, for the seek table. */
struct frame_table;
struct frame_table *frame_table_create(void);
void frame_table_free(struct frame_table *t);
int frame_table_add(struct frame_table *t, size_t compressed, size_t decompressed); /* or -ENOMEM */
/* The seek table as a skippable frame, malloc'ed into *out (caller frees). 0 or -ENOMEM. */
int frame_table_encode(const struct frame_table *t, void **out, size_t *len);

#endif
