/* vllm_host.c - vLLM 0.33.0: chunks in host memory. With LRU the chunks that may leave are a heap
 * by (rank of the request, position from the end); with ARC all chunks and ghosts are in four
 * lists, least recently used first. */
#include "kvgen/cache/vllm_host.h"

#include <stdlib.h>

#include "kvgen/cache/id_table.h"

enum list {
    LIST_T1,
    LIST_T2,
    LIST_B1, /* ghosts: keys of what left T1 */
    LIST_B2,
    LISTS,
    NO_LIST = LISTS
};
enum {
    BEING_WRITTEN = -1
};

struct chunk {
    uint64_t key, rank;
    uint32_t position;
    int32_t readers; /* or BEING_WRITTEN */
    uint32_t stamp;  /* of the set of protected chunks it is in */
    uint16_t loads;  /* of the readers; one at a time is let in */
    uint8_t list;
    union {
        uint32_t heap; /* LRU: place in the heap; HOST_NONE: it may not leave */
        uint32_t prev; /* ARC, and of free ones */
    };
    uint32_t next;
};

struct ends {
    uint32_t first, last;
    uint64_t count;
};

struct vllm_host {
    struct chunk *chunk;
    struct id_table table; /* numbers of chunks, ghosts included */
    uint32_t *heap;        /* LRU */
    uint32_t *aside;       /* victims, or what was passed over */
    uint64_t heaped, capacity, chunks, ranks, may_leave;
    uint32_t stamp;
    bool arc;
    double target;
    struct ends list[LISTS];
};

struct vllm_host *vllm_host_create(uint64_t capacity, bool arc)
{
    struct vllm_host *h = calloc(1, sizeof(*h));
    /* Ghosts take up to the capacity twice, and one more before they are cut. */
    const uint64_t places = arc ? 3 * capacity + 1 : capacity;
    if (!h || places >= HOST_NONE) {
        free(h);
        return NULL;
    }
    h->capacity = capacity;
    h->arc = arc;
    h->chunk = calloc(places, sizeof(*h->chunk));
    h->heap = malloc(capacity * sizeof(*h->heap));
    h->aside = malloc(capacity * sizeof(*h->aside));
    if (!h->chunk || !h->heap || !h->aside || id_table_reserve(&h->table, places)) {
        vllm_host_free(h);
        return NULL;
    }
    for (int l = 0; l < LISTS; l++)
        h->list[l] = (struct ends){HOST_NONE, HOST_NONE, 0};
    return h;
}

void vllm_host_free(struct vllm_host *h)
{
    if (!h)
        return;
    id_table_free(&h->table);
    free(h->chunk);
    free(h->heap);
    free(h->aside);
    free(h);
}

/* ---- LRU: a heap of the chunks that may leave ---- */

static bool leaves_before(const struct vllm_host *h, uint32_t a, uint32_t b)
{
    const struct chunk *x = &h->chunk[a], *y = &h->chunk[b];
    if (x->rank != y->rank)
        return x->rank < y->rank;
    return x->position != y->position ? x->position > y->position : a < b;
}

static void heap_set(struct vllm_host *h, uint64_t at, uint32_t chunk)
{
    h->heap[at] = chunk;
    h->chunk[chunk].heap = (uint32_t)at;
}

/* Moves the chunk at that place to where it belongs. */
static void heap_settle(struct vllm_host *h, uint64_t at)
{
    const uint32_t chunk = h->heap[at];
    for (; at && leaves_before(h, chunk, h->heap[(at - 1) / 2]); at = (at - 1) / 2)
        heap_set(h, at, h->heap[(at - 1) / 2]);
    for (uint64_t child; (child = 2 * at + 1) < h->heaped; at = child) {
        if (child + 1 < h->heaped && leaves_before(h, h->heap[child + 1], h->heap[child]))
            child++;
        if (!leaves_before(h, h->heap[child], chunk))
            break;
        heap_set(h, at, h->heap[child]);
    }
    heap_set(h, at, chunk);
}

static void heap_add(struct vllm_host *h, uint32_t chunk)
{
    heap_set(h, h->heaped++, chunk);
    heap_settle(h, h->heaped - 1);
}

