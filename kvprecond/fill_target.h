/* Where a fill goes: files in a directory, one regular file, or a block device. Guards, opening,
 * room, purge and clean-up are here. Which bytes go where is plan.h's. */
#ifndef KVPRECOND_FILL_TARGET_H
#define KVPRECOND_FILL_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include "kvprecond/plan.h"
#include "lib/base/err.h"
#include "lib/io/target_file.h"

struct fill_target_opts {
    const char *path;      /* lent until fill_target_close */
    enum target_kind kind; /* of path */
    double reserve_share;  /* of the file system that stays free, or TARGET_RESERVE_AUTO */
    bool keep;             /* what is written is to stay */
    uint64_t data_seed;    /* of its contents, for the marker of a directory */
    bool destroy_data;     /* data that is not ours may be overwritten */
    bool buffered;         /* no O_DIRECT, and written pages stay where they are */
    unsigned targets;      /* of the run, which share its descriptors; 0: 1 */
    unsigned sharers;      /* of these, on this one's file system, itself included; 0: 1 */
};

struct fill_target;
struct fill_file; /* one open file of a directory */

/* Tells that a marker is watched (struct owner_opts). */
void fill_target_say_waits(const char *where, const char *who, unsigned seconds);
/* Takes the target. Class ERR_TARGET: refused by a guard, in use, or it holds other data. */
int fill_target_open(struct fill_target **out, const struct fill_target_opts *o, struct err *e);

/* Bytes of a device, in whole 4 KiB; 0 for the others: they grow. */
uint64_t fill_target_capacity(const struct fill_target *t);

/* Gets ready for the writes of plan, which is lent until fill_target_close. outstanding: in how
 * many files at most writes have begun and not all ended. -ENOSPC, class ERR_TARGET: less room than
 * the plan needs. */
int fill_target_plan(struct fill_target *t, const struct plan *plan, unsigned outstanding,
                     struct err *e);

/* Tells the device that it need not keep what it holds: a device is discarded, a regular file
 * becomes a hole, and for a directory the free space of its file system is trimmed. *bytes: how
 * much. -EOPNOTSUPP, -EPERM...: not possible here; *e (class ERR_TARGET) says why. -EINTR: stopped
 * said so. */
int fill_target_purge(struct fill_target *t, bool (*stopped)(void), uint64_t *bytes, struct err *e);

/* Takes the space of a regular file, so that writes do not grow it. If the file was empty, marks it
 * as ours with a first block. -ENOSPC..., class ERR_TARGET. */
int fill_target_start(struct fill_target *t, struct err *e);

/* Opens the part's file if it is not open yet; *fd is its descriptor. Each part ends with
 * fill_target_done. Any thread. -ENOSPC: the file system is full; class ERR_FAILED. */
int fill_target_begin(struct fill_target *t, const struct plan_part *part, struct fill_file **file,
                      int *fd, struct err *e);
/* The part's write of len bytes has ended. Closes a file when every part of a pass has. Any thread.
 * 0 or negative errno, class ERR_FAILED. */
int fill_target_done(struct fill_target *t, struct fill_file *file, uint32_t len, struct err *e);

/* Makes what was written durable; no write may be in flight. */
int fill_target_sync(struct fill_target *t, struct err *e);

int fill_target_fd(const struct fill_target *t);         /* of the directory, file or device */
bool fill_target_direct(const struct fill_target *t);    /* written with O_DIRECT */
uint64_t fill_target_files(const struct fill_target *t); /* files made so far */
/* Bytes of the target that lie in the page cache, as mincore(2) says. 0 or negative errno. */
int fill_target_cached(const struct fill_target *t, uint64_t *bytes);

/* keep: leaves what was written. Else removes a directory's files (and the directory, if we created
 * it), and cuts a file to its former length. Frees t, also after a failure. */
int fill_target_close(struct fill_target *t, bool keep, struct err *e);

#endif
