/* Reads the list of a kept store into a table. Each record has a sum of its own, so that what a
 * kill or a power cut left of the last one is recognised; what the list says of the objects is for
 * lib/tier/listed.c to use. */
#include "lib/owner/inventory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "lib/base/clock.h"
#include "lib/base/memory.h"

enum {
    WORDS = INVENTORY_RECORD / 8,
    SUMMED = INVENTORY_RECORD - 4, /* the rest is the sum */
    READ_RECORDS = 1638,           /* at a time: nearly 64 KiB */
    INDEX_MIN = 1024,
    RANKS_MAX = 4095,
    RUNS_MAX = 1 << 16
};
#define RUN_WRITES (UINT64_C(1) << 40) /* more than a run makes */

struct inventory {
    struct inventory_entry *entry;
    size_t entries, entries_cap, live;
    uint32_t *index; /* entry number + 1; 0: empty. Open addressing */
    size_t index_size;
    uint64_t seed; /* drawn, so that no list can be made whose names share a place */
    struct inventory_run *run;
    uint32_t *segment;
    unsigned runs, segments;
    size_t runs_cap, segments_cap;
    uint64_t records;
    enum inventory_state state;
    bool bad; /* a record of this segment was damaged */
};

/* ---- names and records ---- */

void inventory_name(char name[INVENTORY_NAME_CAP], uint32_t segment)
{
    if (segment == 0)
        snprintf(name, INVENTORY_NAME_CAP, INVENTORY_NAME);
    else
        snprintf(name, INVENTORY_NAME_CAP, INVENTORY_NAME ".%08" PRIx32, segment);
}

bool inventory_names_segment(const char *name, size_t len)
{
    const size_t head = sizeof(INVENTORY_NAME) - 1;

    if (len < head || memcmp(name, INVENTORY_NAME, head) != 0)
        return false;
    if (len == head)
        return true;
    for (size_t i = head + 1; i < len; i++) {
        if (!memchr("0123456789abcdef", name[i], 16))
            return false;
    }
    return len == INVENTORY_NAME_CAP - 1 && name[head] == '.';
}

/* As it is in a segment: words of 8 bytes, little-endian. Name (2), generation, bytes with the kind
 * in the upper 16 bits, epoch with the sum in the upper 32. */
void inventory_encode(const struct inventory_record *r, unsigned char text[INVENTORY_RECORD])
{
    uint64_t word[WORDS] = {r->name.lo, r->name.hi, r->generation,
                            r->bytes | (uint64_t)r->kind << 48, r->epoch};
    uint32_t sum = (uint32_t)hash_64(word, SUMMED);

    memcpy(text, word, SUMMED);
    memcpy(text + SUMMED, &sum, sizeof(sum));
}

/* Reads a record from its text. False: it is damaged. */
static bool inventory_decode(const unsigned char text[INVENTORY_RECORD], struct inventory_record *r)
{
    uint64_t word[WORDS], kind;

    memcpy(word, text, INVENTORY_RECORD);
    kind = word[3] >> 48;
    *r = (struct inventory_record){.kind = (enum inventory_kind)kind,
                                   .name = {.lo = word[0], .hi = word[1]},
                                   .generation = word[2],
                                   .bytes = word[3] & ((UINT64_C(1) << 48) - 1),
                                   .epoch = (uint32_t)word[4]};
    return (uint32_t)hash_64(text, SUMMED) == word[4] >> 32 && kind >= INVENTORY_HEAD &&
           kind < INVENTORY_KINDS && r->bytes <= INVENTORY_BYTES_MAX;
}

const char *inventory_state_text(enum inventory_state state)
{
    static const char *const text[] = {[INVENTORY_NONE] = "none",
                                       [INVENTORY_WHOLE] = "whole",
                                       [INVENTORY_CUT] = "cut",
                                       [INVENTORY_DAMAGED] = "damaged",
                                       [INVENTORY_PARTIAL] = "partial"};

    return text[state];
}

/* ---- the table ---- */

static size_t probe(const struct inventory *v, struct hash128 name)
{
    size_t i = hash_mix(hash_mix(name.lo ^ v->seed) + name.hi) & (v->index_size - 1);

    while (v->index[i] && !hash128_equal(v->entry[v->index[i] - 1].name, name))
        i = (i + 1) & (v->index_size - 1);
    return i;
}

