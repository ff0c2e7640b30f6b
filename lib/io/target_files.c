/* Between a directory that a run takes (target_dir.c) and the layouts that fill it (lib/tier,
 * kvreplay/like): each folder has a level, and a level knows the names of its files and folders. */
#include "lib/io/target_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/stop.h"
#include "lib/owner/inventory.h"
#include "lib/owner/stem.h"

#define FILES_DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define HEX             "0123456789abcdef"
#define DIGITS          "0123456789"
#define TAKING_HEX      8
#define CLEAN_UP_NS     INT64_C(2000000000) /* after a second signal */

struct level {
    enum target_files_kind (*file)(const char *name);
    const struct level *(*folder)(const char *name); /* its level; NULL: not ours */
};

/* ---- names ---- */

/* The rest of name behind len hexadecimal digits; NULL: it does not begin so. */
static const char *after_hex(const char *name, size_t len)
{
    return strnlen(name, len) == len && strspn(name, HEX) >= len ? name + len : NULL;
}

static const char *after(const char *name, const char *head)
{
    size_t len = strlen(head);
    return strncmp(name, head, len) == 0 ? name + len : NULL;
}

/* fill-000001.kv (kvprecond), probe-1234.kv (target_device.c). */
static bool is_numbered(const char *name)
{
    static const char *const head[] = {"fill-", "probe-"};

    for (size_t i = 0; i < sizeof(head) / sizeof(head[0]); i++) {
        const char *number = after(name, head[i]);
        size_t digits = number ? strspn(number, DIGITS) : 0;

        if (digits > 0 && strcmp(number + digits, ".kv") == 0)
            return true;
    }
    return false;
}

static enum target_files_kind top_file(const char *name)
{
    const char *hash = after(name, TARGET_FILES_FLAT);
    const char *ending = hash ? after_hex(hash, TARGET_FILES_HASH_LEN) : NULL;

    const char *number = after(name, TARGET_FILES_TAKING);

    if (inventory_names_segment(name, strlen(name)))
        return TARGET_FILES_LIST;
    if (ending && strcmp(ending, ".data") == 0)
        return TARGET_FILES_OBJECT;
    if (ending && strcmp(ending, ".tmp") == 0)
        return TARGET_FILES_TEMPORARY;
    if (number && (number = after_hex(number, TAKING_HEX)) && !*number)
        return TARGET_FILES_MARKER;
    return is_numbered(name) || strcmp(name, "slab.kv") == 0 ? TARGET_FILES_OTHER
                                                             : TARGET_FILES_NONE;
}

static enum target_files_kind kv_file(const char *name)
{
    return stem_names_object(name) ? TARGET_FILES_OBJECT : TARGET_FILES_NONE;
}

static enum target_files_kind config_file(const char *name)
{
    return strcmp(name, TARGET_FILES_CONFIG) == 0 ? TARGET_FILES_OTHER : TARGET_FILES_NONE;
}

static enum target_files_kind bin_file(const char *name)
{
    const char *ending = after_hex(name, TARGET_FILES_HASH_LEN);
    const char *number = ending ? after(ending, ".bin.") : NULL;
    size_t digits = number ? strspn(number, DIGITS) : 0;

    if (ending && strcmp(ending, ".bin") == 0)
        return TARGET_FILES_OBJECT;
    return digits > 0 && strcmp(number + digits, ".tmp") == 0 ? TARGET_FILES_TEMPORARY
                                                              : TARGET_FILES_NONE;
}

static enum target_files_kind no_file(const char *name)
{
    (void)name;
    return TARGET_FILES_NONE;
}

/* ---- folders, the deepest first ---- */

static const struct level *no_folder(const char *name)
{
    (void)name;
    return NULL;
}

static const struct level kv_level = {kv_file, no_folder};
static const struct level bin_level = {bin_file, no_folder};

static const struct level *group_folder(const char *name)
{
    const char *ending = after_hex(name, 2);
    return ending && strcmp(ending, "_g0") == 0 ? &bin_level : NULL;
}

static const struct level group_level = {no_file, group_folder};

static const struct level *prefix_folder(const char *name)
{
    const char *ending = after_hex(name, 3);
    return ending && !*ending ? &group_level : NULL;
}

static const struct level tree_level = {config_file, prefix_folder};

static const struct level *top_folder(const char *name)
{
    const char *ending = after_hex(name, 2);

    if (strcmp(name, TARGET_FILES_TREE) == 0)
        return &tree_level;
    return ending && !*ending ? &kv_level : NULL;
}

static const struct level top_level = {top_file, top_folder};

bool target_files_name(const char *name)
{
    return top_file(name) != TARGET_FILES_NONE || top_folder(name);
}

/* ---- walking ---- */

/* The directory name below at, to be read from its beginning; NULL with errno. */
static DIR *open_list(int at, const char *name)
{
    int fd = openat(at, name, FILES_DIR_FLAGS);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);

    if (!d && fd >= 0)
        close(fd);
    return d;
}

/* A link or a file with the name of a folder, or a folder that has just been removed. */
static bool is_no_folder(int errnum)
{
    return errnum == ENOENT || errnum == ENOTDIR || errnum == ELOOP;
}

