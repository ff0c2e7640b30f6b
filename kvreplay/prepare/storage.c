/* Opens the target under Tier-2 before the engine that works on it (tiers.c), and closes it after:
 * the directory and its marker, or the slab and its size. */
#include "kvreplay/prepare/storage.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/stop.h"
#include "lib/base/units.h"
#include "lib/data/data.h"
#include "lib/io/target_file.h"
#include "lib/io/target_guard.h"
#include "lib/ranks/ranks.h"
#include "lib/tier/spread.h"

#define SLAB_NAME          "slab.kv" /* in a directory */
#define SLAB_SPARE_OBJECTS 1024u
#define SLAB_INFLIGHT_MAX  64u
#define SLAB_GROWTH        (8 * UNITS_MIB) /* at least, where the index of kept objects moves */

void storage_say_waits(const char *where, const char *who, unsigned seconds)
{
    fprintf(stderr,
            "kvreplay%s: %s: in use by %s, or left by it: watching for up to %u s whether it "
            "still renews its marker\n",
            ranks_suffix(), where, who, seconds);
}

void storage_say_late(const char *where, uint64_t objects)
{
    fprintf(
        stderr,
        "kvreplay%s: %s: %llu object%s arrived late from a run that had lost this store, and %s "
        "removed\n",
        ranks_suffix(), where, (unsigned long long)objects, units_plural(objects),
        objects == 1 ? "was" : "were");
}

/* ---- the file of a slab ---- */

/* A slab of that name that is not ours to write over: a link, another user's file, other data. */
static int slab_check(const struct storage *s, struct err *e)
{
    struct layout_slab_header h;
    struct stat st;
    int rc = fstat(s->fd, &st) < 0 ? -errno : 0;

    if (rc == 0 && !S_ISREG(st.st_mode))
        return err_set(e, -EEXIST, ERR_TARGET, s->o.path,
                       "refused: its " SLAB_NAME " is not a regular file");
    if (rc == 0 && st.st_size > 0)
        rc = layout_slab_read_header(s->fd, &h);
    if (rc < 0 && rc != -ENOENT)
        return err_errno(e, rc, ERR_TARGET, s->o.path, "its " SLAB_NAME " cannot be read");
    if (rc == -ENOENT || st.st_nlink > 1 || !target_guard_owner(s->fd, st.st_uid))
        return err_set(e, -EEXIST, ERR_TARGET, s->o.path, "refused: its " SLAB_NAME " %s",
                       rc == -ENOENT     ? "was not written by kvtrace"
                       : st.st_nlink > 1 ? "has another name too (a hard link)"
                                         : "belongs to another user");
    return 0;
}

static int slab_in_dir(struct storage *s, struct err *e)
{
    int dir = target_dir_fd(s->target);
    int direct = !s->o.buffered && target_direct_io(dir) ? O_DIRECT : 0;

    /* The file of this name may be a device. */
    s->fd = openat(dir, SLAB_NAME, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | direct,
                   0600);
    if (s->fd < 0)
        return err_errno(e, -errno, ERR_TARGET, s->o.path, "its " SLAB_NAME " cannot be opened");
    s->own_fd = true;
    /* The lock on the directory's marker keeps out a process that opens the directory; this one, a
     * process that opens the file. */
    int rc = target_guard_lock(s->fd);
    if (rc == -EWOULDBLOCK)
        return err_set(e, -EBUSY, ERR_TARGET, s->o.path,
                       "its " SLAB_NAME " is in use by another process");
    rc = slab_check(s, e); /* where there are no locks, the marker's lease must do */
    if (rc < 0)
        return rc;
    if (fcntl(s->fd, F_SETFL, fcntl(s->fd, F_GETFL) & ~O_NONBLOCK) < 0)
        return err_errno(e, -errno, ERR_TARGET, s->o.path, "its " SLAB_NAME " cannot be opened");
    s->resizes = true;
    snprintf(s->path, sizeof(s->path), "%.240s/" SLAB_NAME, target_dir_path(s->target));
    return target_guard_unused(target_facts_here(), s->fd, s->path, e);
}

/* Refuses a slab with kept objects, unless this run keeps them or may destroy them. */
static int slab_refuse_kept(const struct storage *s, const struct layout_slab_header *h,
                            struct err *e)
{
    char text[32];

