/* Simulates the recorded requests with and without tiers and compares the times to the first token.
 * break_even.c works out from which length on loading beats computing; worth_text.c tells all. */
#include "kvgen/worth/worth.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/worth/frozen_engine.h"
#include "lib/base/stop.h"
#include "lib/base/units.h"

#define RATE_TOKENS  (UINT64_C(1) << 20) /* where the rate is told if there is no break-even */
#define NOTICED      0.02                /* a smaller change of the mean is none */
#define PER_HOUR_MAX 1e9

/* ---- options ---- */

int worth_parse_target(int64_t target_ns[TRACE_QOSES], const char *text, struct err *e)
{
    const char *value = strchr(text, '=');
    int64_t ns;
    for (int q = 0; value && q < TRACE_QOSES; q++) {
        const char *class = trace_qos_text((enum trace_qos)q);
        if (strlen(class) == (size_t)(value - text) &&
            strncmp(class, text, (size_t)(value - text)) == 0 &&
            units_parse_duration(value + 1, &ns) == 0 && ns > 0) {
            target_ns[q] = ns;
            return 0;
        }
    }
    return err_set(e, -EINVAL, ERR_INPUT, "--config ttft_target",
                   "\"%s\" is not interactive=TIME, responsive=TIME or batch=TIME", text);
}

int worth_parse_prices(struct worth_prices *p, const char *text, struct err *e)
{
    char copy[256], *rest = NULL;
    *p = (struct worth_prices){0};
    if (strlen(text) < sizeof(copy)) {
        strcpy(copy, text);
        char *part = strtok_r(copy, ",", &rest);
        for (; part; part = strtok_r(NULL, ",", &rest)) {
            char *value = strchr(part, '='), *hour = value ? strstr(value, "/h") : NULL;
            double price;
            if (!hour || hour[2] != '\0')
                break;
            *value = *hour = '\0';
            double *to = strcmp(part, "gpu") == 0    ? &p->gpu
                         : strcmp(part, "dram") == 0 ? &p->dram
                         : strcmp(part, "nvme") == 0 ? &p->nvme
                                                     : NULL;
            if (!to || units_parse_f64(value + 1, &price) < 0 ||
                !(price >= 0 && price <= PER_HOUR_MAX))
                break;
            *to = price;
            p->given = true;
        }
        if (!part && p->given)
            return 0;
    }
    return err_set(e, -EINVAL, ERR_INPUT, "--price",
                   "\"%s\" is not gpu=N/h,dram=N/h,nvme=N/h (of a GPU; of a GiB of Tier-1; of a "
                   "GiB of Tier-2)",
                   text);
}

/* ---- one simulation ---- */

/* The share of a histogram's values up to most, to the width of a bucket. */
static double share_within(const struct hist *h, int64_t most)
{
    size_t pos = 0;
    int64_t lowest, highest;
    uint64_t n, within = 0;
    while (hist_next(h, &pos, &lowest, &highest, &n))
        within += lowest <= most ? n : 0;
    return hist_count(h) > 0 ? (double)within / (double)hist_count(h) : 0;
}

/* GiB of all engines: each that serves steps has a tier of its own, unless they share it. */
static double gib_of(const struct worth_variant *v, const struct worth_opts *o,
                     const struct sim_stats *st, enum trace_tier tier)
{
    const uint32_t ranks = o->compute->host_ranks;
    const bool one = tier == TRACE_STORAGE && engine_choice_shares(o->engine->cache);
    const uint64_t engines = one || !o->engine->engines ? 1 : o->engine->engines;
    const uint64_t bytes = v->capacity[tier] == HIERARCHY_UNLIMITED ? st->rows.tier[tier].peak_bytes
                                                                    : v->capacity[tier] * engines;
    return (double)bytes * ranks / (double)UNITS_GIB;
}

/* The cost of a million input tokens: GPUs for the time of their prefills, tiers for all of the
 * run. */
static double cost_of(const struct worth_variant *v, const struct worth_opts *o,
                      const struct sim_stats *st)
{
    double hours = v->span_s / 3600, cost = v->gpu_s / 3600 * o->price.gpu;
    cost += hours * o->price.dram * gib_of(v, o, st, TRACE_CPU);
    cost += hours * o->price.nvme * gib_of(v, o, st, TRACE_STORAGE);
    return v->input_tokens > 0 ? cost / (double)v->input_tokens * 1e6 : 0;
}

