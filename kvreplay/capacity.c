/* Before anything is written: how much room each tier has. From the options, else from what the
 * trace says of itself or is known to need, held against what the host has. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvreplay/tiers.h"
#include "lib/base/units.h"
#include "lib/data/data.h"
#include "lib/json/jsonin.h"

#define NO_LIMIT (UINT64_MAX / 4)
enum {
    SPARE_OBJECTS = 1024,
    BLOCKS_SHARE = 64
};

static uint64_t memory_available(void)
{
    unsigned long long kib = 0;
    char line[128];
    FILE *f = fopen("/proc/meminfo", "r");
    while (f && fgets(line, sizeof(line), f)) {
        if (sscanf(line, "MemAvailable: %llu", &kib) == 1)
            break;
    }
    if (f)
        fclose(f);
    return kib ? kib * 1024 : UNITS_GIB;
}

/* Capacity of the tier that the trace was made for; 0: not known. */
static uint64_t provenance_capacity(const char *provenance, unsigned tier)
{
    struct jsonin *doc = NULL;
    uint64_t bytes = 0;

    if (!provenance || jsonin_parse(&doc, provenance, strlen(provenance), "", NULL) < 0)
        return 0;
    const struct jsonin_v *tiers = jsonin_get(jsonin_root(doc), "tiers");
    for (size_t i = 0; i < jsonin_count(tiers); i++) {
        const struct jsonin_v *v = jsonin_at(tiers, i);
        const char *name = jsonin_text(jsonin_get(v, "tier"), NULL);
        if (name && strcmp(name, trace_tier_text((enum trace_tier)tier)) == 0)
            jsonin_u64(jsonin_get(v, "capacity_bytes"), &bytes);
    }
    jsonin_free(doc);
    return bytes;
}

static int too_small(struct err *e, unsigned tier, uint64_t peak, uint64_t has, const char *of)
{
    char need[32], room[32];
    const char *way = tier == TRACE_STORAGE
                          ? "kvgen --storage-capacity-gb makes a trace that needs less"
                          : "--overflow wrap uses the space of memory again";
    return err_set(e, -ENOSPC, ERR_TARGET, trace_tier_text((enum trace_tier)tier),
                   "the trace needs %s (%llu bytes) at its peak, and %s has %s "
                   "(--tier-map runs its rows elsewhere, %s)",
                   units_format_bytes(need, sizeof(need), (double)peak), (unsigned long long)peak,
                   of, units_format_bytes(room, sizeof(room), (double)has), way);
}

static int too_large(struct err *e, unsigned tier, uint64_t asked)
{
    char want[32], room[32];
    return err_set(e, -ENOMEM, ERR_TARGET, trace_tier_text((enum trace_tier)tier),
                   "%s asked for, and %s of memory are available",
                   units_format_bytes(want, sizeof(want), (double)asked),
                   units_format_bytes(room, sizeof(room), (double)memory_available()));
}

/* In GiB. --gpu-mem-gb is of each GPU, as kvgen's. */
static double capacity_option(const struct tiers *t, const struct options *o, unsigned tier)
{
    const double gb[TRACE_TIERS] = {o->gpu_mem_gb, o->cpu_mem_gb, o->storage_gb};
    return t->choice[tier].kind == TIERS_GPU ? gb[tier] * t->choice[tier].gpus : gb[tier];
}

/* Memory for an engine without an option. */
static int size_memory(struct tiers *t, unsigned i, const struct survey *s, uint64_t known,
                       struct err *e)
{
    bool host = t->choice[i].kind == TIERS_HOST;
    uint64_t limit = host ? memory_available() / 2 : 8 * UNITS_GIB;
    uint64_t peak = s ? s->room[i].peak : 0;

    if (host && peak > limit && !t->wrap[i])
        return too_small(e, i, peak, limit, "half of the memory available");
    t->room[i].capacity = known >= peak && known > 0 ? known : s ? peak : limit;
    if (host && t->room[i].capacity > limit)
        t->room[i].capacity = limit;
    return 0;
}

/* An arena no larger than a replay can use: the peak, and what may be reserved ahead of it. */
static void size_arena(struct tiers *t, unsigned i, const struct survey *s, uint64_t inflight)
{
    const struct room *need = &s->room[i];
    struct room *room = &t->room[i];
    uint64_t useful = need->peak + need->peak / 8 + inflight * s->largest[i];

    if (useful < room->capacity)
        room->capacity = useful;
    room->max_objects = need->peak_objects + need->peak_objects / 8 + SPARE_OBJECTS;
    t->arena[i] = room->capacity;
    t->slack_objects[i] = room->max_objects;
    t->exact[i] = true;
}

