/* For evidence.c, which looks at what a run left in the page cache, and cold.c, which drives it out
 * before one. */
#include "kvreplay/device/residency.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define WINDOW_BYTES ((uint64_t)1 << 30) /* that are mapped at once */

static uint64_t length_of(int fd)
{
    struct stat st;
    off_t end = -1;

    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        end = st.st_size;
    else if (S_ISBLK(st.st_mode))
        end = lseek(fd, 0, SEEK_END); /* nobody reads or writes at the descriptor's own offset */
    return end > 0 ? (uint64_t)end : 0;
}

int residency_add(struct residency *r, int fd, uint64_t bytes_max)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), bytes = length_of(fd);
    unsigned char *in = NULL;

    if (bytes > bytes_max)
        bytes = bytes_max;
    if (bytes > 0 && !(in = malloc(WINDOW_BYTES / page)))
        return -ENOMEM;
    for (uint64_t at = 0; at < bytes; at += WINDOW_BYTES) {
        uint64_t len = bytes - at < WINDOW_BYTES ? bytes - at : WINDOW_BYTES;
        uint64_t pages = (len + page - 1) / page;
        void *map = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, (off_t)at);
        if (map == MAP_FAILED)
            break;
        if (mincore(map, len, in) == 0) {
            r->pages += pages;
            for (uint64_t i = 0; i < pages; i++)
                r->resident += in[i] & 1;
        }
        munmap(map, len);
    }
    free(in);
    return 0;
}
