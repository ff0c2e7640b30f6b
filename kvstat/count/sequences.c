/* Pieces keep the few values of each row that are followed, for the blocks of a series can only be
 * filled in order. They are as long as a piece of the file, so memory is bounded. */
#include "kvstat/count/sequences.h"

#include <errno.h>
#include <stdlib.h>

#include "kvstat/count/agg.h"
#include "lib/base/memory.h"

#define FIRST_ENTRIES ((size_t)4096)
#define NO_GROUP      UINT32_MAX

/* A row. value TRACE_NONE: unknown. */
struct entry {
    int64_t value[SEQUENCES_METRICS];
    int64_t line_ns; /* wait for the start, then in the tier for an I/O slot: TRACE_NONE, no Due */
    uint32_t group;  /* NO_GROUP: no read or write, or one that failed */
    uint8_t tier, op;
    int8_t hit; /* of a lookup 0 or 1, else -1 */
};

struct sequence_piece {
    unsigned by;
    int64_t warmup_ns;
    struct entry *entry;
    size_t count, room;
};

struct sequences {
    unsigned by;
    struct blocks *direction[TRACE_TIERS][2][SEQUENCES_METRICS];
    size_t places;
    struct group_series {
        struct blocks *metric[SEQUENCES_METRICS];
    } * *group; /* by place */
    struct blocks *waits, *lookups;
};

/* ---- pieces ---- */

struct sequence_piece *sequence_piece_create(unsigned by, int64_t warmup_ns)
{
    struct sequence_piece *p = calloc(1, sizeof(*p));
    if (!p)
        return NULL;
    p->by = by;
    p->warmup_ns = warmup_ns;
    return p;
}

void sequence_piece_free(struct sequence_piece *p)
{
    if (!p)
        return;
    free(p->entry);
    free(p);
}

void sequence_piece_clear(struct sequence_piece *p)
{
    p->count = 0;
}

static void fill(struct entry *entry, unsigned by, const struct trace_row *row)
{
    const struct group_key key = {.tier = row->tier,
                                  .op = row->op,
                                  .phase = row->phase,
                                  .qos = row->qos,
                                  .class = row->class,
                                  .status = row->status};
    entry->group = (uint32_t)groups_place(by, &key);
    entry->tier = row->tier;
    entry->op = row->op;
    entry->value[SEQUENCES_SERVICE] = row->latency_ns;
    entry->value[SEQUENCES_DEVICE] = row->device_ns;
    entry->value[SEQUENCES_WAIT] = entry->value[SEQUENCES_RESPONSE] = TRACE_NONE;
    entry->line_ns = TRACE_NONE;
    if (row->due_ns != TRACE_NONE) {
        entry->value[SEQUENCES_WAIT] = agg_add_ns(row->start_ns, -row->due_ns);
        entry->value[SEQUENCES_RESPONSE] =
            agg_add_ns(entry->value[SEQUENCES_WAIT], row->latency_ns);
        entry->line_ns = entry->value[SEQUENCES_WAIT];
        if (row->extra && row->extra->slot_ns > 0)
            entry->line_ns = agg_add_ns(entry->line_ns, row->extra->slot_ns);
    }
}

int sequence_piece_add(struct sequence_piece *p, const struct trace_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct trace_row *row = &rows[i];
        bool ok = row->status == TRACE_OK || row->status == TRACE_NO_STATUS;
        bool lookup = row->op == TRACE_READ && row->phase != TRACE_EVICT;
        bool missed = row->op == TRACE_MISS || (lookup && row->status == TRACE_ABSENT);
        bool moved = ok && row->latency_ns != TRACE_NONE && row->tier != TRACE_NO_TIER &&
                     (row->op == TRACE_READ || row->op == TRACE_WRITE);
        if (row->start_ns == TRACE_NONE || row->start_ns < p->warmup_ns || row->start_ns < 0)
            continue;
        if (!moved && !lookup && !missed)
            continue;
        if (memory_room(&p->entry, &p->room, p->count, sizeof(*p->entry), FIRST_ENTRIES) < 0)
            return -ENOMEM;
        struct entry *entry = &p->entry[p->count++];
        entry->group = NO_GROUP;
        entry->hit = missed ? 0 : lookup ? 1 : -1;
        if (moved)
            fill(entry, p->by, row);
    }
    return 0;
}

