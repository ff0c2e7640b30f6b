/* The state of the caches that were recorded. The readers give it messages; it gives operations to
 * recording.c. Memory is that of the blocks that are resident. */
#include "kvgen/record/residency.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/keymap.h"
#include "lib/base/memory.h"
#include "lib/base/units.h"

#define NONE UINT32_MAX

/* A resident block. Those of one owner are a list, in the order in which they came. */
struct object {
    struct hash128 id;
    uint64_t bytes;
    uint32_t tokens;
    uint32_t media; /* where it is: bits (1 << medium) */
    uint32_t owner, before, after;
    bool has_sequence, salted;
    uint64_t sequence; /* Dynamo's hash of the tokens up to here; never written anywhere */
    uint64_t keyed;    /* its keyed hash, which may be known alone; 0: not known */
};

/* A publisher and rank. */
struct owner {
    struct hash128 publisher;
    uint32_t first, last;
};

/* A copy that the message removes. */
struct gone {
    struct hash128 id; /* first */
    uint8_t tier;
};

struct residency {
    struct residency_opts o;
    uint32_t media_of[TRACE_TIERS]; /* the media of a tier as bits */
    struct source_recording n;
    struct keymap *sequences;                   /* objects by keyed sequence hash */
    uint32_t block_tokens;                      /* of the block stored last; 0: none was */
    struct keymap *objects, *owners, *expected; /* numbers of the arrays; next sequence numbers */
    struct object *object;
    uint32_t count, unused; /* unused: list of free places through after */
    size_t cap;
    struct owner *owner;
    uint32_t owner_count;
    size_t owner_cap;
    /* of the message being applied */
    const struct batch *b;
    struct hash128 b_owner; /* key of its publisher and rank */
    struct err *err;
    struct gone *gone; /* once it is collected */
    size_t gone_count, gone_cap;
    bool collected;
};

/* ---- objects and owners ---- */

static struct hash128 owner_key(struct hash128 publisher, int64_t rank)
{
    struct {
        struct hash128 publisher;
        int64_t rank;
    } key = {publisher, rank};
    return hash_128(&key, sizeof(key));
}

static struct hash128 object_id(const struct residency *r, const struct event *v,
                                struct hash128 hash)
{
    struct {
        struct hash128 owner, group, hash;
    } key = {r->b_owner, v->group, hash};
    return hash_128(&key, sizeof(key));
}

/* The owner of the message; NONE: no memory. */
static uint32_t find_owner(struct residency *r)
{
    uint64_t *number = keymap_get(r->owners, r->b_owner, NONE);
    if (!number)
        return NONE;
    if (*number == NONE) {
        if (memory_room(&r->owner, &r->owner_cap, r->owner_count, sizeof(*r->owner), 16) < 0)
            return NONE;
        *number = r->owner_count;
        r->owner[r->owner_count++] =
            (struct owner){.publisher = r->b->publisher, .first = NONE, .last = NONE};
        r->n.owners++;
    }
    return (uint32_t)*number;
}

/* A place for a new object at the end of its owner's list; NONE: no memory. */
static uint32_t add_object(struct residency *r, uint32_t owner, struct hash128 id)
{
    uint32_t at = r->unused;
    if (at == NONE) {
        if (r->count >= NONE ||
            memory_room(&r->object, &r->cap, r->count, sizeof(*r->object), 1024) < 0)
            return NONE;
        at = r->count++;
    } else {
        r->unused = r->object[at].after;
    }
    uint64_t *number = keymap_get(r->objects, id, at);
    if (!number) {
        r->object[at].after = r->unused;
        r->unused = at;
        return NONE;
    }
    struct owner *w = &r->owner[owner];
    r->object[at] = (struct object){.id = id, .owner = owner, .before = w->last, .after = NONE};
    if (w->last != NONE)
        r->object[w->last].after = at;
    else
        w->first = at;
    w->last = at;
    return at;
}

static struct hash128 sequence_key(uint64_t keyed)
{
    return (struct hash128){.lo = keyed};
}

