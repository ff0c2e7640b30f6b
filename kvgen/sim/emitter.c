/* The last stage of the simulation. The tiers' servers know the time of an operation before the
 * clock gets there, so that its row has to wait here: in a heap by time, over a pool of rows that
 * is as large as the most rows that ever waited at once. Filters, keys and formats are the sink's.
 */
#include "kvgen/sim/emitter.h"

#include <errno.h>
#include <stdlib.h>

#define NONE UINT32_MAX

struct waiting_row {
    struct sim_row row;
    struct request request; /* what row.request points to, unless that is NULL */
    uint32_t next_free;
};

struct emitter {
    struct virtual_clock *clock;
    struct row_counts *counts;
    sim_sink sink;
    void *ctx;
    struct heap waiting; /* item: place in pool; tie: order of arrival */
    uint64_t kept;       /* rows that have ever waited */
    struct waiting_row *pool;
    uint32_t used, cap;
    uint32_t free; /* chain of places given back; NONE: empty */
};

struct emitter *emitter_create(struct virtual_clock *clock, struct row_counts *counts,
                               sim_sink sink, void *ctx)
{
    struct emitter *e = calloc(1, sizeof(*e));
    if (!e)
        return NULL;
    *e = (struct emitter){.clock = clock, .counts = counts, .sink = sink, .ctx = ctx, .free = NONE};
    if (heap_init(&e->waiting, 64) < 0) {
        free(e);
        return NULL;
    }
    return e;
}

void emitter_free(struct emitter *e)
{
    if (!e)
        return;
    heap_free(&e->waiting);
    free(e->pool);
    free(e);
}

static void hand_on(struct emitter *e, const struct sim_row *row)
{
    if (e->clock->ended != 0)
        return;
    row_counts_add(e->counts, &row->what);
    e->clock->ended = e->sink(e->ctx, row, e->clock->err);
}

/* A free place of the pool; 0 or -ENOMEM. */
static int take_place(struct emitter *e, uint32_t *place)
{
    if (e->free != NONE) {
        *place = e->free;
        e->free = e->pool[*place].next_free;
        return 0;
    }
    if (e->used == e->cap) {
        if (e->cap >= NONE / 2)
            return -ENOMEM;
        uint32_t cap = e->cap > 0 ? e->cap * 2 : 64;
        struct waiting_row *grown = realloc(e->pool, cap * sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        e->pool = grown;
        e->cap = cap;
    }
    *place = e->used++;
    return 0;
}

/* Not inlined, so that rows of now, which are nearly all, pass quickly. */
static __attribute__((noinline)) void keep(struct emitter *e, const struct sim_row *row)
{
    uint32_t place;
    if (heap_reserve(&e->waiting, e->waiting.count + 1) < 0 || take_place(e, &place) < 0) {
        virtual_clock_fail(e->clock, err_nomem(e->clock->err, "rows to come"));
        return;
    }
    e->pool[place].row = *row;
    if (row->request)
        e->pool[place].request = *row->request;
    heap_push(&e->waiting,
              (struct heap_event){.time_ns = row->time_ns, .tie = e->kept++, .item = place});
}

void emitter_row(struct emitter *e, const struct sim_row *row)
{
    if (row->time_ns > e->clock->now_ns)
        keep(e, row);
    else
        hand_on(e, row);
}

void emitter_advance(struct emitter *e, int64_t until_ns)
{
    const struct heap_event *next;
    while ((next = heap_top(&e->waiting)) != NULL && next->time_ns <= until_ns) {
        uint32_t place = heap_pop(&e->waiting).item;
        struct waiting_row *w = &e->pool[place];
        if (w->row.request)
            w->row.request = &w->request;
        e->clock->now_ns = w->row.time_ns;
        hand_on(e, &w->row);
        w->next_free = e->free;
        e->free = place;
    }
}
