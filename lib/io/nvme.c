/* Reads log pages of NVMe drives: the only file that includes libnvme, which is loaded for a drive
 * only. Built without it, all is unknown, and says so. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/io/drive_log.h"

#if KVTRACE_NVME
#include <libnvme.h>

enum {
    LOG_SMART = 0x02,
    LOG_OCP = 0xc0,
    WHY_CAP = sizeof(((struct drive_log *)0)->why)
};

struct libnvme {
    __typeof__(nvme_get_log) *get_log;
    __typeof__(nvme_status_to_string) *status_to_string;
};

/* Never released. False; else the reason is in why. */
static bool load(struct libnvme *lib, char why[WHY_CAP])
{
    void *library = dlopen("libnvme.so.1", RTLD_LAZY | RTLD_LOCAL);

    if (library) {
        lib->get_log = (__typeof__(nvme_get_log) *)dlsym(library, "nvme_get_log");
        lib->status_to_string =
            (__typeof__(nvme_status_to_string) *)dlsym(library, "nvme_status_to_string");
        if (lib->get_log && lib->status_to_string)
            return true;
    }
    snprintf(why, WHY_CAP, "%s", dlerror());
    return false;
}

/* 0; else the reason is in why. */
static int read_page(const struct libnvme *lib, int fd, int id, uint8_t page[DRIVE_LOG_PAGE],
                     char why[WHY_CAP])
{
    struct nvme_get_log_args args = {
        .args_size = sizeof(args),
        .fd = fd,
        .lid = (enum nvme_cmd_get_log_lid)id,
        .nsid = NVME_NSID_ALL,
        .csi = NVME_CSI_NVM,
        .len = DRIVE_LOG_PAGE,
        .log = page,
    };
    int rc = lib->get_log(&args);

    if (rc < 0)
        snprintf(why, WHY_CAP, "log page %02Xh: %s", (unsigned)id, strerror(errno));
    else if (rc > 0)
        snprintf(why, WHY_CAP, "log page %02Xh: %s", (unsigned)id,
                 lib->status_to_string(rc, false));
    return rc;
}

void drive_log_read(struct drive_log *log, const char *disk)
{
    struct libnvme lib;
    uint8_t page[DRIVE_LOG_PAGE];
    char path[80];
    int fd;

    *log = (struct drive_log){0};
    if (strncmp(disk, "nvme", 4) != 0) {
        snprintf(log->why, sizeof(log->why), "%s is no NVMe drive", disk[0] ? disk : "the target");
    } else {
        snprintf(path, sizeof(path), "/dev/%.64s", disk);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0) {
            snprintf(log->why, sizeof(log->why), "%s: %s", path, strerror(errno));
        } else if (!load(&lib, log->why)) {
            close(fd);
        } else {
            if (read_page(&lib, fd, LOG_SMART, page, log->why) == 0)
                drive_log_smart(log, page);
            if (read_page(&lib, fd, LOG_OCP, page, log->media_why) == 0)
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
