/* Classes of sizes by which drive times are told apart. */
#ifndef KVTRACE_DRIVE_SIZE_CLASS_H
#define KVTRACE_DRIVE_SIZE_CLASS_H

#include <stdint.h>

enum {
    SIZE_CLASSES = 5
};
static const char *const size_class_names[SIZE_CLASSES] = {
    "up to 4 KiB", "up to 64 KiB", "up to 256 KiB", "up to 1 MiB", "above 1 MiB"};
static const char *const size_class_directions[] = {"Read", "Write"};

static inline unsigned size_class(uint64_t bytes)
{
    /* The largest of each; the last has none. */
    static const uint64_t most[SIZE_CLASSES - 1] = {4096, 65536, 262144, 1048576};
    unsigned i = 0;

    while (i < SIZE_CLASSES - 1 && bytes > most[i])
        i++;
    return i;
}

#endif
