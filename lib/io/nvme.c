/* Reads log pages of NVMe drives: the only file that includes libnvme, which is loaded here, since
 * few runs have such a drive. Built or run without it, all is unknown, and says so. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/late.h"
#include "lib/io/drive_log.h"

#if KVTRACE_NVME
#include <libnvme.h>

enum {
    LOG_SMART = 0x02,
    LOG_OCP = 0xc0
};

#define RETURN(X)                                                                                  \
    X(nvme_get_log, int, (struct nvme_get_log_args * args), (args))                                \
    X(nvme_status_to_string, const char *, (int status, bool fabrics), (status, fabrics))

LATE_LIBRARY(libnvme_load, LATE_FILE(KVTRACE_NVME_FILE), "wear of NVMe drives needs it", RETURN,
             LATE_NONE, LATE_NONE)

/* 0; else the reason is in why. */
static int read_page(int fd, int id, uint8_t page[DRIVE_LOG_PAGE], char *why, size_t cap)
{
    struct nvme_get_log_args args = {.args_size = sizeof(args),
                                     .fd = fd,
                                     .lid = (enum nvme_cmd_get_log_lid)id,
                                     .nsid = NVME_NSID_ALL,
                                     .len = DRIVE_LOG_PAGE,
                                     .log = page};
    int rc = nvme_get_log(&args);

    if (rc < 0)
        snprintf(why, cap, "log page %02Xh: %s", (unsigned)id, strerror(errno));
    else if (rc > 0)
        snprintf(why, cap, "log page %02Xh: %s", (unsigned)id, nvme_status_to_string(rc, false));
    return rc;
}

void drive_log_read(struct drive_log *log, const char *disk)
{
    uint8_t page[DRIVE_LOG_PAGE];
    struct err e = {0};
    char path[80];
    int fd;

    *log = (struct drive_log){0};
    if (strncmp(disk, "nvme", 4) != 0) {
        snprintf(log->why, sizeof(log->why), "%s is no NVMe drive", disk[0] ? disk : "the target");
    } else if (libnvme_load(&e) < 0) {
        snprintf(log->why, sizeof(log->why), "%.40s: %.100s", e.where, e.what);
    } else {
        snprintf(path, sizeof(path), "/dev/%.64s", disk);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0) {
            snprintf(log->why, sizeof(log->why), "%s: %s", path, strerror(errno));
        } else {
            if (read_page(fd, LOG_SMART, page, log->why, sizeof(log->why)) == 0)
                drive_log_smart(log, page);
            if (read_page(fd, LOG_OCP, page, log->media_why, sizeof(log->media_why)) == 0)
                drive_log_ocp(log, page);
            close(fd);
        }
    }
    if (!log->media_known && !log->media_why[0])
        snprintf(log->media_why, sizeof(log->media_why), "%s", log->why);
}

#else

void drive_log_read(struct drive_log *log, const char *disk)
{
    (void)disk;
    *log = (struct drive_log){.why = "built without libnvme", .media_why = "built without libnvme"};
}

#endif

bool drive_log_is_built(void)
{
    return KVTRACE_NVME;
}
