/* The one file that knows zlib, which is optional. frame.c gives it the bytes of a file. */
#include "lib/trace/gzip.h"

#include <errno.h>
#include <stdlib.h>

#if KVTRACE_ZLIB
#include <limits.h>
#include <zlib.h>

struct gzip {
    z_stream z;
};

bool gzip_is_built(void)
{
    return true;
}

struct gzip *gzip_create(void)
{
    struct gzip *g = calloc(1, sizeof(*g));
    if (g && inflateInit2(&g->z, 16 + MAX_WBITS) != Z_OK) { /* 16: gzip's header, not zlib's */
        free(g);
        return NULL;
    }
    return g;
}

void gzip_free(struct gzip *g)
{
    if (g)
        inflateEnd(&g->z);
    free(g);
}

void gzip_reset(struct gzip *g)
{
    inflateReset(&g->z);
}

int gzip_step(struct gzip *g, const void *in, size_t *in_len, void *out, size_t *out_len)
{
    size_t in_most = *in_len < UINT_MAX ? *in_len : UINT_MAX;
    size_t out_most = *out_len < UINT_MAX ? *out_len : UINT_MAX;
    g->z.next_in = (z_const Bytef *)in;
    g->z.avail_in = (uInt)in_most;
    g->z.next_out = out;
    g->z.avail_out = (uInt)out_most;
    int rc = inflate(&g->z, Z_NO_FLUSH);
    *in_len = in_most - g->z.avail_in;
    *out_len = out_most - g->z.avail_out;
    if (rc == Z_STREAM_END)
        return 1;
    if (rc == Z_OK || rc == Z_BUF_ERROR)
        return 0;
    return rc == Z_MEM_ERROR ? -ENOMEM : -EBADMSG;
}

#else

bool gzip_is_built(void)
{
    return false;
}

struct gzip *gzip_create(void)
{
    return NULL;
}

void gzip_free(struct gzip *g)
{
    (void)g;
}

void gzip_reset(struct gzip *g)
{
    (void)g;
}

int gzip_step(struct gzip *g, const void *in, size_t *in_len, void *out, size_t *out_len)
{
    (void)g;
    (void)in;
    (void)out;
    *in_len = *out_len = 0;
    return -EBADMSG;
}

#endif
