/* First stage of admission: the dependencies between rows. A chain holds the rows of one key, or of
 * one request, that are inside the window, and works like a read-write lock, first come first
 * served. So a row only waits for rows before it in the trace, and no wait can form a circle. */
#include "kvreplay/wait/order.h"

#include <stdlib.h>

#include "kvreplay/wait/pool.h"

enum {
    CHAIN_KEY,
    CHAIN_REQUEST
};

struct chain {
    struct pool_entry entry;
    struct row *head, *tail; /* waiting */
    size_t members, active;
    bool shared;              /* the active ones are reads */
    struct row *last, *alone; /* of all rows inside, and of those that run alone; with links */
    uint64_t writes_entered, writes_done;
    int64_t write_done_ns; /* end of the latest write that is done */
};

struct order {
    enum order_mode mode;
    bool links, by_copy;
    struct pool chains;
};

struct order *order_create(enum order_mode mode, size_t rows)
{
    struct order *o = calloc(1, sizeof(*o));

    if (!o)
        return NULL;
    o->mode = mode;
    if (pool_init(&o->chains, rows * 2, sizeof(struct chain)) < 0) {
        order_free(o);
        return NULL;
    }
    return o;
}

void order_free(struct order *o)
{
    if (!o)
        return;
    pool_release(&o->chains);
    free(o);
}

void order_by_copy(struct order *o)
{
    o->by_copy = o->mode == ORDER_REQUEST;
}

void order_keep_links(struct order *o)
{
    o->links = true;
}

/* May the row be active together with others? */
static bool row_shares(const struct row *r, int which)
{
    return which == CHAIN_KEY && r->t.op == TRACE_READ && !room_drops(&r->t) && !r->effect.create;
}

static struct hash128 row_key(const struct order *o, const struct row *r)
{
    return o->mode == ORDER_NONE || o->by_copy ? r->name : r->key;
}

void order_prefetch_buckets(const struct order *o, const struct row *r)
{
    __builtin_prefetch(pool_bucket(&o->chains, row_key(o, r)));
    if (o->mode == ORDER_REQUEST)
        __builtin_prefetch(pool_bucket(&o->chains, pool_request_id(r->t.request)));
}

void order_prefetch_chains(const struct order *o, const struct row *r)
{
    __builtin_prefetch(*pool_bucket(&o->chains, row_key(o, r)), 1);
    if (o->mode == ORDER_REQUEST)
        __builtin_prefetch(*pool_bucket(&o->chains, pool_request_id(r->t.request)), 1);
}

/* ---- who waits for whom by key ---- */

static void chain_link(struct chain *c, struct row *r, bool shares)
{
    r->key_before = c->last;
    r->key_behind = NULL;
    r->key_alone = c->alone;
    if (c->last)
        c->last->key_behind = r;
    c->last = r;
    if (!shares)
        c->alone = r;
}

static void chain_unlink(struct chain *c, struct row *r)
{
    if (r->key_before)
        r->key_before->key_behind = r->key_behind;
    *(r->key_behind ? &r->key_behind->key_before : &c->last) = r->key_before;
    if (c->alone == r) /* all rows before it have left */
        c->alone = NULL;
}

void order_blockers(const struct row *r, order_visit_fn visit, void *ctx)
{
    if (!(r->waits & ROW_WAIT_KEY))
        return;
    /* A read goes together with the reads before it, and waits for the row before them. */
    struct row *x = row_shares(r, CHAIN_KEY) ? r->key_alone : r->key_before;
    for (; x; x = x->key_before) {
        if (!x->request)
            continue;
        visit(ctx, x);
        if (!row_shares(x, CHAIN_KEY))
            return;
    }
}

/* ---- the chains ---- */

static void chain_enter(struct order *o, struct row *r, int which, struct hash128 id)
{
    struct chain *c = (struct chain *)pool_find(&o->chains, id);
    bool shares = row_shares(r, which);

    if (!c) { /* a row has two chains at most, so one is spare */
        c = (struct chain *)pool_add(&o->chains, id);
        *c = (struct chain){.entry = c->entry};
    }
    r->chain[which] = c;
    r->chain_next[which] = NULL;
    if (which == CHAIN_KEY) {
        r->writes_before = c->writes_entered;
        c->writes_entered += r->t.op == TRACE_WRITE || r->effect.create;
        if (o->links)
            chain_link(c, r, shares);
    }
    c->members++;
    bool overtakes = o->mode == ORDER_NONE || !c->head;
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

void order_enter(struct order *o, struct row *r)
{
    r->chain[CHAIN_KEY] = r->chain[CHAIN_REQUEST] = NULL;
    r->waits = 0;
    r->writes_before = 0;
    if (r->t.tier != TRACE_NO_TIER)
        chain_enter(o, r, CHAIN_KEY, row_key(o, r));
    if (o->mode == ORDER_REQUEST && r->t.request != TRACE_NONE)
        chain_enter(o, r, CHAIN_REQUEST, pool_request_id(r->t.request));
    else if (o->by_copy && r->t.tier != TRACE_NO_TIER && r->t.op != TRACE_DELETE)
        chain_enter(o, r, CHAIN_REQUEST, r->key);
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

bool order_reads_early(const struct row *r, int64_t start_ns)
{
    const struct chain *c = r->chain[CHAIN_KEY];
    if (!c || r->writes_before == 0)
        return false;
    return c->writes_done < r->writes_before || start_ns < c->write_done_ns;
}

/* The active rows of the chain are done: lets the first waiting row in, and, when that is a read,
 * the reads behind it. Puts those that wait for no other chain in front of the list woken. */
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

struct row *order_leave(struct order *o, struct row *r)
{
    struct row *woken = NULL, *in_order = NULL;

    for (int which = CHAIN_KEY; which <= CHAIN_REQUEST; which++) {
        struct chain *c = r->chain[which];
        if (!c)
            continue;
        r->chain[which] = NULL;
        c->active--;
        if (which == CHAIN_KEY && o->links)
            chain_unlink(c, r);
        if (--c->members == 0)
            pool_remove(&o->chains, &c->entry);
        else if (c->active == 0)
            woken = chain_advance(c, which, woken);
    }
    while (woken) { /* the list was built backwards */
        struct row *next = woken->woken;
        woken->woken = in_order;
        in_order = woken;
        woken = next;
    }
    return in_order;
}
