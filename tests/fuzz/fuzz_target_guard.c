/* fuzz_target_guard.c - any text as a mount table and any bytes as the head of a device: a verdict
 * comes back, a refusal says why, and a table that names the device by its number on a line of its
 * own is always refused. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "lib/io/target_guard.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(int truth)
{
    if (!truth)
        abort();
}

static int judge(const uint8_t *data, size_t size, const char *more)
{
    char path[64];
    struct target_facts facts = {.mountinfo = path, .sys_dev_block = "/nonexistent"};
    struct err e = {0};
    int fd = memfd_create("mountinfo", MFD_CLOEXEC), ret;
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");

    need(f != NULL);
    fwrite(data, 1, size, f);
    fputs(more, f);
    need(fflush(f) == 0);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    ret = target_guard_device(&facts, makedev(8, 0), "/dev/sda", &e);
    need(ret < 0 && e.class == ERR_TARGET && e.what[0]);
    fclose(f);
    return ret;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err e = {0};
    int ret;

    judge(data, size, "");
    need(judge(data, size, "\n9 1 8:0 / /a rw - ext4 none rw\n") == -EBUSY);
    ret = target_guard_table(data, size, "/dev/sda", &e);
    need(ret == 0 || (ret == -EBUSY && e.what[0]));
    return 0;
}
