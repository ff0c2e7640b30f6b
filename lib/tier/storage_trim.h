/* A thread that tells a block device which space is free again (discards), so that deletes hold up
 * neither the scheduler nor other I/Os. */
#ifndef KVTRACE_TIER_STORAGE_TRIM_H
#define KVTRACE_TIER_STORAGE_TRIM_H

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/layout/extent.h"
#include "lib/owner/lease.h"
#include "lib/thread/bell.h"
#include "lib/tier/tier.h"

struct storage_trim;

struct storage_trim_opts {
    int fd; /* a block device */
    const struct extent_pool *space;
    uint64_t begin;      /* offset of the space on the device */
    struct lease *lease; /* asked before each discard; the caller's; NULL: none */
    unsigned max_ops;    /* most operations inside */
    struct bell *bell;   /* rings when an operation is done */
};
int storage_trim_open(struct storage_trim **out, const struct storage_trim_opts *o, struct err *e);
/* Both belong to one thread, the tier's owner. push hands over an operation whose place is to be
 * discarded; pop takes a finished one (NULL: none) with its status, 0 or -ESTALE. A failed discard
 * is no error: it only makes the device slower later. */
void storage_trim_push(struct storage_trim *t, struct tier_op *op);
struct tier_op *storage_trim_pop(struct storage_trim *t);
void storage_trim_close(struct storage_trim *t); /* nothing may be inside */

#endif