static void heap_remove(struct vllm_host *h, uint32_t chunk)
{
    const uint64_t at = h->chunk[chunk].heap;
    h->chunk[chunk].heap = HOST_NONE;
    if (at == --h->heaped)
        return;
    heap_set(h, at, h->heap[h->heaped]);
    heap_settle(h, at);
}

/* ---- ARC: lists ---- */

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

static void to_end_of(struct vllm_host *h, uint32_t chunk, enum list l)
{
    list_remove(h, chunk);
    list_append(h, chunk, l);
}

static bool is_ghost(const struct vllm_host *h, uint32_t chunk)
{
    return h->arc && h->chunk[chunk].list >= LIST_B1;
}

/* ---- chunks ---- */

uint32_t vllm_host_find(const struct vllm_host *h, uint64_t key)
{
    const uint32_t chunk = id_table_find(&h->table, key);
    return chunk == ID_NONE || is_ghost(h, chunk) ? HOST_NONE : chunk;
}

uint64_t vllm_host_key(const struct vllm_host *h, uint32_t chunk)
{
    return h->chunk[chunk].key;
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
    if (!h->arc)
        heap_add(h, chunk);
}

void vllm_host_begin_read(struct vllm_host *h, uint32_t chunk, bool load)
{
    struct chunk *c = &h->chunk[chunk];
    c->loads = (uint16_t)(c->loads + load);
    if (c->readers++)
        return;
    h->may_leave--;
    if (!h->arc)
        heap_remove(h, chunk);
}

void vllm_host_end_read(struct vllm_host *h, uint32_t chunk, bool load)
{
    struct chunk *c = &h->chunk[chunk];
    c->loads = (uint16_t)(c->loads - load);
    if (--c->readers == 0)
        let_leave(h, chunk);
}

void vllm_host_written(struct vllm_host *h, uint32_t chunk)
{
    h->chunk[chunk].readers = 0;
    let_leave(h, chunk);
}

static void set_rank(struct vllm_host *h, uint32_t chunk, uint64_t rank, uint64_t position)
{
    struct chunk *c = &h->chunk[chunk];
    c->rank = rank;
    c->position = (uint32_t)position;
    if (!h->arc && c->readers == 0)
        heap_settle(h, c->heap);
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
    const struct chunk *c = &h->chunk[chunk];
    if (rank > c->rank || (rank == c->rank && position < c->position))
        set_rank(h, chunk, rank, position);
}

void vllm_host_miss(struct vllm_host *h, uint64_t key)
{
    const uint32_t chunk = id_table_find(&h->table, key);
    if (!h->arc || chunk == ID_NONE || !is_ghost(h, chunk))
        return;
    const double b1 = (double)h->list[LIST_B1].count, b2 = (double)h->list[LIST_B2].count;
    if (h->chunk[chunk].list == LIST_B1) {
        h->target += b2 > b1 ? b2 / b1 : 1;
        if (h->target > (double)h->capacity)
            h->target = (double)h->capacity;
        to_end_of(h, chunk, LIST_B1);
    } else {
        h->target -= b1 > b2 ? b1 / b2 : 1;
        if (h->target < 0)
            h->target = 0;
        to_end_of(h, chunk, LIST_B2);
    }
}

void vllm_host_protect(struct vllm_host *h)
{
    h->stamp++;
}

void vllm_host_protect_chunk(struct vllm_host *h, uint32_t chunk)
{
    h->chunk[chunk].stamp = h->stamp;
}

static bool is_candidate(const struct vllm_host *h, uint32_t chunk)
{
    return h->chunk[chunk].readers == 0 && h->chunk[chunk].stamp != h->stamp;
}

/* Finds victims in their order; fewer than wanted: there are no more. */
static uint64_t lru_victims(struct vllm_host *h, uint64_t wanted)
{
    uint64_t victims = 0, passed = 0;
    /* Victims at the front of aside, what is passed over at its end. */
    while (victims < wanted && h->heaped) {
        const uint32_t chunk = h->heap[0];
        heap_remove(h, chunk);
        if (is_candidate(h, chunk))
            h->aside[victims++] = chunk;
        else
            h->aside[h->capacity - ++passed] = chunk;
    }
    while (passed)
        heap_add(h, h->aside[h->capacity - passed--]);
    if (victims == wanted)
        return victims;
    for (uint64_t i = 0; i < victims; i++)
        heap_add(h, h->aside[i]);
    return victims;
}

