/* The epochs of adopted objects, for the stores that have one in each name: files, Redis, S3. */
#include "lib/layout/place.h"
#include "lib/base/memory.h"

#include <errno.h>
#include <stdlib.h>

enum {
    EPOCHS_STEP = 64 /* entries that memory is taken for at a time */
};

void place_epochs_open(struct place_epochs *p, uint32_t own)
{
    *p = (struct place_epochs){.count = 1, .own = own};
}

void place_epochs_close(struct place_epochs *p)
{
    free(p->epoch);
    p->epoch = NULL;
}

/* The entry of epoch, which is added where it is new. -ENOSPC: there are too many; -ENOMEM. */
static int place_epochs_entry(struct place_epochs *p, uint32_t epoch)
{
    if (epoch == p->own)
        return 0;
    /* The last ones first: objects of one run are often adopted one after another. */
    for (unsigned i = p->count - 1; i > 0; i--) {
        if (p->epoch[i - 1] == epoch)
            return (int)i;
    }
    if (p->count == PLACE_EPOCHS_MAX)
        return -ENOSPC;
    if ((p->count - 1) % EPOCHS_STEP == 0) {
        if (memory_resize(&p->epoch, (p->count - 1 + EPOCHS_STEP), sizeof(*p->epoch)) < 0)
            return -ENOMEM;
    }
    p->epoch[p->count - 1] = epoch;
    return (int)p->count++;
}

int place_epochs_place(struct place_epochs *p, uint32_t epoch, uint64_t bytes, void **place)
{
    int entry = place_epochs_entry(p, epoch);

    if (entry < 0 || bytes > PLACE_BYTES_MAX)
        return entry < 0 ? entry : -EFBIG;
    *place = place_of(bytes, (unsigned)entry);
    return 0;
}
