/* Between admission and the ready queue: dependencies. A chain holds the rows of one key (or
 * request) that are inside the window, first come first served like a read-write lock, so a row
 * only ever waits for rows that stand before it in the trace, and no wait can go round in a circle.
 */
#include "kvreplay/sched/order.h"

#include <stdbool.h>
#include <stdlib.h>

enum {
    CHAIN_KEY,
    CHAIN_REQUEST
};

struct chain {
    struct chain *next; /* in its bucket, or free list */
    struct hash128 id;
    struct row *head, *tail; /* waiting */
    size_t members, active;
    bool shared; /* the active ones are reads */
    uint64_t writes_entered, writes_done;
    int64_t write_done_ns; /* end of the latest write that is done */
};

struct order {
    enum order_mode mode;
    struct chain **bucket;
    size_t mask;
    struct chain *pool, *spare;
};

struct order *order_create(enum order_mode mode, size_t rows)
{
    size_t chains = rows * 2, buckets = 16;
    struct order *o = calloc(1, sizeof(*o));

    if (!o)
        return NULL;
    while (buckets < chains)
        buckets *= 2;
    o->mode = mode;
    o->mask = buckets - 1;
    o->bucket = calloc(buckets, sizeof(struct chain *));
    o->pool = calloc(chains, sizeof(*o->pool));
    if (!o->bucket || !o->pool) {
        order_free(o);
        return NULL;
    }
    for (size_t i = 0; i < chains; i++) {
        o->pool[i].next = o->spare;
        o->spare = &o->pool[i];
    }
    return o;
}

void order_free(struct order *o)
{
    if (!o)
        return;
    free(o->pool);
    free(o->bucket);
    free(o);
}

static struct chain *chain_get(struct order *o, struct hash128 id)
{
    struct chain **b = &o->bucket[id.lo & o->mask];
    for (struct chain *c = *b; c; c = c->next) {
        if (c->id.lo == id.lo && c->id.hi == id.hi)
            return c;
    }
    struct chain *c = o->spare; /* two chains a row at most: there is always one */
    o->spare = c->next;
    *c = (struct chain){.id = id, .next = *b};
    *b = c;
    return c;
}

static void chain_put_back(struct order *o, struct chain *c)
{
    struct chain **at = &o->bucket[c->id.lo & o->mask];
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    c->next = o->spare;
    o->spare = c;
}

static bool row_shares(const struct row *r, int which)
{
    return which == CHAIN_KEY && r->t.op == TRACE_READ && !row_drops(&r->t) && !r->plan.create;
}

static bool row_writes(const struct row *r)
{
    return r->t.op == TRACE_WRITE || r->plan.create;
}

static void chain_enter(struct order *o, struct row *r, int which, struct hash128 id)
{
    struct chain *c = chain_get(o, id);
    bool shares = row_shares(r, which);
    bool overtakes = o->mode == ORDER_NONE || !c->head;

    r->chain[which] = c;
    r->chain_next[which] = NULL;
    r->writes_before = which == CHAIN_KEY ? c->writes_entered : r->writes_before;
    c->writes_entered += which == CHAIN_KEY && row_writes(r);
    c->members++;
    if (c->active == 0 || (shares && c->shared && overtakes)) {
        c->active++;
        c->shared = shares;
        return;
    }
    r->waits |= which == CHAIN_KEY ? ROW_WAIT_KEY : ROW_WAIT_REQUEST;
    if (c->tail)
        c->tail->chain_next[which] = r;
    else
        c->head = r;
    c->tail = r;
}

static struct hash128 row_key(const struct order *o, const struct row *r)
{
    return o->mode == ORDER_NONE ? r->name : r->key;
}

/* No key has such a hash but by 2^-128 chance. */
static struct hash128 row_request(const struct row *r)
{
    uint64_t n = (uint64_t)r->t.request;
    return (struct hash128){.lo = hash_mix(n), .hi = n};
}

void order_prefetch_cells(const struct order *o, const struct row *r)
{
    __builtin_prefetch(&o->bucket[row_key(o, r).lo & o->mask]);
    if (o->mode == ORDER_REQUEST)
        __builtin_prefetch(&o->bucket[row_request(r).lo & o->mask]);
}

void order_prefetch_chains(const struct order *o, const struct row *r)
{
    __builtin_prefetch(o->bucket[row_key(o, r).lo & o->mask], 1);
    if (o->mode == ORDER_REQUEST)
        __builtin_prefetch(o->bucket[row_request(r).lo & o->mask], 1);
}

void order_enter(struct order *o, struct row *r)
{
    r->chain[CHAIN_KEY] = r->chain[CHAIN_REQUEST] = NULL;
    r->waits = 0;
    r->writes_before = 0;
    if (r->t.tier != TRACE_NO_TIER)
        chain_enter(o, r, CHAIN_KEY, row_key(o, r));
    if (o->mode == ORDER_REQUEST && r->t.request != TRACE_NONE)
        chain_enter(o, r, CHAIN_REQUEST, row_request(r));
}

void order_wrote(struct row *r, int64_t done_ns)
{
    struct chain *c = r->chain[CHAIN_KEY];
    if (!c)
        return;
    c->writes_done++;
    if (done_ns > c->write_done_ns)
        c->write_done_ns = done_ns;
}

int order_reads_early(const struct row *r, int64_t start_ns)
{
    const struct chain *c = r->chain[CHAIN_KEY];
    if (!c || r->writes_before == 0)
        return 0;
    return c->writes_done < r->writes_before || start_ns < c->write_done_ns;
}

/* Lets the first waiting row in, and the reads behind it when it is one; puts those that wait for
 * no other chain in front of the list woken. */
static struct row *chain_advance(struct chain *c, int which, struct row *woken)
{
    unsigned wait = which == CHAIN_KEY ? ROW_WAIT_KEY : ROW_WAIT_REQUEST;
    bool shares = row_shares(c->head, which);

    c->shared = shares;
    do {
        struct row *r = c->head;
        c->head = r->chain_next[which];
        if (!c->head)
            c->tail = NULL;
        c->active++;
        r->waits = (uint8_t)(r->waits & ~wait);
        if (r->waits & (ROW_WAIT_KEY | ROW_WAIT_REQUEST))
            continue;
        r->woken = woken;
        woken = r;
    } while (shares && c->head && row_shares(c->head, which));
    return woken;
}

/* Puts the list back into the order of the trace. */
static struct row *woken_reverse(struct row *list)
{
    struct row *out = NULL;
    while (list) {
        struct row *next = list->woken;
        list->woken = out;
        out = list;
        list = next;
    }
    return out;
}

struct row *order_leave(struct order *o, struct row *r)
{
    struct row *woken = NULL;
    for (int which = CHAIN_KEY; which <= CHAIN_REQUEST; which++) {
        struct chain *c = r->chain[which];
        if (!c)
            continue;
        r->chain[which] = NULL;
        c->active--;
        if (--c->members == 0)
            chain_put_back(o, c);
        else if (c->active == 0)
            woken = chain_advance(c, which, woken);
    }
    return woken_reverse(woken);
}
