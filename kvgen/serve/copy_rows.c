/* copy_rows.c - keeps which copies are there, by tier, as the rows so far say it. The cache
 * decides; here its words become rows (held_rows.h), and counts for the summary. */
#include "kvgen/serve/copy_rows.h"

#include <assert.h>
#include <stdlib.h>

#include "kvgen/cache/id_table.h"
#include "lib/base/memory.h"

/* A copy, with a row unless it is pending. */
struct copy {
    uint8_t there : 1;
    uint8_t stored : 1;   /* it came from above, */
    uint8_t read : 1;     /* and a load or promotion read it */
    uint8_t promoted : 1; /* it came from below and was not loaded yet */
    uint8_t pending : 1;  /* its room is taken, its transfer is yet to be told */
};
/* All copies under one key, of which there is one at least. */
struct copies {
    struct copy tier[TRACE_TIERS];
    uint32_t twins : 28;   /* GPU: blocks with that key; each is one on its way up, or cached */
    uint32_t in_group : 4; /* as of ident_chain */
    union {
        uint32_t loader; /* GPU: 1 + the request that loads it and has not cached it yet; 0: none */
        uint32_t owner;  /* in a tier that engines share: the one that brought it */
    };
};

/* Whose keys follow each other. */
enum stream {
    STREAM_CACHED,
    STREAM_EXPECTED,
    STREAM_MOVED, /* by a transfer */
    STREAM_DROPPED,
    STREAMS = STREAM_DROPPED + TRACE_TIERS /* of each tier */
};

/* Copies of one engine, or those in a tier that several share. */
struct table {
    struct id_table keys;
    struct copies *copies; /* by number of the key */
    uint32_t cap;
    uint32_t last[STREAMS]; /* for id_table_find_near */
    uint32_t users;
};

struct copy_rows {
    struct copy_rows_opts o;
    struct copy_rows_out out;
    struct copy_rows_request *(*request_of)(const struct kv_request *r);
    struct table *own, *files; /* the same, unless files are shared */
    uint64_t *left_out;        /* blocks that the next store does not read */
    size_t left_outs, left_out_cap;
    struct copy_rows_stats stats;
    bool failed;
};

static struct table *table_create(struct chain_numbers *numbers)
{
    struct table *t = calloc(1, sizeof(*t));
    if (t)
        t->keys.direct = numbers != NULL;
    if (t && chain_numbers_join(numbers, &t->keys)) {
        free(t);
        return NULL;
    }
    if (t)
        t->users = 1;
    return t;
}

static void table_leave(struct table *t)
{
    if (!t || --t->users)
        return;
    id_table_free(&t->keys);
    free(t->copies);
    free(t);
}

struct copy_rows *copy_rows_create(
    const struct copy_rows_opts *o, const struct copy_rows_out *out,
    struct copy_rows_request *(*request_of)(const struct kv_request *r))
{
    struct copy_rows *c = calloc(1, sizeof(*c));
    if (!c)
        return NULL;
    c->o = *o;
    c->out = *out;
    c->request_of = request_of;
    c->own = table_create(o->numbers);
    c->files = o->with ? o->with->files : o->shared ? table_create(o->numbers) : c->own;
    if (o->with)
        c->files->users++;
    if (!c->own || !c->files) {
        copy_rows_free(c);
        return NULL;
    }
    return c;
}

void copy_rows_free(struct copy_rows *c)
{
    if (!c)
        return;
    if (c->files != c->own)
        table_leave(c->files);
    table_leave(c->own);
    free(c->left_out);
    free(c);
}

/* ---- a request's keys ---- */

static uint64_t keys_of(const struct copy_rows *c, const struct copy_rows_request *q)
{
    return q->blocks * c->o.groups;
}

/* The place of a key among those of the request; keys_of: none. Looks on from the last one. */
static uint64_t position(const struct copy_rows *c, struct copy_rows_request *q, uint64_t key)
{
    const uint64_t keys = keys_of(c, q);
    uint64_t i = q->cursor;
    while (i < keys && q->key[i] != key)
        i++;
    for (uint64_t k = 0; i == keys && k < q->cursor; k++)
        if (q->key[k] == key)
            i = k;
    if (i < keys)
        q->cursor = i;
    return i;
}

