/* Behind choose.c and sizes.c: opens the engines of the tiers, target first, then engines, and
 * closes them the other way. What lies under Tier-2 is storage.c's. */
#include "kvreplay/prepare/tiers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kvreplay/like/like.h"
#include "lib/base/units.h"
#include "lib/data/data.h"
#include "lib/drive/drive_model.h"
#include "lib/thread/thread.h"
#include "lib/tier/spread.h"

/* A list of kept objects is as old as this when a run is killed; a remote one as its marker. */
#define LIST_FLUSH_NS        (UNITS_NS_PER_S / 2)
#define REMOTE_LIST_FLUSH_NS (10 * UNITS_NS_PER_S)

/* ---- room ---- */

/* The room of a target: its own where Tier-2 has several. */
static struct room *room_of(struct tiers *t, unsigned target)
{
    return t->storages > 1 ? &t->target_room[target] : &t->room[TRACE_STORAGE];
}

/* The room that the trace needs on a target at its peak; NULL from a pipe. */
static const struct room *peak_of(const struct tiers *t, unsigned target)
{
    const struct room *all = t->surveyed ? &t->surveyed->room[TRACE_STORAGE] : NULL;

    return all && t->storages > 1 ? &all->target[target] : all;
}

/* Targets of other ranks, on the file system of a target. */
static struct claim_others others_of(const struct tiers *t, unsigned target)
{
    return t->o.others ? t->o.others[target] : (struct claim_others){0};
}

/* A target of files: several on one file system share what is free there. */
static int files_room(struct tiers *t, unsigned target, struct err *e)
{
    const struct storage *s = &t->storage[target];
    struct room *room = room_of(t, target);
    struct claim_others others = others_of(t, target);
    uint64_t mine = 0, all = 0, kept = 0, bytes;
    unsigned sharers = others.targets;
    char want[32], has[32];
    int rc = target_room(s->fd, s->o.reserve, &bytes, e);

    if (rc < 0)
        return rc;
    for (unsigned i = 0; i < t->storages; i++) {
        const struct room *peak = peak_of(t, i);
        if (t->storage[i].slab || t->storage[i].file_system != s->file_system)
            continue;
        uint64_t need =
            peak ? peak->peak + t->adopted[i].staying_bytes + peak->peak_objects * DATA_BLOCK : 0;
        all += need;
        mine = i == target ? need : mine;
        kept += t->adopted[i].bytes;
        sharers++;
    }
    bytes += kept;
    if (room->open) { /* it is shared evenly, whatever the traces need */
        room->capacity = room->capacity < bytes / sharers ? room->capacity : bytes / sharers;
        return 0;
    }
    if (all > bytes)
        return tiers_too_small(e, TRACE_STORAGE, all, bytes, s->o.path);
    if (others.bytes > bytes - all) {
        if (!t->kept[TRACE_STORAGE]) /* else much of it may be there */
            return err_set(
                e, -ENOSPC, ERR_TARGET, s->o.path,
                "%u targets of the ranks on this file system need %s at their peak, and "
                "it has %s (--split keys divides a trace, %s)",
                sharers, units_format_bytes(want, sizeof(want), (double)all + (double)others.bytes),
                units_format_bytes(has, sizeof(has), (double)bytes),
                "kvgen --storage-capacity makes one that needs less");
        others.bytes = bytes - all;
    }
    bytes = mine + (bytes - all - others.bytes) / sharers;
    if (room->capacity > bytes)
        room->capacity = bytes;
    return 0;
}

