/* vllm_tracker.c - vLLM 0.33.0: counts of offers. All chunks of an offer are counted before the
 * table is cut, and it keeps one key fewer than it may hold: so it was recorded. */
#include "kvgen/cache/vllm_tracker.h"
#include "lib/base/memory.h"

#include <errno.h>
#include <stdlib.h>

struct tracked {
    uint64_t offers;
    uint32_t prev, next;
};

int vllm_tracker_reserve(struct vllm_tracker *t, uint64_t chunks)
{
    const uint64_t places = t->most + chunks + 1;
    if (places <= t->places)
        return 0;
    if (memory_resize(&t->place, places, sizeof(*t->place)) < 0)
        return -ENOMEM;
    if (!t->places)
        t->place[0] = (struct tracked){0};
    t->places = places;
    return id_table_reserve(&t->keys, places - 1 - t->keys.count);
}

void vllm_tracker_release(struct vllm_tracker *t)
{
    id_table_free(&t->keys);
    free(t->place);
    *t = (struct vllm_tracker){0};
}

static void unlink_place(struct vllm_tracker *t, uint32_t p)
{
    t->place[t->place[p].prev].next = t->place[p].next;
    t->place[t->place[p].next].prev = t->place[p].prev;
}

void vllm_tracker_count(struct vllm_tracker *t, uint64_t key)
{
    const uint32_t known = id_table_find(&t->keys, key);
    uint32_t p = known + 1;
    if (known != ID_NONE) {
        unlink_place(t, p);
    } else {
        p = id_table_add(&t->keys, key) + 1; /* there is room for each */
        t->place[p].offers = 0;
    }
    t->place[p].offers++;
    t->place[p].prev = t->place[0].prev;
    t->place[p].next = 0;
    t->place[t->place[p].prev].next = p;
    t->place[0].prev = p;
}

void vllm_tracker_cut(struct vllm_tracker *t)
{
    while (t->keys.count && t->keys.count >= t->most) {
        const uint32_t p = t->place[0].next;
        unlink_place(t, p);
        id_table_remove(&t->keys, p - 1);
    }
}

uint64_t vllm_tracker_offers(const struct vllm_tracker *t, uint64_t key)
{
    const uint32_t known = id_table_find(&t->keys, key);
    return known == ID_NONE ? 0 : t->place[known + 1].offers;
}
