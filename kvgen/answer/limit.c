/* limit.c - compares means of requests, of the warm parts of two simulations. */
#include "kvgen/answer/limit.h"

/* Waiting for files is part of its waiting or loading. */
struct limit_load limit_load_of(const struct step_setup *steps, const struct trial *t)
{
    const uint64_t n = trial_done(t);
    struct limit_load l = {.requests = n,
                           .stuck = t->stuck,
                           .still = t->still,
                           .refused = t->refused_admissions > n / 2,
                           .too_long = t->too_long > n / 20,
                           .writes = t->moved[1] > t->moved[0],
                           .prefill = 2 * step_setup_prefill_ns(steps, t->origin[WARM_COMPUTED]) >=
                                      (double)t->busy_ns};
    if (!n)
        return l;
    const double files = hist_sum(t->files_ns) / (double)n;
    const double loading = (double)t->time_ns[ENGINE_LOADING] / (double)n;
    const double waiting = (double)t->time_ns[ENGINE_WAITING] / (double)n;
    const double computing =
        (double)(t->time_ns[ENGINE_PREFILL] + t->time_ns[ENGINE_DECODE]) / (double)n;
    l.part_ns[LIMIT_PART_FILES] = files > loading ? files - loading : 0;
    l.part_ns[LIMIT_PART_LINK] = loading;
    l.part_ns[LIMIT_PART_MEMORY] = (double)t->time_ns[ENGINE_PREEMPTED] / (double)n;
    l.part_ns[LIMIT_PART_GPU] =
        computing + waiting -
        (l.part_ns[LIMIT_PART_FILES] < waiting ? l.part_ns[LIMIT_PART_FILES] : waiting);
    return l;
}

enum limit limit_find(const struct limit_load *held, const struct limit_load *failed,
                      enum limit_drive drive)
{
    static const struct limit_load nothing = {0};
    const struct limit_load *before = held ? held : &nothing;
    int most = LIMIT_PART_GPU;
    if (!failed)
        return LIMIT_NONE;
    if (failed->stuck || (failed->still && drive == LIMIT_DRIVE_NOT))
        return LIMIT_HOST_MEMORY;
    for (int i = 1; i < LIMIT_PARTS; i++)
        if ((drive != LIMIT_DRIVE_NOT || i != LIMIT_PART_FILES) &&
            failed->part_ns[i] - before->part_ns[i] > failed->part_ns[most] - before->part_ns[most])
            most = i;
    if (failed->too_long)
        return LIMIT_GPU_MEMORY;
    if (most == LIMIT_PART_FILES || drive == LIMIT_DRIVE_DOES)
        return failed->writes ? LIMIT_STORAGE_WRITES : LIMIT_STORAGE_READS;
    if (most == LIMIT_PART_LINK)
        return LIMIT_HOST_LINK;
    if (most == LIMIT_PART_MEMORY || failed->refused)
        return LIMIT_GPU_MEMORY;
    return failed->prefill ? LIMIT_PREFILL : LIMIT_DECODE;
}

const char *limit_name(enum limit l)
{
    static const char *const names[] = {"none",           "prefill",     "decode",
                                        "gpu_memory",     "host_memory", "storage_reads",
                                        "storage_writes", "host_link"};
    return names[l];
}

const char *limit_text(enum limit l)
{
    static const char *const texts[] = {"nothing that was tried", "prefill on the GPU",
                                        "decoding on the GPU",    "the GPU's memory",
                                        "the host's memory",      "reads from the drive",
                                        "writes to the drive",    "link of host and GPU"};
    return texts[l];
}
