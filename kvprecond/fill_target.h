/* Where a fill goes: files in a directory, one regular file, or a block device. Guards,
 * opening, room, purge and clean-up are here; which bytes go where is room.h's. */
#ifndef KVTRACE_KVPRECOND_FILL_TARGET_H
#define KVTRACE_KVPRECOND_FILL_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include "kvprecond/plan.h"
#include "lib/base/err.h"
#include "lib/io/target_file.h"

struct fill_target_opts {
    const char *path;
    enum target_kind kind; /* of path */
    double reserve_share;  /* of the file system that stays free, 0..1 */
    bool destroy_data;     /* data that is not ours may be overwritten */
};

struct fill_target;
struct fill_file; /* one open file of it */

/* Takes the target. Errors of class ERR_TARGET: refused by a guard, in use, holds other data.
 * o->path is lent until fill_target_close. */
int fill_target_open(struct fill_target **out, const struct fill_target_opts *o, struct err *e);

/* Bytes of a device, in whole 4 KiB; of others 0: they grow. */
uint64_t fill_target_capacity(const struct fill_target *p);

/* Gets ready for the writes of plan (lent until fill_target_close). outstanding: how many files can
 * have writes begun and not all ended, at most. -ENOSPC, class ERR_TARGET: less room than the plan
 * needs. */
int fill_target_plan(struct fill_target *p, const struct plan *plan, unsigned outstanding,
                     struct err *e);

/* Tells the device that nothing of what it holds is needed: a device is discarded whole, a regular
 * file becomes a hole, of a directory's file system the free space is trimmed. *bytes: how much.
 * -EOPNOTSUPP, -EPERM...: not possible here, *e (class ERR_TARGET) says why. Ends early with -EINTR
 * when stopped says so. */
int fill_target_purge(struct fill_target *p, bool (*stopped)(void), uint64_t *bytes, struct err *e);

/* Takes the space of a regular file, so that writes do not grow it; one that was empty is marked as
 * ours by its first block. -ENOSPC..., ERR_TARGET. */
int fill_target_start(struct fill_target *p, struct err *e);

/* Opens the part's file if it is not open yet: its descriptor in *fd. Any thread; each part ends
 * with fill_target_done. -ENOSPC when the file system is full; class ERR_FAILED. */
int fill_target_begin(struct fill_target *p, const struct plan_part *part, struct fill_file **file,
                      int *fd, struct err *e);
/* The part's write has ended. A file of a pass whose every part ended is closed. 0 or -errno. */
int fill_target_done(struct fill_target *p, struct fill_file *file, uint32_t len, struct err *e);

/* Makes what was written durable; no write is in flight. */
int fill_target_sync(struct fill_target *p, struct err *e);

int fill_target_fd(const struct fill_target *p);         /* of the directory, file or device */
bool fill_target_direct(const struct fill_target *p);    /* written with O_DIRECT */
uint64_t fill_target_files(const struct fill_target *p); /* files written to so far */

/* keep: leaves what was written. Else a directory's files are removed (and the directory, if we
 * created it) and a file is cut to the length that it had. Frees p, also on failure. */
int fill_target_close(struct fill_target *p, bool keep, struct err *e);

#endif