static void drop_object(struct residency *r, uint32_t at)
{
    struct object *o = &r->object[at];
    struct owner *w = &r->owner[o->owner];
    keymap_remove(r->objects, o->id);
    if (o->keyed != 0) {
        struct hash128 key = sequence_key(o->keyed);
        const uint64_t *there = keymap_find(r->sequences, key);
        if (there && *there == at)
            keymap_remove(r->sequences, key);
    }
    if (o->before != NONE)
        r->object[o->before].after = o->after;
    else
        w->first = o->after;
    if (o->after != NONE)
        r->object[o->after].before = o->before;
    else
        w->last = o->before;
    o->after = r->unused;
    r->unused = at;
}

/* ---- operations ---- */

static uint8_t tier_of(const struct residency *r, unsigned medium)
{
    return r->o.media->medium[medium].tier;
}

static int emit(struct residency *r, const struct object *o, enum trace_op op, uint8_t tier,
                enum trace_phase phase)
{
    struct residency_op out = {.op = (uint8_t)op,
                               .tier = tier,
                               .phase = (uint8_t)phase,
                               .tokens = o->tokens,
                               .bytes = o->bytes,
                               .id = o->id,
                               .publisher = r->owner[o->owner].publisher};
    return r->o.sink(r->o.ctx, &out, r->err);
}

/* The object leaves the media of these bits. A tier loses it with its last medium there. */
static int leave(struct residency *r, uint32_t at, uint32_t media)
{
    int rc = 0;
    for (uint8_t tier = 0; rc == 0 && tier < TRACE_TIERS; tier++) {
        struct object *o = &r->object[at];
        uint32_t here = r->media_of[tier], there = o->media & here;
        if ((there & media) == 0)
            continue;
        for (uint32_t gone = there & media; gone; gone &= gone - 1)
            r->n.resident[__builtin_ctz(gone)]--;
        o->media &= ~(here & media);
        if ((o->media & here) == 0)
            rc = emit(r, o, TRACE_DELETE, tier, TRACE_EVICT);
    }
    if (r->object[at].media == 0)
        drop_object(r, at);
    return rc;
}

/* Everything of an owner leaves the media of these bits; *dropped counts copies. */
static int leave_all(struct residency *r, uint32_t owner, uint32_t media, uint64_t *dropped)
{
    for (uint32_t at = r->owner[owner].first, after; at != NONE; at = after) {
        after = r->object[at].after;
        uint32_t gone = r->object[at].media & media;
        *dropped += (unsigned)__builtin_popcount(gone);
        int rc = gone ? leave(r, at, gone) : 0;
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* ---- sizes ---- */

/* Bytes of a block of this many tokens on one rank. A model whose layers keep windows has blocks of
 * two kinds, if the events say of which. */
static int size_of(const struct residency *r, const struct event *v, uint64_t *bytes)
{
    static const enum model_layers of[] = {[EVENT_LAYERS_ALL] = MODEL_ALL,
                                           [EVENT_LAYERS_FULL] = MODEL_FULL,
                                           [EVENT_LAYERS_WINDOWED] = MODEL_WINDOWED};
    const struct model *m = r->o.model;
    enum model_layers layers = m->windowed_layers > 0 ? of[v->layers] : MODEL_ALL;
    if (model_block_bytes(m, layers, v->tokens, bytes) < 0)
        return err_set(r->err, -EOVERFLOW, ERR_INPUT, "", "a block of %u tokens is too large",
                       v->tokens);
    *bytes /= r->o.ranks;
    return 0;
}

/* Sets the size of a new object: recorded, by its tokens, or as --object-bytes says. */
static int set_size(const struct residency *r, const struct event *v, struct object *o)
{
    if (v->bytes > 0 || v->tokens > 0) {
        o->bytes = v->bytes;
        o->tokens = v->tokens;
        return v->bytes > 0 ? 0 : size_of(r, v, &o->bytes);
    }
    if (o->bytes > 0)
        return 0;
    o->bytes = r->o.object_bytes;
    return o->bytes > 0 ? 0
                        : err_set(r->err, -EINVAL, ERR_INPUT, "",
                                  "an object whose size is not recorded (--object-bytes says how "
                                  "large they are)");
}

/* ---- moves ---- */

static int compare_gone(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct hash128));
}

