/* The part of a file that lies in the page cache. */
#ifndef KVREPLAY_DEVICE_RESIDENCY_H
#define KVREPLAY_DEVICE_RESIDENCY_H

#include <stdint.h>

/* Plain value; zero it. */
struct residency {
    uint64_t pages, resident; /* of them, in the page cache */
};
/* Adds the pages of a regular file or block device, of its first bytes_max bytes (mincore(2)). Adds
 * nothing where that cannot be told. 0 or -ENOMEM. */
int residency_add(struct residency *r, int fd, uint64_t bytes_max);

#endif
