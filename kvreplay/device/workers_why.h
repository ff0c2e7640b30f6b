/* Why io_uring gave I/O to threads that may wait, by what is known of the target. */
#ifndef KVREPLAY_DEVICE_WORKERS_WHY_H
#define KVREPLAY_DEVICE_WORKERS_WHY_H

#include "lib/drive/block_events.h"
#include "lib/tier/tier.h"

enum {
    WORKERS_WHY = 512 /* bytes, with the NUL */
};
/* "buffered writes, which ext4 could not take without waiting, ..."; "": it gave none; where the
 * number is not known, why not. tier: of Tier-2, NULL: not known; file_system: its name, "" for a
 * device or where it is not known. Returns text. Sources: the kernel's io_uring/rw.c (where a file
 * system cannot be asked not to wait, or says -EAGAIN) and the file systems' handling of
 * IOCB_NOWAIT. */
const char *workers_why(char text[WORKERS_WHY], const struct block_events_counts *n,
                        const struct tier_info *tier, const char *file_system);

#endif
