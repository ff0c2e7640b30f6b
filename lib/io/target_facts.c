/* Reads the kernel's facts from the files and folders that the caller names, so that tests can hand
 * in recorded ones. What they mean for a target is target_guard.c's to say. */
#include "lib/io/target_facts.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define FACTS_NAME_CAP 8192 /* a page of sysfs, or a path with each byte as four */

typedef int (*used_fn)(void *ctx, const struct target_used *used);

const struct target_facts *target_facts_here(void)
{
    static const struct target_facts here = {.mountinfo = "/proc/self/mountinfo",
                                             .sys_dev_block = "/sys/dev/block",
                                             .sys_block = "/sys/block",
                                             .swaps = "/proc/swaps",
                                             .dev = "/dev",
                                             .sys_fs = "/sys/fs"};

    return &here;
}

/* Tables of the kernel write blanks and backslashes of a path as three octal digits. */
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

/* A file that was removed has this behind its name. A hard link to it may be left. */
static void cut_deleted(char *name)
{
    static const char mark[] = " (deleted)";
    size_t len = strlen(name), cut = sizeof(mark) - 1;

    if (len > cut && strcmp(name + len - cut, mark) == 0)
        name[len - cut] = '\0';
}

/* Nothing is known where a table is hidden, or the kernel has none. */
static bool is_hidden(int error)
{
    return error == ENOENT || error == ENOTDIR || error == EACCES || error == EPERM;
}

/* ---- the mount table ---- */

struct mount_line {
    int id;
    unsigned major, minor;
    bool has_number;
    char *where, *type, *source, *options; /* NULL: the line ends before it */
};

/* The fields of a line (Linux, Documentation/filesystems/proc.rst, section 3.5): id, parent,
 * major:minor, root, mount point, options, any number of others, "-", type, source. Changes the
 * line. False: it ends before the mount point. */
static bool mount_parse(char *line, struct mount_line *m)
{
    char *save = NULL, *field[5] = {NULL}, *rest;

    *m = (struct mount_line){0};
    for (size_t i = 0; i < 5; i++) {
        field[i] = strtok_r(i == 0 ? line : NULL, " ", &save);
        if (!field[i])
            return false;
    }
    m->id = atoi(field[0]);
    m->has_number = sscanf(field[2], "%u:%u", &m->major, &m->minor) == 2;
    m->where = field[4];
    unescape(m->where);
    rest = save ? strstr(save, " - ") : NULL;
    m->type = rest ? strtok_r(rest + 3, " ", &save) : NULL;
    m->source = m->type ? strtok_r(NULL, " \n", &save) : NULL;
    m->options = m->source ? strtok_r(NULL, " \n", &save) : NULL;
    if (m->source)
        unescape(m->source);
    if (m->options)
        unescape(m->options);
    return true;
}

/* Calls each for every line until it returns another value than 0, and returns that. */
static int mounts_visit(const struct target_facts *facts,
                        int (*each)(void *ctx, const struct mount_line *m), void *ctx)
{
    FILE *f = facts->mountinfo ? fopen(facts->mountinfo, "re") : NULL;
    struct mount_line m;
    char *line = NULL;
    size_t cap = 0;
    int rc = 0;

    if (!f)
        return facts->mountinfo ? -errno : -ENOENT;
    while (rc == 0 && (errno = 0, getline(&line, &cap, f)) > 0)
        if (mount_parse(line, &m))
            rc = each(ctx, &m);
    if (rc == 0 && (errno != 0 || ferror(f)))
        rc = errno ? -errno : -EIO;
    free(line);
    fclose(f);
    return rc;
}

struct mounted {
    dev_t dev;
    const char *path;
    char *where;
};

/* Some file systems have a device number of their own, so the source is compared too. */
static int is_mounted(void *ctx, const struct mount_line *m)
{
    const struct mounted *d = ctx;

    if (!(m->has_number && makedev(m->major, m->minor) == d->dev) &&
        !(m->source && strcmp(m->source, d->path) == 0))
        return 0;
    snprintf(d->where, PATH_MAX, "%s", m->where);
    return 1;
}

int target_facts_mounted(const struct target_facts *facts, dev_t dev, const char *path,
                         char where[PATH_MAX])
{
    struct mounted d = {.dev = dev, .path = path, .where = where};

    return mounts_visit(facts, is_mounted, &d);
}

struct mount_wanted {
    int id;
    const char *path; /* where id is negative */
    size_t len;       /* of the mount point that was found */
    struct target_mount *m;
};