/* 1: a regular file. 0: something else, or gone. Negative errno: nobody knows. */
static int is_regular(int dir, const char *name, struct stat *st)
{
    if (fstatat(dir, name, st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : -errno;
    return S_ISREG(st->st_mode);
}

/* Takes d. 1: go on. 0: visit wants no more. */
static int walk(DIR *d, const struct level *l, target_files_visit *visit, void *ctx)
{
    struct dirent *de;
    struct stat st;
    int rc = 1, regular;

    while (rc == 1 && (errno = 0, de = readdir(d)) != NULL) {
        const struct level *below = l->folder(de->d_name);
        enum target_files_kind kind = l->file(de->d_name);
        DIR *sub = below ? open_list(dirfd(d), de->d_name) : NULL;

        if (sub)
            rc = walk(sub, below, visit, ctx);
        else if (below && !is_no_folder(errno))
            rc = -errno;
        else if (kind != TARGET_FILES_NONE &&
                 (regular = is_regular(dirfd(d), de->d_name, &st)) != 0)
            rc = regular < 0 ? regular : visit(ctx, dirfd(d), de->d_name, &st, kind);
    }
    if (rc == 1 && errno != 0)
        rc = -errno;
    closedir(d);
    return rc;
}

int target_files_each(int dirfd, target_files_visit *visit, void *ctx)
{
    DIR *d = open_list(dirfd, ".");
    int rc = d ? walk(d, &top_level, visit, ctx) : -errno;

    return rc < 0 ? rc : 0;
}

/* A removal of our files, and who may end it. */
struct removal {
    bool only_temporary;
    struct lease *lease;
    struct owner_clear *clear; /* counts; may be NULL */
    int failed;                /* first negative errno; one that ends it wins */
    bool ended;                /* the lease is lost, or a signal leaves the rest to the next run */
    int64_t abandoned_ns;      /* when it was seen that a second signal has come; 0: not yet */
};

static void remove_below(DIR *d, const struct level *l, struct removal *r);

static void note_failure(struct removal *r, int errnum)
{
    if (r->failed == 0)
        r->failed = -errnum;
}

static void end_removal(struct removal *r, int errnum)
{
    r->failed = -errnum;
    r->ended = true;
}

/* Whether the rest is left to the next run. */
static bool removal_stopped(struct removal *r)
{
    if (!r->clear || !r->clear->at_the_end)
        return stop_asks();
    if (stop_abandons() && r->abandoned_ns == 0)
        r->abandoned_ns = clock_now_ns();
    return r->abandoned_ns > 0 && clock_now_ns() - r->abandoned_ns > CLEAN_UP_NS;
}

/* Removes the file, or the folder (AT_REMOVEDIR) if it is empty. True: it is gone. */
static bool remove_name(int dir, const char *name, int flags, struct removal *r)
{
    if (r->ended)
        return false;
    if (!lease_valid(r->lease)) {
        end_removal(r, ESTALE);
        return false;
    }
    if (unlinkat(dir, name, flags) == 0) {
        if (flags == 0 && r->clear) {
            r->clear->removed++;
            owner_clear_object(r->clear, name, strlen(name));
        }
        return true;
    }
    if (flags ? errno != ENOTEMPTY && errno != EEXIST : errno != ENOENT)
        note_failure(r, errno);
    return false;
}

/* True: the entry is gone. */
static bool remove_entry(int dir, const char *name, const struct level *l, struct removal *r)
{
    const struct level *below = l->folder(name);
    enum target_files_kind kind = l->file(name);
    DIR *sub = below ? open_list(dir, name) : NULL;
    struct stat st;

    if (sub) {
        remove_below(sub, below, r);
        return !r->only_temporary && remove_name(dir, name, AT_REMOVEDIR, r);
    }
    if (below && !is_no_folder(errno))
        note_failure(r, errno);
    if (below || kind == TARGET_FILES_NONE || (r->only_temporary && kind != TARGET_FILES_TEMPORARY))
        return false;
    int regular = is_regular(dir, name, &st);
    if (regular < 0)
        note_failure(r, -regular);
    return regular > 0 && remove_name(dir, name, 0, r);
}

/* Takes d. What can't be removed holds up nothing else. Some file systems skip entries of a
 * directory that changes while it is read, so this goes on until a pass removes none. */
static void remove_below(DIR *d, const struct level *l, struct removal *r)
{
    bool removed = true;

    while (removed && !r->ended) {
        struct dirent *de;

        removed = false;
        rewinddir(d);
        while (!r->ended && (errno = 0, de = readdir(d)) != NULL) {
            removed |= remove_entry(dirfd(d), de->d_name, l, r);
            if (!r->ended && removal_stopped(r))
                end_removal(r, EINTR);
        }
        if (!r->ended && errno != 0) /* of readdir */
            note_failure(r, errno);
    }
    closedir(d);
}

int target_files_remove(int dirfd, bool only_temporary, struct lease *lease,
                        struct owner_clear *clear)
{
    struct removal r = {.only_temporary = only_temporary, .lease = lease, .clear = clear};
    DIR *d = open_list(dirfd, ".");

    if (!d)
        return -errno;
    remove_below(d, &top_level, &r);
    return r.failed;
}
