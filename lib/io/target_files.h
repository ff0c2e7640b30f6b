/* The files and folders that kvtrace makes in a directory: their names, and finding and removing
 * them. Links, and files of other names, are never touched. */
#ifndef KVTRACE_IO_TARGET_FILES_H
#define KVTRACE_IO_TARGET_FILES_H

#include <stdbool.h>
#include <sys/stat.h>

#include "lib/owner/card.h"
#include "lib/owner/owner.h"

/* Markers that are just being taken over: TAKING and 8 hexadecimal digits. */
#define TARGET_FILES_TAKING OWNER_MARKER "-"
/* Layouts of engines (kvreplay/like). HASH are 64 hexadecimal digits.
 * Flat: FLAT HASH ".data", while it is written ".tmp".
 * Tree: TREE "/hhh/hh_g0/" HASH ".bin", while it is written HASH ".bin." DIGITS ".tmp"; beside the
 * hhh folders lies CONFIG. */
#define TARGET_FILES_FLAT   "kvtrace@0x00000000@0@"
#define TARGET_FILES_TREE   "kvtrace_9c52d1f07ab3_r0"
#define TARGET_FILES_CONFIG "config.json"
enum {
    TARGET_FILES_HASH_LEN = 64
};

enum target_files_kind {
    TARGET_FILES_NONE,   /* not ours */
    TARGET_FILES_OBJECT, /* an object, whatever its layout */
    TARGET_FILES_TEMPORARY /* of an object that was being written */,
    TARGET_FILES_MARKER, /* one that is being taken over */
    TARGET_FILES_LIST,   /* of what is kept (lib/owner/inventory.h) */
    TARGET_FILES_OTHER   /* a slab, files of a fill, a probe, CONFIG */
};

/* Is name, at the top of the directory, something that a run of ours makes? Folders included. */
bool target_files_name(const char *name);
/* Calls visit for each regular file of ours below the directory dirfd: name lies in dir, which is
 * closed afterwards. It ends early when visit returns false. 0 or negative errno. */
typedef bool target_files_visit(void *ctx, int dir, const char *name, const struct stat *st,
                                enum target_files_kind kind);
int target_files_each(int dirfd, target_files_visit *visit, void *ctx);
/* Removes our files below dirfd, and our folders that are then empty, each while lease_valid says
 * so (lease may be NULL; else -ESTALE); or only temporary files. clear counts what was removed, and
 * may be NULL. 0 or negative errno; -EINTR: a signal came, and some are left. At the end of a run
 * (clear) it goes on for 2 s after a second signal. */
int target_files_remove(int dirfd, bool only_temporary, struct lease *lease,
                        struct owner_clear *clear);

#endif
