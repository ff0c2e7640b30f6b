/* The kernel's counters of the machine's processors and of this process. */
#ifndef KVTRACE_IO_MACHINE_H
#define KVTRACE_IO_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/facts/facts.h"
#include "lib/io/gap_list.h"
#include "lib/io/process_limits.h"

/* Totals since the start of the machine and of the process. */
struct machine {
    bool cpu_known;
    uint64_t cpu_ticks, steal_ticks; /* of all processors; taken away by the hypervisor */
    bool io_known;
    uint64_t read_bytes, write_bytes; /* that this process had storage move */
    struct cgroup_limits groups;
};

/* A counter that cannot be read is marked as not known. */
void machine_read(struct machine *m);
/* Only io_known, read_bytes and write_bytes. */
void machine_read_io(struct machine *m);
/* Between the two. Time in which a CPU quota held back the processes of the control group;
 * negative: not known. */
int64_t machine_throttled_ns(const struct machine *before, const struct machine *after);
/* Share of the processors' time that the hypervisor took away; negative: not known. */
double machine_steal_share(const struct machine *before, const struct machine *after);
/* Bytes that this process had storage move, read and written; false: not known. */
bool machine_moved(const struct machine *before, const struct machine *after, uint64_t *bytes);
/* The facts of processors: what the gaps (NULL: none are known) and the two readings tell of
 * elapsed_ns. */
void machine_facts(struct facts *f, const struct machine *before, const struct machine *after,
                   const struct gap_list *gaps, int64_t elapsed_ns);

#endif
