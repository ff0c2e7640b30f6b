/* Opens and closes objects in the layout for storage_worker.c, which moves their bytes in between:
 * what is checked at the start, and what sync, page cache and removal ask for at the end. */
#include "lib/storage_place.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int storage_place_begin(struct layout *l, const struct tier_op *op, struct layout_place *p)
{
    uint64_t bytes = DATA_PADDED(op->size), stored = 0;
    int ret;

    if (op->verb == TIER_WRITE)
        return l->ops->create(l, op->name, bytes, p);
    ret = l->ops->open(l, op->name, p, &stored);
    if (ret == 0 && stored < bytes) {
        l->ops->release(l, p, false);
        return -EINVAL;
    }
    return ret;
}

static int place_drop_cache(const struct tier_op *op, const struct layout_place *p)
{
    /* Only clean pages can be dropped. */
    if (op->verb == TIER_WRITE && fdatasync(p->fd) < 0)
        return -errno;
    /* Advice: where it is not taken (tmpfs) the data has nowhere else to be. */
    posix_fadvise(p->fd, (off_t)p->offset, (off_t)DATA_PADDED(op->size), POSIX_FADV_DONTNEED);
    return 0;
}

int storage_place_end(struct layout *l, const struct tier_op *op, struct layout_place *p,
                      struct storage_place_end how, int status)
{
    bool written = op->verb == TIER_WRITE && status == 0;
    int cache = how.buffered ? place_drop_cache(op, p) : 0;
    int ret = l->ops->release(l, p, written && how.sync && !how.buffered);

    if (status == 0)
        status = cache < 0 ? cache : ret;
    if (op->verb == TIER_READ ? !op->drop : status == 0)
        return status;
    ret = l->ops->remove(l, op->name);
    return status < 0 ? status : ret;
}
