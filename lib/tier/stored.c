/* Adoption, before the run: whichever way objects lie, their blocks say what they are. Where they
 * lie is the layouts' to know. */
#include "lib/tier/stored.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define STORED_READ ((uint64_t)1 << 20) /* bytes at a time */

int stored_identify(const void *block, const struct data_id *id, uint64_t *generation)
{
    struct data_id found;
    uint64_t index;

    *generation = 0;
    if (data_identify(block, &found, &index) < 0 || index != 0 ||
        !hash128_equal(found.key, id->key))
        return 0;
    *generation = found.generation;
    return found.shape == id->shape ? 0 : -EPROTOTYPE;
}

int stored_generation(int fd, uint64_t offset, void *block, struct data_id *id)
{
    uint64_t generation;

    /* An object of a layout that does not pad may be shorter than a block. */
    id->generation = 0;
    if (pread(fd, block, DATA_BLOCK, (off_t)offset) < (ssize_t)DATA_HEADER)
        return 0;
    int rc = stored_identify(block, id, &generation);
    if (rc == 0)
        id->generation = generation;
    return rc;
}

int stored_check(stored_reads reads, void *ctx, uint64_t len, const struct data_id *id,
                 uint64_t block)
{
    struct data_fault fault = {0};
    void *buf;
    int rc = 0;

    if (posix_memalign(&buf, DATA_BLOCK, STORED_READ) != 0)
        return -ENOMEM;
    for (uint64_t at = 0; at < len && rc == 0;) {
        ssize_t n = reads(ctx, at, buf, len - at < STORED_READ ? (size_t)(len - at) : STORED_READ);

        if (n <= 0 || n % DATA_BLOCK)
            rc = n < 0 ? (int)n : -EBADMSG;
        else
            rc = data_check_headers(buf, (size_t)n, id, block + at / DATA_BLOCK, &fault);
        at += (uint64_t)n;
    }
    free(buf);
    return rc;
}

struct file {
    int fd;
    uint64_t offset;
};

static ssize_t file_reads(void *ctx, uint64_t at, void *buf, size_t len)
{
    const struct file *f = ctx;

    return pread(f->fd, buf, len, (off_t)(f->offset + at)) == (ssize_t)len ? (ssize_t)len : 0;
}

int stored_check_file(int fd, uint64_t offset, uint64_t len, const struct data_id *id,
                      uint64_t block)
{
    struct file f = {.fd = fd, .offset = offset};

    return stored_check(file_reads, &f, len, id, block);
}
