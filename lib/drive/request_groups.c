#include "lib/drive/request_groups.h"

#include <errno.h>

#define SECTOR UINT64_C(512)

void request_groups_free(struct request_groups *g)
{
    for (unsigned k = 0; k < REQUEST_GROUPS; k++)
        hist_free(g->of[k].times);
}

int request_groups_add(struct request_groups *g, const struct request *r)
{
    const uint64_t bytes = r->sectors * SECTOR;
    struct request_group *to = &g->of[r->write * SIZE_CLASSES + size_class(bytes)];
    if (!to->times && !(to->times = hist_create()))
        return -ENOMEM;
    to->bytes += bytes;
    return hist_batch_add(&g->times, to->times,
                          r->done_ns > r->issued_ns ? r->done_ns - r->issued_ns : 0);
}

int request_groups_end(struct request_groups *g)
{
    return hist_batch_end(&g->times);
}

const char *request_groups_size(unsigned k)
{
    return size_class_names[k % SIZE_CLASSES];
}

void request_groups_json(const struct request_groups *g, const char *device, struct jsonout *j)
{
    for (unsigned k = 0; k < REQUEST_GROUPS; k++) {
        if (!g->of[k].times)
            continue;
        jsonout_object(j, NULL);
        jsonout_text_value(j, "device", device);
        jsonout_text_value(j, "op", size_class_directions[k / SIZE_CLASSES]);
        jsonout_text_value(j, "size", request_groups_size(k));
        jsonout_u64(j, "bytes", g->of[k].bytes);
        jsonout_hist(j, "drive_us", g->of[k].times, 1e3);
        jsonout_end(j);
    }
}
