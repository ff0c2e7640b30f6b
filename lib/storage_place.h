/* storage_place.h - an operation of the storage tier and its place in the layout: what happens
 * there before the first chunk and after the last one. */
#ifndef KVTRACE_STORAGE_PLACE_H
#define KVTRACE_STORAGE_PLACE_H

#include <stdbool.h>

#include "lib/layout.h"
#include "lib/tier.h"

/* Opens the place of a TIER_WRITE or TIER_READ. 0; -EINVAL: op reads more than is stored; -errno.
 */
int storage_place_begin(struct layout *l, const struct tier_op *op, struct layout_place *p);

struct storage_place_end {
    bool buffered; /* not O_DIRECT: write back and drop from the page cache */
    bool sync;     /* fdatasync what was written */
};
/* Closes it and returns op's final status, which was status before: reads that drop remove the
 * object, and a failed write leaves nothing that looks like one. */
int storage_place_end(struct layout *l, const struct tier_op *op, struct layout_place *p,
                      struct storage_place_end how, int status);

#endif
