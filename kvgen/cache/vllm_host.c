/* vllm_host.c - vLLM 0.33.0: chunks in host memory. With LRU the chunks that may leave are a heap
 * by (rank of the request, position from the end) and, once their request ended, a queue in the
 * order of the ranks that they got then; with ARC they are in two lists, least recently used first,
 * and the keys of those that left in two others. Those whose request ended have older ranks, as a
 * rule, so the heap is in no order until one of it is to leave. */
#include "kvgen/cache/vllm_host.h"

#include <stdlib.h>

#include "kvgen/cache/id_table.h"

enum list {
    LIST_T1,
    LIST_T2,
    LISTS,
    LIST_ENDED = LIST_T1, /* LRU: in the queue; nobody reads them */
    LIST_NONE = LISTS
};
enum {
    BEING_WRITTEN = -1,
    HEAP_CHILDREN = 4,
    AHEAD = 8 /* chunks whose memory is fetched before they are looked at */
};

/* 24 bytes; its key is the table's. */
struct chunk {
    uint64_t rank; /* LRU */
    union {
        struct { /* in no list */
            uint32_t position;
            uint32_t heap; /* place in the heap; HOST_NONE: it may not leave */
        };
        struct { /* in one */
            uint32_t prev, next;
        };
        uint32_t place; /* in the queue */
    };
    uint32_t stamp;  /* of the set of protected chunks it is in */
    int16_t readers; /* or BEING_WRITTEN */
    uint8_t loads;   /* of the readers; one at a time is let in */
    uint8_t list;
};

/* A chunk in the heap, with its order. */
struct heap_entry {
    uint64_t rank;
    uint64_t tie; /* the complement of its position, and in the lower half the chunk */
};

struct ends {
    uint32_t first, last;
    uint64_t count;
};

/* A block that left T1 is in B1, one that left T2 in B2: two rings, which begin and end with ghosts
 * 0 and 1. */
struct ghost {
    uint32_t prev;
    uint32_t next : 31;
    uint32_t list : 1; /* that it left */
};

struct vllm_host {
    struct chunk *chunk;
    struct id_table table;   /* numbers of chunks */
    struct heap_entry *heap; /* LRU */
    uint32_t *aside;         /* LRU: victims, or what was passed over */
    uint32_t *ended; /* LRU: the queue, with places for twice the capacity; HOST_NONE: left */
    uint64_t ended_first, ended_end;
    uint64_t least;   /* while the heap is in no order: no rank in it is lower */
    uint64_t removed; /* else: so many left it since the last one that was the first in it */
    bool sorted;      /* the heap is in order */
    uint64_t heaped, capacity, chunks, inserts, ranks, may_leave, loading;
    uint64_t protected; /* of those that may leave: in the set that must not */
    uint32_t stamp;     /* of that set */
    bool arc;
    double target;
    struct ends list[LISTS];
    struct ghost *ghost; /* by number of ghosts + 2 */
    struct id_table ghosts;
    uint64_t ghost_count[LISTS];
};

/* Ghosts take up to the capacity twice, and one more before they are cut. */
static int arc_create(struct vllm_host *h, struct chain_numbers *numbers)
{
    const uint64_t ghosts = 2 * h->capacity + 1;
    h->ghost = malloc((ghosts + 2) * sizeof(*h->ghost));
    if (!h->ghost || chain_numbers_join(numbers, &h->ghosts) ||
        id_table_reserve(&h->ghosts, ghosts))
        return -1;
    for (uint32_t l = 0; l < LISTS; l++)
        h->ghost[l] = (struct ghost){.prev = l, .next = l & 1, .list = l & 1};
    return 0;
}

static int lru_create(struct vllm_host *h)
{
    h->heap = malloc(h->capacity * sizeof(*h->heap));
    h->aside = malloc(h->capacity * sizeof(*h->aside));
    h->ended = malloc(2 * h->capacity * sizeof(*h->ended));
    h->least = UINT64_MAX;
    return h->heap && h->aside && h->ended ? 0 : -1;
}