int tiers_storage_room(struct tiers *t, struct err *e)
{
    struct room *all = &t->room[TRACE_STORAGE];
    uint64_t sum = 0;
    int rc = 0;

    for (unsigned i = 0; i < t->storages; i++) {
        const struct room *peak = peak_of(t, i);
        struct room *room = room_of(t, i);
        uint64_t need = peak ? peak->peak + t->adopted[i].staying_bytes : 0;
        if (t->storage[i].slab) { /* it was sized when it was opened */
            uint64_t beside = storage_beside(&t->storage[i]);
            room->capacity -= beside < room->capacity ? beside : room->capacity;
        } else if ((rc = files_room(t, i, e)) < 0) {
            return rc;
        }
        if (need > room->capacity && !room->open)
            return tiers_too_small(e, TRACE_STORAGE, need, room->capacity,
                                   t->storages > 1 ? t->storage[i].o.path
                                                   : "with what was kept beside it the tier");
        if (__builtin_add_overflow(sum, room->capacity, &sum))
            sum = TIERS_NO_LIMIT;
    }
    if (t->storages > 1 && all->capacity > sum)
        all->capacity = sum;
    return 0;
}

int tiers_storage_begin(struct tiers *t, struct err *e)
{
    int rc = 0;

    for (unsigned i = 0; i < t->storages && rc == 0; i++)
        rc = storage_begin(&t->storage[i], e);
    return rc;
}

int tiers_storage_sync(struct tiers *t, struct err *e)
{
    int first = 0;

    for (unsigned i = 0; i < t->storages; i++) {
        int rc = storage_sync(&t->storage[i], first ? NULL : e);
        first = first ? first : rc;
    }
    return first;
}

uint64_t tiers_storage_free(const struct tiers *t, unsigned door)
{
    return t->storages ? storage_free(&t->storage[tiers_target(t, door)]) : UINT64_MAX;
}

/* ---- opening and closing ---- */

static int open_like(struct tiers *t, const struct storage *under, struct tier **tier,
                     struct bell *bell, struct err *e)
{
    const struct tiers_opts *o = &t->o;
    const struct survey *s = t->surveyed;
    struct tier_like_opts l = {.dirfd = under->fd,
                               .lease = storage_lease(under),
                               .path = under->path,
                               .uri = o->like,
                               .largest = s ? s->largest[TRACE_STORAGE] : 0,
                               .sync_objects = o->sync_objects,
                               .max_ops = (unsigned)o->inflight,
                               .gaps = t->gaps};
    int rc = data_shape(o->compress_ratio, o->dedup_ratio, &l.shape);

    if (rc < 0)
        return err_set(e, rc, ERR_INPUT, "--config compress_ratio", "out of range");
    if (s) /* all rows, and what is written before them */
        l.moves = s->tier_rows[TRACE_STORAGE] + s->initial_objects[TRACE_STORAGE];
    return tier_like_open(tier, &l, bell, e);
}

/* One of several targets gets its share of the objects, and a quarter of that for chance. */
static double share_of(const struct tiers *t, unsigned target)
{
    return 1.25 * (t->o.part[target].to - t->o.part[target].from) / TARGET_SLOTS;
}

/* The room that the trace needs on a target; false from a pipe. Bytes that may be there already are
 * known for all targets together only. */
static bool need_of(const struct tiers *t, unsigned target, struct storage_need *need)
{
    const struct survey *s = t->surveyed;
    const struct room *peak = peak_of(t, target);

    if (!s)
        return false;
    *need = (struct storage_need){.peak = peak->peak,
                                  .peak_objects = peak->peak_objects,
                                  .noted_bytes = s->noted_bytes,
                                  .noted_objects = s->noted_objects,
                                  .largest = s->largest[TRACE_STORAGE]};
    if (t->storages > 1) {
        need->noted_bytes = (uint64_t)(share_of(t, target) * (double)s->noted_bytes);
        need->noted_objects = (uint64_t)(share_of(t, target) * (double)s->noted_objects) + 1;
    }
    return true;
}

/* Puts the list of what is kept over an engine, where the store is to be kept or was. */
static int open_list(struct tiers *t, struct tier **tier, struct tier_listed_opts *l, struct err *e)
{
    const struct tiers_opts *o = &t->o;

    l->under = *tier;
    l->writes = o->storage.keep;
    l->rank = o->storage.joins ? o->rank : 0;
    l->first_generation = o->first_generation;
    l->max_ops = (unsigned)(o->inflight + o->ahead);
    if (!l->adopts && !l->writes)
        return 0;
    *tier = NULL;
    int rc = tier_listed_open(tier, l, e);
    if (rc == 0)
        t->listed[t->listeds++] = *tier;
    return rc;
}

