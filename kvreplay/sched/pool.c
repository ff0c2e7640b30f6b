/* Memory for the chains of order.c, the users of pace.c and the requests of admission.c: a table
 * with a fixed number of entries, so that nothing is allocated while rows run. */
#include "kvreplay/sched/pool.h"

#include <errno.h>
#include <stdlib.h>

int pool_init(struct pool *p, size_t entries, size_t entry_bytes)
{
    size_t buckets = 16;

    while (buckets < entries)
        buckets *= 2;
    *p = (struct pool){.mask = buckets - 1,
                       .bucket = calloc(buckets, sizeof(*p->bucket)),
                       .memory = calloc(entries, entry_bytes)};
    if (!p->bucket || !p->memory)
        return -ENOMEM;
    p->fresh = p->memory;
    p->fresh_left = entries;
    p->entry_bytes = entry_bytes;
    return 0;
}

void pool_release(struct pool *p)
{
    free(p->memory);
    free(p->bucket);
}
