/* Told beside the counts, in the summary and to people (drive_times.c). Alignment is no reason:
 * with O_DIRECT each I/O of ours is of whole pages, and one that a device refuses fails.
 */
#include "kvreplay/device/workers_why.h"

#include <stdbool.h>
#include <stdio.h>

/* Says why a write or read is not taken at once. */
static const char *reason(int direct, bool has_files, bool is_write)
{
    if (direct == 0)
        return is_write ? ", for pages of its cache or for blocks"
                        : ", for pages that are not in its cache";
    if (direct < 0)
        return "";
    if (!has_files)
        return ", as for room in the device's queue";
    return is_write ? ": to allocate blocks, to make a file longer, for another write of the file, "
                      "or for room in the device's queue"
                    : " at all, or for a write of the file or room in the device's queue";
}

const char *workers_why(char text[WORKERS_WHY], const struct block_events_counts *n,
                        const struct tier_info *tier, const char *file_system)
{
    int direct = tier ? tier->direct : -1;
    const uint64_t given[] = {n->worker_reads, n->worker_writes};
    size_t len = 0;

    text[0] = '\0';
    if (!n->workers_known) {
        snprintf(text, WORKERS_WHY,
                 "not known: the kernel has no event that tells it, or threads have other numbers "
                 "here, as in a container");
        return text;
    }
    for (unsigned i = 0; i < 2; i++)
        if (given[i])
            len += (size_t)snprintf(text + len, WORKERS_WHY - len,
                                    "%s%s %s %s could not take without waiting%s", len ? "; " : "",
                                    direct == 1   ? "direct"
                                    : direct == 0 ? "buffered"
                                                  : "some",
                                    i ? "writes, which" : "reads, which",
                                    file_system[0] ? file_system : "the target",
                                    reason(direct, file_system[0] != '\0', i == 1));
    return text;
}
