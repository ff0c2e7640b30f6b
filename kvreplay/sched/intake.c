/* Between the reader and the scheduler. The rows come from another core and their objects and
 * chains lie anywhere, so all of it is fetched while the rows before them are admitted. */
#include "kvreplay/sched/intake.h"

/* How many rows ahead; the cell is found by what stands in the row, the entry by the cell. */
enum {
    INTAKE_ROW = 12,
    INTAKE_CELL = 8,
    INTAKE_ENTRY = 4
};

static void intake_prefetch(const struct intake *in)
{
    struct row *const *r = in->row + in->next;
    size_t left = in->count - in->next;

    if (left > INTAKE_ROW)
        row_prefetch(r[INTAKE_ROW]);
    if (left > INTAKE_CELL) {
        objects_prefetch_cell(in->objects, r[INTAKE_CELL]->copy, r[INTAKE_CELL]->t.tier);
        order_prefetch_cells(in->order, r[INTAKE_CELL]);
    }
    if (left > INTAKE_ENTRY) {
        objects_prefetch_entry(in->objects, r[INTAKE_ENTRY]->copy, r[INTAKE_ENTRY]->t.tier);
        order_prefetch_chains(in->order, r[INTAKE_ENTRY]);
    }
}

void intake_fill(struct intake *in)
{
    if (in->next < in->count)
        return;
    in->next = 0;
    in->count = reader_take(in->reader, in->row);
    for (size_t i = 0; i < in->count && i < INTAKE_ROW; i++)
        row_prefetch(in->row[i]);
}

struct row *intake_first(const struct intake *in)
{
    return in->next < in->count ? in->row[in->next] : NULL;
}

void intake_pop(struct intake *in)
{
    intake_prefetch(in);
    in->next++;
}
