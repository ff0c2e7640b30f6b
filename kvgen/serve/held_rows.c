/* held_rows.c - a ring of rows. The first open row holds back all that follow. Rows that begin
 * later than now stand beside the ring until then. */
#include "kvgen/serve/held_rows.h"

#include <stdlib.h>

#include "lib/base/memory.h"

struct held {
    int64_t time_ns, duration_ns;
    struct hierarchy_op what;
    struct held_request *request;
    bool open;
};

struct later {
    struct held row;
    uint64_t *number;
};

struct held_rows {
    struct emitter *emitter;
    struct later *later; /* the first one to begin stands last */
    size_t laters, later_cap;
    struct held *row;    /* a ring: number modulo cap */
    uint64_t first, end; /* numbers of the rows that are held */
    uint64_t cap;        /* a power of two */
    uint64_t most;
    bool failed;
};

enum {
    HELD_FIRST = 1024
};

struct held_rows *held_rows_create(struct emitter *emitter)
{
    struct held_rows *h = calloc(1, sizeof(*h));
    if (!h)
        return NULL;
    *h = (struct held_rows){.emitter = emitter, .cap = HELD_FIRST};
    h->row = malloc(h->cap * sizeof(*h->row));
    if (!h->row) {
        free(h);
        return NULL;
    }
    return h;
}

static struct held *at(const struct held_rows *h, uint64_t number)
{
    return &h->row[number & (h->cap - 1)];
}

static void unname(struct held_request *q)
{
    if (q && --q->rows == 0 && q->done)
        q->free(q);
}

void held_rows_leave(struct held_request *q)
{
    q->done = true;
    if (q->rows == 0)
        q->free(q);
}

void held_rows_free(struct held_rows *h)
{
    if (!h)
        return;
    for (; h->first < h->end; h->first++)
        unname(at(h, h->first)->request);
    while (h->laters)
        unname(h->later[--h->laters].row.request);
    free(h->later);
    free(h->row);
    free(h);
}

/* Rows up to the first open one leave. */
static void drain(struct held_rows *h)
{
    for (; h->first < h->end && !at(h, h->first)->open; h->first++) {
        const struct held *held = at(h, h->first);
        const struct sim_row row = {.time_ns = held->time_ns,
                                    .request = held->request ? &held->request->r : NULL,
                                    .what = held->what,
                                    .duration_ns = held->duration_ns};
        emitter_row(h->emitter, &row);
        unname(held->request);
    }
}

static bool grow(struct held_rows *h)
{
    struct held *grown = malloc(2 * h->cap * sizeof(*grown));
    if (!grown) {
        h->failed = true;
        return false;
    }
    for (uint64_t i = h->first; i < h->end; i++)
        grown[i & (2 * h->cap - 1)] = *at(h, i);
    free(h->row);
    h->row = grown;
    h->cap *= 2;
    return true;
}

static uint64_t add(struct held_rows *h, const struct held *row)
{
    if (h->end - h->first == h->cap && !grow(h))
        return h->end;
    *at(h, h->end) = *row;
    if (row->request)
        row->request->rows++;
    h->end++;
    if (h->end - h->first > h->most)
        h->most = h->end - h->first;
    return h->end - 1;
}

void held_rows_pass(struct held_rows *h, int64_t now_ns)
{
    while (h->laters && h->later[h->laters - 1].row.time_ns <= now_ns) {
        const struct later *l = &h->later[--h->laters];
        *l->number = add(h, &l->row);
        if (l->row.request)
            l->row.request->rows--; /* it was counted when it was to come */
    }
}

uint64_t held_rows_add(struct held_rows *h, int64_t now_ns, const struct hierarchy_op *what,
                       struct held_request *q)
{
    held_rows_pass(h, now_ns);
    const uint64_t number = add(h, &(struct held){.time_ns = now_ns, .what = *what, .request = q});
    drain(h);
    return number;
}

uint64_t held_rows_open(struct held_rows *h, int64_t now_ns, const struct hierarchy_op *what,
                        struct held_request *q)
{
    held_rows_pass(h, now_ns);
    return add(h, &(struct held){.time_ns = now_ns, .what = *what, .request = q, .open = true});
}

void held_rows_open_later(struct held_rows *h, int64_t begin_ns, const struct hierarchy_op *what,
                          struct held_request *q, uint64_t *number)
{
    if (memory_room(&h->later, &h->later_cap, h->laters, sizeof(*h->later), 16) < 0) {
        h->failed = true;
        return;
    }
    size_t i = h->laters++;
    for (; i > 0 && h->later[i - 1].row.time_ns <= begin_ns; i--)
        h->later[i] = h->later[i - 1];
    h->later[i] =
        (struct later){{.time_ns = begin_ns, .what = *what, .request = q, .open = true}, number};
    if (q)
        q->rows++;
}

void held_rows_close(struct held_rows *h, uint64_t number, int64_t end_ns)
{
    if (number < h->first || number >= h->end)
        return; /* it found no memory */
    struct held *row = at(h, number);
    row->open = false;
    row->duration_ns = end_ns - row->time_ns;
    if (number == h->first)
        drain(h);
}

void held_rows_end(struct held_rows *h, int64_t now_ns)
{
    for (size_t i = 0; i < h->laters; i++)
        h->later[i].row.time_ns =
            h->later[i].row.time_ns < now_ns ? h->later[i].row.time_ns : now_ns;
    held_rows_pass(h, now_ns);
    for (uint64_t i = h->first; i < h->end; i++)
        if (at(h, i)->open) {
            at(h, i)->open = false;
            at(h, i)->duration_ns = now_ns - at(h, i)->time_ns;
        }
    drain(h);
}

bool held_rows_failed(const struct held_rows *h)
{
    return h->failed;
}

uint64_t held_rows_most(const struct held_rows *h)
{
    return h->most;
}
