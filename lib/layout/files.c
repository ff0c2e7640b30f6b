/* Names the files of the storage tier and opens the folders that hold them. Folders are made when
 * first needed and stay open, so that openat reaches every file without following a link. The files
 * themselves are opened by the I/O engine. */
#include "lib/layout/files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/io/target_files.h"
#include "lib/io/target_guard.h"
#include "lib/layout/place.h"

#define FILES_DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

struct layout_files {
    int dirfd;
    int direct; /* O_DIRECT or 0 */
    struct place_epochs epochs;
    atomic_int folder[LAYOUT_FILES_FOLDERS]; /* descriptors, -1: not open yet */
};

/* Descriptor of folder i, or negative errno. Two threads may open it at once: the first one's
 * descriptor stays, the other is closed. */
static int folder_open(struct layout_files *f, unsigned i, bool make)
{
    int fd = atomic_load_explicit(&f->folder[i], memory_order_acquire), none = -1;
    char name[3];

    if (fd >= 0)
        return fd;
    snprintf(name, sizeof(name), "%02x", i & 0xffu);
    if (make && mkdirat(f->dirfd, name, 0755) < 0 && errno != EEXIST)
        return -errno;
    fd = openat(f->dirfd, name, FILES_DIR_FLAGS);
    if (fd < 0)
        return -errno;
    if (!atomic_compare_exchange_strong(&f->folder[i], &none, fd)) {
        close(fd);
        fd = none;
    }
    return fd;
}

/* ext4 keeps the folders of a folder near it, all of their files in a few block groups, and before
 * it makes a file there it looks at each one that was removed in the last minutes. Folders that are
 * marked as unrelated (FS_TOPDIR_FL, chattr +T) get a group each: making a file takes 6 us there in
 * place of 130 to 200 once thousands were removed. The mark is only looked at when a folder is
 * made: the folder of the target has it no longer than that, unless the run is killed meanwhile.
 * Other file systems refuse it. */
static bool mark_unrelated(const struct layout_files *f, int *flags)
{
    int spread;

    if (ioctl(f->dirfd, FS_IOC_GETFLAGS, flags) < 0 || *flags & FS_TOPDIR_FL)
        return false;
    spread = *flags | FS_TOPDIR_FL;
    return ioctl(f->dirfd, FS_IOC_SETFLAGS, &spread) == 0;
}

void layout_files_prepare(struct layout_files *f)
{
    bool marked = false, makes = false;
    int flags;

    for (unsigned i = 0; i < LAYOUT_FILES_FOLDERS; i++) {
        if (!makes && folder_open(f, i, false) == -ENOENT) {
            makes = true;
            marked = mark_unrelated(f, &flags);
        }
        (void)folder_open(f, i, true);
    }
    if (marked)
        (void)ioctl(f->dirfd, FS_IOC_SETFLAGS, &flags);
}

static int file_name(struct layout_files *f, struct hash128 object, uint32_t epoch, bool make,
                     struct layout_name *n)
{
    n->dirfd = folder_open(f, (unsigned)(object.hi >> 56), make);
    if (n->dirfd < 0)
        return n->dirfd;
    stem_format(n->text, object, epoch);
    strcat(n->text, ".kv");
    return 0;
}

int layout_files_name(struct layout_files *f, struct hash128 object, const void *place, bool make,
                      struct layout_name *n)
{
    return file_name(f, object, place_epochs_get(&f->epochs, place), make, n);
}

int layout_files_flags(const struct layout_files *f, enum layout_files_use use)
{
    static const int more[] = {[LAYOUT_FILES_READ] = O_RDONLY,
                               [LAYOUT_FILES_NEW] = O_RDWR | O_CREAT | O_EXCL,
                               [LAYOUT_FILES_CUT] = O_RDWR | O_CREAT | O_TRUNC,
                               [LAYOUT_FILES_OLD] = O_RDWR | O_CREAT};

    return O_NOFOLLOW | f->direct | more[use];
}

int layout_files_find(struct layout_files *f, struct hash128 object, uint32_t epoch, void **place)
{
    const int flags = layout_files_flags(f, LAYOUT_FILES_READ) | O_CLOEXEC;
    struct layout_name n;
    uint64_t bytes;
    int fd, rc = file_name(f, object, epoch, false, &n);

    if (rc < 0)
        return rc;
    fd = target_guard_open(n.dirfd, n.text, flags, &bytes);
    if (fd < 0)
        return fd;
    rc = place_epochs_place(&f->epochs, epoch, bytes, place);
    if (rc < 0) {
        close(fd);
        return rc;
    }
    return fd;
}

int layout_files_place(struct layout_files *f, uint32_t epoch, uint64_t bytes, void **place)
{
    return place_epochs_place(&f->epochs, epoch, bytes, place);
}

struct visit {
    layout_files_found *found;
    void *ctx;
    int rc;
};

static bool visit_file(void *ctx, int dir, const char *name, const struct stat *st,
                       enum target_files_kind kind)
{
    struct visit *v = ctx;
    struct hash128 object;
    uint32_t epoch;

    (void)dir, (void)st;
    if (kind == TARGET_FILES_OBJECT && stem_take(name, strlen(name), &object, &epoch))
        v->rc = v->found(v->ctx, object, epoch);
    return v->rc == 0;
}

int layout_files_each(const struct layout_files *f, layout_files_found *found, void *ctx)
{
    struct visit v = {.found = found, .ctx = ctx};
    int rc = target_files_each(f->dirfd, visit_file, &v);

    return v.rc < 0 ? v.rc : rc;
}

int layout_files_open(struct layout_files **out, const struct layout_files_opts *o, struct err *e)
{
    struct layout_files *f = calloc(1, sizeof(*f));

    if (!f)
        return err_nomem(e, "layout of files");
    f->dirfd = o->dirfd;
    f->direct = o->direct ? O_DIRECT : 0;
    place_epochs_open(&f->epochs, o->epoch);
    for (int i = 0; i < LAYOUT_FILES_FOLDERS; i++)
        atomic_init(&f->folder[i], -1);
    *out = f;
    return 0;
}

void layout_files_close(struct layout_files *f)
{
    if (!f)
        return;
    for (int i = 0; i < LAYOUT_FILES_FOLDERS; i++) {
        int fd = atomic_load_explicit(&f->folder[i], memory_order_acquire);

        if (fd >= 0)
            close(fd);
    }
    place_epochs_close(&f->epochs);
    free(f);
}
