/* The guards in front of every target. They read the kernel's facts from a mount table and a folder
 * of sysfs that the caller names, so that tests can hand in recorded ones. Opening the target is
 * left to target_dir.c and target_file.c. */
#include "lib/io/target_guard.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <linux/magic.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/units.h"

#define GUARD_WAIT_NS  1000000000LL /* in all, and between two tries */
#define GUARD_TRY_NS   10000000LL
#define GUARD_LINE_CAP 64
#define GUARD_SECTOR   512u

/* Not in all versions of linux/magic.h. */
#ifndef CIFS_SUPER_MAGIC
#define CIFS_SUPER_MAGIC 0xFF534D42u
#endif
#ifndef SMB2_SUPER_MAGIC
#define SMB2_SUPER_MAGIC 0xFE534D42u
#endif
#ifndef EXFAT_SUPER_MAGIC
#define EXFAT_SUPER_MAGIC 0x2011BAB0u
#endif
#ifndef CEPH_SUPER_MAGIC
#define CEPH_SUPER_MAGIC 0x00c36400u
#endif

/* Offsets in a master boot record: UEFI Specification 2.10, section 5.2.1. */
#define MBR_SIGNATURE_AT 510u
#define MBR_ENTRIES_AT   446u
#define MBR_ENTRY_BYTES  16u
#define MBR_ENTRIES      4u

static int refuse(struct err *e, int code, const char *path, const char *why, const char *who)
{
    return err_set(e, code, ERR_TARGET, path, "refused: %s%s", why, who);
}

/* ---- system directories ---- */

/* Everything below these belongs to the system or is its interface. */
static const char *const system_trees[] = {"/bin",   "/boot",   "/dev",  "/etc",  "/lib", "/lib32",
                                           "/lib64", "/libx32", "/proc", "/sbin", "/sys", "/usr"};
/* Only the sub-directories of these are somebody's to use. */
static const char *const system_dirs[] = {
    "/",        "/dev/shm",  "/home",    "/lost+found", "/media",     "/opt",     "/run",
    "/srv",     "/tmp",      "/var",     "/var/cache",  "/var/lib",   "/var/log", "/var/spool",
    "/var/tmp", "/run/user", "/run/shm", "/run/lock",   "/run/media",
};