/* A key, its group as of ident_chain, and the engine after which its copy is named. */
struct named {
    uint64_t key;
    uint32_t in_group, owner;
};

/* The key at a place of the request. */
static struct named named_at(const struct copy_rows *c, const struct copy_rows_request *q,
                             uint64_t at)
{
    const uint32_t in_group = c->o.groups > 1 ? 1 + (uint32_t)(at / q->blocks) : 0;
    return (struct named){q->key[at], in_group, c->o.engine};
}

/* A key of a copy whose request is q, or nobody; all: the copies under it, perhaps NULL. */
static inline struct named name(const struct copy_rows *c, struct copy_rows_request *q,
                                const struct copies *all, uint64_t key)
{
    const struct named none = {key, all && c->o.groups > 1 ? all->in_group : 0, c->o.engine};
    if (c->o.groups == 1 || all || !q)
        return none;
    const uint64_t at = position(c, q, key);
    return at < keys_of(c, q) ? named_at(c, q, at) : none;
}

/* ---- copies by key ---- */

static struct table *table_of(const struct copy_rows *c, enum trace_tier tier)
{
    return tier == TRACE_STORAGE ? c->files : c->own;
}

/* Returns the copies of a key that are in the same table as that tier's; NULL: there are none. Lent
 * until the next put. */
static inline struct copies *find(const struct copy_rows *c, enum trace_tier tier, uint64_t key,
                                  unsigned stream)
{
    struct table *t = table_of(c, tier);
    if (t->keys.direct)
        return id_table_has(&t->keys, key) ? &t->copies[key - 1] : NULL;
    const uint32_t n = id_table_find_near(&t->keys, key, &t->last[stream]);
    return n == ID_NONE ? NULL : &t->copies[n];
}

/* The name of the copy in a tier; all: those under its key. */
static struct named named_in(const struct copy_rows *c, enum trace_tier tier,
                             const struct copies *all, struct named named)
{
    if (table_of(c, tier) != c->own)
        named.owner = all->owner;
    return named;
}

/* Returns the one in a tier; NULL: there is none. */
static struct copy *in(struct copies *all, enum trace_tier tier)
{
    return all && all->tier[tier].there ? &all->tier[tier] : NULL;
}

/* The key is new. NULL: no memory, which copy_rows_failed says. */
static struct copies *add(struct copy_rows *c, struct table *t, const struct named *key)
{
    struct copies *grown = id_table_reserve_item(&t->keys, t->copies, &t->cap, sizeof(*grown));
    if (!grown) {
        c->failed = true;
        return NULL;
    }
    t->copies = grown;
    const uint32_t n = id_table_add(&t->keys, key->key);
    t->copies[n] = (struct copies){.in_group = key->in_group & 15};
    if (t != c->own)
        t->copies[n].owner = key->owner;
    return &t->copies[n];
}

/* A copy comes to a tier that has none under that key; all: those of other tiers, perhaps NULL.
 * NULL: no memory. */
static struct copies *put(struct copy_rows *c, struct copies *all, enum trace_tier tier,
                          const struct named *key)
{
    if (!all && !(all = add(c, table_of(c, tier), key)))
        return NULL;
    all->tier[tier] = (struct copy){.there = true};
    return all;
}

static void take(const struct copy_rows *c, struct copies *all, enum trace_tier tier)
{
    struct table *table = table_of(c, tier);
    all->tier[tier] = (struct copy){0};
    for (int t = 0; t < TRACE_TIERS; t++)
        if (all->tier[t].there)
            return;
    id_table_remove(&table->keys, (uint32_t)(all - table->copies));
}

/* ---- rows ---- */

/* All that a row says but its key. */
struct what {
    enum trace_op op;
    enum trace_tier tier;
    enum trace_phase phase;
    enum trace_class class;
    enum trace_tier from; /* as of hierarchy_op */
};

