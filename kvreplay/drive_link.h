/* drive_link.h - what the link between the host and a drive can carry at most. */
#ifndef KVREPLAY_DRIVE_LINK_H
#define KVREPLAY_DRIVE_LINK_H

#include <stdint.h>

/*
 * Bytes per second that the PCI Express link of disk (its name, "nvme0n1") carries one way, behind
 * the line code and nothing else: no transfer is as fast. 0: the disk is on no such link, or not
 * known. sysfs: "/sys". Source: PCI Express Base Specification 6.0, 8b/10b below 8 GT/s, 128b/130b
 * from there on (242/256 of FLITs at 64 GT/s is more still, and so no bound is too low).
 */
uint64_t drive_link_bytes_per_s(const char *sysfs, const char *disk);

#endif