static int take_results(struct worth_variant *v, const struct worth_opts *o,
                        const struct sim_stats *st, struct err *e)
{
    const struct prefill_stats *p = &st->prefill;
    for (int q = 0; q <= TRACE_QOSES; q++)
        if (!(v->first_token_ns[q] = hist_create()))
            return err_nomem(e, "latencies");
    for (int q = 0; q < TRACE_QOSES; q++) {
        if (hist_merge(v->first_token_ns[q], p->first_token_ns[q]) < 0 ||
            hist_merge(v->first_token_ns[TRACE_QOSES], p->first_token_ns[q]) < 0)
            return err_nomem(e, "latencies");
        if (o->target_ns[q] > 0)
            v->within[q] = share_within(v->first_token_ns[q], o->target_ns[q]);
    }
    v->requests = p->requests;
    v->input_tokens = p->cached_tokens + p->fresh_tokens;
    v->engine_s = (double)p->busy_ns / 1e9;
    v->gpu_s = v->engine_s * o->compute->tensor_parallel;
    v->span_s = (double)st->now_ns / 1e9;
    if (o->price.given)
        v->cost = cost_of(v, o, st);
    return 0;
}

static bool is_alone(const struct worth_variant *v)
{
    return v->capacity[TRACE_CPU] + v->capacity[TRACE_STORAGE] == 0;
}

/* The engine with the variant's tiers. Without any cache it has the memory that it needs to run,
 * and finds nothing there. */
static struct engine_run_opts engine_of(const struct worth_variant *v, const struct worth_opts *o,
                                        struct engine_choice *choice)
{
    struct engine_run_opts engine = *o->engine;
    *choice = is_alone(v) ? engine_choice_alone(o->engine->cache) : *o->engine->cache;
    engine.cache = choice;
    engine.apart = v->capacity[TRACE_GPU] == 0;
    for (int t = TRACE_CPU; t < TRACE_TIERS; t++)
        engine.room.capacity[t] =
            v->capacity[t] == HIERARCHY_UNLIMITED ? KV_NO_LIMIT : v->capacity[t];
    return engine;
}

/* 1: done; 0: stopped by a signal. */
static int simulate(struct worth_variant *v, const struct worth_opts *o, struct err *e)
{
    struct engine_choice choice;
    const struct engine_run_opts engine = engine_of(v, o, &choice);
    struct engine_run *run;
    int rc = frozen_engine_run(&run, o->requests, &engine, e);
    if (rc == 0)
        rc = take_results(v, o, engine_run_sim_stats(run), e);
    engine_run_free(run);
    return rc < 0 ? rc : stop_signal() == 0;
}

/* ---- all of them ---- */

static bool is_lower(const struct worth_opts *o, int tier)
{
    return tier != TRACE_GPU && o->capacity[tier] != HIERARCHY_ABSENT;
}

static bool takes(const struct worth_variant *v, const struct worth_opts *o)
{
    struct engine_choice choice;
    const struct engine_run_opts engine = engine_of(v, o, &choice);
    return engine_choice_takes(&choice, &engine.room);
}

/* Adds a variant without the tiers of the mask, unless there is one like it, or the engine does not
 * run so. */
static void add_variant(struct worth *w, const struct worth_opts *o, const char *name,
                        unsigned without)
{
    struct worth_variant v = {.name = name};
    for (int t = 0; t < TRACE_TIERS; t++)
        v.capacity[t] = (without >> t & 1) != 0 ? HIERARCHY_ABSENT : o->capacity[t];
    for (unsigned i = 0; i < w->variants; i++)
        if (memcmp(w->variant[i].capacity, v.capacity, sizeof(v.capacity)) == 0)
            return;
    if (!takes(&v, o))
        return;
    w->variant[w->variants++] = v;
}

static const struct worth_variant *variant_without(const struct worth *w,
                                                   const struct worth_opts *o, int tier)
{
    for (unsigned i = 0; i < w->variants; i++) {
        bool same = true;
        for (int t = 0; t < TRACE_TIERS; t++)
            same = same &&
                   w->variant[i].capacity[t] == (t == tier ? HIERARCHY_ABSENT : o->capacity[t]);
        if (same)
            return &w->variant[i];
    }
    return NULL;
}

/* How one request alone loads from a tier. */
static struct loading loading_from(const struct worth_opts *o, int tier)
{
    const struct tier_model *speed = &o->speed[tier];
    struct loading l = {.model = o->model,
                        .compute = o->compute,
                        .object_tokens = frozen_block_tokens(o->requests),
                        .latency_s = (double)o->compute->load_overhead_ns / 1e9,
                        .link_bytes_per_s = o->compute->link_bytes_per_s};
    if (!speed->given)
        return l;
    l.drive = speed->drive;
    if (!l.drive) {
        l.latency_s += (double)speed->read.latency_ns / 1e9;
        l.tier_bytes_per_s = (double)speed->read.bytes_per_s;
    }
    return l;
}

