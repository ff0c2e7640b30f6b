/* window.c - keys are those of an engine's copies (ident_chain), by the 64 bits of their hash. */
#include "kvgen/answer/window.h"

#include <stdbool.h>
#include <stdlib.h>

#include "kvgen/cache/id_table.h"
#include "lib/base/memory.h"
#include "lib/base/stop.h"
#include "lib/base/units.h"
#include "lib/drive/drive_model.h"

#define POOL_DEPTH 16 /* writes at once while the pool is filled */

/* ---- which part ---- */

int window_load_row(void *ctx, const struct sim_row *row, struct err *e)
{
    struct window_load *l = ctx;
    const size_t second = (size_t)(row->time_ns / UNITS_NS_PER_S);
    if (row->what.tier != TRACE_STORAGE || row->what.op == TRACE_DELETE)
        return stop_asks();
    while (l->seconds <= second) {
        if (memory_room(&l->bytes, &l->cap, l->seconds, sizeof(*l->bytes), 1024) < 0)
            return err_nomem(e, "the load by second");
        l->bytes[l->seconds++] = 0;
    }
    l->bytes[second] += row->what.size;
    return 0;
}

void window_load_free(struct window_load *l)
{
    free(l->bytes);
    *l = (struct window_load){0};
}

int64_t window_busiest(const struct window_load *l, int64_t first_ns, int64_t last_ns,
                       int64_t length_ns)
{
    const size_t length = (size_t)((length_ns + UNITS_NS_PER_S - 1) / UNITS_NS_PER_S);
    const size_t first = (size_t)((first_ns + UNITS_NS_PER_S - 1) / UNITS_NS_PER_S);
    uint64_t most = 0, sum = 0;
    int64_t best_ns = first_ns;
    for (size_t i = first; i < l->seconds; i++) {
        sum += l->bytes[i];
        if (i >= first + length)
            sum -= l->bytes[i - length];
        const int64_t from_ns = ((int64_t)i + 1 - (int64_t)length) * UNITS_NS_PER_S;
        if (i + 1 < first + length || from_ns + length_ns > last_ns || sum <= most)
            continue;
        most = sum;
        best_ns = from_ns;
    }
    return best_ns;
}

uint64_t window_pool(const struct tier_model *files, uint64_t object_bytes)
{
    const uint64_t rate =
        files->drive ? drive_model_rate(files->drive, POOL_DEPTH, POOL_DEPTH * object_bytes, 0)
                     : files->write.bytes_per_s;
    if (!rate || !object_bytes)
        return UINT64_MAX;
    const uint64_t objects = rate / object_bytes * WINDOW_POOL_S;
    return objects > WINDOW_POOL_LEAST ? objects : WINDOW_POOL_LEAST;
}

/* ---- its rows ---- */

struct window {
    int64_t from_ns, length_ns;
    uint64_t pool;
    sim_sink sink;
    void *ctx;
    struct id_table written; /* in the window, and there */
    struct id_table folded;  /* read, and not written in the window: its number, by turns */
    struct window_stats stats;
};

struct window *window_create(int64_t from_ns, int64_t length_ns, uint64_t pool, sim_sink sink,
                             void *ctx)
{
    struct window *w = calloc(1, sizeof(*w));
    if (w)
        *w = (struct window){
            .from_ns = from_ns, .length_ns = length_ns, .pool = pool, .sink = sink, .ctx = ctx};
    return w;
}

void window_free(struct window *w)
{
    if (!w)
        return;
    id_table_free(&w->written);
    id_table_free(&w->folded);
    free(w);
}

/* The number of an id, which it gets now if it has none; ID_NONE: no memory. */
static uint32_t number_of(struct id_table *t, uint64_t id)
{
    const uint32_t found = id_table_find(t, id);
    if (found != ID_NONE)
        return found;
    return id_table_reserve(t, 1) ? ID_NONE : id_table_add(t, id);
}

/* Whether the row is told; it is changed to what the window has. */
static bool fold(struct window *w, struct hierarchy_op *op, bool *failed)
{
    const uint64_t key = op->id.lo;
    const uint32_t written = id_table_find(&w->written, key);
    if (op->op == TRACE_WRITE) {
        *failed = number_of(&w->written, key) == ID_NONE;
        return true;
    }
    if (op->op == TRACE_DELETE) {
        if (written != ID_NONE)
            id_table_remove(&w->written, written);
        return written != ID_NONE;
    }
    if (written != ID_NONE)
        return true;
    const uint32_t number = number_of(&w->folded, key);
    *failed = number == ID_NONE;
    const uint64_t at = number % w->pool;
    if (at >= w->stats.pool_objects) {
        w->stats.pool_objects = at + 1;
        w->stats.pool_bytes += op->size;
    }
    op->id = ident_block(at);
    return true;
}

int window_row(void *ctx, const struct sim_row *row, struct err *e)
{
    struct window *w = ctx;
    bool failed = false;
    struct sim_row told = *row;
    if (row->time_ns >= w->from_ns + w->length_ns)
        return 1;
    if (row->time_ns < w->from_ns || row->what.tier != TRACE_STORAGE)
        return stop_asks();
    const bool is_told = fold(w, &told.what, &failed);
    if (failed)
        return err_nomem(e, "objects of the window");
    if (!is_told)
        return 0;
    struct request request;
    told.time_ns -= w->from_ns;
    if (row->request) {
        request = *row->request;
        request.arrival_ns -= w->from_ns < request.arrival_ns ? w->from_ns : request.arrival_ns;
        told.request = &request;
    }
    w->stats.rows++;
    *(told.what.op == TRACE_WRITE ? &w->stats.written_bytes : &w->stats.read_bytes) +=
        told.what.op == TRACE_DELETE ? 0 : told.what.size;
    return w->sink(w->ctx, &told, e);
}

const struct window_stats *window_stats(const struct window *w)
{
    return &w->stats;
}