static bool path_is_below(const char *path, const char *tree)
{
    size_t len = strlen(tree);

    return strncmp(path, tree, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

/* The tree of the system that path lies in, or is; NULL: none. */
static const char *system_tree(const char *path)
{
    /* Memory for everybody's use: the one place below /dev for data. */
    if (path_is_below(path, "/dev/shm"))
        return NULL;
    for (size_t i = 0; i < sizeof(system_trees) / sizeof(system_trees[0]); i++)
        if (path_is_below(path, system_trees[i]))
            return system_trees[i];
    return NULL;
}

static bool is_system_dir(const char *path)
{
    for (size_t i = 0; i < sizeof(system_dirs) / sizeof(system_dirs[0]); i++)
        if (strcmp(path, system_dirs[i]) == 0)
            return true;
    return false;
}

static bool is_same_place(const char *path, const char *other)
{
    char real[PATH_MAX];

    return other && realpath(other, real) && strcmp(path, real) == 0;
}

bool target_guard_home(const char *path)
{
    bool found = strcmp(path, "/root") == 0 || is_same_place(path, getenv("HOME"));
    FILE *f = found ? NULL : fopen("/etc/passwd", "re");
    const struct passwd *user;

    while (f && !found && (user = fgetpwent(f)) != NULL)
        found = is_same_place(path, user->pw_dir);
    if (f)
        fclose(f);
    return found;
}

/* ---- other people's folders ---- */

/* Where the owner that the kernel shows is not who made the file: the server or a mount option
 * decides. */
static bool owners_are_mapped(int fd)
{
    static const uint32_t kinds[] = {NFS_SUPER_MAGIC,   SMB_SUPER_MAGIC,   SMB2_SUPER_MAGIC,
                                     CIFS_SUPER_MAGIC,  CEPH_SUPER_MAGIC,  FUSE_SUPER_MAGIC,
                                     MSDOS_SUPER_MAGIC, EXFAT_SUPER_MAGIC, V9FS_MAGIC};
    struct statfs fs;

    if (fstatfs(fd, &fs) < 0)
        return false;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if ((uint32_t)fs.f_type == kinds[i])
            return true;
    return false;
}

bool target_guard_owner(int fd, uid_t owner)
{
    const char *sudo = geteuid() == 0 ? getenv("SUDO_UID") : NULL;
    uint64_t uid;

    if (owner == geteuid() || owner == 0)
        return true;
    if (sudo && units_parse_u64(sudo, &uid) == 0 && uid == owner)
        return true;
    return owners_are_mapped(fd);
}

int target_guard_open(int dir, const char *name, int flags, uint64_t *bytes)
{
    /* Without O_NONBLOCK a pipe is waited for until somebody writes to it. */
    int fd = openat(dir, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat st;

    if (fd < 0) { /* what is no file is refused in many ways */
        int code = -errno;

        return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(st.st_mode) ? -EISNAM
                                                                                         : code;
    }
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink > 1 ||
        !target_guard_owner(fd, st.st_uid)) {
        close(fd);
        return -EISNAM;
    }
    *bytes = (uint64_t)st.st_size;
    return fd;
}

/* Refuses a folder, or the folder of a file, that is another user's. A path that is not there is
 * judged by the folder that it would be made in. */
static int refuse_others(const char *real, const char *path, struct err *e)
{
    char folder[PATH_MAX];
    struct stat st;
    int fd, ret = 0;

    snprintf(folder, sizeof(folder), "%s", real);
    fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR)) {
        char *last = strrchr(folder, '/');
        last[last == folder] = '\0';
        fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    }
    if (fd < 0 || fstat(fd, &st) < 0)
        ret = err_errno(e, -errno, ERR_TARGET, path, "%s cannot be examined", folder);
    else if (!target_guard_owner(fd, st.st_uid))
        ret =
            err_set(e, EACCES, ERR_TARGET, path, "refused: %s belongs to another user (number %u)",
                    folder, (unsigned)st.st_uid);
    if (fd >= 0)
        close(fd);
    return ret;
}

/* ---- paths ---- */

/* Resolves the links of path; when path does not exist, those of its parent. */
static int path_resolve(const char *path, char out[PATH_MAX])
{
    char parent[PATH_MAX];
    const char *last;
    size_t len = strlen(path);

    if (realpath(path, out))
        return 0;
    if (errno != ENOENT || len == 0 || len >= sizeof(parent))
        return len >= sizeof(parent) ? -ENAMETOOLONG : -errno;
    memcpy(parent, path, len + 1);
    while (len > 1 && parent[len - 1] == '/')
        parent[--len] = '\0';
    last = strrchr(parent, '/');
    last = last ? last + 1 : parent;
    len = (size_t)(last - parent);
    path += len; /* the last part; its slashes are cut below */
    parent[len] = '\0';
    if (!realpath(len ? parent : ".", out))
        return -errno;
    len = strlen(out);
    if (snprintf(out + len, PATH_MAX - len, "%s%.*s", len > 1 ? "/" : "", (int)strcspn(path, "/"),
                 path) >= (int)(PATH_MAX - len))
        return -ENAMETOOLONG;
    return 0;
}

