/* The guards in front of every target. They judge what target_facts.c reads: the kernel's facts, or
 * recorded ones that a test hands in. Opening the target is left to target_dir.c and target_file.c.
 */
#include "lib/io/target_guard.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <linux/magic.h>
#include <pwd.h>
#include <signal.h>
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
#define GUARD_LAYERS   16 /* of devices that are made of devices */
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
    int fd, rc = 0;

    snprintf(folder, sizeof(folder), "%s", real);
    fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR)) {
        char *last = strrchr(folder, '/');
        last[last == folder] = '\0';
        fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    }
    if (fd < 0 || fstat(fd, &st) < 0)
        rc = err_errno(e, -errno, ERR_TARGET, path, "%s cannot be examined", folder);
    else if (!target_guard_owner(fd, st.st_uid))
        rc = err_set(e, EACCES, ERR_TARGET, path, "refused: %s belongs to another user (number %u)",
                     folder, (unsigned)st.st_uid);
    if (fd >= 0)
        close(fd);
    return rc;
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
    int rc = path_resolve(path, real);

    if (rc == -ENOENT) {
        snprintf(real, sizeof(real), "%s", path);
        return err_set(e, rc, ERR_TARGET, path, "parent directory %s does not exist",
                       dirname(real));
    }
    if (rc < 0)
        return err_errno(e, rc, ERR_TARGET, path, "cannot be resolved");
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
    int rc;

    do
        rc = flock(fd, LOCK_EX | LOCK_NB) < 0 ? -errno : 0;
    while (rc == -EWOULDBLOCK && target_guard_wait(&until_ns));
    return rc;
}

/* ---- devices: mounted ---- */

static int refuse_mounted(const struct target_facts *facts, dev_t dev, const char *path,
                          struct err *e)
{
    char where[PATH_MAX];
    int rc = target_facts_mounted(facts, dev, path, where);

    if (rc < 0)
        return err_errno(e, rc, ERR_TARGET, path,
                         "refused: cannot tell what is mounted, because %s", facts->mountinfo);
    return rc ? refuse(e, EBUSY, path, "it is mounted on ", where) : 0;
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
    int rc = 0;

    if (!d)
        return err_errno(e, -errno, ERR_TARGET, path,
                         "refused: cannot tell whether it is in use, because %s", folder);
    while (rc == 0 && (errno = 0, de = readdir(d)) != NULL)
        if (wanted(folder, de->d_name))
            rc = refuse(e, EBUSY, path, why, de->d_name);
    if (rc == 0 && errno != 0)
        rc = err_errno(e, -errno, ERR_TARGET, path,
                       "refused: cannot tell whether it is in use, because %s", folder);
    closedir(d);
    return rc;
}

/* Mounted, held, partitioned or read-only. */
static int refuse_held(const struct target_facts *facts, dev_t dev, const char *path, struct err *e)
{
    char folder[PATH_MAX / 2], name[PATH_MAX / 2 + GUARD_LINE_CAP];
    int rc = refuse_mounted(facts, dev, path, e);
    FILE *f;

    if (rc < 0)
        return rc;
    snprintf(folder, sizeof(folder), "%s/%u:%u", facts->sys_dev_block, major(dev), minor(dev));
    snprintf(name, sizeof(name), "%s/holders", folder);
    rc = refuse_entry(name, any_entry, path, "it is in use by ", e);
    if (rc == 0)
        rc = refuse_entry(folder, is_partition, path, "it is partitioned: it has ", e);
    if (rc < 0)
        return rc;
    snprintf(name, sizeof(name), "%s/ro", folder);
    f = fopen(name, "re");
    if (f && fgetc(f) == '1')
        rc = refuse(e, EROFS, path, "it is read-only", "");
    if (f)
        fclose(f);
    return rc;
}

/* ---- files and devices: in use through another device, or by another process ---- */

/* A file or device that writes would reach, and whose other users are looked for. */
struct asked {
    const struct target_facts *facts;
    const struct stat *st;
    const char *path; /* of the target */
    const char *name; /* of this file or device, which may lie below the target */
    const char *but;  /* the loop device that the writes go through; "": none */
    struct err *e;
};

static const char *base_name(const char *path)
{
    const char *last = strrchr(path, '/');

    return last ? last + 1 : path;
}