/* From a pipe: nobody knows how many objects there will be, so blocks are counted, of which a small
 * share makes up for objects that fill theirs in part. */
static void size_blocks(struct tiers *t, unsigned i)
{
    struct room *room = &t->room[i];

    room->blocks = true;
    if (!t->wrap[i])
        room->capacity = DATA_PADDED(room->capacity + room->capacity / BLOCKS_SHARE);
    t->arena[i] = room->capacity;
}

/* Any amount fits; what the arena has was decided before. */
static void size_endless(struct tiers *t, unsigned i, const struct survey *s)
{
    char has[32], need[32] = "an amount not known beforehand";

    if (s)
        units_format_bytes(need, sizeof(need), (double)s->room[i].peak);
    snprintf(t->choice[i].instead, sizeof(t->choice[i].instead),
             "space of %s used again for %s, contents not kept",
             units_format_bytes(has, sizeof(has), (double)t->room[i].capacity), need);
    t->room[i].capacity = t->room[i].max_objects = NO_LIMIT;
    t->slack_objects[i] = 0;
}

static int size_one(struct tiers *t, unsigned i, const struct options *o, const struct survey *s,
                    uint64_t known, struct err *e)
{
    enum tiers_kind kind = t->choice[i].kind;
    uint64_t asked = (uint64_t)(capacity_option(t, o, i) * (double)UNITS_GIB);
    bool memory = kind == TIERS_HOST || kind == TIERS_GPU;
    uint64_t trusted = s && known >= s->room[i].peak ? known : 0;
    int rc = 0;

    t->room[i] = (struct room){.capacity = asked     ? asked
                                           : trusted ? trusted
                                                     : NO_LIMIT,
                               .max_objects = NO_LIMIT};
    t->exact[i] = asked > 0;
    t->wrap[i] = o->overflow == OVERFLOW_WRAP && kind != TIERS_STORAGE;
    if (asked && s && s->room[i].peak > asked && !t->wrap[i])
        return too_small(e, i, s->room[i].peak, asked, "the tier as asked for");
    if (memory && !asked)
        rc = size_memory(t, i, s, known, e);
    t->wrap[i] = t->wrap[i] && (!s || s->room[i].peak > t->room[i].capacity);
    if (rc == 0 && memory && !s)
        size_blocks(t, i);
    else if (rc == 0 && memory)
        size_arena(t, i, s, o->inflight < 64 ? o->inflight : 64);
    if (t->wrap[i])
        size_endless(t, i, s);
    if (rc == 0 && kind == TIERS_HOST && t->arena[i] > memory_available())
        return too_large(e, i, t->arena[i]);
    return rc;
}

int tiers_size(struct tiers *t, const struct options *o, const struct survey *surveyed,
               const char *provenance, struct err *e)
{
    for (unsigned i = 0; i < TRACE_TIERS; i++) {
        uint64_t known = provenance_capacity(provenance, i);
        int rc = t->choice[i].kind == TIERS_NONE ? 0 : size_one(t, i, o, surveyed, known, e);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* Of a directory: a slab was sized when it was opened. */
static int size_directory(struct tiers *t, const struct options *o, uint64_t need,
                          uint64_t kept_bytes, struct err *e)
{
    unsigned i = TRACE_STORAGE;
    uint64_t bytes;
    int rc = target_room(t->storage.fd, o->reserve_percent / 100, &bytes, e);

    if (rc < 0)
        return rc;
    bytes += kept_bytes;
    if (need > bytes)
        return too_small(e, i, need, bytes, o->nvme);
    if (t->room[i].capacity > bytes)
        t->room[i].capacity = bytes;
    return 0;
}

int tiers_storage_room(struct tiers *t, const struct options *o, const struct survey *surveyed,
                       uint64_t kept_bytes, uint64_t staying_bytes, struct err *e)
{
    const struct room *room = surveyed ? &surveyed->room[TRACE_STORAGE] : NULL;
    uint64_t need = room ? room->peak + staying_bytes : 0;
    uint64_t slack = room ? room->peak_objects * DATA_BLOCK : 0;
    int rc = 0;

    if (!t->storage.open)
        return 0;
    if (!t->storage.slab)
        rc = size_directory(t, o, need + slack, kept_bytes, e);
    if (rc == 0 && need > t->room[TRACE_STORAGE].capacity)
        rc = too_small(e, TRACE_STORAGE, need, t->room[TRACE_STORAGE].capacity,
                       "with what was kept beside it the tier");
    return rc;
}