/* Inline: most are only counted, which is short where it is known what they say. */
static inline void row(struct copy_rows *c, const struct copy_rows_request *q, struct what what,
                       struct named key)
{
    const bool block = what.tier == TRACE_GPU || what.op == TRACE_MISS;
    const struct hierarchy_op counted = {.op = what.op,
                                         .tier = what.tier,
                                         .phase = what.phase,
                                         .class = what.class,
                                         .size = what.op == TRACE_MISS ? 0
                                                 : block               ? c->o.block_bytes
                                                                       : c->o.chunk_bytes,
                                         .from = what.from};
    if (!c->out.rows) {
        row_counts_add(c->out.counts, &counted);
        return;
    }
    struct hierarchy_op op = counted;
    op.id = ident_chain(c->o.numbers ? chain_numbers_key(c->o.numbers, key.key) : key.key,
                        key.in_group);
    op.tokens = (uint32_t)(block ? c->o.block_tokens : c->o.chunk_tokens);
    op.engine = c->o.engine;
    op.owner = key.owner;
    held_rows_add(c->out.rows, *c->out.now_ns, &op, q ? q->row : NULL);
}

/* Whose rows a request's are: behind its last Generate row nobody's. */
static const struct copy_rows_request *owner(const struct copy_rows_request *q)
{
    return q && q->decodes ? NULL : q;
}

static void read_row(struct copy_rows *c, const struct copy_rows_request *q, enum trace_tier tier,
                     struct named key, enum trace_class class)
{
    const bool look_up = class != TRACE_STORE && class != TRACE_PROMOTE;
    row(c, q,
        (struct what){.op = TRACE_READ,
                      .tier = tier,
                      .phase = look_up ? TRACE_DECODE : TRACE_PREFILL,
                      .class = class},
        key);
}

static void write_row(struct copy_rows *c, const struct copy_rows_request *q, enum trace_tier tier,
                      struct named key, enum trace_class class)
{
    row(c, q,
        (struct what){.op = TRACE_WRITE, .tier = tier, .phase = TRACE_PREFILL, .class = class},
        key);
}

static enum trace_class class_of(const struct copy_rows_request *q, uint64_t at)
{
    return (enum trace_class)q->class[at % q->blocks];
}

/* The first block that a group still looks at when that many tokens are there. */
static uint64_t window_begin(const struct copy_rows *c, uint32_t group, uint64_t tokens)
{
    const uint64_t window = c->o.window[group];
    return window && tokens >= window ? (tokens - window + 1) / c->o.block_tokens : 0;
}

/* ---- a look-up ---- */

static bool is_on_gpu(struct copy_rows *c, uint64_t key)
{
    const struct copy *copy = in(find(c, TRACE_GPU, key, STREAM_MOVED), TRACE_GPU);
    return copy && !copy->pending;
}

/* Looks for the rows of one group: those on the GPU that it still looks at, and those missing that
 * it looks at when the prompt ends. end: tokens that were found. */
static void look_up_rows(struct copy_rows *c, const struct copy_rows_request *q, uint32_t group,
                         uint64_t end)
{
    const uint64_t hits = q->gpu_tokens / c->o.block_tokens;
    const uint64_t blocks = q->prompt->tokens / c->o.block_tokens, first = group * q->blocks;
    const uint64_t last_window = window_begin(c, group, q->prompt->tokens);
    const uint64_t looked_at = c->o.anywhere ? end / c->o.block_tokens : hits;
    for (uint64_t i = window_begin(c, group, end); i < looked_at; i++)
        if (!c->o.anywhere || is_on_gpu(c, q->key[first + i]))
            read_row(c, q, TRACE_GPU, named_at(c, q, first + i), class_of(q, i));
    uint64_t i = (end + c->o.block_tokens - 1) / c->o.block_tokens;
    for (i = i > last_window ? i : last_window; i < blocks; i++) {
        row(c, q,
            (struct what){.op = TRACE_MISS,
                          .tier = TRACE_NO_TIER,
                          .phase = TRACE_NO_PHASE,
                          .class = class_of(q, i)},
            named_at(c, q, first + i));
    }
}

