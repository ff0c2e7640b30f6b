/* The order-dependent part of the cache's figures. Each thread sums the run of rows it has, and the
 * runs are appended in file order: a level's change and its peak are all that has to be known of
 * each. */
#include "kvstat/occupancy.h"

#include <errno.h>
#include <stdbool.h>

static int sign_of(const struct trace_row *row)
{
    if (row->status != TRACE_OK && row->status != TRACE_NO_STATUS)
        return 0;
    if (row->op == TRACE_WRITE)
        return 1;
    if (row->op == TRACE_DELETE || (row->op == TRACE_READ && row->phase == TRACE_EVICT))
        return -1;
    return 0;
}

int occupancy_add(struct occupancy *o, const struct trace_row *rows, size_t n)
{
    bool over = false;
    for (size_t i = 0; i < n; i++) {
        int sign = sign_of(&rows[i]);
        if (sign == 0 || rows[i].tier >= TRACE_TIERS)
            continue;
        over |= rows[i].size > INT64_MAX;
        int64_t size = (int64_t)(rows[i].size & INT64_MAX), *level = &o->tier[rows[i].tier].bytes;
        over |= __builtin_add_overflow(*level, sign * size, level);
        o->tier[rows[i].tier].objects += sign;
        if (*level > o->tier[rows[i].tier].peak_bytes)
            o->tier[rows[i].tier].peak_bytes = *level;
        if (o->tier[rows[i].tier].objects > o->tier[rows[i].tier].peak_objects)
            o->tier[rows[i].tier].peak_objects = o->tier[rows[i].tier].objects;
    }
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
