/* Any bytes as a file: reading it as a stream and as pieces ends, and gives the same bytes where
 * both reach the end. The first byte decides whether a provenance frame is put in front. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/hash.h"
#include "lib/trace/frame.h"
#include "lib/trace/frame_out.h"

enum {
    LIMIT = 4 << 20
}; /* of decompressed bytes: bombs only take time */

static int64_t read_stream(const char *path, struct hash128 *hash)
{
    static char buf[65536];
    struct frame_in *in;
    struct err e = {0};
    struct hash_stream *h = hash_stream_create();
    int64_t n = 0, total = 0;
    int rc = frame_in_open(&in, path, NULL, &e);
    if (rc == 0) {
        while ((n = frame_in_read(in, buf, sizeof(buf), &e)) > 0 && total < LIMIT) {
            hash_stream_add(h, buf, (size_t)n);
            total += n;
        }
        if (n < 0 && e.code != n)
            abort();
        frame_in_close(in);
    }
    *hash = hash_stream_digest(h);
    hash_stream_free(h);
    return rc ? rc : n ? -1 : total;
}

static int64_t read_pieces(const char *path, struct hash128 *hash)
{
    struct frame_in *in;
    struct err e = {0};
    struct hash_stream *h = hash_stream_create();
    struct frame_piece *p = frame_piece_create();
    int64_t total = 0;
    int rc = frame_in_open(&in, path, NULL, &e);
    if (rc == 0) {
        while ((rc = frame_in_take(in, p, &e)) == 1 && total < LIMIT) {
            const char *text;
            size_t len;
            rc = frame_text(p, &text, &len, &e);
            if (rc)
                break;
            hash_stream_add(h, text, len);
            total += (int64_t)len;
        }
        frame_in_close(in);
    }
    *hash = hash_stream_digest(h);
    hash_stream_free(h);
    frame_piece_free(p);
    return rc ? -1 : total;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64], head[16];
    struct hash128 a, b;
    if (size < 1)
        return 0;
    int fd = memfd_create("fuzz", 0);
    if (fd < 0)
        return 0;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    size_t n = data[0] & 1 ? frame_put_skippable(head, FRAME_MAGIC_PROVENANCE, "{}", 2) : 0;
    if (write(fd, head, n) == (ssize_t)n && write(fd, data + 1, size - 1) == (ssize_t)size - 1) {
        int64_t x = read_stream(path, &a), y = read_pieces(path, &b);
        if (x >= 0 && y >= 0 && (x != y || a.lo != b.lo || a.hi != b.hi))
            abort();
    }
    close(fd);
    return 0;
}