/* Collects what the message removes, sorted: a message may be long. 0 or -ENOMEM. */
static int collect_gone(struct residency *r)
{
    const struct batch *b = r->b;
    if (r->collected)
        return 0;
    r->collected = true;
    r->gone_count = 0;
    for (size_t i = 0; i < b->events; i++) {
        const struct event *v = &b->event[i];
        for (size_t k = v->first; v->kind == EVENT_REMOVED && k < v->first + v->count; k++) {
            if (memory_room(&r->gone, &r->gone_cap, r->gone_count, sizeof(*r->gone), 64) < 0)
                return -ENOMEM;
            r->gone[r->gone_count++] =
                (struct gone){.id = object_id(r, v, b->hash[k]), .tier = tier_of(r, v->medium)};
        }
    }
    if (r->gone_count > 0)
        qsort(r->gone, r->gone_count, sizeof(*r->gone), compare_gone);
    return 0;
}

/* Whether the message removes the object from a tier above: 1, 0, -ENOMEM. */
static int is_moved(struct residency *r, struct hash128 id, uint8_t tier)
{
    if (tier == TRACE_GPU || r->b->events < 2)
        return 0;
    if (collect_gone(r) < 0)
        return -ENOMEM;
    if (r->gone_count == 0)
        return 0;
    const struct gone *end = r->gone + r->gone_count;
    const struct gone *g = bsearch(&id, r->gone, r->gone_count, sizeof(*r->gone), compare_gone);
    while (g && g > r->gone && compare_gone(g - 1, &id) == 0)
        g--;
    for (; g && g < end && compare_gone(g, &id) == 0; g++)
        if (g->tier < tier)
            return 1;
    return 0;
}

/* ---- events ---- */

/* The sequence hash of block k of an event, from the hashes of tokens. False: that of the block
 * before it is not known. */
static bool find_sequence(const struct residency *r, const struct event *v, size_t k,
                          uint64_t *sequence)
{
    unsigned char text[16];
    *sequence = r->b->tokens[k];
    if (k == v->first && !v->has_parent)
        return true;
    struct hash128 before = k > v->first ? r->b->hash[k - 1] : v->parent;
    const uint64_t *number = keymap_find(r->objects, object_id(r, v, before));
    if (!number || !r->object[*number].has_sequence)
        return false;
    for (unsigned i = 0; i < 8; i++) {
        text[i] = (unsigned char)(r->object[*number].sequence >> (8 * i));
        text[8 + i] = (unsigned char)(*sequence >> (8 * i));
    }
    *sequence = hash_64_seeded(text, sizeof(text), BATCH_SEED);
    return true;
}

/* The block k of an event gets its sequence hash, if it is known. */
static int set_sequence(struct residency *r, const struct event *v, size_t k, uint32_t at)
{
    struct object *o = &r->object[at];
    uint64_t *there;
    if (!r->o.names || o->keyed != 0 || !(v->has_locals || v->has_sequences))
        return 0;
    if (v->has_sequences) {
        o->keyed = r->b->tokens[k];
    } else if (find_sequence(r, v, k, &o->sequence)) {
        o->has_sequence = true;
        o->keyed = names_number(r->o.names, o->sequence);
    }
    if (o->keyed == 0)
        return 0;
    o->salted = v->salted;
    there = keymap_get(r->sequences, sequence_key(o->keyed), at);
    if (!there)
        return err_nomem(r->err, "resident blocks");
    if (!v->salted)
        *there = at;
    return 0;
}

/* In place of the hash of its tokens. */
static void keep_sequence(struct residency *r, const struct event *v, size_t k, uint32_t at)
{
    if (v->has_locals)
        r->b->tokens[k] = r->object[at].keyed;
}

