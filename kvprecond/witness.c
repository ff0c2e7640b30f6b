/* Beside the fill, at the ends of its spans: takes the gaps of the threads, and the kernel's
 * counters of processors, process and devices, and says whether the span is the target's own. */
#include "kvprecond/witness.h"

#include <stdio.h>

#include "lib/base/clock.h"
#include "lib/base/units.h"

#define FOREIGN_BYTES ((uint64_t)16 << 20) /* less is the file system's own journal */

void witness_begin(struct witness *w)
{
    machine_read(&w->before);
    w->counted = w->devices > 0 && target_devices_count(w->device, w->devices, &w->counters) == 0;
    w->since_ns = clock_now_ns();
    if (w->gaps)
        gap_list_begin(w->gaps);
}

/* Waits for processors in the span, which has ended. */
static void take_waits(const struct witness *w, struct disturbance *d)
{
    static const enum gap_of of[] = {GAPS_OF_ENGINE, GAPS_OF_MEMORY}; /* writers, fillers */

    for (size_t i = 0; w->gaps && d->elapsed_ns > 0 && i < sizeof(of) / sizeof(of[0]); i++) {
        struct gap_list_delay delay;
        if (!gap_list_run_delay_of(w->gaps, of[i], &delay))
            continue;
        d->stopped = (double)delay.process_ns / (double)d->elapsed_ns;
        double waited =
            delay.loops ? (double)delay.contended_ns / ((double)d->elapsed_ns * delay.loops) : -1;
        d->waited = waited > d->waited ? waited : d->waited;
    }
}

void witness_end(struct witness *w, struct disturbance *d, struct facts *facts)
{
    struct target_counters counters = {0};
    struct machine after;
    uint64_t own_bytes;

    if (w->gaps)
        gap_list_end(w->gaps);
    *d = (struct disturbance){.elapsed_ns = clock_now_ns() - w->since_ns,
                              .waited = -1,
                              .stopped = -1,
                              .slack_bytes = w->slack_bytes};
    w->counted = w->counted && target_devices_count(w->device, w->devices, &counters) == 0;
    machine_read(&after);
    take_waits(w, d);
    d->stolen = machine_steal_share(&w->before, &after);
    d->throttled_ns = machine_throttled_ns(&w->before, &after);
    d->counted = machine_moved(&w->before, &after, &own_bytes) && w->counted;
    d->own_bytes = own_bytes;
    d->device_bytes = counters.read_bytes - w->counters.read_bytes + counters.write_bytes -
                      w->counters.write_bytes;
    if (!facts)
        return;
    machine_facts(facts, &w->before, &after, w->gaps, d->elapsed_ns);
    facts_put_count(facts, FACT_DEVICE_READ_BYTES, w->counted,
                    counters.read_bytes - w->counters.read_bytes);
    facts_put_count(facts, FACT_DEVICE_WRITE_BYTES, w->counted,
                    counters.write_bytes - w->counters.write_bytes);
}

/* Others' bytes on the devices; 0: none, or not known. */
static uint64_t foreign_bytes(const struct disturbance *d)
{
    uint64_t own = d->own_bytes + d->slack_bytes;

    return d->counted && d->device_bytes > own ? d->device_bytes - own : 0;
}

bool disturbance_is_foreign(const struct disturbance *d)
{
    uint64_t foreign = foreign_bytes(d);

    return foreign >= FOREIGN_BYTES && (double)foreign > JUDGE_FOREIGN_SHARE * (double)d->own_bytes;
}

/* "CPU contention: threads waited for a CPU 12 % of the time, a CPU quota held them back for 2 s"
 */
static void tell_processors(const struct disturbance *d, char why[DISTURBANCE_WHY])
{
    char quota[80] = "", took[32];

    if (d->throttled_ns >= JUDGE_DELAY_NS)
        snprintf(quota, sizeof(quota), "; the control group's CPU quota held them back for %s",
                 units_format_duration(took, sizeof(took), (double)d->throttled_ns));
    if (d->stolen >= d->waited && d->stolen >= d->stopped)
        snprintf(why, DISTURBANCE_WHY, "the hypervisor took %.0f %% of the CPU time%s",
                 100 * d->stolen, quota);
    else if (d->stopped >= d->waited)
        snprintf(why, DISTURBANCE_WHY, "kvprecond stood still %.0f %% of the time%s",
                 100 * d->stopped, quota);
    else
        snprintf(why, DISTURBANCE_WHY,
                 "CPU contention: threads waited for a CPU %.0f %% of the time%s", 100 * d->waited,
                 quota);
}

enum validity_state disturbance_judge(const struct disturbance *d, char why[DISTURBANCE_WHY])
{
    uint64_t foreign = foreign_bytes(d);
    double s = (double)d->elapsed_ns / 1e9;
    char ours[32], others[32];

    why[0] = '\0';
    if (d->waited > JUDGE_MOVES || d->stopped > JUDGE_MOVES || d->stolen > JUDGE_MOVES) {
        tell_processors(d, why);
        return VALIDITY_UNRELIABLE;
    }
    if (s > 0 && disturbance_is_foreign(d)) {
        snprintf(why, DISTURBANCE_WHY,
                 "foreign traffic: others moved %s on the device, kvprecond %s",
                 units_format_rate(others, sizeof(others), (double)foreign / s),
                 units_format_rate(ours, sizeof(ours), (double)d->own_bytes / s));
        return VALIDITY_UNRELIABLE;
    }
    if (d->waited < 0) {
        snprintf(why, DISTURBANCE_WHY, "how long threads waited for a CPU is not known");
        return VALIDITY_UNKNOWN;
    }
    return VALIDITY_GOOD;
}
