/* step_setup.c - the numbers behind the time of a step, and what weights leave of a GPU. */
#include "kvgen/serve/step_setup.h"

#include <errno.h>

#include "lib/base/units.h"

enum {
    ACTIVATION_BYTES = 2, /* of an element of the hidden state */
    TOKEN_PS = 1100000,   /* 1.1 us */
    LOAD_MS = 13,         /* where the profile's load_overhead_ms is not given */
    LEAST_PPM = 1000
};
#define MEMORY_SHARE 0.92
#define OTHER_BYTES  2e9 /* activations, graphs, the runtime */

static uint32_t ppm(double share)
{
    return (uint32_t)(share * STEP_TIME_PPM + 0.5);
}

static int lacks(struct err *e, const struct model *m, const char *what)
{
    return err_set(e, -EINVAL, ERR_INPUT, "--cache", "%s does not tell %s: give %s", m->id, what,
                   "--params N, or a config.json whose layers are known");
}

/* Active parameters; 0: not known. */
static uint64_t active_params(const struct model *m, const struct step_weights *w)
{
    return w->params > 0 ? (uint64_t)w->params : m->active_params;
}

/* Parameters that each token multiplies with. Of the routed experts it takes some, and they are
 * among the active ones. */
static uint64_t common_params(const struct model *m, uint64_t active)
{
    const uint64_t taken = m->experts ? m->routed_params / m->experts * m->chosen : 0;
    return active > taken ? active - taken : 0;
}

/* Bytes of so many parameters, which have bits in the checkpoint. */
static uint64_t bytes_of(const struct step_weights *w, uint64_t params, uint32_t bits)
{
    const unsigned __int128 all = (unsigned __int128)params * (bits ? bits : 16 * MODEL_BIT);
    return w->bytes ? params * w->bytes : (uint64_t)(all / (8 * MODEL_BIT));
}

/* In layers with sparse attention an indexer looks at all tokens, and attention at those that it
 * picks; other layers may have a window. */
static void set_looks(struct step_look look[STEP_LOOKS], const struct model *m)
{
    const uint64_t pair_ops = 2 * m->pair_elements;
    look[0] = (struct step_look){.pair_ops = pair_ops * m->full_layers, .most = m->index_picks};
    look[1] = (struct step_look){.pair_ops = pair_ops * m->windowed_layers, .most = m->window};
    if (m->index_picks)
        look[1] = (struct step_look){.pair_ops = 2 * m->index_elements};
    for (unsigned i = 0; i < m->parts; i++) {
        const struct model_part *p = &m->part[i];
        const bool index = p->kind == MODEL_INDEX_KEYS || p->kind == MODEL_INDEX_SCALES;
        if (!model_is_state(p))
            look[index || p->window].cache_bytes += model_part_bytes(p);
    }
}

