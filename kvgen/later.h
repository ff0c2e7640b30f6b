/* later.h - rows whose time is still to come: kept until the clock gets there. */
#ifndef KVGEN_LATER_H
#define KVGEN_LATER_H

#include <stdint.h>

#include "kvgen/row.h"

struct later;

struct later *later_create(void); /* NULL: no memory */
void later_free(struct later *l);
/* Keeps a copy of the row and of its request; 0 or -ENOMEM. */
int later_add(struct later *l, const struct sim_row *row);
/* Takes out the earliest row of those at or before until_ns, equal times in the order in which they
 * came; NULL: none. Lent until the next call of either. */
const struct sim_row *later_take(struct later *l, int64_t until_ns);

#endif