static int stored(struct residency *r, uint32_t owner, const struct event *v, size_t k)
{
    struct hash128 id = object_id(r, v, r->b->hash[k]);
    uint32_t bit = 1u << v->medium;
    uint8_t tier = tier_of(r, v->medium);
    const uint64_t *number = keymap_find(r->objects, id);
    uint32_t at = number ? (uint32_t)*number : NONE;
    r->n.stored += !v->told_move;
    r->n.tokens += v->tokens;
    if (v->tokens > 0)
        r->block_tokens = v->tokens;
    if (at != NONE && r->object[at].media & bit) {
        r->n.stored_again++;
        keep_sequence(r, v, k, at);
        if (v->rewrites && v->bytes > 0)
            r->object[at].bytes = v->bytes;
        return v->rewrites ? emit(r, &r->object[at], TRACE_WRITE, tier, TRACE_PREFILL) : 0;
    }
    if (at == NONE && (at = add_object(r, owner, id)) == NONE)
        return err_nomem(r->err, "resident blocks");
    struct object *o = &r->object[at];
    const struct object was = *o;
    int rc = set_size(r, v, o);
    if (rc < 0 && r->o.goes_on) {
        r->n.unsized++;
        *o = was;
        if (o->media == 0)
            drop_object(r, at);
        if (v->has_locals)
            r->b->tokens[k] = 0;
        return 0;
    }
    if (rc == 0)
        rc = set_sequence(r, v, k, at);
    if (rc < 0)
        return rc;
    keep_sequence(r, v, k, at);
    int moved = is_moved(r, id, tier);
    if (moved < 0)
        return err_nomem(r->err, "events");
    r->n.moves += (unsigned)moved;
    r->n.moves_up += v->told_move && !moved;
    r->n.possible_loads +=
        !v->told_move && tier == TRACE_GPU && (o->media & ~r->media_of[TRACE_GPU]) != 0;
    bool there = (o->media & r->media_of[tier]) != 0;
    o->media |= bit;
    r->n.resident[v->medium]++;
    /* Media of Tier-2 are stores of their own: each of them writes the block. */
    return there && tier != TRACE_STORAGE
               ? 0
               : emit(r, o, TRACE_WRITE, tier, moved ? TRACE_EVICT : TRACE_PREFILL);
}

static int removed(struct residency *r, const struct event *v, struct hash128 hash)
{
    const uint64_t *number = keymap_find(r->objects, object_id(r, v, hash));
    uint32_t bit = v->anywhere ? UINT32_MAX : 1u << v->medium;
    r->n.removed += !v->told_move;
    if (!number || !(r->object[*number].media & bit)) {
        r->n.removed_unknown += !v->told_move;
        return 0;
    }
    return leave(r, (uint32_t)*number, bit);
}

/* A read of a block that was stored before the recording began has the size that it says. */
static int was_read(struct residency *r, uint32_t owner, const struct event *v, struct hash128 hash)
{
    struct hash128 id = object_id(r, v, hash);
    const uint64_t *number = keymap_find(r->objects, id);
    struct object o = {.id = id, .bytes = v->bytes, .tokens = v->tokens, .owner = owner};
    if (number)
        o = r->object[*number];
    if (v->bytes > 0 && v->bytes < o.bytes)
        o.bytes = v->bytes; /* of a part */
    if (o.bytes == 0)
        o.bytes = r->o.object_bytes;
    r->n.reads++;
    if (o.bytes == 0) {
        r->n.reads_unsized++;
        return 0;
    }
    return emit(r, &o, TRACE_READ, tier_of(r, v->medium), TRACE_DECODE);
}

/* The publisher is a new process: what it held in these media is gone. */
static int restarted(struct residency *r, uint32_t media)
{
    r->n.restarts++;
    for (uint32_t i = 0; i < r->owner_count; i++)
        if (memcmp(&r->owner[i].publisher, &r->b->publisher, sizeof(r->b->publisher)) == 0) {
            int rc = leave_all(r, i, media, &r->n.dropped_by_restart);
            if (rc < 0)
                return rc;
        }
    return 0;
}

