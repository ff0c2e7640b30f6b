/* Beside target_device.c, which asks for the layers of a target: reads them from the mount table
 * and from sysfs, or from recorded ones that a test hands in. */
#include "lib/io/target_layers.h"

#include <dirent.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "lib/text/text.h"

#define LAYERS_DEPTH 16 /* a loop device in a loop device in ... */

struct walk {
    const struct target_facts *facts;
    struct target_layers *l;
    unsigned depth;
    int attributes; /* of the folder in the next mount; 0: not told */
};

static void follow_path(struct walk *w, const char *path);

/* ---- block devices ---- */

/* Memory in the form of a disk: brd, zram, null_blk, and scsi_debug by its model. */
static bool disk_is_memory(const char *disk, const char *model)
{
    return strncmp(disk, "ram", 3) == 0 || strncmp(disk, "zram", 4) == 0 ||
           strncmp(disk, "nullb", 5) == 0 || strcmp(model, "scsi_debug") == 0;
}

static bool disk_is_remote(const char *disk)
{
    return strncmp(disk, "nbd", 3) == 0 || strncmp(disk, "rbd", 3) == 0;
}

static void add_disk(struct walk *w, const char *disk)
{
    struct target_layers *l = w->l;

    for (unsigned i = 0; i < l->disks; i++)
        if (strcmp(l->disk[i], disk) == 0)
            return;
    if (l->disks == TARGET_LAYERS_DISKS)
        l->complete = false;
    else
        snprintf(l->disk[l->disks++], TARGET_LAYERS_NAME, "%s", disk);
}

bool target_layers_folder(const char *path, char real[PATH_MAX])
{
    char part[PATH_MAX + 16];

    if (!realpath(path, real))
        return false;
    snprintf(part, sizeof(part), "%s/partition", real);
    if (access(part, F_OK) == 0)
        *strrchr(real, '/') = '\0';
    return true;
}

static void follow_folder(struct walk *w, const char *path);

/* Follows a device down to those it is built on: "slaves" of sysfs are links to them. Their number.
 */
static unsigned follow_slaves(struct walk *w, const char *folder)
{
    char path[PATH_MAX], below[PATH_MAX * 2];
    struct dirent *de;
    unsigned n = 0;

    snprintf(path, sizeof(path), "%.*s/slaves", PATH_MAX - 8, folder);
    DIR *d = opendir(path);
    while (d && (de = readdir(d)) != NULL) {
        if (de->d_name[0] == '.')
            continue;
        text_append(w->l->text, sizeof(w->l->text), "%s", n++ ? ", " : " on ");
        snprintf(below, sizeof(below), "%s/%s", path, de->d_name);
        follow_folder(w, below);
    }
    if (d)
        closedir(d);
    return n;
}

/* Follows a loop device to the file or device that it is attached to. */
static int follow_loop(void *ctx, const struct target_used *used)
{
    struct walk *w = ctx;
    char path[PATH_MAX], real[PATH_MAX], dio[8] = "";

    snprintf(path, sizeof(path), "%s/%s/loop/dio", w->facts->sys_block, used->where);
    target_facts_line(path, dio, sizeof(dio));
    if (dio[0] != '1') {
        w->l->cache = TARGET_CACHE_LOOP;
        snprintf(w->l->cache_of, sizeof(w->l->cache_of), "%s", used->where);
        text_append(w->l->text, sizeof(w->l->text), " (no direct I/O)");
    }
    text_append(w->l->text, sizeof(w->l->text), " on ");
    if (used->name[0] == '/' && strncmp(used->name, "/dev/", 5) != 0) {
        follow_path(w, used->name);
        return 1;
    }
    /* A device, by its number or, in recorded facts, its name. */
    if (used->known && S_ISBLK(used->st.st_mode))
        snprintf(path, sizeof(path), "%s/%u:%u", w->facts->sys_dev_block, major(used->st.st_rdev),
                 minor(used->st.st_rdev));
    else
        snprintf(path, sizeof(path), "%s/%s", w->facts->sys_block, strrchr(used->name, '/') + 1);
    if (target_layers_folder(path, real))
        follow_folder(w, path);
    else
        follow_path(w, used->name);
    return 1;
}

