/* A drive's own log pages about wear: bytes that the host wrote, bytes that it wrote to its
 * media for them, and the share of its life that is used. Only NVMe drives have them, and only the
 * superuser may ask (CAP_SYS_ADMIN). */
#ifndef KVTRACE_IO_DRIVE_LOG_H
#define KVTRACE_IO_DRIVE_LOG_H

#include <stdbool.h>
#include <stdint.h>

enum {
    DRIVE_LOG_PAGE = 512,
    DRIVE_LOG_HOST_UNIT = 512000 /* bytes */
};

/* Plain values. */
struct drive_log {
    bool known;                /* host_write_bytes and percentage_used */
    bool media_known;          /* media_write_bytes */
    uint64_t host_write_bytes; /* in all its life; UINT64_MAX: more than that */
    uint64_t media_write_bytes;
    unsigned percentage_used;      /* of its rated endurance; may exceed 100; 255: that or more */
    char why[160], media_why[160]; /* why they are not known */
};

/* The log page SMART / Health Information (02h). Data Units Written are thousands of 512 bytes,
 * rounded up; bytes 5 and 48 to 63 (NVM Express Base Specification 2.0, 5.16.1.3). */
void drive_log_smart(struct drive_log *log, const uint8_t page[DRIVE_LOG_PAGE]);
/* The log page SMART / Health Information Extended (C0h) of OCP drives: Physical Media Units
 * Written in bytes 0 to 15, in bytes; the page's GUID in bytes 496 to 511 (OCP Datacenter NVMe SSD
 * Specification 2.0, 4.8.6). Without that GUID media_known is false. */
void drive_log_ocp(struct drive_log *log, const uint8_t page[DRIVE_LOG_PAGE]);
/* False: this build has no libnvme, and drive_log_read knows nothing. */
bool drive_log_is_built(void);
/* Both pages of the whole disk with this name ("nvme0n1"; "": there is none). What cannot be read
 * is unknown, with the reason. */
void drive_log_read(struct drive_log *log, const char *disk);
/* Bytes written to the media for each byte that the host wrote between two readings. Negative: not
 * known, with the reason in why (cap bytes): not told, or fewer than 100 units were written. */
double drive_log_amplification(const struct drive_log *before, const struct drive_log *after,
                               char *why, unsigned long cap);

#endif
