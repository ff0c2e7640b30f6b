/* target_guard.h - refuses block devices that are in use: mounted, held, partitioned, read-only. */
#ifndef KVTRACE_IO_TARGET_GUARD_H
#define KVTRACE_IO_TARGET_GUARD_H

#include <stddef.h>
#include <sys/types.h>

#include "lib/base/err.h"

enum {
    TARGET_GUARD_HEAD = 8192 /* bytes of a device that target_guard_table wants to see */
};

/* Where the kernel says what is in use. */
struct target_facts {
    const char *mountinfo;     /* a file like /proc/self/mountinfo */
    const char *sys_dev_block; /* a folder like /sys/dev/block: MAJOR:MINOR/{holders/,NAMEn/,ro} */
};
const struct target_facts *target_facts_here(void);

/*
 * 0 when device dev (path: its resolved name) may be opened for writing by what facts say; -EBUSY:
 * mounted, held (device mapper, RAID, ...), or with partitions; -EROFS; other codes: the facts
 * cannot be read, which refuses too. All of class ERR_TARGET, with the reason in *e. What is in use
 * without a trace there (swap, another program) O_EXCL finds out.
 */
int target_guard_device(const struct target_facts *facts, dev_t dev, const char *path,
                        struct err *e);

/* -EBUSY when head[0..len), the first bytes of a device, hold a table of partitions (GPT or MBR),
 * whether the kernel has read it or not. len: TARGET_GUARD_HEAD, or less for a small device. */
int target_guard_table(const void *head, size_t len, const char *path, struct err *e);

#endif