    if (!h->kept || h->objects == 0 || s->o.keep || s->o.destroy_data)
        return 0;
    return err_set(e, -EEXIST, ERR_TARGET, s->o.path,
                   "holds %llu object%s (%s) that an earlier run kept: --keep uses them and leaves "
                   "them, --destroy-data removes them",
                   (unsigned long long)h->objects, units_plural(h->objects),
                   units_format_bytes(text, sizeof(text), (double)h->bytes));
}

static int slab_on_file(struct storage *s, struct err *e)
{
    struct target_file_opts how = {.destroy_data = s->o.destroy_data,
                                   .is_ours = layout_slab_is_ours};
    struct layout_slab_header h = {0};
    struct target_file f;
    int rc = target_file_open(&f, s->o.path, &how, e);

    if (rc < 0)
        return rc;
    s->fd = f.fd;
    s->own_fd = true;
    if (s->o.buffered && f.direct && fcntl(f.fd, F_SETFL, fcntl(f.fd, F_GETFL) & ~O_DIRECT) < 0)
        return err_errno(e, -errno, ERR_TARGET, s->o.path, "cannot be used without O_DIRECT");
    rc = f.bytes > 0 ? layout_slab_read_header(f.fd, &h) : 0;
    if (rc < 0 && rc != -ENOENT)
        return err_errno(e, rc, ERR_TARGET, s->o.path, "cannot be read");
    s->resizes = !f.is_device && (f.bytes == 0 || h.resizes);
    return slab_refuse_kept(s, &h, e);
}

/* ---- its size ---- */

static uint64_t file_bytes(int fd, uint64_t *allocated)
{
    struct stat st;
    off_t end = lseek(fd, 0, SEEK_END);

    *allocated = fstat(fd, &st) == 0 ? (uint64_t)st.st_blocks * 512 : 0;
    return end > 0 ? (uint64_t)end : 0;
}

/* Objects that may be there at once, to make room for their blocks of slack; 0: not known. */
static uint64_t slab_objects(const struct storage_need *need)
{
    if (!need)
        return 0;
    uint64_t peak = need->peak_objects + need->noted_objects;
    return peak + peak / 8 + SLAB_SPARE_OBJECTS;
}

/* The size of a file that may grow: as large as is useful, as far as there is room. */
static int slab_size(const struct storage *s, const struct storage_need *need, uint64_t *bytes,
                     struct err *e)
{
    uint64_t room, allocated, now = file_bytes(s->fd, &allocated), want = UINT64_MAX;
    int rc = target_room(s->fd, s->o.reserve, &room, e);

    if (rc < 0)
        return rc;
    room += allocated;
    if (!need) /* as much as there is, and the others want it too */
        room /= s->o.sharers;
    if (need) {
        /* The peak, what may be reserved ahead of it, and, in a slab that is not new, objects that
         * may be adopted. */
        uint64_t ahead = s->o.inflight < SLAB_INFLIGHT_MAX ? s->o.inflight : SLAB_INFLIGHT_MAX;
        uint64_t more;
        if (__builtin_mul_overflow(ahead, need->largest, &more) ||
            __builtin_add_overflow(more, need->peak / 8, &more) ||
            (now > 0 && __builtin_add_overflow(more, need->noted_bytes, &more)) ||
            __builtin_add_overflow(more, need->peak, &want))
            want = UINT64_MAX;
    }
    if (s->o.bytes && s->o.bytes < want)
        want = s->o.bytes;
    struct layout_slab_header kept = {0};
    rc = now > 0 ? layout_slab_read_header(s->fd, &kept) : 0;
    if (rc < 0 && rc != -ENOENT)
        return err_errno(e, rc, ERR_TARGET, s->path, "cannot be read");
    if (kept.kept && __builtin_add_overflow(want, kept.bytes, &want))
        want = UINT64_MAX;
    want = layout_slab_bytes(want, slab_objects(need) + kept.objects);
    /* The index of what is kept moves behind the new space, and must not touch itself there. */
    if (kept.kept && want > now && want < now + kept.index_bytes + SLAB_GROWTH)
        want = now + kept.index_bytes + SLAB_GROWTH;
    *bytes = (want < room ? want : room) / DATA_BLOCK * DATA_BLOCK;
    if (*bytes < now || (kept.kept && *bytes < now + kept.index_bytes + SLAB_GROWTH))
        *bytes = now;
    return 0;
}

