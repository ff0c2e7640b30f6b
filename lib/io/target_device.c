/* Asks the kernel about the file system and the device under a target. Summaries print the kernel's
 * counters beside what the programs counted themselves. */
#include "lib/io/target_device.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "lib/base/units.h"

#define DEVICE_SECTOR 512u /* unit of the kernel's counters, whatever the device has */
#define DEVICE_BLOCK  4096u
#define RESERVE_SHARE 0.05 /* of a file system, at most half of what is free */
/* For what objects need beside their bytes: such a part of the room, and the head of a slab. */
#define FITS_BESIDE 32u
#define FITS_HEAD   (8 * UNITS_MIB)

int target_room(int fd, double reserve_share, uint64_t *bytes, struct err *e)
{
    struct statvfs vfs;
    uint64_t free_bytes;
    double all, reserve;

    if (fstatvfs(fd, &vfs) < 0)
        return err_errno(e, -errno, ERR_TARGET, "",
                         "cannot ask the file system for its free space");
    free_bytes = (uint64_t)vfs.f_bavail * vfs.f_frsize;
    all = (double)vfs.f_blocks * (double)vfs.f_frsize;
    reserve = all * (reserve_share < 0 ? RESERVE_SHARE : reserve_share);
    if (reserve_share < 0 && reserve > (double)free_bytes / 2)
        reserve = (double)free_bytes / 2;
    *bytes = reserve < (double)free_bytes ? free_bytes - (uint64_t)reserve : 0;
    return 0;
}

int target_reserve_parse(const char *text, double *share, struct err *e)
{
    double percent;

    *share = TARGET_RESERVE_AUTO;
    if (strcmp(text, "auto") == 0)
        return 0;
    if (units_parse_f64(text, &percent) < 0 || !(percent >= 0 && percent <= 99))
        return err_set(e, EINVAL, ERR_INPUT, "--reserve",
                       "%s: expected auto or a percentage from 0 to 99", text);
    *share = percent / 100;
    return 0;
}

/* Names path or, where that is not there, the folder that it is to be made in, which may itself be
 * still to be made if levels is 2. A descriptor, or negative errno with *e. */
static int examine(const char *path, unsigned levels, struct err *e)
{
    char parent[PATH_MAX];
    int fd = open(path, O_PATH | O_CLOEXEC);

    if (strlen(path) >= sizeof(parent))
        levels = 0;
    else
        memcpy(parent, path, strlen(path) + 1);
    for (; fd < 0 && errno == ENOENT && levels > 0; levels--) {
        const char *up = dirname(parent);

        memmove(parent, up, strlen(up) + 1);
        fd = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
    }
    return fd < 0 ? err_errno(e, -errno, ERR_TARGET, path, "cannot be examined") : fd;
}

int target_file_system(const char *path, dev_t *dev)
{
    struct stat st;
    int fd = examine(path, 2, NULL), rc = fd < 0 || fstat(fd, &st) == 0 ? 0 : -errno;

    if (fd < 0)
        return fd;
    close(fd);
    if (rc == 0)
        *dev = S_ISBLK(st.st_mode) ? st.st_rdev : st.st_dev;
    return rc;
}

int target_size(const char *path, uint64_t *bytes, struct err *e)
{
    int fd = examine(path, 2, e), device;
    struct stat st = {0};
    struct statvfs fs;
    off_t end;

    if (fd < 0)
        return fd;
    if (fstat(fd, &st) == 0 && S_ISBLK(st.st_mode)) {
        close(fd);
        device = open(path, O_RDONLY | O_CLOEXEC);
        end = device < 0 ? -1 : lseek(device, 0, SEEK_END);
        *bytes = end > 0 ? (uint64_t)end : 0;
        if (device >= 0)
            close(device);
        return end < 0 ? err_errno(e, -errno, ERR_TARGET, path, "cannot be examined") : 0;
    }
    if (S_ISREG(st.st_mode) && st.st_size > 0) { /* it stays as large as it is */
        close(fd);
        *bytes = (uint64_t)st.st_size;
        return 0;
    }
    int rc = fstatvfs(fd, &fs) < 0 ? -errno : 0;
    close(fd);
    if (rc < 0)
        return err_errno(e, rc, ERR_TARGET, path, "its file system cannot be examined");
    *bytes = (uint64_t)fs.f_blocks * fs.f_frsize;
    return 0;
}

int target_fits(const char *path, uint64_t *bytes, struct err *e)
{
    int fd = examine(path, 1, e), rc;

    if (fd < 0)
        return fd;
    rc = target_room(fd, TARGET_RESERVE_AUTO, bytes, e);
    if (rc == 0) {
        uint64_t head = *bytes / 2 < FITS_HEAD ? *bytes / 2 : FITS_HEAD;

        *bytes -= *bytes / FITS_BESIDE + head;
    }
    close(fd);
    return rc;
}

