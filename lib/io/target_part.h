/* The part of a store's objects that one of its targets holds: a range of slots. Every target that
 * keeps objects records its part, so that a later run looks for each object where it is. */
#ifndef KVTRACE_IO_TARGET_PART_H
#define KVTRACE_IO_TARGET_PART_H

#include <stdbool.h>
#include <stdint.h>

enum {
    TARGET_SLOTS = 4096
};

struct target_part {
    uint16_t from, to; /* from the first slot to the one behind the last; all: 0, TARGET_SLOTS */
};
#define TARGET_WHOLE ((struct target_part){0, TARGET_SLOTS})

static inline bool target_part_sound(struct target_part p)
{
    return p.from < p.to && p.to <= TARGET_SLOTS;
}
static inline bool target_part_same(struct target_part a, struct target_part b)
{
    return a.from == b.from && a.to == b.to;
}

#endif