/* Lengthens the file to bytes; after a failure it is as long as before. From a pipe nobody knows
 * how much of it will be used: then nothing is allocated ahead. */
static int slab_grow(const struct storage *s, bool allocate, uint64_t bytes, struct err *e)
{
    uint64_t allocated, now = file_bytes(s->fd, &allocated);
    int rc = allocate ? target_file_allocate(s->fd, bytes, stop_asks) : -EOPNOTSUPP;

    if (rc == -ENOSPC)
        err_errno(e, rc, ERR_TARGET, s->o.path, "has no room for a slab of %llu bytes",
                  (unsigned long long)bytes);
    else if (rc == -EINTR)
        err_errno(e, rc, ERR_TARGET, s->o.path, "cannot allocate space for a slab");
    if (rc == -ENOSPC || rc == -EINTR)
        return ftruncate(s->fd, (off_t)now) < 0 ? -errno : rc;
    if (rc < 0 && bytes > now && ftruncate(s->fd, (off_t)bytes) < 0)
        return err_errno(e, -errno, ERR_TARGET, s->o.path, "cannot be made %llu bytes long",
                         (unsigned long long)bytes);
    return 0;
}

/* Bytes of the space in a slab of bytes. One that was kept stays as it is, unless it grows so far
 * that its index fits behind the new space without touching the old one. */
static int slab_space(const struct storage *s, uint64_t bytes, uint64_t *space, struct err *e)
{
    struct layout_slab_header h = {0};
    uint64_t allocated;
    int rc = file_bytes(s->fd, &allocated) > 0 ? layout_slab_read_header(s->fd, &h) : 0;

    *space = layout_slab_space(bytes);
    if (rc < 0 && rc != -ENOENT)
        return err_errno(e, rc, ERR_TARGET, s->path, "cannot be read");
    if (!h.kept || *space >= h.space_bytes + h.index_bytes)
        return 0;
    if (h.space_bytes <= bytes && layout_slab_begin() <= bytes - h.space_bytes)
        *space = h.space_bytes;
    else if (!s->o.destroy_data)
        return err_set(e, -EBADMSG, ERR_TARGET, s->o.path,
                       "is shorter than the objects kept in it: --destroy-data discards them");
    return 0;
}

/* Cuts room to what a slab of bytes holds. With a survey, exact bytes of objects fit whatever their
 * sizes: each may need a block of slack. */
static int slab_room(const struct storage *s, struct room *room, const struct storage_need *need,
                     uint64_t bytes, uint64_t space, struct err *e)
{
    uint64_t objects = 0;

    if (s->o.evicts) /* what will be there at once is not known */
        need = NULL;
    if (need) {
        if (need->peak > space || need->peak_objects * DATA_BLOCK > space - need->peak) {
            uint64_t least = layout_slab_bytes(need->peak, need->peak_objects);
            char peak[32], want[32], has[32];
            return err_set(
                e, -ENOSPC, ERR_TARGET, trace_tier_text(TRACE_STORAGE),
                "the trace needs %s at its peak, a slab of %s (%llu bytes), and %s has %s",
                units_format_bytes(peak, sizeof(peak), (double)need->peak),
                units_format_bytes(want, sizeof(want), (double)least), (unsigned long long)least,
                s->o.path, units_format_bytes(has, sizeof(has), (double)bytes));
        }
        objects = slab_objects(need);
        if (objects > (space - need->peak) / DATA_BLOCK)
            objects = (space - need->peak) / DATA_BLOCK;
        room->max_objects = objects;
    }
    room->blocks = !need;
    if (room->capacity > space - objects * DATA_BLOCK)
        room->capacity = space - objects * DATA_BLOCK;
    return 0;
}

/* had: the length of its file. */
static int slab_begin(struct storage *s, const struct storage_need *need, uint64_t had,
                      struct room *room, struct err *e)
{
    uint64_t bytes = had / DATA_BLOCK * DATA_BLOCK, kept_bytes, space;
    int rc = 0;