/* Opens a target, and an engine whose threads are near its device. */
static int open_engine(struct tiers *t, unsigned i, struct tier **tier, struct bell *bell,
                       struct err *e)
{
    const struct tiers_opts *o = &t->o;
    struct storage *under = &t->storage[i];
    struct storage_opts so = o->storage;
    struct storage_need need;
    cpu_set_t cpus;

    so.path = o->targets.path[i];
    so.part = o->part[i];
    so.sharers = storage_sharers(&o->targets, i) + others_of(t, i).targets;
    bool known = need_of(t, i, &need);
    if (so.bytes && t->storages > 1) {
        so.bytes = (uint64_t)(share_of(t, i) * (double)so.bytes);
        so.bytes = known && so.bytes < need.peak && !o->evicts ? need.peak : so.bytes;
    }
    int rc = storage_open(under, &so, known ? &need : NULL, room_of(t, i), e);
    if (rc < 0)
        return rc;
    if (o->like)
        return open_like(t, under, tier, bell, e);
    struct tier_storage_opts s = {.dirfd = under->fd,
                                  .lease = storage_lease(under),
                                  .slab = under->slab,
                                  .epoch = under->epoch,
                                  .path = under->path,
                                  .engine = o->io,
                                  .chunk_bytes = o->chunk_bytes,
                                  .iodepth = o->iodepth,
                                  .threads = o->rings,
                                  .sqpoll = o->sqpoll,
                                  .iopoll = o->iopoll,
                                  .buffered = o->storage.buffered,
                                  .sync_objects = o->sync_objects,
                                  .pages = o->pages,
                                  .objects = known ? need.peak_objects : 0,
                                  .largest_bytes = known ? need.largest : 0,
                                  .moves = known ? survey_moves(t->surveyed, TRACE_STORAGE) : 0,
                                  .max_ops = (unsigned)(o->inflight + o->ahead),
                                  .engines = t->storages,
                                  .first = i * o->rings,
                                  .gaps = t->gaps};
    rc = data_shape(o->compress_ratio, o->dedup_ratio, &s.shape);
    if (rc < 0)
        return err_set(e, rc, ERR_INPUT, "--config compress_ratio", "out of range");
    under->node = target_device_node(under->device.name);
    bool near = thread_enter_node("/sys", under->node, &cpus) == 0;
    under->node = near ? under->node : -1;
    rc = tier_storage_open(tier, &s, bell, e);
    if (near)
        thread_leave_node(&cpus);
    return rc;
}

static int open_target(struct tiers *t, unsigned i, struct tier **tier, struct bell *bell,
                       struct err *e)
{
    const struct storage *under = &t->storage[i];
    int rc = open_engine(t, i, tier, bell, e);

    if (rc < 0 || !under->list)
        return rc;
    struct tier_listed_opts l = {.store = inventory_files_store(under->list),
                                 .lease = storage_lease(under),
                                 .adopts = t->kept[TRACE_STORAGE] || under->was_kept,
                                 .unsure = t->unsure[TRACE_STORAGE] || under->unsure,
                                 .epoch = under->epoch,
                                 .flush_ns = LIST_FLUSH_NS};
    return open_list(t, tier, &l, e);
}

/* The rooms of several targets begin with what was asked for all of them. */
static int take_targets(struct tiers *t, struct err *e)
{
    struct room *all = &t->room[TRACE_STORAGE];
    unsigned n = t->o.targets.count;

    t->storage = calloc(n, sizeof(*t->storage));
    t->target_room = calloc(n, sizeof(*t->target_room));
    t->adopted = calloc(n, sizeof(*t->adopted));
    if (!t->storage || !t->target_room || !t->adopted)
        return err_nomem(e, "targets");
    t->storages = n;
    for (unsigned i = 0; i < n; i++)
        t->target_room[i] = *all;
    if (n > 1) {
        all->targets = n;
        all->target = t->target_room;
        all->part = t->o.part;
    }
    return 0;
}

