/* A directory that kvreplay or kvprecond may fill. A marker file (".kvtrace") in it says whose it
 * is, its lease and, where that works, a lock keep other processes out, and only kvtrace's own
 * files are ever removed. */
#ifndef KVTRACE_IO_TARGET_DIR_H
#define KVTRACE_IO_TARGET_DIR_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/io/target_part.h"
#include "lib/owner/lease.h"

struct target_dir;

struct target_dir_opts {
    const char *path;
    const char *program;     /* for the marker: letters, at most 31 */
    bool keeps;              /* what this run writes is to stay, also when it is killed */
    bool adopts;             /* it can use what an earlier run kept, and leave it there */
    bool destroys;           /* what an earlier run kept may be removed */
    bool shared;             /* others join it: the marker is on the device before they look */
    uint64_t data_seed;      /* of this run's contents, for the marker */
    struct target_part part; /* of all objects, that this run stores here; zero: all of them */
    /* As in struct owner_opts. */
    void (*waits)(const char *where, const char *who, unsigned seconds);
    void (*late)(const char *where, uint64_t objects);
};
/*
 * Takes the directory at path; creates it if it is missing (its parent must exist). Refused with
 * class ERR_TARGET: a system directory (target_guard_path), one that holds foreign files, one in
 * which a run is at work, one whose marker is not ours. An existing directory must be empty or
 * carry our marker. If the marker's process died, and did not keep its objects, the directory's
 * kvtrace files are removed first. What was kept is never removed unless destroys is set: -EEXIST,
 * with the number of objects and their bytes, unless keeps and adopts are. Where objects are or
 * will be kept, the marker is on the device when this returns. While other processes take and leave
 * the directory, this waits, for each of them up to a second; and for a lease where nobody can tell
 * whether a run is alive (owner_take). From here on a thread renews the marker.
 */
int target_dir_open(struct target_dir **out, const struct target_dir_opts *o, struct err *e);
/* Works in a directory that another process has taken with target_dir_open, shared and with this
 * seed, perhaps on another host. Closing leaves everything as it is. -ENOENT, class ERR_TARGET: its
 * marker is not there. */
int target_dir_join(struct target_dir **out, const char *path, uint64_t data_seed, struct err *e);
/* A descriptor for openat and fsync; the target's. */
int target_dir_fd(const struct target_dir *t);
const char *target_dir_path(const struct target_dir *t); /* resolved */
/* The epoch of this run, for the names of its objects; never 0. */
uint32_t target_dir_epoch(const struct target_dir *t);
/* For lease_valid, before each write and removal. The target's, until it is closed. */
struct lease *target_dir_lease(const struct target_dir *t);
/* An earlier run left its objects here. */
bool target_dir_was_kept(const struct target_dir *t);
/* A run that kept its objects was killed here, lost its power, or said so (target_dir_doubt): some
 * may be torn. Verify them before they are used. Stays so until the directory is emptied. */
bool target_dir_unsure(const struct target_dir *t);
/* Some of the objects may be torn: the marker will tell the next run. */
void target_dir_doubt(struct target_dir *t);
/* The part of a store that the directory at path keeps for the next run. 0; -ENOENT: it keeps
 * nothing. It is not locked: what is read may change until the directory is taken. */
int target_dir_kept_part(const char *path, struct target_part *part);
/* Unlocks and frees t. keep: forces files and folders to the device, then writes "kept" into the
 * marker; when that fails the marker still says that a run was here. Else: empties the
 * directory, removes the marker, and removes the directory if we created it. In a directory that
 * was lost during the run nothing is touched: -ESTALE, class ERR_TARGET. */
int target_dir_close(struct target_dir *t, bool keep, struct err *e);

#endif
