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
    int ret = stored_identify(block, id, &generation);
    if (ret == 0)
        id->generation = generation;
    return ret;
}

int stored_check(int fd, uint64_t offset, uint64_t len, const struct data_id *id, uint64_t block)
{
    struct data_fault fault;
    void *buf;
    int ret = 0;

    if (posix_memalign(&buf, DATA_BLOCK, STORED_READ) != 0)
        return -ENOMEM;
    for (uint64_t at = 0; at < len && ret == 0; at += STORED_READ) {
        size_t n = len - at < STORED_READ ? (size_t)(len - at) : STORED_READ;

        if (pread(fd, buf, n, (off_t)(offset + at)) != (ssize_t)n)
            ret = -EBADMSG;
        else
            ret = data_check_headers(buf, n, id, block + at / DATA_BLOCK, &fault);
    }
    free(buf);
    return ret;
}