/* Levels of RAID that keep more than the data; and those of LVM, which name their parts so. */
static bool has_copies(const char *folder)
{
    static const char *const levels[] = {"raid1", "raid10", "raid4", "raid5", "raid6", NULL};
    char path[PATH_MAX + 16], text[128];

    snprintf(path, sizeof(path), "%s/md/level", folder);
    target_facts_line(path, text, sizeof(text));
    if (text_is_listed(text, levels))
        return true;
    snprintf(path, sizeof(path), "%s/dm/name", folder);
    target_facts_line(path, text, sizeof(text));
    return strstr(text, "_rimage_") || strstr(text, "_mimage_");
}

/* path: the folder in sysfs of a disk or of a part of one, or a link to it. */
static void follow_folder(struct walk *w, const char *path)
{
    struct target_layers *l = w->l;
    char real[PATH_MAX], file[PATH_MAX + 16], text[128];

    if (w->depth >= LAYERS_DEPTH || !target_layers_folder(path, real)) {
        l->complete = false;
        text_append(w->l->text, sizeof(w->l->text), "a device that is hidden");
        return;
    }
    const char *disk = strrchr(real, '/') + 1;
    if (!l->top[0])
        snprintf(l->top, sizeof(l->top), "%s", disk);
    text_append(w->l->text, sizeof(w->l->text), "%s", disk);
    w->depth++;
    snprintf(file, sizeof(file), "%s/device/model", real);
    target_facts_line(file, text, sizeof(text));
    l->memory |= disk_is_memory(disk, text);
    l->network |= disk_is_remote(disk);
    l->copies |= has_copies(real);
    snprintf(file, sizeof(file), "%s/dm/uuid", real);
    target_facts_line(file, text, sizeof(text));
    l->reduces |= strncmp(text, "VDO-", 4) == 0 || strstr(text, "-vpool");
    unsigned known = l->disks;
    bool memory = l->memory;
    if (target_facts_loop(w->facts, disk, follow_loop, w) == 0 && follow_slaves(w, real) == 0)
        add_disk(w, disk);
    else if (l->disks == known && l->memory && !memory)
        add_disk(w, disk); /* over a file in memory: no device is below */
    w->depth--;
}

static void follow_device(struct walk *w, dev_t dev)
{
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s/%u:%u", w->facts->sys_dev_block, major(dev), minor(dev));
    follow_folder(w, path);
}

/* ---- file systems ---- */

/* The kernel's name of the device that a mount names: "/dev/mapper/x" leads to "dm-0". */
static void kernel_name(const struct walk *w, const char *source, char name[TARGET_LAYERS_NAME])
{
    char path[PATH_MAX], real[PATH_MAX];

    snprintf(path, sizeof(path), "%s%s", w->facts->files ? w->facts->files : "", source);
    const char *end = realpath(path, real) ? strrchr(real, '/') : strrchr(source, '/');
    snprintf(name, TARGET_LAYERS_NAME, "%s", end ? end + 1 : source);
}

/* Does the folder of sysfs of one file system of several devices hold the device? list: of a btrfs,
 * the folder with a link for each; of a bcachefs, that whose dev-N/block are links. */
static bool holds(const char *list, bool each_has_block, const char *name, struct walk *w)
{
    char path[PATH_MAX], real[PATH_MAX];
    bool found = false;
    unsigned n = 0;
    struct dirent *de;

    DIR *d = opendir(list);
    while (d && (w || !found) && (de = readdir(d)) != NULL) {
        if (de->d_name[0] == '.' || (each_has_block && strncmp(de->d_name, "dev-", 4) != 0))
            continue;
        if (snprintf(path, sizeof(path), "%s/%s%s", list, de->d_name,
                     each_has_block ? "/block" : "") >= (int)sizeof(path))
            continue;
        if (w) {
            text_append(w->l->text, sizeof(w->l->text), "%s", n++ ? ", " : "");
            follow_folder(w, path);
        } else
            found = realpath(path, real) && strcmp(strrchr(real, '/') + 1, name) == 0;
    }
    if (d)
        closedir(d);
    return found;
}