/* Enters all entries in the index, whose cells are empty. */
static void index_fill(struct inventory *v)
{
    for (size_t i = 0; i < v->entries; i++)
        v->index[probe(v, v->entry[i].name)] = (uint32_t)i + 1;
}

/* An index of so many cells, over the entries that are there. */
static int index_make(struct inventory *v, size_t size)
{
    uint32_t *index = calloc(size, sizeof(*index));

    if (!index)
        return -ENOMEM;
    free(v->index);
    v->index = index;
    v->index_size = size;
    index_fill(v);
    return 0;
}

/* The entry of that name, which is added where it is new. NULL: no memory. */
static struct inventory_entry *entry_of(struct inventory *v, struct hash128 name)
{
    size_t cell;

    if (v->index_size == 0 && index_make(v, INDEX_MIN) < 0)
        return NULL;
    cell = probe(v, name);
    if (v->index[cell])
        return &v->entry[v->index[cell] - 1];
    if ((v->entries + 1) * 4 > v->index_size * 3) {
        if (index_make(v, v->index_size * 2) < 0)
            return NULL;
        cell = probe(v, name);
    }
    if (v->entries == v->entries_cap) {
        size_t cap = v->entries_cap + v->entries_cap / 2 + INDEX_MIN;

        if (v->entries >= INVENTORY_MAX || memory_resize(&v->entry, cap, sizeof(*v->entry)) < 0)
            return NULL;
        v->entries_cap = cap;
    }
    v->entry[v->entries] = (struct inventory_entry){.name = name};
    v->index[cell] = (uint32_t)++v->entries;
    return &v->entry[v->entries - 1];
}

static bool is_live(const struct inventory_entry *e)
{
    return e->listed || e->there;
}

struct inventory_entry *inventory_find(const struct inventory *v, struct hash128 name)
{
    size_t cell = v->index_size ? probe(v, name) : 0;
    struct inventory_entry *e =
        v->index_size && v->index[cell] ? &v->entry[v->index[cell] - 1] : NULL;

    return e && is_live(e) ? e : NULL;
}

const struct inventory_entry *inventory_next(const struct inventory *v, size_t *pos)
{
    while (*pos < v->entries) {
        const struct inventory_entry *e = &v->entry[(*pos)++];

        if (is_live(e))
            return e;
    }
    return NULL;
}

/* Number of the run of that epoch; -1: before all of them. */
static int run_of(const struct inventory *v, uint32_t epoch)
{
    int i = (int)v->runs - 1;

    while (i >= 0 && v->run[i].epoch != epoch)
        i--;
    return i;
}

int inventory_found(struct inventory *v, struct hash128 name, uint32_t epoch)
{
    struct inventory_entry *e = entry_of(v, name);

    if (!e)
        return -ENOMEM;
    if (e->listed && e->epoch != epoch)
        return 0;
    if (!e->there || run_of(v, epoch) > run_of(v, e->epoch))
        e->epoch = epoch;
    e->there = 1;
    return 0;
}

bool inventory_newer(const struct inventory *v, const struct inventory_entry *entry,
                     uint64_t generation)
{
    int from = run_of(v, entry->epoch);

    for (int i = from < 0 ? 0 : from; i < (int)v->runs; i++) {
        uint64_t first = v->run[i].first_generation;

        if (generation >= first && generation - first < RUN_WRITES &&
            (i > from || generation > entry->generation))
            return true;
    }
    return false;
}

void inventory_settle(struct inventory *v)
{
    size_t kept = 0;

    for (size_t i = 0; i < v->entries; i++) {
        if (is_live(&v->entry[i]) && !v->entry[i].taken)
            v->entry[kept++] = v->entry[i];
    }
    v->entries = kept;
    /* With less memory everything goes on as it is. */
    struct inventory_entry *less = realloc(v->entry, (kept ? kept : 1) * sizeof(*less));
    if (less) {
        v->entry = less;
        v->entries_cap = kept ? kept : 1;
    }
    size_t size = INDEX_MIN;
    while (kept * 4 > size * 3)
        size *= 2;
    if (index_make(v, size) < 0) { /* the old index is at least as large */
        memset(v->index, 0, v->index_size * sizeof(*v->index));
        index_fill(v);
    }
}

/* The latest run but those of the epoch own; -1: there is none. */
static int last_run(const struct inventory *v, uint32_t own)
{
    int i = (int)v->runs - 1;

    while (i >= 0 && v->run[i].epoch == own)
        i--;
    return i;
}

