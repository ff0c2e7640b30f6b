/* Beside the I/O of the storage tier: it asks when an operation has moved its bytes, so that block
 * events of the same sectors can be told to be its own. Source of the ioctl:
 * Documentation/filesystems/fiemap.rst. */
#include "lib/io/disk_map.h"

#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Bytes that lie elsewhere than said, or nowhere yet. */
#define NOT_PLACED                                                                                 \
    (FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_DELALLOC | FIEMAP_EXTENT_ENCODED |                      \
     FIEMAP_EXTENT_NOT_ALIGNED | FIEMAP_EXTENT_DATA_INLINE | FIEMAP_EXTENT_DATA_TAIL)

static FILE *open_in(const char *folder, const char *name)
{
    char path[160];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return fopen(path, "re");
}

/* The disk's number in its file dev: "MAJOR:MINOR". */
static bool read_disk(const char *folder, uint32_t *disk)
{
    FILE *f = open_in(folder, "dev");
    unsigned major_number, minor_number;
    bool read = f && fscanf(f, "%u:%u", &major_number, &minor_number) == 2 && major_number < 4096 &&
                minor_number < 1u << 20;

    if (f)
        fclose(f);
    if (read)
        *disk = major_number << 20 | minor_number;
    return read;
}

static bool read_start(const char *folder, uint64_t *sector)
{
    FILE *f = open_in(folder, "start");
    unsigned long long start;
    bool read = f && fscanf(f, "%llu", &start) == 1;

    if (f)
        fclose(f);
    if (read)
        *sector = start;
    return read;
}

static bool has_folder(const char *folder, const char *name)
{
    char path[160];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

void disk_map_find(int fd, struct disk_map *m)
{
    char folder[64], above[80];
    uint64_t begin = 0;
    uint32_t number;
    struct statfs fs;
    struct stat st;

    *m = (struct disk_map){.kind = DISK_MAP_NONE};
    if (fstat(fd, &st) < 0)
        return;
    bool device = S_ISBLK(st.st_mode);
    if (!device && (fstatfs(fd, &fs) < 0 ||
                    (fs.f_type != EXT4_SUPER_MAGIC && fs.f_type != (__fsword_t)XFS_SUPER_MAGIC)))
        return;
    dev_t dev = device ? st.st_rdev : st.st_dev;
    snprintf(folder, sizeof(folder), "/sys/dev/block/%u:%u", major(dev), minor(dev));
    snprintf(above, sizeof(above), "%s/..", folder);
    bool part = has_folder(folder, "partition");
    const char *disk = part ? above : folder;
    if (part && !read_start(folder, &begin))
        return;
    /* They hand on bios: requests are made below them, at other sectors. */
    if (has_folder(disk, "dm") || has_folder(disk, "md") || !read_disk(disk, &number))
        return;
    m->disk = number;
    m->begin = begin;
    m->kind = device ? DISK_MAP_DEVICE : DISK_MAP_FILES;
}

static void add_extent(struct disk_where *w, const struct disk_map *m, uint64_t byte, uint64_t len)
{
    struct disk_extent x = {.disk = m->disk,
                            .sector = m->begin + byte / DISK_SECTOR,
                            .sectors = (len + DISK_SECTOR - 1) / DISK_SECTOR};
    struct disk_extent *last = w->count > 0 ? &w->at[w->count - 1] : NULL;

    if (last && last->sector + last->sectors == x.sector)
        last->sectors += x.sectors;
    else if (w->count == DISK_EXTENTS)
        w->known = false;
    else
        w->at[w->count++] = x;
}

/* Extents of bytes [*offset, end) that the file system tells at once; *offset moves behind them.
 * False: it tells none, or some lie nowhere yet. */
static bool add_mapped(struct disk_where *w, const struct disk_map *m, struct fiemap *map,
                       uint64_t *offset, uint64_t end)
{
    for (unsigned i = 0; i < map->fm_mapped_extents && *offset < end; i++) {
        const struct fiemap_extent *x = &map->fm_extents[i];
        uint64_t skip = *offset - x->fe_logical, most = x->fe_length - skip;
        if (x->fe_logical > *offset || skip >= x->fe_length || x->fe_flags & NOT_PLACED)
            return false; /* a hole, compressed, or not written out */
        uint64_t n = end - *offset < most ? end - *offset : most;
        add_extent(w, m, x->fe_physical + skip, n);
        *offset += n;
    }
    return map->fm_mapped_extents > 0;
}

void disk_map_add(const struct disk_map *m, int fd, uint64_t offset, uint64_t len,
                  struct disk_where *w)
{
    union {
        struct fiemap map;
        char room[sizeof(struct fiemap) + DISK_EXTENTS * sizeof(struct fiemap_extent)];
    } u;
    uint64_t end = offset + len;
    uint32_t flags = 0; /* writing out what is buffered takes longer, and direct I/O needs none */

    if (m->kind == DISK_MAP_DEVICE)
        add_extent(w, m, offset, len);
    if (m->kind != DISK_MAP_FILES) {
        w->known &= m->kind == DISK_MAP_DEVICE;
        return;
    }
    while (w->known && offset < end) {
        memset(&u.map, 0, sizeof(u.map));
        u.map.fm_start = offset;
        u.map.fm_length = end - offset;
        u.map.fm_flags = flags;
        u.map.fm_extent_count = DISK_EXTENTS;
        bool told = ioctl(fd, FS_IOC_FIEMAP, &u.map) == 0 && add_mapped(w, m, &u.map, &offset, end);
        if (!told && flags)
            w->known = false;
        if (!told)
            flags = FIEMAP_FLAG_SYNC;
    }
}