static uint32_t next_candidate(const struct vllm_host *h, uint32_t chunk)
{
    while (chunk != HOST_NONE && !is_candidate(h, chunk))
        chunk = h->chunk[chunk].next;
    return chunk;
}

static uint64_t arc_victims(struct vllm_host *h, uint64_t wanted)
{
    uint64_t size = h->list[LIST_T1].count, victims = 0;
    uint32_t a = next_candidate(h, h->list[LIST_T1].first);
    uint32_t b = next_candidate(h, h->list[LIST_T2].first);
    for (; victims < wanted && (a != HOST_NONE || b != HOST_NONE); victims++) {
        const bool from_t1 = a != HOST_NONE && (size >= (uint64_t)h->target || b == HOST_NONE);
        uint32_t *from = from_t1 ? &a : &b;
        h->aside[victims] = *from;
        size -= from_t1;
        *from = next_candidate(h, h->chunk[*from].next);
    }
    return victims;
}

/* A chunk leaves, its key is remembered, and the ghost that was remembered longest is forgotten. */
static void become_ghost(struct vllm_host *h, uint32_t chunk)
{
    const enum list l = h->chunk[chunk].list == LIST_T1 ? LIST_B1 : LIST_B2;
    to_end_of(h, chunk, l);
    if (h->list[l].count <= h->capacity)
        return;
    const uint32_t oldest = h->list[l].first;
    list_remove(h, oldest);
    id_table_remove(&h->table, oldest);
}

bool vllm_host_make_room(struct vllm_host *h, uint64_t chunks, const struct kv_listener *l,
                         const struct kv_request *r)
{
    const uint64_t room = h->capacity - h->chunks;
    if (chunks <= room)
        return true;
    const uint64_t wanted = chunks - room;
    if (wanted > h->may_leave)
        return false;
    if ((h->arc ? arc_victims(h, wanted) : lru_victims(h, wanted)) < wanted)
        return false;
    for (uint64_t i = 0; i < wanted; i++) {
        const uint32_t chunk = h->aside[i];
        const struct kv_event e = {
            .kind = KV_DROPPED, .tier = TRACE_CPU, .key = h->chunk[chunk].key, .request = r};
        l->event(l->ctx, &e);
        h->chunks--;
        h->may_leave--;
        if (h->arc)
            become_ghost(h, chunk);
        else
            id_table_remove(&h->table, chunk);
    }
    return true;
}

uint32_t vllm_host_insert(struct vllm_host *h, struct vllm_host_request *r, uint64_t key,
                          uint64_t position)
{
    uint32_t chunk = id_table_find(&h->table, key);
    if (chunk != ID_NONE)
        list_remove(h, chunk); /* a ghost */
    else
        chunk = id_table_add(&h->table, key); /* there is room for each chunk and ghost */
    struct chunk *c = &h->chunk[chunk];
    *c = (struct chunk){.key = key,
                        .rank = rank_of(h, r),
                        .position = (uint32_t)position,
                        .readers = BEING_WRITTEN,
                        .list = NO_LIST};
    h->chunks++;
    if (h->arc)
        list_append(h, chunk, LIST_T1);
    else
        c->heap = HOST_NONE;
    return chunk;
}

void vllm_host_end(struct vllm_host *h, uint64_t key, bool brought, bool reused)
{
    const uint32_t chunk = vllm_host_find(h, key);
    if (chunk == HOST_NONE)
        return;
    if (!h->arc)
        set_rank(h, chunk, ++h->ranks, 0);
    else if (brought)
        to_end_of(h, chunk, (enum list)h->chunk[chunk].list);
    else if (reused)
        to_end_of(h, chunk, LIST_T2);
}

void vllm_host_count(const struct vllm_host *h, struct vllm_host_counts *out)
{
    *out = (struct vllm_host_counts){.chunks = h->chunks, .arc = h->arc, .target = h->target};
    for (int l = 0; l < LISTS; l++)
        out->list[l] = h->list[l].count;
}