/* ---- all of a file ---- */

struct sequences *sequences_create(unsigned by)
{
    struct sequences *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->by = by;
    s->places = groups_places(by);
    s->group = calloc(s->places, sizeof(struct group_series *));
    if (!s->group) {
        free(s);
        return NULL;
    }
    return s;
}

void sequences_free(struct sequences *s)
{
    if (!s)
        return;
    for (size_t m = 0; m < SEQUENCES_METRICS; m++) {
        for (size_t t = 0; t < TRACE_TIERS; t++)
            for (size_t op = 0; op < 2; op++)
                blocks_free(s->direction[t][op][m]);
        for (size_t i = 0; i < s->places; i++)
            if (s->group[i])
                blocks_free(s->group[i]->metric[m]);
    }
    for (size_t i = 0; i < s->places; i++)
        free(s->group[i]);
    free(s->group);
    blocks_free(s->waits);
    blocks_free(s->lookups);
    free(s);
}

unsigned sequences_by(const struct sequences *s)
{
    return s->by;
}

static int add(struct blocks **b, int64_t value)
{
    if (!*b)
        *b = blocks_create();
    return *b ? blocks_add(*b, value) : -ENOMEM;
}

static int add_all(struct blocks *metric[SEQUENCES_METRICS], const struct entry *entry)
{
    int rc = 0;
    for (size_t m = 0; m < SEQUENCES_METRICS && rc == 0; m++)
        if (entry->value[m] != TRACE_NONE)
            rc = add(&metric[m], entry->value[m]);
    return rc;
}

static struct group_series *group_at(struct sequences *s, size_t place)
{
    if (!s->group[place])
        s->group[place] = calloc(1, sizeof(*s->group[place]));
    return s->group[place];
}

int sequences_append(struct sequences *s, const struct sequence_piece *piece)
{
    int rc = 0;
    for (size_t i = 0; i < piece->count && rc == 0; i++) {
        const struct entry *entry = &piece->entry[i];
        if (entry->hit >= 0)
            rc = add(&s->lookups, entry->hit);
        if (rc < 0 || entry->group == NO_GROUP)
            continue;
        if (entry->line_ns != TRACE_NONE)
            rc = add(&s->waits, entry->line_ns);
        struct group_series *group = rc == 0 ? group_at(s, entry->group) : NULL;
        rc = group ? add_all(group->metric, entry) : -ENOMEM;
        if (rc == 0)
            rc = add_all(s->direction[entry->tier][entry->op == TRACE_WRITE], entry);
    }
    return rc;
}

int sequences_merge(struct sequences *into, const struct sequences *from)
{
    int rc = blocks_merge(&into->lookups, from->lookups);
    if (rc == 0)
        rc = blocks_merge(&into->waits, from->waits);
    for (size_t m = 0; m < SEQUENCES_METRICS && rc == 0; m++) {
        for (size_t t = 0; t < TRACE_TIERS && rc == 0; t++)
            for (size_t op = 0; op < 2 && rc == 0; op++)
                rc = blocks_merge(&into->direction[t][op][m], from->direction[t][op][m]);
        for (size_t i = 0; i < into->places && rc == 0; i++)
            if (from->group[i])
                rc = group_at(into, i)
                         ? blocks_merge(&into->group[i]->metric[m], from->group[i]->metric[m])
                         : -ENOMEM;
    }
    return rc;
}

const struct blocks *sequences_direction(const struct sequences *s, uint8_t tier, uint8_t op,
                                         enum sequences_metric metric)
{
    bool followed = tier < TRACE_TIERS && (op == TRACE_READ || op == TRACE_WRITE);
    return followed ? s->direction[tier][op == TRACE_WRITE][metric] : NULL;
}

const struct blocks *sequences_group(const struct sequences *s, const struct group_key *key,
                                     enum sequences_metric metric)
{
    const struct group_series *group = s->group[groups_place(s->by, key)];
    return group ? group->metric[metric] : NULL;
}

const struct blocks *sequences_lookups(const struct sequences *s)
{
    return s->lookups;
}

const struct blocks *sequences_waits(const struct sequences *s)
{
    return s->waits;
}