static int check_number(struct residency *r)
{
    const struct batch *b = r->b;
    uint64_t *expected = keymap_get(r->expected, b->publisher, b->seq);
    if (!expected)
        return err_nomem(r->err, "publishers");
    int rc = 0;
    if (b->restarted)
        *expected = b->seq;
    else if (b->seq < *expected)
        rc = restarted(r, r->media_of[TRACE_GPU]);
    /* Numbers may be any: what is missing is held at the end of the range. */
    if (b->seq > *expected &&
        __builtin_add_overflow(r->n.missing, b->seq - *expected, &r->n.missing))
        r->n.missing = UINT64_MAX;
    *expected = b->seq == UINT64_MAX ? b->seq : b->seq + 1;
    return rc;
}

int residency_apply(struct residency *r, struct batch *b, struct err *e)
{
    r->b = b;
    r->b_owner = owner_key(b->publisher, b->rank);
    r->err = e;
    r->collected = false;
    r->n.messages++;
    int rc = b->restarted ? restarted(r, UINT32_MAX) : 0;
    if (rc == 0 && b->numbered)
        rc = check_number(r);
    uint32_t owner = rc == 0 ? find_owner(r) : 0;
    if (owner == NONE)
        return err_nomem(e, "publishers");
    for (size_t i = 0; rc == 0 && i < b->events; i++) {
        struct event *v = &b->event[i];
        if (tier_of(r, v->medium) == TRACE_NO_TIER) {
            r->n.unknown_media += v->count > 0 ? v->count : 1;
            v->has_locals = false; /* hashes of tokens are for nobody to see */
            continue;
        }
        if (v->kind == EVENT_CLEARED) {
            r->n.cleared++;
            rc = leave_all(r, owner, UINT32_MAX, &r->n.dropped_by_clear);
        }
        for (size_t k = v->first; rc == 0 && k < v->first + v->count; k++)
            rc = v->kind == EVENT_STORED    ? stored(r, owner, v, k)
                 : v->kind == EVENT_REMOVED ? removed(r, v, b->hash[k])
                                            : was_read(r, owner, v, b->hash[k]);
        if (v->has_locals) {
            v->has_locals = false;
            v->has_sequences = r->o.names != NULL;
        }
    }
    return rc;
}

int residency_read(struct residency *r, const struct residency_request *q, uint32_t *read,
                   struct err *e)
{
    *read = 0;
    if (r->block_tokens != 0 && r->block_tokens != q->block_tokens)
        return 0;
    for (uint32_t i = 0; i < q->blocks; i++) {
        const uint64_t *number = keymap_find(r->sequences, (struct hash128){.lo = q->block[i]});
        if (!number)
            break;
        const struct object *o = &r->object[*number];
        if (o->salted)
            return 0;
        struct residency_op op = {.op = TRACE_READ,
                                  .phase = TRACE_DECODE,
                                  .tokens = o->tokens,
                                  .bytes = o->bytes,
                                  .id = o->id,
                                  .publisher = r->owner[o->owner].publisher,
                                  .request = q->number};
        while (!(o->media & r->media_of[op.tier]))
            op.tier++;
        int rc = r->o.sink(r->o.ctx, &op, e);
        if (rc < 0)
            return rc;
        r->n.reads++;
        ++*read;
    }
    return 1;
}

struct residency *residency_create(const struct residency_opts *o)
{
    struct residency *r = calloc(1, sizeof(*r));
    if (!r)
        return NULL;
    r->o = *o;
    r->unused = NONE;
    for (unsigned m = 0; m < o->media->count; m++)
        r->media_of[tier_of(r, m)] |= 1u << m; /* media that are learned later have no tier */
    r->objects = keymap_create();
    r->sequences = keymap_create();
    r->owners = keymap_create();
    r->expected = keymap_create();
    if (r->sequences && r->objects && r->owners && r->expected)
        return r;
    residency_free(r);
    return NULL;
}

void residency_free(struct residency *r)
{
    if (!r)
        return;
    keymap_free(r->objects);
    keymap_free(r->sequences);
    keymap_free(r->owners);
    keymap_free(r->expected);
    free(r->object);
    free(r->gone);
    free(r->owner);
    free(r);
}

const struct source_recording *residency_counts(struct residency *r)
{
    return &r->n;
}
