/* jobs.c - transfers under way, by number. Those at the front that are done make room for new ones.
 * What a transfer means is left to its manager. */
#include "kvgen/manager/jobs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"

int job_keys_add(struct job_keys *k, uint64_t key)
{
    if (memory_room(&k->key, &k->cap, k->count, sizeof(*k->key), 64) < 0)
        return -ENOMEM;
    k->key[k->count++] = key;
    return 0;
}

void jobs_release(struct jobs *j)
{
    for (uint64_t i = 0; i < j->next - j->first; i++)
        free(j->job[i].keys);
    free(j->job);
    *j = (struct jobs){0};
}

static void drop_done(struct jobs *j)
{
    uint64_t done = 0, count = j->next - j->first;
    while (done < count && !j->job[done].keys)
        done++;
    if (done)
        memmove(j->job, j->job + done, (count - done) * sizeof(*j->job));
    j->first += done;
}

struct job *jobs_begin(struct jobs *j, const struct kv_listener *l, const struct kv_transfer *t,
                       const struct job_keys *keys, const struct job_keys *kept)
{
    if (!kept)
        kept = keys;
    if (j->next - j->first == j->cap)
        drop_done(j);
    if (memory_room(&j->job, &j->cap, j->next - j->first, sizeof(*j->job), 64) < 0)
        return NULL;
    uint64_t *copy = malloc((kept->count + 1) * sizeof(*copy));
    if (!copy)
        return NULL;
    memcpy(copy, kept->key, kept->count * sizeof(*copy));
    struct kv_transfer told = *t;
    told.id = j->next;
    told.keys = keys->key;
    told.count = keys->count;
    struct job *job = &j->job[j->next++ - j->first];
    *job = (struct job){.id = told.id,
                        .kind = t->kind,
                        .from = t->from,
                        .to = t->to,
                        .in_step = t->in_step,
                        .keys = copy,
                        .count = kept->count};
    j->open++;
    l->transfer(l->ctx, &told);
    return job;
}

void jobs_end(struct jobs *j, uint64_t id, struct job *out)
{
    struct job *job = &j->job[id - j->first];
    *out = *job;
    job->keys = NULL;
    j->open--;
}

const struct job *jobs_oldest(const struct jobs *j, enum kv_transfer_kind kind)
{
    for (uint64_t i = 0; i < j->next - j->first; i++)
        if (j->job[i].keys && j->job[i].kind == kind)
            return &j->job[i];
    return NULL;
}