    if (s->resizes)
        rc = slab_size(s, need, &bytes, e);
    if (rc < 0)
        return rc;
    rc = slab_space(s, bytes, &space, e);
    if (rc < 0)
        return rc;
    rc = slab_room(s, room, need, bytes, space, e);
    if (rc < 0)
        return rc;
    if (s->resizes)
        rc = slab_grow(s, need || s->o.bytes, bytes, e);
    if (rc < 0)
        return rc;
    struct layout_slab_opts slab = {.fd = s->fd,
                                    .resizes = s->resizes,
                                    .part = s->o.part,
                                    .keeps = s->o.keep,
                                    .destroys = s->o.destroy_data};
    slab.space_bytes = space;
    slab.index_bytes = bytes - slab.space_bytes - layout_slab_begin();
    rc = layout_slab_open(&s->slab, &slab, e);
    if (rc < 0)
        return rc;
    /* A file that was empty is ours from now on, even if this run is killed before its first write.
     */
    if (had == 0 && (rc = layout_slab_use(s->slab)) < 0)
        return err_errno(e, rc, ERR_TARGET, s->path, "cannot be written");
    if (layout_slab_broken(s->slab) && !s->o.destroy_data)
        return err_set(e, -EBADMSG, ERR_TARGET, s->o.path,
                       "the index of the objects kept in it is damaged: --destroy-data gives them "
                       "up");
    s->was_kept = layout_slab_found(s->slab, &kept_bytes) > 0;
    s->unsure = layout_slab_unsure(s->slab);
    return 0;
}

static int slab_open(struct storage *s, const struct storage_need *need, struct room *room,
                     struct err *e)
{
    uint64_t allocated, had = file_bytes(s->fd, &allocated);
    int rc = slab_begin(s, need, had, room, e);

    /* Long and without a header it would be somebody else's for the next run. */
    if (rc < 0 && had == 0 && s->resizes && ftruncate(s->fd, 0) < 0)
        return err_errno(e, -errno, ERR_TARGET, s->path, "cannot be emptied");
    return rc;
}

/* ---- several targets as one store ---- */

/* The part that the target at path keeps for the next run. -ENOENT: it keeps nothing. */
static int kept_part(const char *path, struct target_part *part)
{
    struct layout_slab_header h = {0};
    enum target_kind kind;
    int fd, rc = target_kind(path, &kind, NULL);

    if (rc < 0 || kind == TARGET_DIR)
        return rc < 0 ? -ENOENT : target_dir_kept_part(path, part);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    rc = fd < 0 ? -errno : layout_slab_read_header(fd, &h);
    if (fd >= 0)
        close(fd);
    *part = h.part;
    return rc == 0 && h.kept && h.objects > 0 ? 0 : -ENOENT;
}

/* Two paths that lead to one place would be two parts in one folder. */
static int refuse_twice(const struct storage_list *l, struct err *e)
{
    for (unsigned i = 0; i < l->count; i++) {
        for (unsigned k = 0; k < i; k++) {
            if (target_same(l->path[i], l->path[k]))
                return err_set(e, -EINVAL, ERR_INPUT, "--target",
                               "%s and %s are the same place: each target may be named once",
                               l->path[k], l->path[i]);
        }
    }
    return 0;
}

unsigned storage_sharers(const struct storage_list *l, unsigned i)
{
    dev_t mine, other;
    unsigned n = 1;

    if (target_file_system(l->path[i], &mine) < 0)
        return 1;
    for (unsigned k = 0; k < l->count; k++)
        n += k != i && target_file_system(l->path[k], &other) == 0 && other == mine;
    return n;
}

/* A kept store must be whole, or divided as this run divides its own. */
static int refuse_parts(const struct storage_list *l, const struct target_part *kept,
                        const bool *keeps, struct target_part *part, struct err *e)
{
    unsigned all = 0, same = 0;

    for (unsigned i = 0; i < l->count; i++) {
        all += keeps[i];
        same += keeps[i] && target_part_same(kept[i], part[i]);
    }
    if (same == all)
        return 0;
    if (all == l->count && spread_complete(kept, l->count)) {
        memcpy(part, kept, l->count * sizeof(*part));
        return 0;
    }
    for (unsigned i = 0; i < l->count; i++) {
        if (!keeps[i] || target_part_same(kept[i], part[i]))
            continue;
        if (target_part_same(kept[i], TARGET_WHOLE))
            return err_set(e, -EEXIST, ERR_TARGET, l->path[i],
                           "an earlier run kept its objects here alone: give it as the only "
                           "--target, or --destroy-data removes them");
        return err_set(e, -EEXIST, ERR_TARGET, l->path[i],
                       "an earlier run kept here slots %u to %u of the %u of its store: give all "
                       "its targets, in any order, and no others; --destroy-data removes what was "
                       "kept",
                       kept[i].from, kept[i].to - 1u, TARGET_SLOTS);
    }
    return 0;
}

