/* storage.h - what lies under Tier-2: a directory of files, or a slab in a directory, a regular
 * file or a block device. Opening with all guards, the size of a slab, and what is left behind. */
#ifndef KVREPLAY_STORAGE_H
#define KVREPLAY_STORAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "kvreplay/options.h"
#include "kvreplay/sched/objects.h"
#include "kvreplay/sched/room.h"
#include "kvreplay/survey.h"
#include "lib/io/target_device.h"
#include "lib/io/target_dir.h"
#include "lib/tier/layout_slab.h"

/* Plain state, filled by storage_open. Zero it first. */
struct storage {
    struct target_dir *target; /* the directory; NULL: a file or device */
    struct layout_slab *slab;  /* NULL: objects are files */
    int fd;                    /* of the slab, else of the directory */
    bool open, own_fd, resizes, was_kept, direct;
    struct target_device device;
    char path[256]; /* for reports */
};

/* Opens what --nvme names. A slab gets its size: that of the file or device, or, where the file was
 * empty or is ours, what the trace needs; room's capacity and objects are cut to what it holds.
 * Class ERR_TARGET with what is needed when that is too small. surveyed: NULL from a pipe. */
int storage_open(struct storage *s, const struct options *o, const struct survey *surveyed,
                 struct room *room, struct err *e);
/* Before the clock starts, where rows will change something: a slab says so on the device now, and
 * not while the first of them waits. */
int storage_begin(struct storage *s, struct err *e);
/* Bytes that are free now; UINT64_MAX: not known. */
uint64_t storage_free(const struct storage *s);
/* Forces what was written to the device. */
int storage_sync(const struct storage *s, struct err *e);
/* keep: objects stay, those of objects and no others in a slab. Idempotent. */
int storage_close(struct storage *s, bool keep, const struct objects *objects, struct err *e);

#endif
