/* A slab's header and index from anywhere: never a crash, a leak of space, or an object outside of
 * the slab. The sums are made right, so that what they guard is reached. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/layout/slab.h"

#define SPACE ((uint64_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put(int fd, const void *p, size_t len, uint64_t offset)
{
    if (pwrite(fd, p, len, (off_t)offset) != (ssize_t)len)
        abort();
}

/* The words of data as one segment of the index of objects; the last 8 bytes say how many. */
static void write_slab(int fd, const uint64_t *words, uint64_t count)
{
    /* state, resizes, unsure, space, index at and words, objects, bytes */
    uint64_t header[10] = {0, 1, 1, 0, SPACE, 0, count, words[count] % 64, 0};
    uint64_t head[2] = {count, hash_64(words, count * 8)};

    memcpy(header, words[count] & 64 ? "KVTSLAB2" : "KVTSLAB3", 8);
    header[9] = hash_64(header, 72);
    put(fd, header, sizeof(header), 0);
    put(fd, head, sizeof(head), layout_slab_begin() + SPACE);
    put(fd, words, count * 8, layout_slab_begin() + SPACE + sizeof(head));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint64_t words[512];
    uint64_t count = size / 8 < 512 ? size / 8 : 512;
    struct layout_slab_opts o = {.space_bytes = SPACE, .resizes = true};
    struct layout_slab *s = NULL;
    struct err e = {0};

    if (count < 2)
        return 0;
    memcpy(words, data, count * 8);
    o.fd = memfd_create("slab", MFD_CLOEXEC);
    if (o.fd < 0 || ftruncate(o.fd, 4 << 20) < 0)
        abort();
    write_slab(o.fd, words, count - 1);
    if (layout_slab_open(&s, &o, &e) < 0)
        abort();
    for (uint64_t i = 0; i + 1 < count; i++) {
        struct hash128 name = {words[i], words[i + 1]};
        uint64_t generation;
        uint32_t pos = layout_slab_adopt(s, name, &generation);
        struct extent x;

        while (extent_walk(layout_slab_pool(s), &pos, &x)) {
            if (x.offset >= SPACE || x.len > SPACE - x.offset)
                abort();
        }
    }
    layout_slab_close(s);
    close(o.fd);
    return 0;
}