void copy_rows_looked_up(struct copy_rows *c, struct copy_rows_request *q,
                         const struct kv_found *found)
{
    const uint64_t below = found->tokens[TRACE_CPU] + found->tokens[TRACE_STORAGE];
    const uint64_t end = q->found_tokens = found->tokens[TRACE_GPU] + below;
    q->gpu_tokens = found->tokens[TRACE_GPU];
    if (c->o.anywhere) { /* of the prefix, those that come first */
        uint64_t n = 0;
        while (n < end / c->o.block_tokens && is_on_gpu(c, q->key[n]))
            n++;
        q->gpu_tokens = n * c->o.block_tokens;
    }
    q->told_storage = found->tokens[TRACE_STORAGE] > 0;
    q->cursor = q->gpu_tokens / c->o.block_tokens;
    if (q->looked_up)
        return;
    q->looked_up = true;
    for (uint32_t g = 0; g < c->o.groups; g++)
        look_up_rows(c, q, g, end);
}

void copy_rows_admitted(struct copy_rows *c, struct copy_rows_request *q,
                        const struct kv_found *found)
{
    uint64_t tokens = 0;
    for (int t = 0; t < TRACE_TIERS; t++)
        tokens += found->tokens[t];
    if (q->admitted) {
        c->stats.again_tokens += tokens;
        return;
    }
    q->admitted = true;
    for (int t = 0; t < TRACE_TIERS; t++)
        c->stats.found_tokens[t] += found->tokens[t];
    c->stats.computed_tokens += q->prompt->tokens - tokens;
}

/* ---- transfers ---- */

static void count_read(struct copy_rows *c, enum trace_tier tier, struct copy *copy)
{
    c->stats.tier[tier].unread -= copy->stored && !copy->read;
    copy->read = true;
}

/* The copy whose transfer is told now, of all under its key; NULL: it is there already (a file that
 * nobody writes again), or it has left meanwhile, or there is no memory. told: the cache said when
 * its room was taken. */
static struct copy *arrives(struct copy_rows *c, struct copies *all, enum trace_tier tier,
                            const struct named *key, bool told)
{
    struct copy *copy = in(all, tier);
    if (copy && copy->pending) {
        copy->pending = false;
        return copy;
    }
    return copy || told ? NULL : in(put(c, all, tier, key), tier);
}

/* A copy comes to a tier below the GPU from a tier above. */
static bool comes_down(struct copy_rows *c, const struct kv_transfer *t, struct named *key,
                       struct copy_rows_request *q)
{
    struct copy_rows_tier *to = &c->stats.tier[t->to];
    struct copies *all = find(c, t->to, key->key, STREAM_MOVED);
    const struct copies *above =
        table_of(c, t->to) == c->own ? all : find(c, t->from, key->key, STREAM_MOVED);
    *key = name(c, q, above, key->key);
    struct copy *copy = arrives(c, all, t->to, key, t->to == TRACE_CPU);
    if (!copy)
        return false;
    copy->stored = true;
    to->stored++;
    to->unread++;
    to->stored_bytes += c->o.chunk_bytes;
    return true;
}

static bool is_left_out(const struct copy_rows *c, uint64_t key)
{
    for (size_t i = 0; i < c->left_outs; i++)
        if (c->left_out[i] == key)
            return true;
    return false;
}