bool inventory_holds(const struct inventory *v, bool unsure, uint32_t own)
{
    int last = last_run(v, own);

    if (v->state == INVENTORY_NONE || v->state == INVENTORY_DAMAGED || last < 0)
        return false;
    return unsure || (v->state != INVENTORY_CUT && v->run[last].ended);
}

void inventory_distrust(struct inventory *v)
{
    for (size_t i = 0; i < v->entries; i++)
        v->entry[i].listed = 0;
}

bool inventory_exact(const struct inventory *v, bool local, struct hash128 boot, uint32_t own)
{
    for (unsigned i = 0; i < v->runs; i++) {
        const struct inventory_run *run = &v->run[i];

        if (run->epoch != own && !run->ended && run->flags & INVENTORY_REMOVES &&
            !(local && hash128_equal(run->boot, boot)))
            return false;
    }
    return true;
}

/* ---- reading ---- */

static int run_begins(struct inventory *v, const struct inventory_record *r)
{
    struct inventory_run *last = v->runs ? &v->run[v->runs - 1] : NULL;

    if (r->bytes & INVENTORY_INCOMPLETE && v->state == INVENTORY_WHOLE)
        v->state = INVENTORY_PARTIAL;
    if (last && last->epoch == r->epoch) { /* of a process on another host: no boot is all of it */
        last->flags |= (uint8_t)r->bytes;
        if (!hash128_equal(last->boot, r->name))
            last->boot = (struct hash128){0};
        return 0;
    }
    if (r->epoch == 0 || v->runs == RUNS_MAX)
        return -EBADMSG;
    if (memory_room(&v->run, &v->runs_cap, v->runs, sizeof(*v->run), 16) < 0)
        return -ENOMEM;
    v->run[v->runs++] = (struct inventory_run){.boot = r->name,
                                               .first_generation = r->generation,
                                               .epoch = r->epoch,
                                               .flags = (uint8_t)r->bytes};
    return 0;
}

/* 0; -EBADMSG: it makes no sense; -ENOMEM. */
static int take_record(struct inventory *v, const struct inventory_record *r)
{
    struct inventory_entry *e;
    int i;

    switch (r->kind) {
    case INVENTORY_RUN:
        return run_begins(v, r);
    case INVENTORY_END:
        i = run_of(v, r->epoch);
        if (i < 0)
            return -EBADMSG;
        v->run[i].ended = true;
        return 0;
    case INVENTORY_PUT:
        e = entry_of(v, r->name);
        if (!e)
            return -ENOMEM;
        *e = (struct inventory_entry){.name = r->name,
                                      .generation = r->generation,
                                      .bytes = r->bytes & INVENTORY_BYTES_MAX,
                                      .listed = 1,
                                      .epoch = r->epoch};
        return 0;
    case INVENTORY_GONE:
        e = inventory_find(v, r->name);
        if (e)
            e->listed = 0;
        return 0;
    default: /* a head has its own segment */
        return -EBADMSG;
    }
}

/* Records behind a damaged one are left alone: those that it would have taken back are not known.
 */
static int take_text(struct inventory *v, const unsigned char *text, size_t len)
{
    for (size_t at = 0; at < len; at += INVENTORY_RECORD) {
        struct inventory_record r;
        bool sound = len - at >= INVENTORY_RECORD && inventory_decode(text + at, &r);
        int rc = sound && !v->bad ? take_record(v, &r) : sound ? 0 : -EBADMSG;

        v->records += sound;
        if (rc < 0 && rc != -EBADMSG)
            return rc;
        if (v->bad && sound)
            v->state = INVENTORY_DAMAGED;
        v->bad |= rc == -EBADMSG;
    }
    return 0;
}

static int note_segment(struct inventory *v, uint32_t number)
{
    if (memory_room(&v->segment, &v->segments_cap, v->segments, sizeof(*v->segment), 16) < 0)
        return -ENOMEM;
    v->segment[v->segments++] = number;
    return 0;
}