int step_setup(struct step_setup *s, const struct model *m, const struct gpu_profile *g,
               const struct step_weights *w, struct err *e)
{
    const uint64_t active = active_params(m, w);
    const uint32_t tp = w->tp;
    if (active == 0)
        return lacks(e, m, "how many parameters a token multiplies with");
    if (m->pair_elements == 0)
        return err_set(e, -EINVAL, ERR_INPUT, "--cache",
                       "%s does not tell the width of its attention, which a step's time needs",
                       m->id);
    if (g->hbm_tb_s <= 0)
        return err_set(e, -EINVAL, ERR_INPUT, "--gpu-profile",
                       "%s does not tell the bandwidth of its memory (hbm_tb_s)", g->name);
    if (tp > 1 && g->gpu_link_gb_s <= 0)
        return err_set(e, -EINVAL, ERR_INPUT, "--gpu-profile",
                       "%s does not tell the bandwidth between GPUs (gpu_link_gb_s)", g->name);
    s->model =
        (struct step_model){.parameters = active,
                            .always_bytes = bytes_of(w, common_params(m, active), m->common_bits),
                            .routed_bytes = bytes_of(w, m->routed_params, m->routed_bits),
                            .experts = m->experts,
                            .chosen = m->chosen,
                            .head_bytes = bytes_of(w, m->head_params, m->head_bits),
                            .layers = m->layers,
                            .hidden_bytes = (uint64_t)m->hidden * ACTIVATION_BYTES};
    set_looks(s->model.look, m);
    s->gpu =
        (struct step_gpu){.ops_s = (uint64_t)((g->fp8 ? g->fp8_tflops : g->bf16_tflops) * 1e12),
                          .bytes_s = (uint64_t)(g->hbm_tb_s * 1e12),
                          .link_bytes_s = (uint64_t)(g->gpu_link_gb_s * 1e9),
                          .tp = tp,
                          .eta_ppm = ppm(g->eta),
                          .eta_a_ppm = ppm(g->eta_a > 0 ? g->eta_a : g->eta),
                          .b_ppm = ppm(g->b),
                          .host_ns = (int64_t)(g->t_host_ms * 1e6 + 0.5),
                          .async = true};
    const double load_ms = g->overhead_given ? g->load_overhead_ms : LOAD_MS;
    s->host = (struct step_host){(int64_t)(g->host_ms * 1e6 + 0.5), TOKEN_PS,
                                 (int64_t)(load_ms * 1e6 + 0.5)};
    return 0;
}

int step_setup_memory(struct step_memory *out, const struct model *m, const struct gpu_profile *g,
                      const struct step_weights *w, struct err *e)
{
    const uint64_t active = active_params(m, w);
    if (active == 0)
        return err_set(e, -EINVAL, ERR_INPUT, "--gpu-mem",
                       "auto: %s does not tell how many parameters it has: give a size", m->id);
    if (g->hbm_gb <= 0)
        return err_set(e, -EINVAL, ERR_INPUT, "--gpu-mem",
                       "auto: %s does not tell how much memory it has (hbm_gb): give a size",
                       g->name);
    const double embedding = (double)bytes_of(w, m->head_params, 0);
    const double weights = ((double)bytes_of(w, common_params(m, active), m->common_bits) +
                            (double)bytes_of(w, m->routed_params, m->routed_bits) +
                            (double)bytes_of(w, m->head_params, m->head_bits) + embedding) /
                           w->tp;
    const double left = g->hbm_gb * 1e9 * MEMORY_SHARE - weights - OTHER_BYTES;
    if (left < (double)UNITS_GIB)
        return err_set(e, -ENOSPC, ERR_INPUT, "--gpu-mem",
                       "auto: the weights take %.1f GB of each GPU, and %.1f GB of %s are to be "
                       "used: take more GPUs (--tensor-parallel), a larger one, or --weights fp8",
                       weights / 1e9, g->hbm_gb * MEMORY_SHARE, g->name);
    *out = (struct step_memory){(uint64_t)left, (uint64_t)weights};
    return 0;
}

double step_setup_prefill_ns(const struct step_setup *s, uint64_t tokens)
{
    const struct step_work full = {.tokens = s->step_tokens ? s->step_tokens : 1};
    return (double)step_time_gpu_ns(&s->model, &s->gpu, &full) / (double)full.tokens *
           (double)tokens;
}

int64_t step_setup_first_token_ns(const struct step_setup *s, uint64_t tokens)
{
    int64_t ns = s->host.request_ns + (int64_t)(tokens * (uint64_t)s->host.token_ps / 1000);
    for (uint64_t done = 0; done < tokens;) {
        const uint64_t n = tokens - done < s->step_tokens ? tokens - done : s->step_tokens;
        struct step_work w = {.output = done + n == tokens};
        step_time_add(&s->model, &w, done, n, false);
        ns += step_time_ns(&s->model, &s->gpu, &w);
        done += n;
    }
    return ns;
}

static int64_t decode_ns(const struct step_setup *s, uint64_t tokens)
{
    struct step_work w = {.output = true};
    step_time_add(&s->model, &w, tokens - 1, 1, true);
    return step_time_ns(&s->model, &s->gpu, &w);
}