/* Reads the blocks on the GPU that a chunk is made of; the last one has the chunk's key. */
static void read_blocks(struct copy_rows *c, struct copy_rows_request *q, struct named key)
{
    const uint64_t blocks = c->o.chunk_tokens / c->o.block_tokens;
    const uint64_t last = blocks > 1 && q ? position(c, q, key.key) : 0;
    for (uint64_t i = 0; i < blocks; i++) {
        const struct named block =
            blocks > 1 && q && last < keys_of(c, q) ? named_at(c, q, last + 1 + i - blocks) : key;
        const struct copy *copy = in(find(c, TRACE_GPU, block.key, STREAM_MOVED), TRACE_GPU);
        if (is_left_out(c, block.key))
            c->stats.left_out++;
        else if (copy && !copy->pending)
            read_row(c, NULL, TRACE_GPU, block, TRACE_STORE);
        else
            c->stats.unbacked++;
    }
}

static void store(struct copy_rows *c, struct copy_rows_request *q, const struct kv_transfer *t)
{
    for (uint64_t i = 0; i < t->count; i++) {
        struct named key = {t->keys[i], 0, c->o.engine};
        if (!comes_down(c, t, &key, q))
            continue;
        if (t->from == TRACE_GPU)
            read_blocks(c, q, key);
        else
            read_row(c, NULL, t->from, key, TRACE_STORE);
        write_row(c, NULL, t->to, key, TRACE_STORE);
    }
}

static void promote(struct copy_rows *c, struct copy_rows_request *q, const struct kv_transfer *t)
{
    for (uint64_t i = 0; i < t->count; i++) {
        struct copies *below = find(c, t->from, t->keys[i], STREAM_MOVED);
        struct copies *all =
            table_of(c, t->from) == c->own ? below : find(c, t->to, t->keys[i], STREAM_MOVED);
        const struct named key = name(c, q, all, t->keys[i]);
        struct copy *from = in(below, t->from);
        if (from) {
            count_read(c, t->from, from);
            c->stats.tier[t->from].loaded++;
            c->stats.tier[t->from].loaded_bytes += c->o.chunk_bytes;
            read_row(c, NULL, t->from, named_in(c, t->from, below, key), TRACE_PROMOTE);
        }
        struct copy *copy = arrives(c, all, t->to, &key, true);
        if (!copy)
            continue;
        copy->promoted = true;
        c->stats.tier[t->to].promoted++;
        write_row(c, NULL, t->to, key, TRACE_PROMOTE);
    }
}

/* A block comes to the GPU; all: the copies under its key, perhaps NULL. *first: it is the first
 * one on the GPU. NULL: no memory. */
static struct copies *comes_up(struct copy_rows *c, struct copies *all, const struct named *key,
                               bool *first)
{
    *first = !in(all, TRACE_GPU);
    if (*first) {
        all = put(c, all, TRACE_GPU, key);
        if (!all)
            return NULL;
        all->twins = 0;
        all->loader = 0;
    }
    all->twins++;
    if (!*first) {
        c->stats.duplicate_bytes += c->o.block_bytes;
        if (c->stats.duplicate_bytes > c->stats.duplicate_peak_bytes)
            c->stats.duplicate_peak_bytes = c->stats.duplicate_bytes;
    }
    return all;
}

/* A block of a load comes to the GPU. Its request may have it in its blocks already. */
static void load_block(struct copy_rows *c, struct copy_rows_request *q, uint64_t at)
{
    const struct named key = named_at(c, q, at);
    struct copies *all = find(c, TRACE_GPU, key.key, STREAM_MOVED);
    struct copy *copy = in(all, TRACE_GPU);
    bool first;
    c->stats.tier[TRACE_GPU].promoted++;
    if (copy && all->loader == 1 + q->number) {
        all->loader = 0;
        first = copy->pending;
        copy->pending = false;
    } else {
        all = comes_up(c, all, &key, &first);
        if (!all)
            return;
        all->loader = 1 + q->number;
    }
    if (first)
        write_row(c, owner(q), TRACE_GPU, key, TRACE_LOAD);
}