struct vllm_host *vllm_host_create(uint64_t capacity, bool arc, struct chain_numbers *numbers)
{
    struct vllm_host *h = calloc(1, sizeof(*h));
    if (!h || capacity >= HOST_NONE / 4) {
        free(h);
        return NULL;
    }
    h->capacity = capacity;
    h->arc = arc;
    for (int l = 0; l < LISTS; l++)
        h->list[l] = (struct ends){HOST_NONE, HOST_NONE, 0};
    h->chunk = calloc(capacity, sizeof(*h->chunk));
    if (!h->chunk || chain_numbers_join(numbers, &h->table) ||
        id_table_reserve(&h->table, capacity) || (arc ? arc_create(h, numbers) : lru_create(h))) {
        vllm_host_free(h);
        return NULL;
    }
    return h;
}

void vllm_host_free(struct vllm_host *h)
{
    if (!h)
        return;
    id_table_free(&h->table);
    id_table_free(&h->ghosts);
    free(h->ghost);
    free(h->chunk);
    free(h->heap);
    free(h->aside);
    free(h->ended);
    free(h);
}

/* ---- LRU: a heap of the chunks that may leave and are in no list ---- */

/* As one number, whose comparison needs no branch: nobody could foretell it. */
static unsigned __int128 order_of(const struct heap_entry *e)
{
    return (unsigned __int128)e->rank << 64 | e->tie;
}

static bool leaves_before(const struct heap_entry *a, const struct heap_entry *b)
{
    return order_of(a) < order_of(b);
}

static uint32_t chunk_of(const struct heap_entry *e)
{
    return (uint32_t)e->tie;
}

static void heap_set(struct vllm_host *h, uint64_t at, const struct heap_entry *e)
{
    h->heap[at] = *e;
    h->chunk[chunk_of(e)].heap = (uint32_t)at;
}

/* The child of that place that leaves first; that place itself: it has none. */
static uint64_t heap_child(const struct vllm_host *h, uint64_t at)
{
    const uint64_t first = HEAP_CHILDREN * at + 1;
    const uint64_t end = first + HEAP_CHILDREN < h->heaped ? first + HEAP_CHILDREN : h->heaped;
    if (first >= end)
        return at;
    uint64_t best = first;
    unsigned __int128 least = order_of(&h->heap[first]);
    for (uint64_t i = first + 1; i < end; i++) {
        const unsigned __int128 order = order_of(&h->heap[i]);
        best = order < least ? i : best;
        least = order < least ? order : least;
    }
    return best;
}

/* The entry belongs there, or further down. */
static void heap_sink(struct vllm_host *h, uint64_t at, const struct heap_entry *e)
{
    for (uint64_t down; (down = heap_child(h, at)) != at && leaves_before(&h->heap[down], e);
         at = down)
        heap_set(h, at, &h->heap[down]);
    heap_set(h, at, e);
}

/* The entry belongs there, or elsewhere. */
static void heap_settle(struct vllm_host *h, uint64_t at, const struct heap_entry *e)
{
    for (uint64_t up; at && (up = (at - 1) / HEAP_CHILDREN, leaves_before(e, &h->heap[up]));
         at = up)
        heap_set(h, at, &h->heap[up]);
    heap_sink(h, at, e);
}

static void heap_add(struct vllm_host *h, uint32_t chunk)
{
    const struct chunk *c = &h->chunk[chunk];
    const struct heap_entry e = {c->rank, (uint64_t)~c->position << 32 | chunk};
    h->heaped++;
    if (h->sorted) {
        heap_settle(h, h->heaped - 1, &e);
        return;
    }
    h->least = e.rank < h->least ? e.rank : h->least;
    heap_set(h, h->heaped - 1, &e);
}

static void heap_remove(struct vllm_host *h, uint32_t chunk)
{
    const uint64_t at = h->chunk[chunk].heap;
    h->chunk[chunk].heap = HOST_NONE;
    if (at != --h->heaped) {
        const struct heap_entry last = h->heap[h->heaped];
        if (h->sorted)
            heap_settle(h, at, &last);
        else
            heap_set(h, at, &last);
    }
    /* Its order has been of no use for a while. */
    if (h->sorted && h->removed++ > h->heaped) {
        h->sorted = false;
        h->least = h->heaped ? h->heap[0].rank : UINT64_MAX;
    }
}