/* Does the path lie in the folder? */
static bool lies_in(const char *path, const char *folder, size_t len)
{
    return strncmp(path, folder, len) == 0 &&
           (path[len] == '/' || path[len] == '\0' || folder[len - 1] == '/');
}

/* A later mount covers an earlier one at the same place. */
static int is_wanted(void *ctx, const struct mount_line *line)
{
    struct mount_wanted *w = ctx;
    size_t len = strlen(line->where);
    struct target_mount found = {0};

    if (!line->source || !line->has_number || len == 0 ||
        (w->id >= 0 ? line->id != w->id : len < w->len || !lies_in(w->path, line->where, len)))
        return 0;
    const char *options = line->options ? line->options : "";
    if (asprintf(&found.line, "%s%c%s%c%s", line->type, '\0', line->source, '\0', options) < 0)
        return -ENOMEM;
    found.dev = makedev(line->major, line->minor);
    found.type = found.line;
    found.source = found.type + strlen(found.type) + 1;
    found.options = found.source + strlen(found.source) + 1;
    target_mount_release(w->m);
    *w->m = found;
    w->len = len;
    return w->id >= 0;
}

int target_facts_mount(const struct target_facts *facts, int id, const char *path,
                       struct target_mount *m)
{
    struct mount_wanted w = {.id = id, .path = path, .m = m};

    *m = (struct target_mount){0};
    int rc = mounts_visit(facts, is_wanted, &w);
    if (rc < 0)
        target_mount_release(m);
    return rc < 0 ? rc : m->line != NULL;
}

void target_mount_release(struct target_mount *m)
{
    free(m->line);
    *m = (struct target_mount){0};
}

/* ---- what loop devices, swap space and mounts use ---- */

struct visit {
    used_fn each;
    void *ctx;
};

static int visit_name(const struct visit *v, enum target_use use, const char *name,
                      const char *where)
{
    struct target_used used = {.use = use, .name = name, .where = where};

    used.known = stat(name, &used.st) == 0;
    return v->each(v->ctx, &used);
}

/* Some file systems mount a regular file, or say which one they show. */
static int visit_mount(void *ctx, const struct mount_line *m)
{
    return m->source && m->source[0] == '/' ? visit_name(ctx, TARGET_USE_MOUNT, m->source, m->where)
                                            : 0;
}

static int visit_swaps(const struct target_facts *facts, const struct visit *v)
{
    FILE *f = facts->swaps ? fopen(facts->swaps, "re") : NULL;
    char *line = NULL, *name;
    size_t cap = 0;
    int rc = 0;

    if (!f)
        return facts->swaps && !is_hidden(errno) ? -errno : 0;
    /* The first line names the columns. */
    for (bool first = true; rc == 0 && (errno = 0, getline(&line, &cap, f)) > 0; first = false) {
        name = strtok(line, " \t\n");
        if (first || !name)
            continue;
        unescape(name);
        cut_deleted(name);
        rc = visit_name(v, TARGET_USE_SWAP, name, "");
    }
    if (rc == 0 && (errno != 0 || ferror(f)))
        rc = errno ? -errno : -EIO;
    free(line);
    fclose(f);
    return rc;
}

/* The loop device itself knows its file, whatever its name is now and here. Not everybody may ask.
 * The numbers: Linux, drivers/block/loop.c; they are coded as user space has them. */
static bool ask_loop(const struct target_facts *facts, const char *disk, struct stat *st)
{
    char node[PATH_MAX];
    struct loop_info64 info;
    int fd, rc;

    if (!facts->dev || snprintf(node, sizeof(node), "%s/%s", facts->dev, disk) >= (int)sizeof(node))
        return false;
    fd = open(node, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    rc = fd < 0 ? -1 : ioctl(fd, LOOP_GET_STATUS64, &info);
    if (fd >= 0)
        close(fd);
    if (rc < 0)
        return false;
    if (st->st_dev == (dev_t)info.lo_device && st->st_ino == (ino_t)info.lo_inode)
        return true; /* the name leads there */
    *st = (struct stat){.st_dev = (dev_t)info.lo_device,
                        .st_ino = (ino_t)info.lo_inode,
                        .st_rdev = (dev_t)info.lo_rdevice,
                        .st_mode = info.lo_rdevice ? S_IFBLK : S_IFREG};
    return true;
}

/* The whole of a file of sysfs without its last newline. Length, or negative errno. */
static ssize_t read_whole(const char *path, char *out, size_t cap)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, out, cap - 1), rc = n < 0 ? -errno : n;

    if (fd >= 0)
        close(fd);
    out[rc > 0 ? rc : 0] = '\0';
    if (rc > 0 && out[rc - 1] == '\n')
        out[--rc] = '\0';
    return rc;
}