static void load_chunk(struct copy_rows *c, struct copy_rows_request *q,
                       const struct kv_transfer *t, uint64_t key)
{
    const uint64_t at = position(c, q, key);
    if (at == keys_of(c, q))
        return; /* no whole chunk */
    const uint64_t last = at % q->blocks;
    const bool counts = at < q->blocks; /* groups but the first are the same tokens again */
    const uint64_t end = (last + 1) * c->o.block_tokens, begin = end - c->o.chunk_tokens;
    const uint64_t from = begin > q->gpu_tokens ? begin : q->gpu_tokens;
    struct copies *all = find(c, t->from, key, STREAM_MOVED);
    struct copy *below = in(all, t->from);
    if (below && !below->pending) {
        /* Blocks that vLLM brought up from files count as found there. */
        if (counts && !q->admitted && !q->told_storage && t->from == TRACE_CPU && below->promoted) {
            c->stats.found_tokens[TRACE_STORAGE] += end - from;
            c->stats.found_tokens[TRACE_CPU] -= end - from;
        }
        below->promoted = false;
        count_read(c, t->from, below);
        read_row(c, owner(q), t->from, named_in(c, t->from, all, named_at(c, q, at)),
                 class_of(q, last));
        c->stats.tier[t->from].loaded++;
        c->stats.tier[t->from].loaded_bytes += c->o.chunk_bytes;
    }
    /* A chunk of several blocks may begin before the window, where there are none to load into. */
    uint64_t first = window_begin(c, (uint32_t)(at / q->blocks), q->found_tokens);
    first = first > from / c->o.block_tokens ? first : from / c->o.block_tokens;
    for (uint64_t i = first; i <= last; i++)
        load_block(c, q, at - last + i);
}

/* ---- transfers where a block has one copy ---- */

/* The only copy of a block has come to a tier from another one. */
static void move(struct copy_rows *c, const struct copy_rows_request *q, struct named key,
                 const struct kv_transfer *t)
{
    struct copies *all = find(c, t->from, key.key, STREAM_MOVED);
    const struct copy *copy = in(all, t->from);
    struct what what = {.op = TRACE_READ,
                        .tier = t->from,
                        .phase = TRACE_EVICT,
                        .class = t->kind == KV_LOAD ? TRACE_PROMOTE : TRACE_CLASS_EVICT,
                        .from = TRACE_NO_TIER};
    if (!copy)
        return;
    row(c, owner(q), what, key);
    what.op = TRACE_WRITE;
    what.tier = t->to;
    what.from = t->from;
    row(c, owner(q), what, key);
    c->stats.tier[t->from].unread -= copy->stored && !copy->read;
    take(c, all, t->from);
}

/* It is read for blocks of the request's own, or rises. */
static void load_single(struct copy_rows *c, struct copy_rows_request *q,
                        const struct kv_transfer *t, uint64_t key)
{
    const uint64_t at = position(c, q, key);
    struct copies *all = find(c, t->from, key, STREAM_MOVED);
    struct copy *below = in(all, t->from);
    const struct named named = name(c, q, all, key);
    bool first;
    if (at == keys_of(c, q) || !below)
        return;
    count_read(c, t->from, below);
    read_row(c, owner(q), t->from, named, class_of(q, at));
    c->stats.tier[t->from].loaded++;
    c->stats.tier[t->from].loaded_bytes += c->o.chunk_bytes;
    c->stats.tier[TRACE_GPU].promoted++;
    if (!c->o.rises || !(all = comes_up(c, all, &named, &first)))
        return;
    all->loader = 1 + q->number;
    move(c, q, named, t);
}

/* Blocks fall, or are loaded for a request. */
static void transfer_single(struct copy_rows *c, struct copy_rows_request *q,
                            const struct kv_transfer *t)
{
    for (uint64_t i = 0; i < t->count; i++) {
        struct named key = {t->keys[i], 0, c->o.engine};
        if (t->kind == KV_LOAD && q)
            load_single(c, q, t, t->keys[i]);
        else if (t->kind != KV_LOAD && comes_down(c, t, &key, q))
            move(c, q, key, t);
    }
}