static void heap_sort(struct vllm_host *h)
{
    if (h->sorted)
        return;
    for (uint64_t at = h->heaped; at-- > 0;) {
        const struct heap_entry e = h->heap[at];
        heap_sink(h, at, &e);
    }
    h->sorted = true;
    h->removed = 0;
}

/* Takes the chunk that leaves first. */
static uint32_t heap_pop(struct vllm_host *h)
{
    heap_sort(h);
    const uint32_t chunk = chunk_of(&h->heap[0]);
    h->removed = 0;
    heap_remove(h, chunk);
    return chunk;
}

/* Whether all chunks in the heap have a higher rank. */
static bool heap_is_after(struct vllm_host *h, uint64_t rank)
{
    if (h->sorted)
        return !h->heaped || rank < h->heap[0].rank;
    if (rank < h->least)
        return true;
    h->least = UINT64_MAX;
    for (uint64_t i = 0; i < h->heaped; i++)
        h->least = h->heap[i].rank < h->least ? h->heap[i].rank : h->least;
    return rank < h->least;
}

/* ---- LRU: the queue of those whose request ended ---- */

/* Moves the entries that are left to the beginning of the queue. */
static void ended_compact(struct vllm_host *h)
{
    uint64_t kept = 0;
    for (uint64_t at = h->ended_first; at < h->ended_end; at++) {
        const uint32_t chunk = h->ended[at];
        if (chunk == HOST_NONE)
            continue;
        h->chunk[chunk].place = (uint32_t)kept;
        h->ended[kept++] = chunk;
    }
    h->ended_first = 0;
    h->ended_end = kept;
}

static void ended_append(struct vllm_host *h, uint32_t chunk)
{
    if (h->ended_end == 2 * h->capacity)
        ended_compact(h);
    h->chunk[chunk].list = LIST_ENDED;
    h->chunk[chunk].place = (uint32_t)h->ended_end;
    h->ended[h->ended_end++] = chunk;
}

static void ended_remove(struct vllm_host *h, uint32_t chunk)
{
    h->ended[h->chunk[chunk].place] = HOST_NONE;
    while (h->ended_first < h->ended_end && h->ended[h->ended_first] == HOST_NONE)
        h->ended_first++;
}

/* ---- lists ---- */

static void list_append(struct vllm_host *h, uint32_t chunk, enum list l)
{
    struct chunk *c = &h->chunk[chunk];
    struct ends *e = &h->list[l];
    c->list = (uint8_t)l;
    c->prev = e->last;
    c->next = HOST_NONE;
    *(e->last != HOST_NONE ? &h->chunk[e->last].next : &e->first) = chunk;
    e->last = chunk;
    e->count++;
}

static void list_remove(struct vllm_host *h, uint32_t chunk)
{
    const struct chunk *c = &h->chunk[chunk];
    struct ends *e = &h->list[c->list];
    *(c->prev != HOST_NONE ? &h->chunk[c->prev].next : &e->first) = c->next;
    *(c->next != HOST_NONE ? &h->chunk[c->next].prev : &e->last) = c->prev;
    e->count--;
}

/* LRU: the chunk, which nobody reads, is neither in the heap nor in the list from now on. */
static void take_out(struct vllm_host *h, uint32_t chunk)
{
    struct chunk *c = &h->chunk[chunk];
    if (c->list == LIST_NONE) {
        heap_remove(h, chunk);
        return;
    }
    ended_remove(h, chunk);
    c->list = LIST_NONE;
    c->position = 0;
    c->heap = HOST_NONE;
}

static void to_end_of(struct vllm_host *h, uint32_t chunk, enum list l)
{
    list_remove(h, chunk);
    list_append(h, chunk, l);
}

/* ---- ARC: ghosts ---- */

static void ghost_unlink(struct vllm_host *h, uint32_t ghost)
{
    const struct ghost *g = &h->ghost[ghost];
    h->ghost[g->prev].next = g->next;
    h->ghost[g->next].prev = g->prev;
    h->ghost_count[g->list]--;
}