/* Sets a share, and returns the time of the work that it was measured with. */
typedef int64_t (*measured_fn)(struct step_setup *s, uint32_t share_ppm, uint64_t tokens);

static int64_t with_eta(struct step_setup *s, uint32_t share_ppm, uint64_t tokens)
{
    s->gpu.eta_ppm = s->gpu.eta_a_ppm = share_ppm;
    return step_setup_first_token_ns(s, tokens);
}

static int64_t with_b(struct step_setup *s, uint32_t share_ppm, uint64_t tokens)
{
    s->gpu.b_ppm = share_ppm;
    return decode_ns(s, tokens);
}

/* The largest share with which it takes at least that long. */
static int solve(struct step_setup *s, measured_fn measured, uint64_t tokens, int64_t want_ns,
                 const char *option, struct err *e)
{
    uint32_t low = LEAST_PPM, high = STEP_TIME_PPM;
    const int64_t slowest_ns = measured(s, low, tokens), fastest_ns = measured(s, high, tokens);
    if (want_ns < fastest_ns || want_ns > slowest_ns)
        return err_set(e, -EINVAL, ERR_INPUT, option,
                       "%.4g ms is not between %.4g and %.4g ms, which this model takes on this "
                       "GPU with all and with a thousandth of its peak",
                       (double)want_ns / 1e6, (double)fastest_ns / 1e6, (double)slowest_ns / 1e6);
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (measured(s, middle, tokens) >= want_ns)
            low = middle;
        else
            high = middle;
    }
    measured(s, low, tokens);
    return 0;
}

int step_setup_prefill_rate(struct step_setup *s, double tokens_per_s, uint64_t tokens,
                            struct err *e)
{
    return solve(s, with_eta, tokens, (int64_t)((double)tokens / tokens_per_s * 1e9),
                 "--prefill-rate", e);
}

int step_setup_measured(struct step_setup *s, const struct model *m, const struct prefill_time *t,
                        struct err *e)
{
    const struct prefill_gpu all = {.params = (double)s->model.parameters,
                                    .operations_per_s = (double)s->gpu.ops_s,
                                    .eta = 1,
                                    .tensor_parallel = (uint32_t)s->gpu.tp};
    struct prefill_time peak;
    prefill_time_layers(&peak, m);
    prefill_time_calculate(&peak, m, &all);
    const double eta = t->token_ns > 0 ? peak.token_ns / t->token_ns : 2;
    const double eta_a = t->pair_ns > peak.pair_ns ? peak.pair_ns / t->pair_ns : 1;
    const double host_ns = t->t0_ns - (double)(s->gpu.async ? STEP_TIME_ASYNC_NS : s->gpu.host_ns);
    if (eta > 1 || ppm(eta) < LEAST_PPM)
        return err_set(e, -EINVAL, ERR_INPUT, "--prefill",
                       "a token takes %.4g us, which is not between %.4g and %.4g us, which this "
                       "model takes on this GPU with all and with a thousandth of its peak: is "
                       "--gpu-profile the GPU that was measured?",
                       t->token_ns / 1e3, peak.token_ns / 1e3,
                       peak.token_ns / 1e3 * STEP_TIME_PPM / LEAST_PPM);
    s->gpu.eta_ppm = ppm(eta);
    s->gpu.eta_a_ppm = ppm(eta_a) > LEAST_PPM ? ppm(eta_a) : LEAST_PPM;
    s->host.request_ns = host_ns > 0 ? (int64_t)(host_ns + 0.5) : 0;
    s->host.token_ps = 0;
    return 0;
}

int step_setup_decode_rate(struct step_setup *s, double tokens_per_s, uint64_t tokens,
                           struct err *e)
{
    return solve(s, with_b, tokens, (int64_t)(1e9 / tokens_per_s), "--config decode_rate", e);
}
