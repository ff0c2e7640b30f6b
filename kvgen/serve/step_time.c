/* step_time.c - the time of a step in whole numbers: products of 128 bits, shares in parts per
 * million, powers by multiplication of fractions of 2^-32. */
#include "kvgen/serve/step_time.h"

enum {
    EXCHANGE_NS = 20000, /* of an all-reduce, whatever its size */
    FRACTION_BITS = 32
};

/* amount / (rate x share x gpus), in ns. */
static uint64_t time_ns(unsigned __int128 amount, uint64_t rate, uint32_t share_ppm, uint64_t gpus)
{
    return (uint64_t)(amount * 1000000000u /
                      ((unsigned __int128)rate * share_ppm * gpus / STEP_TIME_PPM));
}

/* fraction^n, both fractions of 2^-32. */
static uint64_t power(uint64_t fraction, uint64_t n)
{
    uint64_t result = UINT64_C(1) << FRACTION_BITS;
    for (; n; n >>= 1) {
        if (n & 1)
            result = (uint64_t)(((unsigned __int128)result * fraction) >> FRACTION_BITS);
        fraction = (uint64_t)(((unsigned __int128)fraction * fraction) >> FRACTION_BITS);
    }
    return result;
}

/* Pairs of tokens, each of which looks at itself and those before it, at most `most`; 0: all. */
static uint64_t pairs(uint64_t before, uint64_t tokens, uint64_t most)
{
    if (!most || before + tokens <= most)
        return tokens * before + tokens * (tokens + 1) / 2;
    const uint64_t free = most > before ? most - before : 0; /* of these the window is not full */
    return free * before + free * (free + 1) / 2 + (tokens - free) * most;
}

void step_time_add(const struct step_model *m, struct step_work *w, uint64_t before,
                   uint64_t tokens, bool decode)
{
    w->tokens += tokens;
    for (int i = 0; i < STEP_LOOKS; i++) {
        const struct step_look *l = &m->look[i];
        if (decode || tokens == 1)
            w->read_bytes +=
                l->cache_bytes * (l->most && l->most < before + tokens ? l->most : before + tokens);
        else
            w->attention_ops += (unsigned __int128)l->pair_ops * pairs(before, tokens, l->most);
    }
}

uint64_t step_time_weights(const struct step_model *m, const struct step_work *w)
{
    uint64_t bytes = m->always_bytes + (w->output ? m->head_bytes : 0);
    if (!m->routed_bytes)
        return bytes;
    const uint64_t one = UINT64_C(1) << FRACTION_BITS;
    const uint64_t left = (uint64_t)(m->experts - m->chosen) * one / m->experts;
    return bytes +
           (uint64_t)(((unsigned __int128)m->routed_bytes * (one - power(left, w->tokens))) >>
                      FRACTION_BITS);
}

/* Two all-reduces a layer. */
static uint64_t exchange_ns(const struct step_model *m, const struct step_gpu *g,
                            const struct step_work *w)
{
    if (g->tp == 1)
        return 0;
    const unsigned __int128 bytes =
        (unsigned __int128)2 * (g->tp - 1) * w->tokens * m->hidden_bytes / g->tp;
    return 2 * m->layers * (time_ns(bytes, g->link_bytes_s, STEP_TIME_PPM, 1) + EXCHANGE_NS);
}

int64_t step_time_gpu_ns(const struct step_model *m, const struct step_gpu *g,
                         const struct step_work *w)
{
    const uint64_t products =
        time_ns((unsigned __int128)2 * m->parameters * w->tokens, g->ops_s, g->eta_ppm, g->tp);
    const uint64_t weights = time_ns(step_time_weights(m, w), g->bytes_s, g->b_ppm, g->tp);
    const uint64_t attention = time_ns(w->attention_ops, g->ops_s, g->eta_a_ppm, g->tp);
    const uint64_t cache = time_ns(w->read_bytes, g->bytes_s, g->b_ppm, g->tp);
    return (int64_t)((products > weights ? products : weights) + attention + cache +
                     exchange_ns(m, g, w));
}

int64_t step_time_ns(const struct step_model *m, const struct step_gpu *g,
                     const struct step_work *w)
{
    const int64_t gpu = step_time_gpu_ns(m, g, w);
    if (!g->async)
        return g->host_ns + gpu;
    return (gpu > g->host_ns ? gpu : g->host_ns) + STEP_TIME_ASYNC_NS;
}