/* At the end of those that left the list. */
static void ghost_append(struct vllm_host *h, uint32_t ghost, uint32_t list)
{
    const uint32_t last = h->ghost[list].prev;
    h->ghost[ghost] = (struct ghost){.prev = last, .next = list & 1, .list = list & 1};
    h->ghost[last].next = ghost & 0x7fffffff;
    h->ghost[list].prev = ghost;
    h->ghost_count[list]++;
}

static void ghost_forget(struct vllm_host *h, uint32_t ghost)
{
    ghost_unlink(h, ghost);
    id_table_remove(&h->ghosts, ghost - 2);
}

/* A key is remembered, and what was remembered longest is forgotten. */
static void ghost_remember(struct vllm_host *h, uint64_t key, uint32_t list)
{
    ghost_append(h, id_table_add(&h->ghosts, key) + 2, list);
    if (h->ghost_count[list] > h->capacity)
        ghost_forget(h, h->ghost[list].next);
}

/* ---- chunks ---- */

uint32_t vllm_host_find(const struct vllm_host *h, uint64_t key)
{
    return id_table_find(&h->table, key);
}

void vllm_host_expect(const struct vllm_host *h, uint64_t key)
{
    const uint32_t chunk = h->table.by_id ? id_table_find(&h->table, key) : HOST_NONE;
    if (chunk != HOST_NONE)
        __builtin_prefetch(&h->chunk[chunk], 1);
    else
        id_table_expect(&h->table, key);
}

uint64_t vllm_host_key(const struct vllm_host *h, uint32_t chunk)
{
    return id_table_id(&h->table, chunk);
}

bool vllm_host_is_ready(const struct vllm_host *h, uint32_t chunk)
{
    return h->chunk[chunk].readers != BEING_WRITTEN;
}

bool vllm_host_is_loaded(const struct vllm_host *h, uint32_t chunk)
{
    return h->chunk[chunk].loads > 0;
}

/* Nobody reads or writes it any more. */
static void let_leave(struct vllm_host *h, uint32_t chunk)
{
    h->may_leave++;
    h->protected += h->chunk[chunk].stamp == h->stamp;
    if (!h->arc)
        heap_add(h, chunk);
}

void vllm_host_begin_read(struct vllm_host *h, uint32_t chunk, bool load)
{
    struct chunk *c = &h->chunk[chunk];
    c->loads = (uint8_t)(c->loads + load);
    h->loading += load;
    if (c->readers++)
        return;
    h->may_leave--;
    h->protected -= c->stamp == h->stamp;
    if (!h->arc)
        take_out(h, chunk);
}

void vllm_host_end_read(struct vllm_host *h, uint32_t chunk, bool load)
{
    struct chunk *c = &h->chunk[chunk];
    c->loads = (uint8_t)(c->loads - load);
    h->loading -= load;
    if (--c->readers == 0)
        let_leave(h, chunk);
}

void vllm_host_written(struct vllm_host *h, uint32_t chunk, bool read)
{
    h->chunk[chunk].readers = read;
    if (!read)
        let_leave(h, chunk);
}

static uint64_t rank_of(struct vllm_host *h, struct vllm_host_request *r)
{
    if (!r->rank)
        r->rank = ++h->ranks;
    return r->rank;
}

void vllm_host_touch(struct vllm_host *h, struct vllm_host_request *r, uint32_t chunk,
                     uint64_t position)
{
    const uint64_t rank = rank_of(h, r);
    if (h->arc || chunk == HOST_NONE)
        return;
    struct chunk *c = &h->chunk[chunk];
    if (rank < c->rank || (rank == c->rank && position >= c->position))
        return;
    if (c->readers == 0)
        take_out(h, chunk);
    c->rank = rank;
    c->position = (uint32_t)position;
    if (c->readers == 0)
        heap_add(h, chunk);
}

void vllm_host_miss(struct vllm_host *h, uint64_t key)
{
    const uint32_t number = h->arc ? id_table_find(&h->ghosts, key) : ID_NONE;
    if (number == ID_NONE)
        return;
    const double b1 = (double)h->ghost_count[LIST_T1], b2 = (double)h->ghost_count[LIST_T2];
    const uint32_t list = h->ghost[number + 2].list;
    if (list == LIST_T1) {
        h->target += b2 > b1 ? b2 / b1 : 1;
        if (h->target > (double)h->capacity)
            h->target = (double)h->capacity;
    } else {
        h->target -= b1 > b2 ? b1 / b2 : 1;
        if (h->target < 0)
            h->target = 0;
    }
    ghost_unlink(h, number + 2);
    ghost_append(h, number + 2, list);
}