int target_device_node(const char *disk)
{
    /* The disk's device is the function on the bus itself, or (NVMe) one below it. */
    static const char *const up[] = {"device/numa_node", "device/device/numa_node"};
    char path[PATH_MAX], line[32];

    if (!disk[0] || strchr(disk, '/') || disk[0] == '.')
        return -1;
    for (size_t i = 0; i < sizeof(up) / sizeof(up[0]); i++) {
        snprintf(path, sizeof(path), "/sys/block/%s/%s", disk, up[i]);
        target_facts_line(path, line, sizeof(line));
        if (line[0] >= '0' && line[0] <= '9')
            return atoi(line);
    }
    return -1;
}

/* The id of the mount that fd lies in; negative: not told. */
static int mount_of(int fd)
{
    char path[64], line[128];
    int id = -1;

    snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof(line), f) && sscanf(line, "mnt_id: %d", &id) != 1)
        ;
    if (f)
        fclose(f);
    return id;
}

/* FS_*_FL of a file or folder; 0: not told. */
static int attributes_of(int fd)
{
    int flags = 0;

    return ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0 ? flags : 0;
}

void target_device_find(int fd, struct target_device *d)
{
    const struct target_layers *l = &d->layers;
    char path[128];
    struct target_counters c;
    struct stat st;

    memset(d, 0, sizeof(*d));
    if (fstat(fd, &st) < 0)
        return;
    bool is_device = S_ISBLK(st.st_mode);
    target_layers_find(target_facts_here(), is_device ? -1 : mount_of(fd),
                       is_device ? st.st_rdev : st.st_dev, is_device ? 0 : attributes_of(fd),
                       &d->layers);
    snprintf(d->name, sizeof(d->name), "%s", l->disks == 1 || !l->top[0] ? l->disk[0] : l->top);
    snprintf(path, sizeof(path), "/sys/block/%s/device/model", d->name);
    if (d->name[0])
        target_facts_line(path, d->model, sizeof(d->model));
    const struct target_device *const one = d;
    d->counted = target_devices_count(&one, 1, &c) == 0;
}

/* Adds the counters of a disk. The fields: Linux, Documentation/block/stat.rst. */
static int add_counters(const char *disk, struct target_counters *c)
{
    char path[TARGET_LAYERS_NAME + 32], line[512];
    uint64_t read_ios, read_sectors, write_ios, write_sectors, queue_ms;

    snprintf(path, sizeof(path), "/sys/block/%s/stat", disk);
    target_facts_line(path, line, sizeof(line));
    if (sscanf(line,
               "%" SCNu64 " %*u %" SCNu64 " %*u %" SCNu64 " %*u %" SCNu64 " %*u %*u %*u %" SCNu64,
               &read_ios, &read_sectors, &write_ios, &write_sectors, &queue_ms) != 5)
        return -ENODEV;
    c->read_ios += read_ios;
    c->write_ios += write_ios;
    c->queue_ms += queue_ms;
    c->read_bytes += read_sectors * DEVICE_SECTOR;
    c->write_bytes += write_sectors * DEVICE_SECTOR;
    return 0;
}

/* Is a disk of device at also below one before it? */
static bool counted_before(const struct target_device *const *d, unsigned at, const char *disk)
{
    for (unsigned i = 0; i < at; i++)
        for (unsigned k = 0; k < d[i]->layers.disks; k++)
            if (strcmp(d[i]->layers.disk[k], disk) == 0)
                return true;
    return false;
}

int target_devices_count(const struct target_device *const *d, unsigned n,
                         struct target_counters *c)
{
    *c = (struct target_counters){0};
    for (unsigned i = 0; i < n; i++) {
        const struct target_layers *l = &d[i]->layers;
        if (l->disks == 0 || !l->complete)
            return -ENODEV;
        for (unsigned k = 0; k < l->disks; k++)
            if (!counted_before(d, i, l->disk[k]) && add_counters(l->disk[k], c) < 0)
                return -ENODEV;
    }
    return n ? 0 : -ENODEV;
}

int target_tops_count(const struct target_device *const *d, unsigned n, struct target_counters *c)
{
    *c = (struct target_counters){0};
    for (unsigned i = 0; i < n; i++) {
        bool again = false;
        if (d[i]->layers.disks != 1)
            return -ENODEV;
        for (unsigned k = 0; k < i; k++)
            again |= strcmp(d[k]->layers.top, d[i]->layers.top) == 0;
        if (!again && add_counters(d[i]->layers.top, c) < 0)
            return -ENODEV;
    }
    return n ? 0 : -ENODEV;
}