/* A file system whose devices stand in a folder of sysfs by its UUID. False: it is not found. */
static bool follow_members(struct walk *w, const struct target_mount *m, const char *first)
{
    bool btrfs = strcmp(m->type, "btrfs") == 0;
    char all[PATH_MAX], list[PATH_MAX + 300], name[TARGET_LAYERS_NAME];
    bool found = false;
    struct dirent *de;

    kernel_name(w, first, name);
    snprintf(all, sizeof(all), "%s/%s", w->facts->sys_fs ? w->facts->sys_fs : "/", m->type);
    DIR *d = w->facts->sys_fs ? opendir(all) : NULL;
    while (d && !found && (de = readdir(d)) != NULL) {
        if (de->d_name[0] == '.' || snprintf(list, sizeof(list), "%s/%s%s", all, de->d_name,
                                             btrfs ? "/devices" : "") >= (int)sizeof(list))
            continue;
        found = holds(list, !btrfs, name, NULL);
    }
    if (d)
        closedir(d);
    if (found)
        holds(list, !btrfs, name, w);
    return found;
}

/* A device that a mount names, where its number says nothing. */
static void follow_source(struct walk *w, const char *source)
{
    char path[PATH_MAX * 2], name[TARGET_LAYERS_NAME];
    struct dirent *de;

    kernel_name(w, source, name);
    snprintf(path, sizeof(path), "%s/%s", w->facts->sys_block, name);
    DIR *d = access(path, F_OK) == 0 ? NULL : opendir(w->facts->sys_block);
    while (d && (de = readdir(d)) != NULL) { /* a part of a disk */
        snprintf(path, sizeof(path), "%s/%s/%s", w->facts->sys_block, de->d_name, name);
        if (de->d_name[0] != '.' && access(path, F_OK) == 0)
            break;
    }
    if (d)
        closedir(d);
    follow_folder(w, path);
}

/* The value of an option, such as upperdir=, up to the next comma. False: it is not set. */
static bool option_of(const char *options, const char *name, char *value, size_t cap)
{
    size_t len = strlen(name);

    for (const char *at = options; at && *at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, len) == 0 && at[len] == '=') {
            snprintf(value, cap, "%.*s", (int)strcspn(at + len + 1, ","), at + len + 1);
            return true;
        }
    }
    return false;
}

/* Where an overlay's new files go. A container sees neither its folder nor what that lies on. */
static void follow_upper(struct walk *w, const struct target_mount *m)
{
    char upper[PATH_MAX] = "", path[PATH_MAX * 2];

    snprintf(path, sizeof(path), "%s", w->facts->files ? w->facts->files : "");
    if (option_of(m->options, "upperdir", upper, sizeof(upper)))
        snprintf(path + strlen(path), PATH_MAX, "%s", upper);
    if (upper[0] == '/' && access(path, F_OK) == 0) {
        text_append(w->l->text, sizeof(w->l->text), " on ");
        follow_path(w, upper);
    } else
        w->l->complete = false;
}

/* Whether one of the endings that the options name is that of our objects, or all. */
static bool names_objects(const char *options, const char *name)
{
    char value[32];
    const char *at = options;

    while ((at = strstr(at, name)) != NULL) {
        if ((at == options || at[-1] == ',') && option_of(at, name, value, sizeof(value)) &&
            (strcmp(value, "*") == 0 || strcmp(value, "kv") == 0))
            return true;
        at += strlen(name);
    }
    return false;
}

/* Whether new objects are compressed by an attribute of their folder (chattr +c, btrfs property).
 * Other file systems keep it, and do nothing. */
static bool compresses_folder(const struct target_mount *m, int attributes)
{
    static const char *const able[] = {"btrfs", "f2fs", "ubifs", "jffs2", NULL};

    return (attributes & FS_COMPR_FL) && text_is_listed(m->type, able);
}

/* btrfs says compress=no where it is off, bcachefs compression=none. f2fs compresses files whose
 * names end as it is told. UBIFS and JFFS2 do it unless compr=none. chattr +m turns it off for a
 * folder, but for what btrfs is forced to. */
