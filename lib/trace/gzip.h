/* Decompresses gzip (RFC 1952), member by member. Private to frame.c, but for
 * gzip_is_built. One thread. */
#ifndef KVTRACE_TRACE_GZIP_H
#define KVTRACE_TRACE_GZIP_H

#include <stdbool.h>
#include <stddef.h>

struct gzip;

/* Whether the program was built with zlib. Without it gzip_create returns NULL. */
bool gzip_is_built(void);
/* Ready for the first member. NULL: no memory. */
struct gzip *gzip_create(void);
void gzip_free(struct gzip *g); /* NULL is fine */
/* Makes it ready for another member. */
void gzip_reset(struct gzip *g);
/* Decompresses a piece. *in_len and *out_len say how much there is, then how much was taken and
 * made. 1: the member ended; 0: it goes on; -EBADMSG: damaged; -ENOMEM. */
int gzip_step(struct gzip *g, const void *in, size_t *in_len, void *out, size_t *out_len);

#endif
