/* layer_groups.c - cuts a model's layers into the groups whose blocks an engine keeps. What they
 * keep is the cache's business (kvgen/cache/vllm.c). */
#include "kvgen/serve/layer_groups.h"

#include <errno.h>

/* A kind with at most so many layers for each of the other's is one group, and the other is padded
 * to it. */
#define PADDED 1.25

static int refuse(const struct model *m, const char *why, struct err *e)
{
    return err_set(e, -EINVAL, ERR_INPUT, "--cache",
                   "%s has %s: only --cache waterfall simulates it", m->id, why);
}

struct layer_groups layer_groups_together(const struct model *m)
{
    return (struct layer_groups){.model = m, .groups = 1};
}

int layer_groups_of(struct layer_groups *out, const struct model *m, struct err *e)
{
    const uint32_t full = m->full_layers, windowed = m->windowed_layers;
    uint64_t a = 0, b = 0;
    *out = layer_groups_together(m);
    if (m->state_layers > 0)
        return refuse(m, "layers with a state, whose blocks no rule is known for", e);
    if (windowed == 0)
        return 0;
    for (unsigned i = 0; i < m->parts; i++)
        if (m->part[i].window > 0 && m->part[i].window != m->window)
            return refuse(m, "windows of several lengths", e);
    if (full == 0) {
        out->window[0] = m->window;
        return 0;
    }
    if (model_rank_block_bytes(m, MODEL_FULL, 1024, &a) ||
        model_rank_block_bytes(m, MODEL_WINDOWED, 1024, &b) ||
        (unsigned __int128)a * windowed != (unsigned __int128)b * full)
        return refuse(m, "layers whose blocks are of several sizes", e);
    const uint32_t least = full < windowed ? full : windowed;
    const uint32_t most = full < windowed ? windowed : full;
    out->layers = (double)most < (double)least * PADDED ? most : least;
    const uint32_t first = (full + out->layers - 1) / out->layers;
    out->groups = first + (windowed + out->layers - 1) / out->layers;
    if (out->groups > VLLM_GROUPS)
        return refuse(m, "more than 8 groups of layers", e);
    for (uint32_t g = first; g < out->groups; g++)
        out->window[g] = m->window;
    return 0;
}

int layer_groups_bytes(const void *groups, uint64_t tokens, uint64_t *bytes)
{
    const struct layer_groups *g = groups;
    if (!g->layers)
        return model_rank_block_bytes(g->model, MODEL_ALL, tokens, bytes);
    uint64_t all = 0;
    const int rc = model_rank_block_bytes(g->model, MODEL_FULL, tokens, &all);
    *bytes = (uint64_t)((unsigned __int128)all * g->layers / g->model->full_layers);
    return rc;
}