int target_guard_path(const char *path, struct err *e)
{
    char real[PATH_MAX];
    const char *tree;
    int ret = path_resolve(path, real);

    if (ret == -ENOENT) {
        snprintf(real, sizeof(real), "%s", path);
        return err_set(e, ret, ERR_TARGET, path, "parent directory %s does not exist",
                       dirname(real));
    }
    if (ret < 0)
        return err_errno(e, ret, ERR_TARGET, path, "cannot be resolved");
    tree = system_tree(real);
    if (tree)
        return err_set(e, EACCES, ERR_TARGET, path, "refused: %s %s the system directory %s", real,
                       strcmp(real, tree) == 0 ? "is" : "lies in", tree);
    if (is_system_dir(real))
        return err_set(e, EACCES, ERR_TARGET, path,
                       "refused: %s is a system directory; name a directory below it", real);
    if (target_guard_home(real))
        return err_set(e, EACCES, ERR_TARGET, path,
                       "refused: %s is a home folder; name a directory below it", real);
    return refuse_others(real, path, e);
}

/* ---- held by another process ---- */

bool target_guard_wait(int64_t *until_ns)
{
    int64_t now = clock_now_ns();

    if (*until_ns == 0)
        *until_ns = now + GUARD_WAIT_NS;
    return now < *until_ns && clock_sleep_until(now + GUARD_TRY_NS, 0) == 0;
}

int target_guard_lock(int fd)
{
    int64_t until_ns = 0;
    int ret;

    do
        ret = flock(fd, LOCK_EX | LOCK_NB) < 0 ? -errno : 0;
    while (ret == -EWOULDBLOCK && target_guard_wait(&until_ns));
    return ret;
}

/* ---- devices: mounted ---- */

const struct target_facts *target_facts_here(void)
{
    static const struct target_facts here = {.mountinfo = "/proc/self/mountinfo",
                                             .sys_dev_block = "/sys/dev/block"};

    return &here;
}

/* The mount table writes blanks and backslashes of a path as three octal digits. */
static void unescape(char *s)
{
    char *to = s;

    while (*s) {
        if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' &&
            s[3] >= '0' && s[3] <= '7') {
            *to++ = (char)((s[1] - '0') * 64 + (s[2] - '0') * 8 + (s[3] - '0'));
            s += 4;
        } else {
            *to++ = *s++;
        }
    }
    *to = '\0';
}

/* Is this line about the device? The fields (Linux, Documentation/filesystems/proc.rst, section
 * 3.5): id, parent, major:minor, root, mount point, options, any number of others, "-", type,
 * source. Some file systems have a device number of their own, so the source is compared too.
 * *where: the mount point. Changes the line. */
static bool line_names(char *line, dev_t dev, const char *path, char **where)
{
    char *save = NULL, *field[5] = {NULL}, *source;
    unsigned ma, mi;
    bool same;

    for (size_t i = 0; i < 5; i++) {
        field[i] = strtok_r(i == 0 ? line : NULL, " ", &save);
        if (!field[i])
            return false;
    }
    same = sscanf(field[2], "%u:%u", &ma, &mi) == 2 && makedev(ma, mi) == dev;
    source = save ? strstr(save, " - ") : NULL;
    if (!same && source) {
        source = strtok_r(source + 3, " ", &save) ? strtok_r(NULL, " \n", &save) : NULL;
        if (source)
            unescape(source);
        same = source && strcmp(source, path) == 0;
    }
    unescape(field[4]);
    *where = field[4];
    return same;
}

static int refuse_mounted(const struct target_facts *facts, dev_t dev, const char *path,
                          struct err *e)
{
    FILE *f = fopen(facts->mountinfo, "re");
    char *line = NULL, *where;
    size_t cap = 0;
    int ret = 0;

    if (!f)
        return err_errno(e, -errno, ERR_TARGET, path,
                         "refused: cannot tell what is mounted, because %s", facts->mountinfo);
    while (ret == 0 && (errno = 0, getline(&line, &cap, f)) > 0)
        if (line_names(line, dev, path, &where))
            ret = refuse(e, EBUSY, path, "it is mounted on ", where);
    if (ret == 0 && (errno != 0 || ferror(f)))
        ret = err_errno(e, errno ? -errno : -EIO, ERR_TARGET, path,
                        "refused: cannot tell what is mounted, because %s", facts->mountinfo);
    free(line);
    fclose(f);
    return ret;
}