void copy_rows_transfer(struct copy_rows *c, const struct kv_transfer *t)
{
    struct copy_rows_request *q = c->request_of(t->request);
    if (c->o.single) {
        transfer_single(c, q, t);
        return;
    }
    switch (t->kind) {
    case KV_STORE:
    case KV_WRITE:
        store(c, q, t);
        c->left_outs = t->kind == KV_STORE ? 0 : c->left_outs;
        break;
    case KV_PROMOTE:
        promote(c, q, t);
        break;
    case KV_LOAD:
        for (uint64_t i = 0; q && i < t->count; i++)
            load_chunk(c, q, t, t->keys[i]);
        break;
    }
}

/* ---- events ---- */

static void cached(struct copy_rows *c, struct copy_rows_request *q, uint64_t key)
{
    const uint64_t keys = q ? keys_of(c, q) : 0, at = q ? position(c, q, key) : 0;
    const uint64_t block = at < keys ? at % q->blocks : 0;
    if (at + ID_TABLE_AHEAD < keys)
        id_table_expect(&c->own->keys, q->key[at + ID_TABLE_AHEAD]);
    struct copies *all = find(c, TRACE_GPU, key, STREAM_CACHED);
    bool first;
    if (in(all, TRACE_GPU) && all->loader && (!q || all->loader == 1 + q->number)) {
        all->loader = 0; /* its row came with the load */
        return;
    }
    const bool is_loaded = at < keys && (block + 1) * c->o.block_tokens > q->gpu_tokens &&
                           block * c->o.block_tokens < q->found_tokens;
    const struct named named = q && at < keys ? named_at(c, q, at) : name(c, NULL, all, key);
    c->stats.computed += !is_loaded;
    all = comes_up(c, all, &named, &first);
    if (all && is_loaded) { /* its load is yet to be told */
        all->loader = 1 + q->number;
        all->tier[TRACE_GPU].pending = first;
    } else if (all && first) {
        write_row(c, owner(q), TRACE_GPU, named, at < keys ? class_of(q, at) : TRACE_USER);
    }
}

/* Room is taken for a copy that a transfer will bring. */
static void expect(struct copy_rows *c, struct copy_rows_request *q, enum trace_tier tier,
                   uint64_t key)
{
    struct copies *all = find(c, tier, key, STREAM_EXPECTED);
    if (in(all, tier))
        return;
    const struct named named = name(c, q, all, key);
    if ((all = put(c, all, tier, &named)))
        all->tier[tier].pending = true;
}

static void dropped(struct copy_rows *c, enum trace_tier tier, uint64_t key)
{
    struct copy_rows_tier *stats = &c->stats.tier[tier];
    struct copies *all = find(c, tier, key, STREAM_DROPPED + tier);
    const struct copy *copy = in(all, tier);
    if (!copy)
        return;
    if (tier == TRACE_GPU && --all->twins) {
        c->stats.duplicate_bytes -= c->o.block_bytes;
        return;
    }
    if (copy->pending) {
        take(c, all, tier);
        return;
    }
    stats->dropped++;
    stats->wasted += copy->promoted;
    if (copy->stored && !copy->read) {
        stats->unread--;
        stats->never_read++;
        stats->never_read_bytes += c->o.chunk_bytes;
    }
    const struct named named = named_in(c, tier, all, name(c, NULL, all, key));
    take(c, all, tier);
    row(c, NULL,
        (struct what){
            .op = TRACE_DELETE, .tier = tier, .phase = TRACE_EVICT, .class = TRACE_CLASS_EVICT},
        named);
}

/* A window's block that a load brought may go without having been cached. */
static void freed_empty(struct copy_rows *c, const struct copy_rows_request *q, uint64_t key)
{
    struct copies *all = c->o.groups > 1 && q ? find(c, TRACE_GPU, key, STREAM_DROPPED) : NULL;
    if (!in(all, TRACE_GPU) || all->loader != 1 + q->number)
        return;
    all->loader = 0;
    dropped(c, TRACE_GPU, key);
}

static void leave_out(struct copy_rows *c, uint64_t key)
{
    if (memory_room(&c->left_out, &c->left_out_cap, c->left_outs, sizeof(*c->left_out), 16) < 0)
        c->failed = true;
    else
        c->left_out[c->left_outs++] = key;
}

