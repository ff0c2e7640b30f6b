/* The times of a device's requests, by direction and size. */
#ifndef KVTRACE_DRIVE_REQUEST_GROUPS_H
#define KVTRACE_DRIVE_REQUEST_GROUPS_H

#include <stdint.h>

#include "lib/base/hist.h"
#include "lib/drive/request_join.h"
#include "lib/drive/size_class.h"
#include "lib/json/jsonout.h"

enum {
    REQUEST_GROUPS = 2 * SIZE_CLASSES /* reads by rising size, then writes */
};
struct request_group {
    struct hist *times; /* ns, from issue to completion; NULL: no request */
    uint64_t bytes;
};
/* Zero it first. */
struct request_groups {
    struct request_group of[REQUEST_GROUPS];
    struct hist_batch times; /* on their way into histograms */
};

void request_groups_free(struct request_groups *g);
/* 0 or -ENOMEM. */
int request_groups_add(struct request_groups *g, const struct request *r);
/* After the last request, and before anything is asked. 0 or -ENOMEM. */
int request_groups_end(struct request_groups *g);
/* The size of group k, in words. */
const char *request_groups_size(unsigned k);
/* An object for each group with requests, in the list that is open: device, op, size, bytes,
 * drive_us. */
void request_groups_json(const struct request_groups *g, const char *device, struct jsonout *j);

#endif
