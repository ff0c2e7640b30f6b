/* Behind choose.c: decides how much room each tier in memory or GPU has, and how much its engine
 * takes for it. Targets tell their room when tiers.c opens them. */
#include "kvreplay/prepare/tiers.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/units.h"
#include "lib/data/data.h"
#include "lib/io/process_limits.h"
#include "lib/json/jsonin.h"

enum {
    TIERS_SPARE_OBJECTS = 1024,
    TIERS_AHEAD = 64,
    TIERS_BLOCKS_SHARE = 64
};

/* Capacity of the tier that the trace was made for; 0: not known. */
static uint64_t provenance_capacity(const char *provenance, unsigned tier)
{
    struct jsonin *doc = NULL;
    uint64_t bytes = 0;

    if (!provenance || jsonin_parse(&doc, provenance, strlen(provenance), "", NULL) < 0)
        return 0;
    const struct jsonin_v *v = jsonin_find(jsonin_get(jsonin_root(doc), "tiers"), "tier",
                                           trace_tier_text((enum trace_tier)tier));
    jsonin_u64(jsonin_get(v, "capacity_bytes"), &bytes);
    jsonin_free(doc);
    return bytes;
}

int tiers_too_small(struct err *e, unsigned tier, uint64_t peak, uint64_t has, const char *of)
{
    char need[32], room[32];
    const char *way = tier == TRACE_STORAGE
                          ? "kvgen --storage-capacity makes a trace that needs less"
                          : "--overflow wrap uses the space of memory again";
    return err_set(e, -ENOSPC, ERR_TARGET, trace_tier_text((enum trace_tier)tier),
                   "the trace needs %s (%llu bytes) at its peak, and %s has %s "
                   "(--tier-map runs its rows elsewhere, %s)",
                   units_format_bytes(need, sizeof(need), (double)peak), (unsigned long long)peak,
                   of, units_format_bytes(room, sizeof(room), (double)has), way);
}

/* Refuses to take more than half of the free memory for a tier whose capacity was not given. */
static int too_much(struct err *e, unsigned tier, uint64_t peak, uint64_t limit)
{
    char need[32], room[32];

    return err_set(e, -ENOSPC, ERR_TARGET, trace_tier_text((enum trace_tier)tier),
                   "the trace needs %s (%llu bytes) at its peak, and only %s (half of the free "
                   "memory) may be used unless --cpu-mem asks for more (--tier-map runs its rows "
                   "elsewhere, --overflow wrap uses the space of memory again)",
                   units_format_bytes(need, sizeof(need), (double)peak), (unsigned long long)peak,
                   units_format_bytes(room, sizeof(room), (double)limit));
}

/* Capacity of a memory or GPU tier that was not asked for. known: what the trace says of itself. */
static int size_memory(struct tiers *t, unsigned i, uint64_t known, struct err *e)
{
    const struct survey *s = t->surveyed;
    bool host = t->choice[i].kind == TIERS_HOST;
    uint64_t limit = host ? memory_available() / 2 : 8 * UNITS_GIB;
    uint64_t peak = s ? s->room[i].peak : 0;

    if (host && peak > limit && !t->wrap[i])
        return too_much(e, i, peak, limit);
    t->room[i].capacity = known >= peak && known > 0 ? known : s ? peak : limit;
    if (host && t->room[i].capacity > limit)
        t->room[i].capacity = limit;
    return 0;
}

/* The most that a replay of the surveyed trace can use of a tier: the peak, where room is taken in
 * the order of the trace. Requests in another order may need more: at most all objects that the
 * trace ever stores, and in practice an eighth and what is in flight. A GPU has its memory for
 * itself, and room ahead of the peak keeps its copies overlapped. */
static uint64_t most_useful(const struct tiers *t, unsigned i)
{
    const struct survey *s = t->surveyed;
    const struct room *need = &s->room[i];
    uint64_t ahead = t->o.inflight < TIERS_AHEAD ? t->o.inflight : TIERS_AHEAD;
    uint64_t useful = need->peak + need->peak / 8 + ahead * s->largest[i];

    if (t->choice[i].kind != TIERS_HOST)
        return useful;
    if (!t->o.any_order)
        return need->peak;
    return useful < s->stored_bytes[i] ? useful : s->stored_bytes[i];
}

