/* The last stage of the simulation. Filters, keys and formats are the sink's. */
#include "kvgen/sim/emitter.h"

#include <stdlib.h>

struct emitter {
    struct virtual_clock *clock;
    struct row_counts *counts;
    sim_sink sink;
    void *ctx;
};

struct emitter *emitter_create(struct virtual_clock *clock, struct row_counts *counts,
                               sim_sink sink, void *ctx)
{
    struct emitter *e = malloc(sizeof(*e));
    if (e)
        *e = (struct emitter){.clock = clock, .counts = counts, .sink = sink, .ctx = ctx};
    return e;
}

void emitter_free(struct emitter *e)
{
    free(e);
}

void emitter_row(struct emitter *e, const struct sim_row *row)
{
    if (e->clock->ended != 0)
        return;
    row_counts_add(e->counts, &row->what);
    e->clock->ended = e->sink(e->ctx, row, e->clock->err);
}