enum worth_verdict worth_verdict_of(double change)
{
    return change < -NOTICED ? WORTH_GAIN : change > NOTICED ? WORTH_WORSE : WORTH_NO_GAIN;
}

static double change_of(double with, double without)
{
    return without > 0 ? with / without - 1 : 0;
}

static void judge(struct worth *w, const struct worth_opts *o, int tier)
{
    const struct worth_variant *with = &w->variant[0], *without = variant_without(w, o, tier);
    struct worth_tier *t = &w->tier[w->tiers++];
    *t = (struct worth_tier){.tier = (enum trace_tier)tier};
    for (int q = 0; q <= TRACE_QOSES; q++) {
        const struct hist *h = with->first_token_ns[q];
        double change = change_of(hist_mean(h), hist_mean(without->first_token_ns[q]));
        if (q == TRACE_QOSES)
            t->change = change;
        else
            t->class_change[q] = hist_count(h) > 0 ? change : NAN;
    }
    t->gpu_change = change_of(with->gpu_s, without->gpu_s);
    t->verdict = worth_verdict_of(t->change);
    /* The link is the speed of the host. */
    t->timed = o->speed[tier].given || tier == TRACE_CPU;
    t->loading = loading_from(o, tier);
    t->break_even_tokens = loading_break_even(&t->loading);
    uint64_t tokens = t->break_even_tokens > 0 ? t->break_even_tokens : RATE_TOKENS;
    double transfer_s = loading_s(&t->loading, tokens) - t->loading.latency_s;
    t->bytes_per_s = transfer_s > 0 ? (double)loading_bytes(&t->loading, tokens) / transfer_s : 0;
}

static void draw_curve(struct worth *w, const struct worth_opts *o)
{
    const struct prefill_time *time = &o->compute->time;
    for (unsigned i = 0; i < WORTH_CURVE; i++) {
        struct worth_point *p = &w->curve[i];
        uint64_t octave = WORTH_CURVE_FIRST << i / 2;
        *p = (struct worth_point){.tokens = i % 2 == 0 ? octave : octave + octave / 2};
        p->computed_s = (double)prefill_time_ns(time, 0, p->tokens) / 1e9;
        for (int t = 0; t < TRACE_TIERS; t++)
            p->loaded_s[t] = NAN;
        if (o->capacity[TRACE_GPU] != HIERARCHY_ABSENT)
            p->loaded_s[TRACE_GPU] = time->t0_ns / 1e9;
        for (unsigned t = 0; t < w->tiers; t++)
            p->loaded_s[w->tier[t].tier] =
                time->t0_ns / 1e9 + loading_s(&w->tier[t].loading, p->tokens);
    }
}

int worth_run(struct worth *w, const struct worth_opts *o, struct err *e)
{
    static const char *const left_out[TRACE_TIERS] = {
        [TRACE_CPU] = "without Tier-1", [TRACE_STORAGE] = "without Tier-2"};
    const struct prefill_model *c = o->compute;
    *w = (struct worth){.measured = c->time.measured, .priced = o->price.given, .watts = o->watts};
    for (int q = 0; q < TRACE_QOSES; q++)
        w->targets[q] = o->target_ns[q] > 0;
    uint64_t token_bytes;
    if (c->time.token_ns > 0 && model_rank_bytes(o->model, 1, false, &token_bytes) == 0)
        w->needed_bytes_per_s = (double)token_bytes * c->host_ranks / c->time.token_ns * 1e9;
    unsigned all = (1u << TRACE_TIERS) - 1, lower = all & ~(1u << TRACE_GPU);
    add_variant(w, o, "all tiers", 0);
    for (int t = TRACE_CPU; t < TRACE_TIERS; t++)
        if (is_lower(o, t))
            add_variant(w, o, left_out[t], 1u << t);
    if (o->capacity[TRACE_GPU] != HIERARCHY_ABSENT)
        add_variant(w, o, "GPU memory only", lower);
    add_variant(w, o, "no cache", all);
    for (unsigned i = 0; i < w->variants; i++) {
        int rc = simulate(&w->variant[i], o, e);
        if (rc <= 0)
            return rc;
    }
    for (int t = TRACE_CPU; t < TRACE_TIERS; t++)
        if (is_lower(o, t) && variant_without(w, o, t))
            judge(w, o, t);
    draw_curve(w, o);
    return 1;
}

void worth_free(struct worth *w)
{
    for (unsigned i = 0; i < w->variants; i++)
        for (int q = 0; q <= TRACE_QOSES; q++)
            hist_free(w->variant[i].first_token_ns[q]);
}