/* The arena of a memory or GPU tier, whose capacity is known. */
static void size_arena(struct tiers *t, unsigned i)
{
    const struct survey *s = t->surveyed;
    struct room *room = &t->room[i];

    if (s) {
        const struct room *need = &s->room[i];
        uint64_t useful = most_useful(t, i);
        if (useful < room->capacity)
            room->capacity = useful;
        room->max_objects = need->peak_objects + need->peak_objects / 8 + TIERS_SPARE_OBJECTS;
        t->slack_objects[i] = room->max_objects;
        t->exact[i] = true;
    } else {
        /* The number of objects is not known: counts blocks. A small share more makes up for
         * objects that fill their last block in part. */
        room->blocks = true;
        if (!t->wrap[i])
            room->capacity = DATA_PADDED(room->capacity + room->capacity / TIERS_BLOCKS_SHARE);
    }
    t->arena[i] = room->capacity;
}

static int size_one(struct tiers *t, unsigned i, uint64_t known, struct err *e)
{
    const struct survey *s = t->surveyed;
    enum tiers_kind kind = t->choice[i].kind;
    double gib = t->o.gib[i] * (kind == TIERS_GPU ? t->choice[i].gpus : 1);
    uint64_t asked = (uint64_t)(gib * (double)UNITS_GIB), peak = s ? s->room[i].peak : 0;
    uint64_t trusted = s && known >= peak ? known : 0;
    bool memory = kind == TIERS_HOST || kind == TIERS_GPU;

    t->room[i] = (struct room){.capacity = asked     ? asked
                                           : trusted ? trusted
                                                     : TIERS_NO_LIMIT,
                               .max_objects = TIERS_NO_LIMIT,
                               .open = i == TRACE_STORAGE && t->o.evicts};
    t->exact[i] = asked > 0;
    t->wrap[i] =
        t->o.overflow == TIERS_OVERFLOW_WRAP && kind != TIERS_STORAGE && kind != TIERS_REMOTE;
    if (asked && peak > asked && !t->wrap[i] && !t->room[i].open)
        return tiers_too_small(e, i, peak, asked, "the tier as asked for");
    if (memory && !asked) {
        int rc = size_memory(t, i, known, e);
        if (rc < 0)
            return rc;
    }
    t->wrap[i] = t->wrap[i] && (!s || peak > t->room[i].capacity);
    if (memory)
        size_arena(t, i);
    if (t->wrap[i]) { /* any amount fits in what the arena has */
        char has[32], need[32] = "an amount not known beforehand";
        if (s)
            units_format_bytes(need, sizeof(need), (double)peak);
        snprintf(t->choice[i].instead, sizeof(t->choice[i].instead),
                 "space of %s used again for %s, contents not kept",
                 units_format_bytes(has, sizeof(has), (double)t->room[i].capacity), need);
        t->room[i].capacity = t->room[i].max_objects = TIERS_NO_LIMIT;
        t->slack_objects[i] = 0;
    }
    if (kind == TIERS_HOST && t->arena[i] > memory_available()) {
        char want[32], room[32];
        return err_set(e, -ENOMEM, ERR_TARGET, trace_tier_text((enum trace_tier)i),
                       "%s asked for, and %s of memory are available",
                       units_format_bytes(want, sizeof(want), (double)t->arena[i]),
                       units_format_bytes(room, sizeof(room), (double)memory_available()));
    }
    return 0;
}

int tiers_size(struct tiers *t, const char *provenance, struct err *e)
{
    for (unsigned i = 0; i < TRACE_TIERS; i++) {
        if (t->choice[i].kind == TIERS_NONE)
            continue;
        int rc = size_one(t, i, provenance_capacity(provenance, i), e);
        if (rc < 0)
            return rc;
    }
    return 0;
}