/* -ENOENT: there is no such segment. */
static int read_segment(struct inventory *v, const struct inventory_store *s, uint32_t number,
                        unsigned char *text, struct err *e)
{
    const size_t cap = (size_t)READ_RECORDS * INVENTORY_RECORD;
    bool there = false;
    int rc = 0;

    v->bad = false;
    for (uint64_t at = 0; rc == 0 && at < s->segment_bytes;) {
        size_t have = 0;
        ssize_t n = 1;

        while (have < cap && n > 0) {
            n = s->read(s->ctx, number, at + have, text + have, cap - have, e);
            if (n < 0)
                return (int)n;
            have += (size_t)n;
        }
        rc = there ? 0 : note_segment(v, number);
        there = true;
        if (rc == 0)
            rc = take_text(v, text, have);
        at += have;
        if (n == 0)
            break;
    }
    return rc;
}

/* The segments from number on, of one process. */
static int read_sequence(struct inventory *v, const struct inventory_store *s, uint32_t number,
                         unsigned char *text, struct err *e)
{
    for (bool bad = false;; number++) {
        int rc = read_segment(v, s, number, text, e);

        if (rc == -ENOENT)
            return 0;
        if (rc < 0)
            return rc;
        if (bad && v->state != INVENTORY_PARTIAL) /* only the last one can end so */
            v->state = INVENTORY_DAMAGED;
        bad = v->bad;
        if (bad && v->state == INVENTORY_WHOLE)
            v->state = INVENTORY_CUT;
        if (number % INVENTORY_SEQUENCE == INVENTORY_SEQUENCE - 1)
            return 0;
    }
}

/* The number of the first segment; 0: the head is damaged. Returns whether there is a head. */
static int read_head(const struct inventory_store *s, uint32_t *first, struct err *e)
{
    unsigned char text[INVENTORY_RECORD];
    struct inventory_record r;
    ssize_t n = s->read(s->ctx, 0, 0, text, sizeof(text), e);

    *first = 1;
    if (n == -ENOENT)
        return 0;
    if (n < 0)
        return (int)n;
    *first = n == (ssize_t)sizeof(text) && inventory_decode(text, &r) && r.kind == INVENTORY_HEAD &&
                     r.generation > 0 && r.generation < INVENTORY_SEQUENCE
                 ? (uint32_t)r.generation
                 : 0;
    return 1;
}

int inventory_read(struct inventory **out, const struct inventory_store *s, struct err *e)
{
    struct inventory *v = calloc(1, sizeof(*v));
    unsigned char *text = malloc((size_t)READ_RECORDS * INVENTORY_RECORD);
    uint32_t first = 1;
    unsigned before;
    int rc = v && text ? 0 : err_nomem(e, "list of objects"), head;

    if (rc < 0)
        goto out;
    if (getrandom(&v->seed, sizeof(v->seed), GRND_NONBLOCK) < 0)
        v->seed = (uint64_t)clock_wall_ns();
    v->state = INVENTORY_WHOLE;
    rc = head = read_head(s, &first, e);
    if (first == 0)
        v->state = INVENTORY_DAMAGED;
    if (rc >= 0)
        rc = read_sequence(v, s, first ? first : 1, text, e);
    /* The segments of the last run's other processes, each with numbers of its own. */
    before = v->segments;
    for (uint32_t rank = 1; rc == 0 && rank <= RANKS_MAX && before > 0; rank++) {
        before = v->segments;
        rc = read_sequence(v, s, rank * INVENTORY_SEQUENCE, text, e);
        if (v->segments == before)
            break;
    }
    if (v->segments == 0)
        v->state = head > 0 ? INVENTORY_DAMAGED : INVENTORY_NONE;
    if (rc == -ENOMEM)
        err_nomem(e, "list of objects");
    for (size_t i = 0; i < v->entries; i++)
        v->live += is_live(&v->entry[i]);
out:
    free(text);
    if (rc < 0)
        inventory_free(v);
    else
        *out = v;
    return rc;
}

void inventory_free(struct inventory *v)
{
    if (!v)
        return;
    free(v->entry);
    free(v->index);
    free(v->run);
    free(v->segment);
    free(v);
}

enum inventory_state inventory_state(const struct inventory *v)
{
    return v->state;
}

uint64_t inventory_objects(const struct inventory *v)
{
    return v->live;
}

unsigned inventory_segments(const struct inventory *v, const uint32_t **segment)
{
    *segment = v->segment;
    return v->segments;
}

uint64_t inventory_records(const struct inventory *v)
{
    return v->records;
}

unsigned inventory_runs(const struct inventory *v, const struct inventory_run **run)
{
    *run = v->run;
    return v->runs;
}
