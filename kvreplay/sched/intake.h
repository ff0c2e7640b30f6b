/* intake.h - the rows taken from the reader and not admitted yet: one batch at a time. One thread,
 * the scheduler's. */
#ifndef KVREPLAY_SCHED_INTAKE_H
#define KVREPLAY_SCHED_INTAKE_H

#include <stdbool.h>
#include <stddef.h>

#include "kvreplay/sched/objects.h"
#include "kvreplay/sched/order.h"
#include "kvreplay/sched/reader.h"

/* Set the first three, zero the rest. */
struct intake {
    struct reader *reader;
    const struct objects *objects;
    const struct order *order;
    struct row *row[READER_BATCH];
    size_t count, next;
};

/* Takes the next batch when the last one was admitted. */
void intake_fill(struct intake *in);
/* The first row that was not admitted; NULL: none was taken. */
struct row *intake_first(const struct intake *in);
/* It is admitted, and belongs to the scheduler now. */
void intake_pop(struct intake *in);

#endif
