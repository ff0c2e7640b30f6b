/* share_server.h - a server whose rate depends on its load and is shared equally by those that it
 * serves (processor sharing); the others wait in line. kvgen's simulator and kvreplay's simulated
 * tier run the same one. */
#ifndef KVTRACE_DRIVE_SHARE_SERVER_H
#define KVTRACE_DRIVE_SHARE_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/drive/drive_model.h"

/*
 * With n objects in service, each moves at R / n, where R is drive_model_rate for n, their bytes
 * and the bytes of those that are read; sizes count whole, however much is left to move. R changes
 * only when an object enters or goes, so the times are exact but for rounding: an object ends at
 * the first whole ns at which it has moved, counted in 1/4096 byte. (Kleinrock, "Time-shared
 * systems: a theoretical treatment", JACM 14(2), 1967.) Latency is part of R: nothing is added.
 * As many are in service as the drive was measured with (drive_model_most_in_flight). Those beyond
 * enter in the order in which they came, as a queue of requests in front of a drive is emptied;
 * were all of a burst of 500 in service, its first one would take as long as its last one.
 */
struct share_server;

struct share_server_end {
    uint64_t tag; /* the caller's */
    int64_t begin_ns, end_ns;
};

/* The model stays the caller's. room: objects, in service or in line, without an allocation. NULL:
 * no memory. */
struct share_server *share_server_create(const struct drive_model *model, size_t room);
void share_server_free(struct share_server *s);

/* An object of size bytes (those above DRIVE_MODEL_MAX_SIZE count as so many) comes at now_ns,
 * which is at least the time of the call before. All that ended before now_ns must have been taken.
 * 0 or -ENOMEM. */
int share_server_add(struct share_server *s, int64_t now_ns, uint64_t size, bool read,
                     uint64_t tag);
/* When the next object ends, if none comes before; INT64_MAX: there is none, or not in 146 years.
 */
int64_t share_server_next_ns(struct share_server *s);
/* Takes the first object that ends up to until_ns out; of several that end together the one that
 * came first. false: there is none. */
bool share_server_take(struct share_server *s, int64_t until_ns, struct share_server_end *end);
/* The time until now_ns, which no call has passed, in which it had objects. */
int64_t share_server_busy_ns(const struct share_server *s, int64_t now_ns);

#endif
