/* frame_source.h - private to frame.c and frame_walk.c: the bytes of a file or pipe as they stand
 * there, in order. */
#ifndef KVTRACE_TRACE_FRAME_SOURCE_H
#define KVTRACE_TRACE_FRAME_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

#define FRAME_SOURCE_CAP ((size_t)256 << 10) /* over one zstd block with its header */
#define FRAME_MAX_JSON   ((uint32_t)16 << 20)

struct frame_source {
    int fd;
    bool is_stdin, regular;
    char *name;
    int64_t base;          /* where reading began (standard input may be a file in its middle) */
    uint64_t size, offset; /* bytes in all (0: unknown); offset of buf[have] */
    unsigned char *buf;
    size_t at, have; /* buf[at..have) was read and not yet taken */
    bool eof;
    struct err error; /* sticky: later reads give the same */
};

int frame_source_open(struct frame_source *s, const char *path, struct err *e);
void frame_source_close(struct frame_source *s);
int frame_source_rewind(struct frame_source *s, struct err *e);
/* Gives s->error, which is set. */
int frame_source_fail(const struct frame_source *s, struct err *e);
/* Reads once into p; sets eof. Bytes or negative errno; -EINTR when lib/base/stop.h has a signal
 * and the input is no regular file. */
int64_t frame_source_pull(struct frame_source *s, void *p, size_t cap, struct err *e);
/* Makes at least need bytes available at buf[at], fewer only at the end of the file. */
int frame_source_fill(struct frame_source *s, size_t need, struct err *e);
/* Copies the next len bytes to p (NULL: drops them); *got is less only at the end. */
int frame_source_copy(struct frame_source *s, unsigned char *p, size_t len, size_t *got,
                      struct err *e);
/* JSON of the summary frame that the seek table at the end of a regular file leads to, malloc'ed;
 * NULL: none. The place of reading stays. */
char *frame_source_summary(const struct frame_source *s);

static inline uint32_t frame_le32(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

#endif
