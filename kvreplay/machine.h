/* What the kernel has counted for the machine's processors and for this process. */
#ifndef KVREPLAY_MACHINE_H
#define KVREPLAY_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/io/process_limits.h"

/* Totals since the start of the machine and of the process. */
struct machine {
    bool cpu_known;
    uint64_t cpu_ticks, steal_ticks; /* of all processors; taken away by the hypervisor */
    bool io_known;
    uint64_t read_bytes, write_bytes; /* that this process had storage move */
    struct cgroup_limits groups;
};

/* What cannot be read is marked as not known. */
void machine_read(struct machine *m);

#endif