void copy_rows_event(struct copy_rows *c, const struct kv_event *e)
{
    switch (e->kind) {
    case KV_CACHED:
        cached(c, c->request_of(e->request), e->key);
        break;
    case KV_STORED:
    case KV_PROMOTED:
        if (e->tier != TRACE_GPU)
            expect(c, c->request_of(e->request), e->tier, e->key);
        break;
    case KV_DROPPED:
    case KV_DEMOTED:
        dropped(c, e->tier, e->key);
        break;
    case KV_FREED_EMPTY:
        freed_empty(c, c->request_of(e->request), e->key);
        break;
    case KV_KNOWN:
        c->stats.tier[e->tier].known++;
        break;
    case KV_LEFT_OUT:
        leave_out(c, e->key);
        break;
    case KV_REFUSED:
    case KV_NOT_PROMOTED:
        c->stats.tier[e->tier].refused++;
        break;
    default:
        break;
    }
}

void copy_rows_file_written(struct copy_rows *c, const struct kv_file *f)
{
    const struct named key = {f->key, f->in_group, f->engine};
    struct copies *all = find(c, TRACE_STORAGE, f->key, STREAM_MOVED);
    if (!in(all, TRACE_STORAGE) && put(c, all, TRACE_STORAGE, &key))
        write_row(c, NULL, TRACE_STORAGE, key, TRACE_STORE);
}

bool copy_rows_failed(const struct copy_rows *c)
{
    return c->failed || (c->out.rows && held_rows_failed(c->out.rows));
}

const struct copy_rows_stats *copy_rows_stats(const struct copy_rows *c)
{
    return &c->stats;
}

void copy_rows_stats_add(struct copy_rows_stats *to, const struct copy_rows_stats *from)
{
    static_assert(sizeof(*to) % sizeof(uint64_t) == 0, "counts, and nothing else");
    uint64_t *sum = (uint64_t *)to;
    const uint64_t *add_ = (const uint64_t *)from;
    for (size_t i = 0; i < sizeof(*to) / sizeof(*sum); i++)
        sum[i] += add_[i];
}

static bool has_copy(const struct copy_rows *c, uint64_t key, enum trace_tier tier)
{
    const struct table *t = table_of(c, tier);
    const uint32_t n = c->o.numbers && !key ? ID_NONE : id_table_find(&t->keys, key);
    return n != ID_NONE && t->copies[n].tier[tier].there;
}

/* A request's keys in their order, before they have become numbers. */
struct key_walk {
    const struct copy_rows_request *q;
    uint64_t keys; /* that it has passed */
    uint64_t key;  /* the last one of them, as the tables have it; 0: they have not */
};

static uint64_t walk_to(const struct copy_rows *c, struct key_walk *w, uint64_t at)
{
    for (; w->keys <= at; w->keys++) {
        const uint64_t key = w->q->key[w->keys];
        w->key = c->o.numbers ? chain_numbers_next(c->o.numbers, w->key, key) : key;
    }
    return w->key;
}

uint64_t copy_rows_prefix(const struct copy_rows *c, const struct copy_rows_request *q)
{
    const uint64_t blocks = q->prompt->tokens / c->o.block_tokens;
    const uint64_t in_chunk = c->o.chunk_tokens / c->o.block_tokens;
    struct key_walk w = {.q = q};
    uint64_t i = 0;
    while (i < blocks) {
        const uint64_t chunk_end = (i / in_chunk + 1) * in_chunk;
        if (has_copy(c, walk_to(c, &w, i), TRACE_GPU)) {
            i++;
            continue;
        }
        const uint64_t key = chunk_end <= blocks ? walk_to(c, &w, chunk_end - 1) : 0;
        if (chunk_end > blocks || !(has_copy(c, key, TRACE_CPU) || has_copy(c, key, TRACE_STORAGE)))
            break;
        i = chunk_end;
    }
    return i * c->o.block_tokens;
}