void vllm_host_protect(struct vllm_host *h)
{
    h->stamp++;
    h->protected = 0;
}

void vllm_host_protect_chunk(struct vllm_host *h, uint32_t chunk)
{
    struct chunk *c = &h->chunk[chunk];
    h->protected += c->readers == 0 && c->stamp != h->stamp;
    c->stamp = h->stamp;
}

static bool is_candidate(const struct vllm_host *h, uint32_t chunk)
{
    return h->chunk[chunk].readers == 0 && h->chunk[chunk].stamp != h->stamp;
}

static uint32_t next_candidate(const struct vllm_host *h, uint32_t chunk)
{
    while (chunk != HOST_NONE && !is_candidate(h, chunk))
        chunk = h->chunk[chunk].next;
    return chunk;
}

/* The place of the first candidate in the queue from that one on; its end: there is none. */
static uint64_t next_ended(const struct vllm_host *h, uint64_t at)
{
    for (; at < h->ended_end; at++) {
        if (at + AHEAD < h->ended_end && h->ended[at + AHEAD] != HOST_NONE)
            __builtin_prefetch(&h->chunk[h->ended[at + AHEAD]], 1);
        if (h->ended[at] != HOST_NONE && is_candidate(h, h->ended[at]))
            break;
    }
    return at;
}

/* Finds victims in their order; fewer than wanted: there are no more. */
static uint64_t lru_victims(struct vllm_host *h, uint64_t wanted)
{
    uint64_t victims = 0, passed = 0;
    /* Victims at the front of aside, what is passed over at its end. */
    uint64_t at = next_ended(h, h->ended_first);
    while (victims < wanted && (at < h->ended_end || h->heaped)) {
        if (at < h->ended_end && heap_is_after(h, h->chunk[h->ended[at]].rank)) {
            h->aside[victims++] = h->ended[at];
            at = next_ended(h, at + 1);
            continue;
        }
        const uint32_t chunk = heap_pop(h);
        if (is_candidate(h, chunk))
            h->aside[victims++] = chunk;
        else
            h->aside[h->capacity - ++passed] = chunk;
    }
    while (passed)
        heap_add(h, h->aside[h->capacity - passed--]);
    for (uint64_t i = 0; victims < wanted && i < victims; i++)
        if (h->chunk[h->aside[i]].list == LIST_NONE)
            heap_add(h, h->aside[i]);
    return victims;
}

static void leave(struct vllm_host *h, uint32_t chunk, const struct kv_listener *l,
                  const struct kv_request *r)
{
    const struct kv_event e = {
        .kind = KV_DROPPED, .tier = TRACE_CPU, .key = vllm_host_key(h, chunk), .request = r};
    l->event(l->ctx, &e);
    h->chunks--;
    h->may_leave--;
    id_table_remove(&h->table, chunk);
}

/* How many of the wanted victims there are. With a listener they leave as they are found. */
static uint64_t arc_victims(struct vllm_host *h, uint64_t wanted, const struct kv_listener *l,
                            const struct kv_request *r)
{
    uint64_t size = h->list[LIST_T1].count, victims = 0;
    uint32_t a = next_candidate(h, h->list[LIST_T1].first);
    uint32_t b = next_candidate(h, h->list[LIST_T2].first);
    for (; victims < wanted && (a != HOST_NONE || b != HOST_NONE); victims++) {
        const bool from_t1 = a != HOST_NONE && (size >= (uint64_t)h->target || b == HOST_NONE);
        uint32_t *from = from_t1 ? &a : &b;
        const uint32_t chunk = *from;
        size -= from_t1;
        *from = next_candidate(h, h->chunk[chunk].next);
        if (!l)
            continue;
        const uint64_t key = vllm_host_key(h, chunk);
        list_remove(h, chunk);
        leave(h, chunk, l, r);
        ghost_remember(h, key, from_t1 ? LIST_T1 : LIST_T2);
    }
    return victims;
}

