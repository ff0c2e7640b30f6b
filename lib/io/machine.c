/* On both sides of a timed part: reads /proc/stat and /proc/self/io, which containers may hide
 * (proc(5)), and makes facts of the difference. */
#include "lib/io/machine.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

void machine_read_io(struct machine *m)
{
    char line[128];
    unsigned found = 0;
    FILE *f = fopen("/proc/self/io", "re");
    while (f && fgets(line, sizeof(line), f)) {
        found |= sscanf(line, "read_bytes: %" SCNu64, &m->read_bytes) == 1 ? 1u : 0;
        found |= sscanf(line, "write_bytes: %" SCNu64, &m->write_bytes) == 1 ? 2u : 0;
    }
    if (f)
        fclose(f);
    m->io_known = found == 3;
}

void machine_read(struct machine *m)
{
    uint64_t t[8] = {0}; /* user nice system idle iowait irq softirq steal */
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

    machine_read_io(m);
    cgroup_read("", &m->groups);
}

int64_t machine_throttled_ns(const struct machine *before, const struct machine *after)
{
    const struct cgroup_limits *a = &before->groups, *b = &after->groups;

    return a->cpus > 0 && a->throttled_ns >= 0 && b->throttled_ns >= a->throttled_ns
               ? b->throttled_ns - a->throttled_ns
               : -1;
}

double machine_steal_share(const struct machine *before, const struct machine *after)
{
    if (!before->cpu_known || !after->cpu_known || after->cpu_ticks <= before->cpu_ticks)
        return -1;
    return (double)(after->steal_ticks - before->steal_ticks) /
           (double)(after->cpu_ticks - before->cpu_ticks);
}

bool machine_moved(const struct machine *before, const struct machine *after, uint64_t *bytes)
{
    *bytes = after->read_bytes - before->read_bytes + after->write_bytes - before->write_bytes;
    return before->io_known && after->io_known;
}

void machine_facts(struct facts *f, const struct machine *before, const struct machine *after,
                   const struct gap_list *gaps, int64_t elapsed_ns)
{
    struct gap_list_delay delay;
    bool known = gaps && gap_list_run_delay(gaps, &delay);
    int64_t throttled_ns = machine_throttled_ns(before, after);
    double cpus = before->groups.cpus;

    facts_put_number(f, FACT_RUN_DELAY_S, known ? (double)delay.all_ns / 1e9 : NAN);
    facts_put_number(f, FACT_RUN_DELAY_SHARE,
                     gaps ? gap_list_run_delay_share(gaps, elapsed_ns) : NAN);
    facts_put_number(f, FACT_STEAL_SHARE, machine_steal_share(before, after));
    facts_put_number(f, FACT_CPU_QUOTA, cpus > 0 ? cpus : NAN);
    facts_put_number(f, FACT_THROTTLED_S, throttled_ns < 0 ? NAN : (double)throttled_ns / 1e9);
    facts_put_number(f, FACT_LARGEST_GAP_US, gaps ? (double)gap_list_largest_ns(gaps) / 1e3 : NAN);
    facts_put_count(f, FACT_GAPS, gaps, gaps ? gap_list_count(gaps) : 0);
    facts_put_count(f, FACT_OWN_READ_BYTES, before->io_known && after->io_known,
                    after->read_bytes - before->read_bytes);
    facts_put_count(f, FACT_OWN_WRITE_BYTES, before->io_known && after->io_known,
                    after->write_bytes - before->write_bytes);
}
