/* pending_rows.h - rows whose time is still to come: kept until the clock gets there. */
#ifndef KVGEN_SIM_PENDING_ROWS_H
#define KVGEN_SIM_PENDING_ROWS_H

#include <stdint.h>

#include "kvgen/sim/row.h"

struct pending_rows;

struct pending_rows *pending_rows_create(void); /* NULL: no memory */
void pending_rows_free(struct pending_rows *p);
/* Keeps a copy of the row and of its request; 0 or -ENOMEM. */
int pending_rows_add(struct pending_rows *p, const struct sim_row *row);
/* Takes out the earliest row of those at or before until_ns, equal times in the order in which they
 * came; NULL: none. Lent until the next call of either. */
const struct sim_row *pending_rows_take(struct pending_rows *p, int64_t until_ns);

#endif