int storage_divide(const struct storage_list *l, bool destroy_data, struct target_part *part,
                   struct err *e)
{
    struct target_part kept[SPREAD_MAX];
    uint64_t weight[SPREAD_MAX];
    bool keeps[SPREAD_MAX];
    int rc = refuse_twice(l, e);

    for (unsigned i = 0; rc == 0 && i < l->count; i++) {
        weight[i] = 1;
        if (l->spread == STORAGE_SPREAD_CAPACITY)
            rc = target_size(l->path[i], &weight[i], e);
        keeps[i] = kept_part(l->path[i], &kept[i]) == 0 && !destroy_data;
    }
    if (rc < 0)
        return rc;
    spread_divide(weight, l->count, part);
    return refuse_parts(l, kept, keeps, part, e);
}

/* ---- opening ---- */

int storage_open(struct storage *s, const struct storage_opts *o, const struct storage_need *need,
                 struct room *room, struct err *e)
{
    enum target_kind kind;
    int rc = target_kind(o->path, &kind, e);

    if (rc < 0)
        return rc;
    if (kind != TARGET_DIR && o->layout == STORAGE_LAYOUT_FILES)
        return err_set(e, -EINVAL, ERR_INPUT, "--layout files", "%s is not a directory", o->path);
    if (kind != TARGET_DIR && o->files_only)
        return err_set(e, -EINVAL, ERR_INPUT, "--target",
                       "%s is not a directory: like= stores files as the engine does", o->path);
    if (kind != TARGET_DIR && o->shared)
        return err_set(e, -EINVAL, ERR_INPUT, "--shared-target",
                       "%s is not a directory: ranks cannot share a slab", o->path);
    s->o = *o;
    snprintf(s->path, sizeof(s->path), "%s", o->path);
    s->open = true;
    s->node = -1;
    if (kind == TARGET_DIR) {
        const struct target_dir_opts dir = {.path = o->path,
                                            .program = "kvreplay",
                                            .keeps = o->keep,
                                            .adopts = true,
                                            .destroys = o->destroy_data,
                                            .shared = o->shared,
                                            .waits = storage_say_waits,
                                            .late = storage_say_late,
                                            .data_seed = o->data_seed,
                                            .part = o->part};
        rc = o->joins ? target_dir_join(&s->target, o->path, o->data_seed, e)
                      : target_dir_open(&s->target, &dir, e);
        if (rc < 0)
            return rc;
        s->fd = target_dir_fd(s->target);
        s->epoch = target_dir_epoch(s->target);
        s->was_kept = target_dir_was_kept(s->target);
        s->unsure = target_dir_unsure(s->target);
        if (o->layout == STORAGE_LAYOUT_SLAB)
            rc = slab_in_dir(s, e);
        else if (!(s->list = inventory_files_open(s->fd, s->path)))
            rc = err_nomem(e, "list of objects");
    } else {
        rc = slab_on_file(s, e);
    }
    if (rc == 0 && s->own_fd)
        rc = slab_open(s, need, room, e);
    if (rc < 0)
        return rc;
    rc = target_file_system(o->path, &s->file_system);
    if (rc < 0)
        return err_errno(e, rc, ERR_TARGET, o->path, "its file system cannot be examined");
    target_device_find(s->fd, &s->device);
    return 0;
}

struct lease *storage_lease(const struct storage *s)
{
    return s->target ? target_dir_lease(s->target) : NULL;
}

int storage_check_unused(const char *path, struct err *e)
{
    enum target_kind kind;
    int rc = target_kind(path, &kind, e);

    if (rc == 0 && kind != TARGET_DEVICE)
        rc = target_guard_path(path, e);
    if (rc == 0 && !stop_signal()) /* which cuts the survey short */
        fprintf(stderr, "kvreplay%s: %s is not used: the trace has no Tier-2 rows\n",
                ranks_suffix(), path);
    return rc;
}