/* File systems by the number in statfs(2). linux/magic.h lacks some of them. */
static const struct {
    uint32_t magic;
    enum target_medium kind;
    const char *name;
} file_systems[] = {
    {TMPFS_MAGIC, TARGET_MEDIUM_MEMORY, "tmpfs"},
    {RAMFS_MAGIC, TARGET_MEDIUM_MEMORY, "ramfs"},
    {HUGETLBFS_MAGIC, TARGET_MEDIUM_MEMORY, "hugetlbfs"},
    {EXT4_SUPER_MAGIC, TARGET_MEDIUM_STORAGE, "ext4"},
    {XFS_SUPER_MAGIC, TARGET_MEDIUM_STORAGE, "xfs"},
    {BTRFS_SUPER_MAGIC, TARGET_MEDIUM_STORAGE, "btrfs"},
    {F2FS_SUPER_MAGIC, TARGET_MEDIUM_STORAGE, "f2fs"},
    {0x2fc12fc1, TARGET_MEDIUM_STORAGE, "zfs"},
    {0xca451a4e, TARGET_MEDIUM_STORAGE, "bcachefs"},
    {NFS_SUPER_MAGIC, TARGET_MEDIUM_NETWORK, "nfs"},
    {0xff534d42, TARGET_MEDIUM_NETWORK, "cifs"},
    {0xfe534d42, TARGET_MEDIUM_NETWORK, "smb2"},
    {0x00c36400, TARGET_MEDIUM_NETWORK, "ceph"},
    {0x0bd00bd0, TARGET_MEDIUM_NETWORK, "lustre"},
    {0x47504653, TARGET_MEDIUM_NETWORK, "gpfs"},
    {V9FS_MAGIC, TARGET_MEDIUM_NETWORK, "9p"},
    {0x65735546, TARGET_MEDIUM_UNKNOWN, "fuse"},
    {OVERLAYFS_SUPER_MAGIC, TARGET_MEDIUM_UNKNOWN, "overlay"},
};

static enum target_medium kind_of_magic(uint32_t magic, const char **name)
{
    for (size_t i = 0; i < sizeof(file_systems) / sizeof(file_systems[0]); i++) {
        if (file_systems[i].magic != magic)
            continue;
        *name = file_systems[i].name;
        return file_systems[i].kind;
    }
    return TARGET_MEDIUM_UNKNOWN;
}

enum target_medium target_medium_of(int fd, const struct target_device *d, char file_system[24])
{
    enum target_medium kind = TARGET_MEDIUM_UNKNOWN;
    const char *name = "";
    struct statfs fs;
    struct stat st;

    file_system[0] = '\0';
    if (fstat(fd, &st) < 0)
        return kind;
    if (!S_ISBLK(st.st_mode)) {
        if (fstatfs(fd, &fs) < 0)
            return kind;
        kind = kind_of_magic((uint32_t)fs.f_type, &name);
        snprintf(file_system, 24, "%s", name);
    }
    if (d->layers.memory)
        return TARGET_MEDIUM_MEMORY;
    if (d->layers.network)
        return TARGET_MEDIUM_NETWORK;
    return kind == TARGET_MEDIUM_UNKNOWN && d->counted ? TARGET_MEDIUM_STORAGE : kind;
}

bool target_device_discards(int fd)
{
    char real[PATH_MAX], path[PATH_MAX + 32], line[32];
    struct stat st;

    if (fstat(fd, &st) < 0 || !S_ISBLK(st.st_mode))
        return false;
    snprintf(path, sizeof(path), "/sys/dev/block/%u:%u", major(st.st_rdev), minor(st.st_rdev));
    if (!target_layers_folder(path, real))
        return false;
    snprintf(path, sizeof(path), "%s/queue/discard_max_bytes", real);
    target_facts_line(path, line, sizeof(line));
    return strtoull(line, NULL, 10) > 0;
}

bool target_in_memory(int fd)
{
    struct statfs fs;

    return fstatfs(fd, &fs) == 0 && (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC);
}

/* The scratch file has no name. Where the file system needs one, it is a name of ours, so that the
 * next run removes it if this one dies here. */
bool target_direct_io(int dirfd)
{
    char name[32];
    void *block = NULL;
    bool works, named;
    int fd;

    if (target_in_memory(dirfd))
        return false;
    snprintf(name, sizeof(name), "probe-%ld.kv", (long)getpid());
    fd = openat(dirfd, ".", O_RDWR | O_TMPFILE | O_CLOEXEC | O_DIRECT, 0600);
    named = fd < 0;
    if (named)
        fd = openat(dirfd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_DIRECT,
                    0600);
    if (fd < 0) {
        /* Some file systems make the file and then refuse the flag. */
        unlinkat(dirfd, name, 0);
        return false;
    }
    works = posix_memalign(&block, DEVICE_BLOCK, DEVICE_BLOCK) == 0;
    if (works) {
        memset(block, 0, DEVICE_BLOCK);
        works = pwrite(fd, block, DEVICE_BLOCK, 0) == (ssize_t)DEVICE_BLOCK &&
                pread(fd, block, DEVICE_BLOCK, 0) == (ssize_t)DEVICE_BLOCK;
    }
    free(block);
    close(fd);
    if (named)
        unlinkat(dirfd, name, 0);
    return works;
}
