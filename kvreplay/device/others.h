/* Bytes that others move on the devices under Tier-2 while the replay runs, by short intervals:
 * those that the devices count less those that this process had storage move. Rows that ran beside
 * it are told from those that did not (counts_beside), so that it can be judged by what it did. The
 * scheduler's thread. */
#ifndef KVREPLAY_DEVICE_OTHERS_H
#define KVREPLAY_DEVICE_OTHERS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/io/machine.h"
#include "lib/io/target_device.h"

/* Totals at one time. */
struct others_sample {
    int64_t now_ns;
    uint64_t own_read, own_write, device_read, device_write; /* bytes */
};

/* Plain state; others_begin zeroes it. */
struct others {
    const struct target_device *const *device; /* lent, n of them */
    unsigned n;
    bool known;
    struct others_sample first, last;
    int64_t read, write; /* the most that the devices were ahead of this process so far */
    int64_t looked_ns;
};

/* The kernel's counters for n devices and this process; not known when one of them has none. */
void others_begin(struct others *o, const struct target_device *const *device, unsigned n);
/* Looks when OTHERS_EVERY_NS have passed or always. True: an interval has ended, from the last one
 * to now; *foreign: others moved more than JUDGE_FOREIGN_SHARE of what this process did in it, and
 * 1 MiB. */
bool others_look(struct others *o, int64_t now_ns, bool always, bool *foreign);
/* The same with counters that were read elsewhere; the first of them begin. Returns *foreign. What
 * was in flight when the first were read only hides others' bytes: the devices count at the end of
 * an I/O, the kernel counts it for the process at its start. */
bool others_take(struct others *o, const struct others_sample *s);
/* Bytes that others read and wrote so far. */
uint64_t others_read(const struct others *o);
uint64_t others_wrote(const struct others *o);
double others_own(const struct others *o); /* and this process, in both directions */

#define OTHERS_EVERY_NS INT64_C(50000000)

#endif