/* For people: "the image of /dev/loop3 (mounted on /mnt)". */
static void describe(const struct target_facts *facts, const struct target_used *used, char *text,
                     size_t cap)
{
    char above[PATH_MAX];

    if (used->use == TARGET_USE_SWAP) {
        snprintf(text, cap, "swap space in use");
    } else if (used->use == TARGET_USE_MOUNT) {
        snprintf(text, cap, "mounted on %s", used->where);
    } else {
        target_facts_above(facts, used->where, above, sizeof(above));
        snprintf(text, cap, "the image of /dev/%s%s", used->where, above);
    }
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
    if (S_ISBLK(a->st_mode) && S_ISBLK(b->st_mode))
        return a->st_rdev == b->st_rdev;
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* 1 and an error when used is the file that is asked for. */
static int refuse_user(void *ctx, const struct target_used *used)
{
    const struct asked *a = ctx;
    char text[PATH_MAX + GUARD_LINE_CAP];
    bool may_be = !used->known && used->use != TARGET_USE_MOUNT &&
                  strcmp(base_name(used->name), base_name(a->name)) == 0;

    if (used->use == TARGET_USE_LOOP && strcmp(used->where, a->but) == 0)
        return 0;
    if (used->known ? !is_same_file(a->st, &used->st) : !may_be)
        return 0;
    describe(a->facts, used, text, sizeof(text));
    if (may_be) /* the name is of another mount namespace, or of a folder that is closed to us */
        err_set(a->e, EBUSY, ERR_TARGET, a->path,
                "refused: %s may be %s: that uses %s, which this process cannot examine", a->name,
                text, used->name);
    else if (strcmp(a->name, a->path) == 0)
        err_set(a->e, EBUSY, ERR_TARGET, a->path, "refused: it is %s", text);
    else
        err_set(a->e, EBUSY, ERR_TARGET, a->path, "refused: it writes to %s, which is %s", a->name,
                text);
    return 1;
}

/* The result of target_facts_used as an error: its visitor refuses with 1, the error set. */
static int used_result(int rc, const char *path, struct err *e)
{
    if (rc > 0)
        return -EBUSY;
    return rc == 0 ? 0
                   : err_errno(e, rc, ERR_TARGET, path,
                               "refused: cannot tell what loop devices and swap space use");
}

static int refuse_users(const struct asked *a)
{
    return used_result(target_facts_used(a->facts, refuse_user, (void *)a), a->path, a->e);
}

struct asked_folder {
    const struct target_facts *facts;
    const char *path;
    struct stat st;
    struct err *e;
};

/* Does the file of that name lie in the folder, at most two levels down, whatever the folder is
 * called there? */
static bool lies_in(const struct asked_folder *f, const char *name)
{
    char up[PATH_MAX];
    struct stat st;

    if (snprintf(up, sizeof(up), "%s", name) >= (int)sizeof(up))
        return false;
    for (unsigned level = 0; level < 2 && strlen(up) > 1; level++) {
        const char *folder = dirname(up);

        memmove(up, folder, strlen(folder) + 1);
        if (stat(up, &st) == 0 && is_same_file(&f->st, &st))
            return true;
    }
    return path_is_below(name, f->path);
}

static int refuse_inside(void *ctx, const struct target_used *used)
{
    const struct asked_folder *f = ctx;
    char text[PATH_MAX + GUARD_LINE_CAP];

    if ((used->known && !S_ISREG(used->st.st_mode)) || !lies_in(f, used->name))
        return 0;
    describe(f->facts, used, text, sizeof(text));
    err_set(f->e, EBUSY, ERR_TARGET, f->path, "refused: its file %s is %s", base_name(used->name),
            text);
    return 1;
}

int target_guard_folder(const struct target_facts *facts, const char *path, struct err *e)
{
    struct asked_folder f = {.facts = facts, .path = path, .e = e};

    if (stat(path, &f.st) < 0)
        return err_errno(e, -errno, ERR_TARGET, path, "cannot be examined");
    return used_result(target_facts_used(facts, refuse_inside, &f), path, e);
}

/* Does another process hold a lock on a part of it? Virtual machines lock their images so. */
static bool is_locked(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

/* The kernel grants a lease for writing only on a file that nobody else has open: no process, no
 * virtual machine, no loop device, export or swap space, of whichever namespace. It is given back
 * at once; whoever opens the file in between waits so long. 0: nobody has it open, or the file
 * system knows no leases, or the file is not ours to ask about; -EBUSY. */
static int try_lease(int fd)
{
    /* The signal of an opener in between: by default SIGIO, which kills. */
    if (fcntl(fd, F_SETSIG, SIGURG) < 0)
        return 0;
    int rc = fcntl(fd, F_SETLEASE, F_WRLCK) == 0 ? 0 : -errno;

    if (rc == 0)
        fcntl(fd, F_SETLEASE, F_UNLCK);
    fcntl(fd, F_SETSIG, 0);
    return rc == -EAGAIN ? -EBUSY : 0;
}

int target_guard_unused(const struct target_facts *facts, int fd, const char *path, struct err *e)
{
    struct stat st;
    struct asked a = {.facts = facts, .st = &st, .path = path, .name = path, .but = "", .e = e};
    int64_t until_ns = 0;
    int rc;

    if (fstat(fd, &st) < 0)
        return err_errno(e, -errno, ERR_TARGET, path, "cannot be examined");
    rc = refuse_users(&a);
    if (rc < 0)
        return rc;
    if (is_locked(fd))
        return refuse(e, EBUSY, path, "another process holds a lock on a part of it",
                      ", as a virtual machine does on its image");
    while ((rc = try_lease(fd)) == -EBUSY && target_guard_wait(&until_ns))
        ;
    return rc == 0
               ? 0
               : refuse(e, EBUSY, path, "it is open elsewhere",
                        ": in another process or a virtual machine, or as the image of a device");
}

/* ---- devices: what lies below and above them ---- */

/* The way down from a target to the devices below it. */
struct below {
    const struct target_facts *facts;
    const char *path; /* of the target */
    const char *disk; /* the loop device one comes from */
    unsigned depth;
    struct err *e;
};

static int guard_below(const struct below *from, dev_t dev, const char *name);

/* The file or device that a loop device is attached to: nobody else may use it. */
static int guard_image(void *ctx, const struct target_used *used)
{
    const struct below *b = ctx;
    struct asked a = {.facts = b->facts,
                      .st = &used->st,
                      .path = b->path,
                      .name = used->name,
                      .but = b->disk,
                      .e = b->e};

    if (!used->known)
        return err_set(b->e, EBUSY, ERR_TARGET, b->path,
                       "refused: cannot tell who else uses %s, which /dev/%s writes to", used->name,
                       b->disk);
    int rc = refuse_users(&a);
    if (rc == 0 && S_ISBLK(used->st.st_mode))
        rc = refuse_held(b->facts, used->st.st_rdev, used->name, b->e);
    if (rc == 0 && S_ISBLK(used->st.st_mode))
        rc = guard_below(b, used->st.st_rdev, used->name);
    return rc;
}

/* The devices that this one, a RAID or a volume, is made of: it has claimed them for itself, but
 * what lies below them it has not. */
static int guard_slaves(const struct below *b, const char *folder)
{
    char path[PATH_MAX], line[GUARD_LINE_CAP];
    unsigned ma, mi;
    struct dirent *de;
    DIR *d = snprintf(path, sizeof(path), "%s/slaves", folder) < (int)sizeof(path) ? opendir(path)
                                                                                   : NULL;
    int rc = 0;

    while (d && rc == 0 && (de = readdir(d)) != NULL) {
        FILE *f = NULL;

        if (de->d_name[0] != '.' && snprintf(path, sizeof(path), "%s/slaves/%s/dev", folder,
                                             de->d_name) < (int)sizeof(path))
            f = fopen(path, "re");
        if (f && fgets(line, sizeof(line), f) && sscanf(line, "%u:%u", &ma, &mi) == 2)
            rc = guard_below(b, makedev(ma, mi), de->d_name);
        if (f)
            fclose(f);
    }
    if (d)
        closedir(d);
    return rc;
}

/* No loop device or swap space uses the device, but the loop device one comes from; and
 * nobody else uses what it is made of. */
static int guard_below(const struct below *from, dev_t dev, const char *name)
{
    struct stat st = {.st_mode = S_IFBLK, .st_rdev = dev};
    struct below b = *from;
    struct asked a = {
        .facts = b.facts, .st = &st, .path = b.path, .name = name, .but = b.disk, .e = b.e};
    char link[PATH_MAX / 2], folder[PATH_MAX], part[PATH_MAX + GUARD_LINE_CAP];
    int rc = refuse_users(&a);

    if (rc < 0)
        return rc;
    if (++b.depth > GUARD_LAYERS)
        return refuse(b.e, EBUSY, b.path, "it has too many layers of devices below it", "");
    snprintf(link, sizeof(link), "%s/%u:%u", b.facts->sys_dev_block, major(dev), minor(dev));
    if (!realpath(link, folder))
        return 0; /* the target's own folder has been read before */
    snprintf(part, sizeof(part), "%s/partition", folder);
    if (access(part, F_OK) == 0)
        *strrchr(folder, '/') = '\0';
    b.disk = base_name(folder);
    rc = target_facts_loop(b.facts, b.disk, guard_image, &b);
    return rc < 0 ? rc : guard_slaves(&b, folder);
}

int target_guard_device(const struct target_facts *facts, dev_t dev, const char *path,
                        struct err *e)
{
    const struct below b = {.facts = facts, .path = path, .disk = "", .e = e};
    int rc = refuse_held(facts, dev, path, e);

    return rc < 0 ? rc : guard_below(&b, dev, path);
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
