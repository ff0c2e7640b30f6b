/* Compressed output: independent zstd frames, skippable frames with JSON, and the seek table at the
 * end. */
#ifndef KVTRACE_TRACE_FRAME_OUT_H
#define KVTRACE_TRACE_FRAME_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/trace/frame_format.h"

struct frame_encoder;                                  /* a compressor, for one thread at a time */
struct frame_encoder *frame_encoder_create(int level); /* 1..19; NULL: no memory */
void frame_encoder_free(struct frame_encoder *c);

/* Replaces *out by one independent frame of src[0..len), with content size and checksum. 0,
 * -ENOMEM, or -EIO. */
int frame_encode(struct frame_encoder *c, const void *src, size_t len, struct frame_bytes *out,
                 struct err *e);

/* A part of one long frame; parts come in order and the last one ends the frame. */
struct frame_part {
    const void *p;
    size_t len;
    bool last;
};
/* Replaces *out by the compressed part. Returns as frame_encode does. */
int frame_encode_part(struct frame_encoder *c, const struct frame_part *part,
                      struct frame_bytes *out, struct err *e);

/* Writes a skippable frame with data[0..len) to dst, which has room for 8 + len bytes. Returns its
 * size. */
size_t frame_put_skippable(void *dst, uint32_t magic, const void *data, size_t len);

/* Collects the sizes of the frames written, for the seek table. */
struct frame_table;
struct frame_table *frame_table_create(void); /* NULL: no memory */
void frame_table_free(struct frame_table *t);
int frame_table_add(struct frame_table *t, size_t compressed, size_t decompressed); /* or -ENOMEM */
/* Replaces *out by the seek table as a skippable frame. 0 or -ENOMEM. */
int frame_table_encode(const struct frame_table *t, struct frame_bytes *out);

#endif
