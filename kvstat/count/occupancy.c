/* The part of the cache's figures that depends on the order of rows. Each thread sums its pieces of
 * consecutive rows, and file_order appends them in file order; the change and the peak of a piece
 * are enough for that. */
#include "kvstat/count/occupancy.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* How a row that did not fail changes its tier. */
static const int8_t signs[TRACE_OPS][TRACE_PHASES + 1] = {
    [TRACE_READ] = {[TRACE_EVICT] = -1},
    [TRACE_WRITE] = {1, 1, 1, 1, 1},
    [TRACE_DELETE] = {-1, -1, -1, -1, -1},
};
static_assert(TRACE_PHASES == 4, "signs of every phase");

/* Has no branches on the words of a row, which processors cannot predict: rows that change nothing
 * add 0, and rows without a tier go to a level that nobody reads. */
int occupancy_add(struct occupancy *o, const struct trace_row *rows, size_t n)
{
    struct occupancy_tier tier[TRACE_TIERS + 1] = {{0}};
    bool over = false;
    memcpy(tier, o->tier, sizeof(o->tier));
    for (size_t i = 0; i < n; i++) {
        const struct trace_row *row = &rows[i];
        struct occupancy_tier *t = &tier[row->tier];
        bool ok = row->status == TRACE_OK || row->status == TRACE_NO_STATUS;
        int64_t sign = ok ? signs[row->op][row->phase] : 0;
        int64_t size = (int64_t)(row->size & INT64_MAX);
        bool lost = (row->size > INT64_MAX) & (sign != 0);
        lost |= __builtin_add_overflow(t->bytes, sign * size, &t->bytes);
        over |= lost & (row->tier < TRACE_TIERS);
        t->objects += sign;
        t->peak_bytes = t->bytes > t->peak_bytes ? t->bytes : t->peak_bytes;
        t->peak_objects = t->objects > t->peak_objects ? t->objects : t->peak_objects;
    }
    memcpy(o->tier, tier, sizeof(o->tier));
    return over ? -EOVERFLOW : 0;
}

static bool append(int64_t *level, int64_t *peak, int64_t change, int64_t high)
{
    int64_t top;
    bool over = __builtin_add_overflow(*level, high, &top);
    over |= __builtin_add_overflow(*level, change, level);
    if (!over && top > *peak)
        *peak = top;
    return over;
}

int occupancy_append(struct occupancy *o, const struct occupancy *next)
{
    bool over = false;
    for (size_t i = 0; i < TRACE_TIERS; i++) {
        over |= append(&o->tier[i].bytes, &o->tier[i].peak_bytes, next->tier[i].bytes,
                       next->tier[i].peak_bytes);
        over |= append(&o->tier[i].objects, &o->tier[i].peak_objects, next->tier[i].objects,
                       next->tier[i].peak_objects);
    }
    return over ? -EOVERFLOW : 0;
}

int occupancy_beside(struct occupancy *o, const struct occupancy *part)
{
    bool over = false;
    for (size_t i = 0; i < TRACE_TIERS; i++) {
        struct occupancy_tier *t = &o->tier[i];
        const struct occupancy_tier *p = &part->tier[i];
        over |= __builtin_add_overflow(t->bytes, p->bytes, &t->bytes);
        over |= __builtin_add_overflow(t->objects, p->objects, &t->objects);
        over |= __builtin_add_overflow(t->peak_bytes, p->peak_bytes, &t->peak_bytes);
        over |= __builtin_add_overflow(t->peak_objects, p->peak_objects, &t->peak_objects);
    }
    return over ? -EOVERFLOW : 0;
}