int storage_begin(struct storage *s, struct err *e)
{
    int rc = lease_valid(storage_lease(s)) ? 0 : -ESTALE;

    if (rc == 0 && s->slab)
        rc = layout_slab_use(s->slab);
    return rc < 0 ? err_errno(e, rc, ERR_TARGET, s->path, "cannot be written") : 0;
}

uint64_t storage_beside(const struct storage *s)
{
    uint64_t bytes = 0;

    if (s->slab && s->o.keep && !s->o.destroy_data)
        layout_slab_found(s->slab, &bytes);
    return bytes;
}

uint64_t storage_free(const struct storage *s)
{
    uint64_t bytes;

    if (!s->open)
        return UINT64_MAX;
    if (s->slab)
        return extent_free_bytes(layout_slab_pool(s->slab));
    return target_room(s->fd, 0, &bytes, NULL) < 0 ? UINT64_MAX : bytes;
}

int storage_sync(struct storage *s, struct err *e)
{
    if ((s->slab ? fdatasync(s->fd) : syncfs(s->fd)) == 0)
        return 0;
    s->torn = true;
    return err_errno(e, -errno, ERR_FAILED, s->path, "cannot sync");
}

/* ---- closing ---- */

static bool slab_holds(const struct storage *s, const struct object *o)
{
    return o->tier == TRACE_STORAGE && o->live && o->place &&
           spread_holds(s->o.part, object_name(o->key, TRACE_STORAGE));
}

/* Writes the index of the objects that stay. */
static int slab_keep(struct storage *s, const struct objects *objects, struct err *e)
{
    const struct object *o;
    int rc = 0;

    for (size_t pos = 0; (o = objects_next(objects, &pos));) {
        if (slab_holds(s, o))
            layout_slab_measure(s->slab, (uint32_t)(uintptr_t)o->place);
    }
    for (size_t pos = 0; rc == 0 && (o = objects_next(objects, &pos));) {
        if (slab_holds(s, o))
            rc = layout_slab_keep(s->slab, object_name(o->key, TRACE_STORAGE), o->generation,
                                  (uint32_t)(uintptr_t)o->place);
    }
    if (rc == 0 && s->torn)
        layout_slab_doubt(s->slab);
    if (rc == 0)
        rc = layout_slab_kept(s->slab);
    return rc < 0 ? err_errno(e, rc, ERR_OUTPUT, s->path,
                              "the index cannot be written: its objects are not kept")
                  : 0;
}

/* Closes the slab's file and leaves the directory. */
static int storage_leave(struct storage *s, bool keep, struct err *e)
{
    layout_slab_close(s->slab);
    inventory_files_close(s->list);
    if (s->own_fd && s->fd >= 0) {
        flock(s->fd, LOCK_UN); /* a ring may hold the file for a moment longer */
        close(s->fd);
    }
    int rc = target_dir_close(s->target, keep, e);
    *s = (struct storage){0};
    return rc;
}

int storage_close(struct storage *s, bool keep, const struct objects *objects, struct err *e)
{
    int rc = 0;

    if (!s->open)
        return 0;
    if (s->target && !lease_valid(target_dir_lease(s->target)))
        return storage_leave(s, keep, e);
    if (s->slab && keep && layout_slab_used(s->slab)) /* one that was not touched stays as it is */
        rc = slab_keep(s, objects, e);
    if (s->slab && !keep && s->was_kept && layout_slab_use(s->slab) < 0)
        rc = err_errno(e, -EIO, ERR_OUTPUT, s->path, "its header cannot be written");
    if (s->slab && !keep && s->resizes && !s->target && ftruncate(s->fd, 0) < 0 && rc == 0)
        rc = err_errno(e, -errno, ERR_OUTPUT, s->path, "cannot be emptied");
    /* Without a new index, what the old one names may have been written over. */
    if (s->target && (s->torn || (s->slab && keep && rc < 0)))
        target_dir_doubt(s->target);
    int left = storage_leave(s, keep, rc ? NULL : e);
    return rc ? rc : left;
}
