/* For the honesty of the summary: a bandwidth above that of the drive's link was not the drive's.
 */
#include "kvreplay/drive_link.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* A number at the start of the file; negative: none. */
static double link_number(const char *sysfs, const char *disk, const char *up, const char *name)
{
    char path[PATH_MAX];
    double value = -1;

    snprintf(path, sizeof(path), "%s/block/%s/device/%s%s", sysfs, disk, up, name);
    FILE *f = fopen(path, "re");
    if (!f)
        return -1;
    if (fscanf(f, "%lf", &value) != 1)
        value = -1;
    fclose(f);
    return value;
}

uint64_t drive_link_bytes_per_s(const char *sysfs, const char *disk)
{
    /* The disk's device is the PCI function itself, or (NVMe) one below it. */
    static const char *const up[] = {"", "device/"};

    if (!disk[0] || strchr(disk, '/') || disk[0] == '.')
        return 0;
    for (size_t i = 0; i < sizeof(up) / sizeof(up[0]); i++) {
        double gt = link_number(sysfs, disk, up[i], "current_link_speed"); /* "16.0 GT/s PCIe" */
        double width = link_number(sysfs, disk, up[i], "current_link_width");
        double code = gt < 8 ? 8.0 / 10 : 128.0 / 130;
        if (gt > 0 && width > 0 && gt < 1000 && width < 1000)
            return (uint64_t)(gt * 1e9 * width * code / 8);
    }
    return 0;
}
