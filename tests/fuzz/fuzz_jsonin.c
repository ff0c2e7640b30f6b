/* Any bytes as a JSON stream and as a document: both end, and elements that come out of the stream
 * are whole values. The first byte picks the largest element, so that bounds are met too. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/json/jsonin.h"
#include "lib/trace/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void walk(const struct jsonin_v *v, unsigned depth)
{
    const char *key;
    uint64_t u;
    int64_t i;
    double f;

    if (depth > 64)
        abort();
    if (jsonin_u64(v, &u) == 0 && u < INT64_MAX && (jsonin_i64(v, &i) != 0 || (uint64_t)i != u))
        abort();
    if (jsonin_f64(v, &f) == 0 && f != f)
        abort();
    for (size_t k = 0; k < jsonin_count(v) && k < 32; k++)
        walk(jsonin_at(v, k), depth + 1);
    for (size_t k = 0; k < 32 && jsonin_member(v, k, &key); k++)
        walk(jsonin_member(v, k, &key), depth + 1);
}

/* size: of the text, 0 when it is compressed. */
static void read_stream(const char *path, size_t max, size_t size)
{
    struct jsonin_stream *s;
    struct frame_in *in;
    const struct jsonin_v *v = NULL;
    struct err e = {0};
    size_t elements = 0;
    int rc;

    if (frame_in_open(&in, path, NULL, &e) < 0)
        return;
    if (jsonin_stream_open(&s, in, max, &e) < 0)
        abort();
    while ((rc = jsonin_stream_next(s, &v, &e)) == 1) {
        walk(v, 0);
        if (size && (++elements > size || jsonin_stream_line(s) > size + 1))
            abort();
    }
    if (rc < 0 && (e.code == 0 || e.what[0] == '\0'))
        abort();
    jsonin_stream_close(s);
    frame_in_close(in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("json", MFD_CLOEXEC);
    struct jsonin *d = NULL;
    struct err e = {0};
    char path[64];

    if (size == 0 || fd < 0 || write(fd, data + 1, size - 1) != (ssize_t)(size - 1))
        goto out;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    bool packed = size > 4 && data[2] == 0xb5 && data[3] == 0x2f && data[4] == 0xfd; /* zstd */
    packed |= size > 4 && data[2] == 0x2a && data[3] == 0x4d && data[4] == 0x18;     /* skippable */
    read_stream(path, data[0] < 128 ? data[0] : 1 << 20, packed ? 0 : size);
    if (jsonin_parse(&d, (const char *)data + 1, size - 1, "text", &e) == 0)
        walk(jsonin_root(d), 0);
    else if (e.where[0] == '\0' || e.what[0] == '\0')
        abort();
    jsonin_free(d);
out:
    if (fd >= 0)
        close(fd);
    return 0;
}
