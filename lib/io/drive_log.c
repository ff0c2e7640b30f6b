/* Decodes the log pages that nvme.c reads. It knows no drive: tests give it stored pages. */
#include "lib/io/drive_log.h"

#include <stdio.h>
#include <string.h>

enum {
    PERCENTAGE_USED = 5,
    DATA_UNITS_WRITTEN = 48,
    OCP_GUID = 496,
    LEAST_UNITS = 100 /* for a ratio good to 1 % */
};

/* 16 bytes, the least first. What does not fit is UINT64_MAX. */
static uint64_t counter(const uint8_t *at)
{
    uint64_t value = 0;

    for (int i = 15; i >= 8; i--) {
        if (at[i])
            return UINT64_MAX;
    }
    for (int i = 7; i >= 0; i--)
        value = value << 8 | at[i];
    return value;
}

void drive_log_smart(struct drive_log *log, const uint8_t page[DRIVE_LOG_PAGE])
{
    uint64_t units = counter(page + DATA_UNITS_WRITTEN);

    log->known = true;
    log->percentage_used = page[PERCENTAGE_USED];
    log->host_write_bytes =
        units > UINT64_MAX / DRIVE_LOG_HOST_UNIT ? UINT64_MAX : units * DRIVE_LOG_HOST_UNIT;
}

void drive_log_ocp(struct drive_log *log, const uint8_t page[DRIVE_LOG_PAGE])
{
    /* AFD514C97C6F4F9CA4F2BFEA2810AFC5, the least byte first */
    static const uint8_t guid[16] = {0xc5, 0xaf, 0x10, 0x28, 0xea, 0xbf, 0xf2, 0xa4,
                                     0x9c, 0x4f, 0x6f, 0x7c, 0xc9, 0x14, 0xd5, 0xaf};

    log->media_known = memcmp(page + OCP_GUID, guid, sizeof(guid)) == 0;
    if (log->media_known)
        log->media_write_bytes = counter(page);
    else
        snprintf(log->media_why, sizeof(log->media_why), "log page C0h is not that of OCP drives");
}

double drive_log_amplification(const struct drive_log *before, const struct drive_log *after,
                               char *why, unsigned long cap)
{
    why[0] = '\0';
    if (!before->known || !after->known)
        snprintf(why, cap, "%s", !before->known ? before->why : after->why);
    else if (!before->media_known || !after->media_known)
        snprintf(why, cap, "%s", !before->media_known ? before->media_why : after->media_why);
    else if (after->host_write_bytes == UINT64_MAX || after->media_write_bytes == UINT64_MAX ||
             after->host_write_bytes < before->host_write_bytes ||
             after->media_write_bytes < before->media_write_bytes)
        snprintf(why, cap, "the drive's counters went back or are full");
    else if (after->host_write_bytes - before->host_write_bytes <
             (uint64_t)LEAST_UNITS * DRIVE_LOG_HOST_UNIT)
        snprintf(why, cap, "the drive counted less than 51.2 MB written");
    if (why[0])
        return -1;
    return (double)(after->media_write_bytes - before->media_write_bytes) /
           (double)(after->host_write_bytes - before->host_write_bytes);
}