static int open_storage(struct tiers *t, struct bell *bell, struct err *e)
{
    struct room *all = &t->room[TRACE_STORAGE];
    struct tier *tier[SPREAD_MAX] = {NULL};
    struct spread_opts spread = {
        .count = t->o.targets.count, .tier = tier, .name = t->o.targets.path, .part = t->o.part};
    int rc = take_targets(t, e);

    for (unsigned i = 0; i < t->storages && rc == 0; i++) {
        rc = open_target(t, i, &tier[i], bell, e);
        t->kept[TRACE_STORAGE] |= t->storage[i].was_kept;
        t->unsure[TRACE_STORAGE] |= t->storage[i].unsure;
        all->blocks |= t->target_room[i].blocks;
    }
    if (rc == 0 && t->storages > 1)
        rc = tier_spread_open(&t->tier[TRACE_STORAGE], &spread, e);
    else if (rc == 0)
        t->tier[TRACE_STORAGE] = tier[0];
    for (unsigned i = 0; i < t->storages && rc < 0; i++) {
        if (tier[i])
            tier[i]->ops->close(tier[i], NULL);
    }
    return rc;
}

static int open_remote(struct tiers *t, unsigned i, struct bell *bell, struct err *e)
{
    const struct tiers_opts *o = &t->o;
    struct tier_remote_opts r = {.uri = o->remote[i],
                                 .program = "kvreplay",
                                 .keep = o->storage.keep,
                                 .destroys = o->storage.destroy_data,
                                 .joins = o->storage.joins,
                                 .data_seed = o->storage.data_seed,
                                 .waits = storage_say_waits,
                                 .late = storage_say_late,
                                 .timeout_ns = o->timeout_ns,
                                 .retries = o->retries,
                                 .max_ops = (unsigned)o->inflight,
                                 .largest_bytes = t->surveyed ? t->surveyed->largest[i] : 0,
                                 .gaps = t->gaps};
    struct tier_remote_facts facts;
    int rc = data_shape(o->compress_ratio, o->dedup_ratio, &r.shape);

    if (rc < 0)
        return err_set(e, rc, ERR_INPUT, "--config compress_ratio", "out of range");
    rc = o->remote[i]->scheme == URI_S3 ? tier_s3_open(&t->tier[i], &r, bell, e)
                                        : tier_resp_open(&t->tier[i], &r, bell, e);
    if (rc < 0)
        return rc;
    t->remote[i] = t->tier[i];
    tier_remote_look(t->remote[i], &facts);
    t->kept[i] |= facts.kept;
    t->unsure[i] |= facts.unsure;
    struct tier_listed_opts l = {.store = tier_remote_list(t->remote[i]),
                                 .lease = tier_remote_lease(t->remote[i]),
                                 .adopts = t->kept[i],
                                 .unsure = t->unsure[i],
                                 .epoch = tier_remote_epoch(t->remote[i]),
                                 .flush_ns = REMOTE_LIST_FLUSH_NS};
    rc = open_list(t, &t->tier[i], &l, e);
    if (rc < 0)
        return rc;
    uint64_t peak = t->surveyed ? t->surveyed->room[i].peak : 0;
    return peak > facts.room_bytes
               ? tiers_too_small(e, i, peak, facts.room_bytes, o->remote[i]->text)
               : 0;
}

static int open_host(struct tiers *t, unsigned i, struct bell *bell, struct err *e)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    struct tier_host_opts host = {.capacity = t->arena[i],
                                  .max_objects = t->slack_objects[i],
                                  .threads = t->choice[i].threads ? t->choice[i].threads
                                             : cpus < 2           ? 1
                                             : cpus > 8           ? 4
                                                                  : (unsigned)cpus / 2,
                                  .prefault = t->exact[i],
                                  .wrap = t->wrap[i],
                                  .max_ops = (unsigned)t->o.inflight,
                                  .gaps = t->gaps};
    return tier_host_open(&t->tier[i], &host, bell, e);
}