static bool compresses(const struct target_mount *m, int attributes)
{
    static const char *const off[] = {"no", "none", NULL};
    static const char *const always[] = {"ubifs", "jffs2", NULL};
    static const char *const name[] = {"compress-force", "compress", "compression",
                                       "background_compression"};
    const bool not_here = attributes & FS_NOCOMP_FL;
    char value[32];

    if (text_is_listed(m->type, always))
        return !option_of(m->options, "compr", value, sizeof(value)) || !text_is_listed(value, off);
    if (strcmp(m->type, "f2fs") == 0)
        return !not_here && names_objects(m->options, "compress_extension") &&
               !names_objects(m->options, "nocompress_extension");
    for (size_t i = 0; i < (not_here ? 1 : sizeof(name) / sizeof(name[0])); i++)
        if (option_of(m->options, name[i], value, sizeof(value)) && !text_is_listed(value, off))
            return true;
    return false;
}

static void follow_mount(struct walk *w, const struct target_mount *m)
{
    static const char *const memory[] = {"tmpfs", "ramfs", "hugetlbfs", "devtmpfs", NULL};
    static const char *const remote[] = {"nfs", "nfs4",   "cifs", "smb3",   "ceph",
                                         "9p",  "lustre", "gpfs", "beegfs", NULL};
    struct target_layers *l = w->l;
    const bool overlay = strcmp(m->type, "overlay") == 0;
    const int attributes = w->attributes;
    /* Without checksums (chattr +C) btrfs compresses nothing. */
    const bool plain = strcmp(m->type, "btrfs") == 0 && (attributes & FS_NOCOW_FL);
    char first[PATH_MAX];

    if (!overlay) /* which has the attributes of what lies below it */
        w->attributes = 0;
    if (!plain && compresses_folder(m, attributes)) {
        l->reduces = true;
        text_append(w->l->text, sizeof(w->l->text), "compressed folder on ");
    }
    text_append(w->l->text, sizeof(w->l->text), "%s", m->type);
    if (!plain && compresses(m, attributes)) {
        l->reduces = true;
        text_append(w->l->text, sizeof(w->l->text), " (compresses)");
    }
    snprintf(first, sizeof(first), "%.*s", (int)strcspn(m->source, ":"), m->source);
    if (w->depth >= LAYERS_DEPTH) {
        l->complete = false;
    } else if (text_is_listed(m->type, memory)) {
        l->memory = true;
    } else if (text_is_listed(m->type, remote)) {
        l->network = true;
    } else if (overlay) {
        w->depth++;
        follow_upper(w, m);
        w->depth--;
    } else if (strcmp(m->type, "zfs") == 0) {
        /* No table of the kernel has the devices of a pool. */
        l->complete = false;
        l->reduces = true;
        l->cache = TARGET_CACHE_ARC;
        snprintf(l->cache_of, sizeof(l->cache_of), "zfs");
    } else if (first[0] == '/' && major(m->dev) == 0) {
        text_append(w->l->text, sizeof(w->l->text), " on ");
        if (!follow_members(w, m, first))
            follow_source(w, first);
    } else if (major(m->dev) != 0) {
        text_append(w->l->text, sizeof(w->l->text), " on ");
        follow_device(w, m->dev);
    } else
        l->complete = false;
}

static void follow_path(struct walk *w, const char *path)
{
    struct target_mount m;

    if (target_facts_mount(w->facts, -1, path, &m) == 1) {
        follow_mount(w, &m);
        target_mount_release(&m);
    } else
        w->l->complete = false;
}

void target_layers_find(const struct target_facts *facts, int mount_id, dev_t dev, int attributes,
                        struct target_layers *l)
{
    struct walk w = {.facts = facts, .l = l, .attributes = attributes};
    struct target_mount m;

    *l = (struct target_layers){.complete = true};
    if (mount_id >= 0 && target_facts_mount(facts, mount_id, NULL, &m) == 1) {
        follow_mount(&w, &m);
        target_mount_release(&m);
    } else
        follow_device(&w, dev);
}
