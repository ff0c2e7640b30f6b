/* What must hold of a block device before a byte of it is overwritten. The facts are the kernel's,
 * read from a mount table and a folder of sysfs that the caller names, so that a test can hand in
 * recorded ones; opening the device is left to target_file.c. */
#include "lib/io/target_guard.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define GUARD_LINE_CAP 64
#define GUARD_SECTOR   512u

/* Offsets in a master boot record: UEFI Specification 2.10, section 5.2.1. */
#define MBR_SIGNATURE_AT 510u
#define MBR_ENTRIES_AT   446u
#define MBR_ENTRY_BYTES  16u
#define MBR_ENTRIES      4u

const struct target_facts *target_facts_here(void)
{
    static const struct target_facts here = {.mountinfo = "/proc/self/mountinfo",
                                             .sys_dev_block = "/sys/dev/block"};

    return &here;
}

static int refuse(struct err *e, int code, const char *path, const char *why, const char *who)
{
    return err_set(e, code, ERR_TARGET, path, "refused: %s%s", why, who);
}

/* ---- mounted ---- */

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

/* Fields of a line (Linux, Documentation/filesystems/proc.rst, section 3.5): id, parent,
 * major:minor, root, mount point, options, any number of others, "-", type, source. Some file
 * systems have a device number of their own: their source is compared too. */
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
                         "refused: what is mounted cannot be told, for %s", facts->mountinfo);
    while (ret == 0 && (errno = 0, getline(&line, &cap, f)) > 0)
        if (line_names(line, dev, path, &where))
            ret = refuse(e, EBUSY, path, "it is mounted on ", where);
    if (ret == 0 && (errno != 0 || ferror(f)))
        ret = err_errno(e, errno ? -errno : -EIO, ERR_TARGET, path,
                        "refused: what is mounted cannot be told, for %s", facts->mountinfo);
    free(line);
    fclose(f);
    return ret;
}

/* ---- held or partitioned ---- */

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

/* Refuses when an entry of folder is one that wanted says; a folder that cannot be read is refused
 * too, for nothing is then known. */
static int refuse_entry(const char *folder, bool (*wanted)(const char *, const char *),
                        const char *path, const char *why, struct err *e)
{
    DIR *d = opendir(folder);
    struct dirent *de;
    int ret = 0;

    if (!d)
        return err_errno(e, -errno, ERR_TARGET, path, "refused: its state cannot be told, for %s",
                         folder);
    while (ret == 0 && (errno = 0, de = readdir(d)) != NULL)
        if (wanted(folder, de->d_name))
            ret = refuse(e, EBUSY, path, why, de->d_name);
    if (ret == 0 && errno != 0)
        ret = err_errno(e, -errno, ERR_TARGET, path, "refused: its state cannot be told, for %s",
                        folder);
    closedir(d);
    return ret;
}

static bool reads_one(const char *folder, const char *name)
{
    char path[PATH_MAX + GUARD_LINE_CAP];
    FILE *f;
    int c;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    f = fopen(path, "re");
    if (!f)
        return false;
    c = fgetc(f);
    fclose(f);
    return c == '1';
}

int target_guard_device(const struct target_facts *facts, dev_t dev, const char *path,
                        struct err *e)
{
    char folder[PATH_MAX / 2], holders[PATH_MAX / 2 + GUARD_LINE_CAP];
    int ret = refuse_mounted(facts, dev, path, e);

    if (ret < 0)
        return ret;
    snprintf(folder, sizeof(folder), "%s/%u:%u", facts->sys_dev_block, major(dev), minor(dev));
    snprintf(holders, sizeof(holders), "%s/holders", folder);
    ret = refuse_entry(holders, any_entry, path, "it is held by ", e);
    if (ret == 0)
        ret = refuse_entry(folder, is_partition, path, "it is partitioned: has ", e);
    if (ret == 0 && reads_one(folder, "ro"))
        ret = refuse(e, EROFS, path, "it is read-only", "");
    return ret;
}

/* ---- a table of partitions that the kernel was not told to read ---- */

static uint32_t le32(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Boot sectors of file systems carry the same signature: their code seldom has four entries that
 * are all marked active or inactive, and one of them in use. */
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
            return refuse(e, EBUSY, path, "it holds a table (GPT)", way_out);
    if (len >= GUARD_SECTOR && has_mbr(p))
        return refuse(e, EBUSY, path, "it holds a table (MBR)", way_out);
    return 0;
}