static int open_gpu(struct tiers *t, unsigned i, struct bell *bell, struct err *e)
{
    const struct tiers_choice *c = &t->choice[i];
    struct tier_gpu_opts gpu = {.gpus = c->gpus,
                                .capacity = t->arena[i],
                                .max_objects = t->slack_objects[i],
                                .wrap = t->wrap[i],
                                .chunk_bytes = t->o.chunk_bytes,
                                .max_ops = (unsigned)t->o.inflight,
                                .gaps = t->gaps};
    memcpy(gpu.gpu, c->gpu, sizeof(gpu.gpu));
    return tier_gpu_open(&t->tier[i], &gpu, bell, e);
}

int tiers_open(struct tiers *t, struct bell *bell, struct err *e)
{
    for (unsigned i = 0; i < TRACE_TIERS; i++) {
        int rc = 0;
        switch (t->choice[i].kind) {
        case TIERS_STORAGE:
            rc = open_storage(t, bell, e);
            break;
        case TIERS_REMOTE:
            rc = open_remote(t, i, bell, e);
            break;
        case TIERS_HOST:
            rc = open_host(t, i, bell, e);
            break;
        case TIERS_GPU:
            rc = open_gpu(t, i, bell, e);
            break;
        case TIERS_SIM:
            rc = t->choice[i].drive
                     ? tier_drive_open(&t->tier[i], t->choice[i].drive, (unsigned)t->o.inflight, e)
                     : tier_sim_open(&t->tier[i], &t->choice[i].sim, bell, e);
            break;
        case TIERS_NULL:
            rc = tier_null_open(&t->tier[i], bell, e);
            break;
        case TIERS_NONE:
            break;
        }
        if (rc < 0) {
            if (e->class == ERR_FAILED)
                e->class = ERR_TARGET;
            return rc;
        }
    }
    tiers_describe(t);
    return 0;
}

void tiers_keep(struct tiers *t, bool keep)
{
    for (unsigned i = 0; i < TRACE_TIERS; i++) {
        if (t->tier[i] && t->choice[i].kind == TIERS_REMOTE)
            tier_remote_keep(t->remote[i], keep);
    }
}

void tiers_settle(struct tiers *t)
{
    for (unsigned i = 0; i < t->listeds; i++)
        tier_listed_settle(t->listed[i]);
}

bool tiers_lists(const struct tiers *t, struct tier_listed_facts *f)
{
    *f = (struct tier_listed_facts){0};
    for (unsigned i = 0; i < t->listeds; i++) {
        struct tier_listed_facts one;

        tier_listed_look(t->listed[i], &one);
        f->adopts |= one.adopts;
        f->state = i == 0 || one.state == INVENTORY_NONE                ? one.state
                   : f->state != INVENTORY_NONE && one.state > f->state ? one.state
                                                                        : f->state;
        f->listed += one.listed;
        f->unlisted += one.unlisted;
        f->missing += one.missing;
        f->failed = f->failed ? f->failed : one.failed;
    }
    return f->adopts;
}

unsigned tiers_devices(const struct tiers *t, const struct target_device **device)
{
    unsigned n = 0;

    for (unsigned i = 0; i < t->storages; i++) {
        unsigned k = 0;
        while (k < n && strcmp(device[k]->name, t->storage[i].device.name) != 0)
            k++;
        if (k == n)
            device[n++] = &t->storage[i].device;
    }
    return n;
}

struct doors tiers_doors(const struct tiers *t, unsigned tier, const struct counts *counts)
{
    return (struct doors){.counts = counts->door[tier],
                          .door = t->door[tier],
                          .share = t->door_share[tier],
                          .count = counts->doors[tier]};
}

/* Each of several paths is a door, with the end of its name where that is long. */
static void set_target_doors(struct tiers *t)
{
    for (unsigned i = 0; i < t->storages; i++) {
        struct tier_door *d = &t->door[TRACE_STORAGE][i];
        const char *path = t->storage[i].o.path;
        size_t len = strlen(path), cut = len < TIER_ENDPOINT_CAP ? 0 : len - TIER_ENDPOINT_CAP + 4;

        *d = (struct tier_door){.retransmits = -1};
        snprintf(d->endpoint, sizeof(d->endpoint), "%s%s", cut ? "..." : "", path + cut);
        t->door_share[TRACE_STORAGE][i] =
            (double)(t->o.part[i].to - t->o.part[i].from) / TARGET_SLOTS;
    }
    t->doors[TRACE_STORAGE] = t->storages;
}