/* ---- devices: held, partitioned or read-only ---- */

static bool any_entry(const char *folder, const char *name)
{
    (void)folder;
    return strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static bool is_partition(const char *folder, const char *name)
{
    char path[PATH_MAX];

    return any_entry(folder, name) &&
           snprintf(path, sizeof(path), "%s/%s/partition", folder, name) < (int)sizeof(path) &&
           access(path, F_OK) == 0;
}

/* Refuses when folder has an entry that is wanted. A folder that cannot be read refuses too:
 * nothing is then known. */
static int refuse_entry(const char *folder, bool (*wanted)(const char *, const char *),
                        const char *path, const char *why, struct err *e)
{
    DIR *d = opendir(folder);
    struct dirent *de;
    int ret = 0;

    if (!d)
        return err_errno(e, -errno, ERR_TARGET, path,
                         "refused: cannot tell whether it is in use, because %s", folder);
    while (ret == 0 && (errno = 0, de = readdir(d)) != NULL)
        if (wanted(folder, de->d_name))
            ret = refuse(e, EBUSY, path, why, de->d_name);
    if (ret == 0 && errno != 0)
        ret = err_errno(e, -errno, ERR_TARGET, path,
                        "refused: cannot tell whether it is in use, because %s", folder);
    closedir(d);
    return ret;
}

int target_guard_device(const struct target_facts *facts, dev_t dev, const char *path,
                        struct err *e)
{
    char folder[PATH_MAX / 2], name[PATH_MAX / 2 + GUARD_LINE_CAP];
    int ret = refuse_mounted(facts, dev, path, e);
    FILE *f;

    if (ret < 0)
        return ret;
    snprintf(folder, sizeof(folder), "%s/%u:%u", facts->sys_dev_block, major(dev), minor(dev));
    snprintf(name, sizeof(name), "%s/holders", folder);
    ret = refuse_entry(name, any_entry, path, "it is in use by ", e);
    if (ret == 0)
        ret = refuse_entry(folder, is_partition, path, "it is partitioned: it has ", e);
    if (ret < 0)
        return ret;
    snprintf(name, sizeof(name), "%s/ro", folder);
    f = fopen(name, "re");
    if (f && fgetc(f) == '1')
        ret = refuse(e, EROFS, path, "it is read-only", "");
    if (f)
        fclose(f);
    return ret;
}

/* ---- devices: a partition table that the kernel was never told to read ---- */

static uint32_t le32(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Boot sectors of file systems carry the same signature. But their code seldom looks like four
 * entries that are all marked active or inactive, with one of them in use. */
static bool has_mbr(const unsigned char *sector)
{
    bool used = false;

    if (sector[MBR_SIGNATURE_AT] != 0x55 || sector[MBR_SIGNATURE_AT + 1] != 0xAA)
        return false;
    for (unsigned i = 0; i < MBR_ENTRIES; i++) {
        const unsigned char *entry = sector + MBR_ENTRIES_AT + (size_t)i * MBR_ENTRY_BYTES;

        if (entry[0] != 0x00 && entry[0] != 0x80)
            return false;
        used = used || (entry[4] != 0 && le32(entry + 8) != 0 && le32(entry + 12) != 0);
    }
    return used;
}

int target_guard_table(const void *head, size_t len, const char *path, struct err *e)
{
    static const char way_out[] = " of partitions; wipefs --all removes it";
    const unsigned char *p = head;

    /* The header of a GPT is in the second sector, of 512 or of 4,096 bytes. */
    for (size_t at = GUARD_SECTOR; at + 8 <= len; at *= 8)
        if (memcmp(p + at, "EFI PART", 8) == 0)
            return refuse(e, EBUSY, path, "it holds a partition table (GPT)", way_out);
    if (len >= GUARD_SECTOR && has_mbr(p))
        return refuse(e, EBUSY, path, "it holds a partition table (MBR)", way_out);
    return 0;
}
