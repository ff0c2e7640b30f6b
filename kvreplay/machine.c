/* Beside evidence.c, on both sides of the timed part: reads /proc/stat and /proc/self/io, which
 * containers may hide (proc(5)). */
#include "kvreplay/machine.h"

#include <inttypes.h>
#include <stdio.h>

void machine_read(struct machine *m)
{
    uint64_t t[8] = {0}; /* user nice system idle iowait irq softirq steal */
    char line[128];
    FILE *f = fopen("/proc/stat", "re");

    *m = (struct machine){0};
    if (f) {
        m->cpu_known = fscanf(f,
                              "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
                              " %" SCNu64 " %" SCNu64 " %" SCNu64,
                              &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]) == 8;
        fclose(f);
    }
    for (unsigned i = 0; i < 8; i++)
        m->cpu_ticks += t[i];
    m->steal_ticks = t[7];

    unsigned found = 0;
    f = fopen("/proc/self/io", "re");
    while (f && fgets(line, sizeof(line), f)) {
        found |= sscanf(line, "read_bytes: %" SCNu64, &m->read_bytes) == 1 ? 1u : 0;
        found |= sscanf(line, "write_bytes: %" SCNu64, &m->write_bytes) == 1 ? 2u : 0;
    }
    if (f)
        fclose(f);
    m->io_known = found == 3;
    cgroup_read("", &m->groups);
}