/* Adds facts about the targets that the engine does not know. */
static void describe_targets(struct tiers *t, struct tier_info *info)
{
    const struct target_device *device[SPREAD_MAX];
    unsigned devices = tiers_devices(t, device);

    if (t->storages > 1)
        set_target_doors(t);
    if (!info->device[0])
        snprintf(info->device, sizeof(info->device), "%.63s%s%.63s", device[0]->name,
                 device[0]->model[0] ? " " : "", device[0]->model);
    if (t->storages > 1)
        notes_add(&info->flags, "%u targets%s on %u device%s", t->storages,
                  t->o.targets.spread == STORAGE_SPREAD_CAPACITY ? " by capacity" : "", devices,
                  units_plural(devices));
    for (unsigned i = 0; i < t->storages; i++) {
        if (t->storage[i].node >= 0 && t->storages > 1)
            notes_add(&info->flags, "%s: threads on NUMA node %d", t->storage[i].o.path,
                      t->storage[i].node);
        else if (t->storage[i].node >= 0)
            notes_add(&info->flags, "threads on NUMA node %d", t->storage[i].node);
    }
}

void tiers_describe(struct tiers *t)
{
    for (unsigned i = 0; i < TRACE_TIERS; i++) {
        struct tier_info *info = &t->info[i];
        const char *instead = t->choice[i].instead;
        if (!t->tier[i])
            continue;
        t->tier[i]->ops->describe(t->tier[i], info);
        t->verifies[i] = info->verifies;
        t->takes_slots[i] = info->takes_slots;
        if (instead[0])
            notes_add(&info->fallbacks, "%s", instead);
        if (t->choice[i].kind == TIERS_REMOTE) {
            t->doors[i] = tier_remote_doors(t->remote[i], t->door[i]);
            for (unsigned k = 0; k < t->doors[i]; k++)
                t->door_share[i][k] = 1.0 / t->doors[i];
        }
        if (t->choice[i].kind == TIERS_STORAGE)
            describe_targets(t, info);
    }
}

void tiers_began(struct tiers *t)
{
    tiers_describe(t);
    for (unsigned i = 0; i < TRACE_TIERS; i++) {
        t->ios_before[i] = t->info[i].ios;
        t->io_ns_before[i] = t->info[i].io_ns;
        memcpy(t->door_before[i], t->door[i], sizeof(t->door[i]));
    }
}

unsigned tiers_threads(const struct tiers *t)
{
    unsigned n = 0;
    for (unsigned i = 0; i < TRACE_TIERS; i++)
        n += t->info[i].threads;
    return n;
}

int tiers_close(struct tiers *t, bool ran, bool keep, const struct objects *objects, struct err *e)
{
    int first = 0;
    for (unsigned i = 0; ran && i < t->listeds; i++)
        tier_listed_keep(t->listed[i], keep);
    for (unsigned i = 0; i < TRACE_TIERS; i++) {
        struct tier *tier = t->tier[i];
        bool torn = tier && tier_torn(tier);
        int rc = tier ? tier->ops->close(tier, first ? NULL : e) : 0;
        first = first ? first : rc;
        t->tier[i] = NULL;
        t->torn |= torn;
        for (unsigned k = 0; i == TRACE_STORAGE && k < t->storages; k++)
            t->storage[k].torn |= torn;
        drive_model_free(t->choice[i].drive);
        t->choice[i].drive = NULL;
    }
    for (unsigned i = 0; i < t->storages; i++) {
        struct storage *s = &t->storage[i];
        int rc = storage_close(s, ran ? keep : s->was_kept, objects, first ? NULL : e);
        first = first ? first : rc;
    }
    free(t->storage);
    free(t->target_room);
    free(t->adopted);
    t->storage = NULL;
    t->target_room = NULL;
    t->adopted = NULL;
    t->storages = 0;
    return first;
}
