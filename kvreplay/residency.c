/* After a run: the kernel's own word on whether the page cache served the target's files, for the
 * summary. A direct run must leave next to nothing there. */
#include "kvreplay/residency.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    RESIDENCY_MAX_FILES = 4096,
    RESIDENCY_PAGES = 1 << 18
}; /* pages of a file looked at: 1 GiB */

struct residency {
    uint64_t pages, resident, files;
    unsigned char *vec;
};

static void residency_file(struct residency *r, int fd)
{
    struct stat st;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
        return;
    size_t pages = ((size_t)st.st_size + page - 1) / page;
    if (pages > RESIDENCY_PAGES)
        pages = RESIDENCY_PAGES;
    void *map = mmap(NULL, pages * page, PROT_READ, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        return;
    if (mincore(map, pages * page, r->vec) == 0) {
        r->pages += pages;
        for (size_t i = 0; i < pages; i++)
            r->resident += r->vec[i] & 1;
    }
    munmap(map, pages * page);
}

static void residency_folder(struct residency *r, int dirfd, const char *name)
{
    int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;

    if (!d) {
        if (fd >= 0)
            close(fd);
        return;
    }
    while (r->files < RESIDENCY_MAX_FILES && (entry = readdir(d))) {
        size_t len = strlen(entry->d_name);
        if (len < 4 || strcmp(entry->d_name + len - 3, ".kv") != 0)
            continue;
        int file = openat(fd, entry->d_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        if (file < 0)
            continue;
        r->files++;
        residency_file(r, file);
        close(file);
    }
    closedir(d);
}

double residency_share(int target)
{
    struct residency r = {.vec = malloc(RESIDENCY_PAGES)};
    int fd = r.vec ? openat(target, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;

    if (r.vec && !d)
        residency_file(&r, target);
    while (d && (entry = readdir(d))) {
        if (strlen(entry->d_name) == 2 && entry->d_name[0] != '.')
            residency_folder(&r, target, entry->d_name);
    }
    if (d)
        closedir(d);
    else if (fd >= 0)
        close(fd);
    free(r.vec);
    return r.pages ? (double)r.resident / (double)r.pages : -1;
}
