/* fuzz_target_guard.c - any text as a mount table, as a table of swap space and as the name of a
 * loop device's image, and any bytes as the head of a device: a verdict comes back, a refusal says
 * why; a mount table that names the device by its number on a line of its own, and a table of swap
 * space that names the file so, are always refused. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "lib/io/target_guard.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A file in memory that the kernel's facts are read from. */
struct facts_file {
    FILE *stream;
    char path[64];
};

static void need(int truth)
{
    if (!truth)
        abort();
}

static struct facts_file facts_open(const uint8_t *data, size_t size, const char *more)
{
    int fd = memfd_create("facts", MFD_CLOEXEC);
    struct facts_file f = {.stream = fd < 0 ? NULL : fdopen(fd, "w")};

    need(f.stream != NULL);
    fwrite(data, 1, size, f.stream);
    fputs(more, f.stream);
    need(fflush(f.stream) == 0);
    snprintf(f.path, sizeof(f.path), "/proc/self/fd/%d", fd);
    return f;
}

static int judge(const uint8_t *data, size_t size, const char *more)
{
    struct facts_file mounts = facts_open(data, size, more);
    struct target_facts facts = {.mountinfo = mounts.path, .sys_dev_block = "/nonexistent"};
    struct err e = {0};
    int ret = target_guard_device(&facts, makedev(8, 0), "/dev/sda", &e);

    need(ret < 0 && e.class == ERR_TARGET && e.what[0]);
    fclose(mounts.stream);
    return ret;
}

/* A path in the folder of this run, which has a file, and block/loop0/loop/backing_file, which
 * leads to a file in memory. */
static const char *in_tree(char path[96], const char *name)
{
    static char root[] = "/tmp/kvtrace-fuzz-XXXXXX";
    static const char *const folders[] = {"block", "block/loop0", "block/loop0/loop"};
    static bool made;

    if (!made) {
        made = mkdtemp(root) != NULL;
        need(made);
        for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
            need(mkdir(in_tree(path, folders[i]), 0700) == 0);
        need(close(open(in_tree(path, "file"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)) == 0);
    }
    snprintf(path, 96, "%s/%s", root, name);
    return path;
}

static void remove_tree(void)
{
    static const char *const names[] = {
        "block/loop0/loop/backing_file", "block/loop0/loop", "block/loop0", "block", "file", ""};
    char path[96];

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        need(remove(in_tree(path, names[i])) == 0);
}

static int judge_file(const uint8_t *data, size_t size, const char *more)
{
    struct facts_file image = facts_open(data, size, ""), table = facts_open(data, size, more);
    char block[96], link[96], file[96], root[96];
    struct target_facts facts = {.mountinfo = image.path,
                                 .sys_dev_block = "/nonexistent",
                                 .sys_block = in_tree(block, "block"),
                                 .swaps = table.path};
    struct err e = {0};
    int fd = open(in_tree(file, "file"), O_RDWR | O_CLOEXEC), ret, folder;

    unlink(in_tree(link, "block/loop0/loop/backing_file"));
    need(fd >= 0 && symlink(image.path, link) == 0);
    ret = target_guard_unused(&facts, fd, file, &e);
    need(ret == 0 || (e.class == ERR_TARGET && e.what[0]));
    e = (struct err){0};
    folder = target_guard_folder(&facts, in_tree(root, ""), &e);
    need(folder == 0 || (e.class == ERR_TARGET && e.what[0]));
    close(fd);
    fclose(image.stream);
    fclose(table.stream);
    return ret;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int registered;
    struct err e = {0};
    char file[96], line[128];
    int ret;

    judge(data, size, "");
    need(judge(data, size, "\n9 1 8:0 / /a rw - ext4 none rw\n") == -EBUSY);
    judge_file(data, size, "");
    snprintf(line, sizeof(line), "\n%s file 1 0 -2\n", in_tree(file, "file"));
    need(judge_file(data, size, line) == -EBUSY);
    if (!registered++)
        need(atexit(remove_tree) == 0);
    ret = target_guard_table(data, size, "/dev/sda", &e);
    need(ret == 0 || (ret == -EBUSY && e.what[0]));
    return 0;
}