int target_facts_loop(const struct target_facts *facts, const char *disk, used_fn each, void *ctx)
{
    char path[PATH_MAX], name[FACTS_NAME_CAP];
    struct target_used used = {.use = TARGET_USE_LOOP, .name = name, .where = disk};
    ssize_t n;

    if (!facts->sys_block || snprintf(path, sizeof(path), "%s/%s/loop/backing_file",
                                      facts->sys_block, disk) >= (int)sizeof(path))
        return 0;
    n = read_whole(path, name, sizeof(name));
    if (n <= 0) /* ENXIO, or nothing: detached at this moment */
        return n == 0 || n == -ENXIO || is_hidden((int)-n) ? 0 : (int)n;
    cut_deleted(name);
    used.known = stat(name, &used.st) == 0;
    used.known = ask_loop(facts, disk, &used.st) || used.known;
    return each(ctx, &used);
}

static int visit_loops(const struct target_facts *facts, const struct visit *v)
{
    DIR *d = facts->sys_block ? opendir(facts->sys_block) : NULL;
    struct dirent *de;
    int rc = 0;

    if (!d)
        return facts->sys_block && !is_hidden(errno) ? -errno : 0;
    while (rc == 0 && (errno = 0, de = readdir(d)) != NULL)
        if (de->d_name[0] != '.')
            rc = target_facts_loop(facts, de->d_name, v->each, v->ctx);
    if (rc == 0 && errno != 0)
        rc = -errno;
    closedir(d);
    return rc;
}

int target_facts_used(const struct target_facts *facts, used_fn each, void *ctx)
{
    struct visit v = {.each = each, .ctx = ctx};
    int rc = visit_loops(facts, &v);

    if (rc == 0)
        rc = visit_swaps(facts, &v);
    if (rc == 0)
        rc = mounts_visit(facts, visit_mount, &v);
    return rc < 0 && is_hidden(-rc) ? 0 : rc;
}

void target_facts_line(const char *path, char *out, size_t cap)
{
    FILE *f = fopen(path, "re");
    size_t len, lead;

    out[0] = '\0';
    if (!f)
        return;
    if (!fgets(out, (int)cap, f))
        out[0] = '\0';
    fclose(f);
    len = strlen(out);
    while (len > 0 && isspace((unsigned char)out[len - 1]))
        out[--len] = '\0';
    lead = strspn(out, " \t");
    memmove(out, out + lead, len - lead + 1);
}

/* ---- what is built on a disk ---- */

/* The use of a disk or partition, whose folder has dev and holders/. */
static bool above(const struct target_facts *facts, const char *folder, char *text, size_t cap)
{
    char path[PATH_MAX], line[64], where[PATH_MAX];
    unsigned ma, mi;
    struct dirent *de;
    DIR *d;

    if (snprintf(path, sizeof(path), "%s/dev", folder) < (int)sizeof(path) &&
        read_whole(path, line, sizeof(line)) > 0 && sscanf(line, "%u:%u", &ma, &mi) == 2 &&
        target_facts_mounted(facts, makedev(ma, mi), "", where) == 1) {
        snprintf(text, cap, " (mounted on %s)", where);
        return true;
    }
    d = snprintf(path, sizeof(path), "%s/holders", folder) < (int)sizeof(path) ? opendir(path)
                                                                               : NULL;
    while (d && !text[0] && (de = readdir(d)) != NULL)
        if (de->d_name[0] != '.')
            snprintf(text, cap, " (held by %s)", de->d_name);
    if (d)
        closedir(d);
    return text[0] != '\0';
}

void target_facts_above(const struct target_facts *facts, const char *disk, char *text, size_t cap)
{
    char folder[PATH_MAX / 2], part[PATH_MAX];
    struct dirent *de;
    DIR *d;

    text[0] = '\0';
    if (!facts->sys_block ||
        snprintf(folder, sizeof(folder), "%s/%s", facts->sys_block, disk) >= (int)sizeof(folder))
        return;
    d = above(facts, folder, text, cap) ? NULL : opendir(folder);
    while (d && !text[0] && (de = readdir(d)) != NULL)
        if (strncmp(de->d_name, disk, strlen(disk)) == 0 &&
            snprintf(part, sizeof(part), "%s/%s", folder, de->d_name) < (int)sizeof(part))
            above(facts, part, text, cap);
    if (d)
        closedir(d);
}
