/* limit.c - compares means of requests, of the warm parts of two simulations. */
#include "kvgen/answer/limit.h"

/* Where a request's time goes, in this file. */
enum part {
    PART_GPU, /* waits for it, or is computed */
    PART_FILES,
    PART_LINK,
    PART_MEMORY, /* preempted */
    PARTS
};

/* Means of a request in ns. Waiting for files is part of its waiting or loading. */
static void set_parts(double part[PARTS], const struct trial *t)
{
    const uint64_t n = t ? criterion_requests(&t->tally) : 0;
    for (int i = 0; i < PARTS; i++)
        part[i] = 0;
    if (!n)
        return;
    const double files = hist_sum(t->files_ns) / (double)n;
    const double loading = (double)t->time_ns[ENGINE_LOADING] / (double)n;
    const double waiting = (double)t->time_ns[ENGINE_WAITING] / (double)n;
    part[PART_FILES] = files > loading ? files - loading : 0;
    part[PART_LINK] = loading;
    part[PART_MEMORY] = (double)t->time_ns[ENGINE_PREEMPTED] / (double)n;
    part[PART_GPU] = (double)(t->time_ns[ENGINE_PREFILL] + t->time_ns[ENGINE_DECODE]) / (double)n +
                     waiting - (part[PART_FILES] < waiting ? part[PART_FILES] : waiting);
}

/* Time of the GPU for all tokens of prompts that were computed, in steps of the whole budget. */
static double prefill_ns(const struct step_setup *s, const struct trial *t)
{
    const struct step_work full = {.tokens = s->step_tokens ? s->step_tokens : 1};
    return (double)step_time_gpu_ns(&s->model, &s->gpu, &full) / (double)full.tokens *
           (double)t->origin[WARM_COMPUTED];
}

enum limit limit_find(const struct step_setup *steps, const struct trial *held,
                      const struct trial *failed)
{
    double before[PARTS], after[PARTS];
    int most = PART_GPU;
    if (!failed)
        return LIMIT_NONE;
    set_parts(before, held);
    set_parts(after, failed);
    for (int i = 1; i < PARTS; i++)
        if (after[i] - before[i] > after[most] - before[most])
            most = i;
    const uint64_t n = criterion_requests(&failed->tally);
    if (most == PART_FILES)
        return failed->moved[1] > failed->moved[0] ? LIMIT_STORAGE_WRITES : LIMIT_STORAGE_READS;
    if (most == PART_LINK)
        return LIMIT_HOST_LINK;
    if (most == PART_MEMORY || failed->refused_admissions > n / 2)
        return LIMIT_GPU_MEMORY;
    return 2 * prefill_ns(steps, failed) >= (double)failed->busy_ns ? LIMIT_PREFILL : LIMIT_DECODE;
}

const char *limit_name(enum limit l)
{
    static const char *const names[] = {"none",          "prefill",        "decode",   "gpu_memory",
                                        "storage_reads", "storage_writes", "host_link"};
    return names[l];
}

const char *limit_text(enum limit l)
{
    static const char *const texts[] = {
        "nothing that was tried",          "prefill on the GPU",   "decoding on the GPU",
        "memory of the GPU for the cache", "reads from the drive", "writes to the drive",
        "the link between host and GPU"};
    return texts[l];
}