uint64_t vllm_host_lacks(const struct vllm_host *h, uint64_t chunks)
{
    const uint64_t room = h->capacity - h->chunks;
    return chunks > room ? chunks - room : 0;
}

uint64_t vllm_host_may_leave(const struct vllm_host *h)
{
    return h->may_leave;
}

uint64_t vllm_host_inserts(const struct vllm_host *h)
{
    return h->inserts;
}

uint64_t vllm_host_left(const struct vllm_host *h)
{
    return h->inserts - h->chunks;
}

uint64_t vllm_host_loading(const struct vllm_host *h)
{
    return h->loading;
}

bool vllm_host_make_room(struct vllm_host *h, uint64_t chunks, const struct kv_listener *l,
                         const struct kv_request *r)
{
    const uint64_t wanted = vllm_host_lacks(h, chunks);
    if (wanted == 0)
        return true;
    if (wanted > h->may_leave - h->protected)
        return false;
    if ((h->arc ? arc_victims(h, wanted, NULL, r) : lru_victims(h, wanted)) < wanted)
        return false;
    if (h->arc)
        arc_victims(h, wanted, l, r);
    for (uint64_t i = 0; !h->arc && i < wanted; i++) {
        if (i + ID_TABLE_AHEAD < wanted)
            id_table_expect(&h->table, vllm_host_key(h, h->aside[i + ID_TABLE_AHEAD]));
        if (h->chunk[h->aside[i]].list == LIST_ENDED)
            ended_remove(h, h->aside[i]);
        leave(h, h->aside[i], l, r);
    }
    return true;
}

uint32_t vllm_host_insert(struct vllm_host *h, struct vllm_host_request *r, uint64_t key,
                          uint64_t position)
{
    const uint32_t number = h->arc ? id_table_find(&h->ghosts, key) : ID_NONE;
    if (number != ID_NONE)
        ghost_forget(h, number + 2);
    const uint32_t chunk = id_table_add(&h->table, key); /* there is room for each */
    struct chunk *c = &h->chunk[chunk];
    const uint64_t rank = rank_of(h, r);
    *c = (struct chunk){.position = (uint32_t)position,
                        .heap = HOST_NONE,
                        .readers = BEING_WRITTEN,
                        .list = LIST_NONE};
    h->chunks++;
    h->inserts++;
    if (h->arc)
        list_append(h, chunk, LIST_T1);
    else
        c->rank = rank;
    return chunk;
}

/* LRU: the chunk gets a rank that is higher than all so far. */
static void end_rank(struct vllm_host *h, uint32_t chunk)
{
    struct chunk *c = &h->chunk[chunk];
    c->rank = ++h->ranks;
    if (c->readers) {
        c->position = 0;
        return;
    }
    take_out(h, chunk);
    ended_append(h, chunk);
}

void vllm_host_end(struct vllm_host *h, uint64_t key, bool brought, bool reused)
{
    const uint32_t chunk = vllm_host_find(h, key);
    if (chunk == HOST_NONE)
        return;
    if (!h->arc)
        end_rank(h, chunk);
    else if (brought)
        to_end_of(h, chunk, (enum list)h->chunk[chunk].list);
    else if (reused)
        to_end_of(h, chunk, LIST_T2);
}

void vllm_host_count(const struct vllm_host *h, struct vllm_host_counts *out)
{
    *out = (struct vllm_host_counts){.chunks = h->chunks, .arc = h->arc, .target = h->target};
    for (int l = 0; l < LISTS; l++) {
        out->list[l] = h->arc ? h->list[l].count : 0;
        out->list[LISTS + l] = h->ghost_count[l];
    }
}

uint64_t vllm_host_memory(const struct vllm_host *h)
{
    const uint64_t heaps =
        h->arc ? 0 : sizeof(*h->heap) + sizeof(*h->aside) + 2 * sizeof(*h->ended);
    return h->capacity * (sizeof(*h->chunk) + heaps) + id_table_memory(&h->table) +
           h->ghosts.cap * sizeof(*h->ghost) + id_table_memory(&h->ghosts);
}
