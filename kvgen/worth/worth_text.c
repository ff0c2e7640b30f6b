/* Tells what the tiers are worth, as text for people and as JSON. */
#include <math.h>
#include <string.h>

#include "kvgen/worth/worth.h"
#include "lib/base/units.h"

static const char *const verdicts[] = {
    [WORTH_NO_GAIN] = "no gain", [WORTH_GAIN] = "gain", [WORTH_WORSE] = "worse"};

enum {
    FEW = 10 /* requests above a percentile */
};

struct text {
    char s[40];
};

static struct text time_of(double ns)
{
    struct text t = {""};
    units_format_duration(t.s, sizeof(t.s) - 1, ns); /* room for a mark */
    return t;
}

/* Requests above a percentile. */
static double above(const struct hist *h, uint32_t ppm)
{
    return (double)hist_count(h) * (1 - ppm / 1e6);
}

/* As kvstat shows it: * with fewer than ten requests above it, - with none. */
static struct text percentile(const struct hist *h, uint32_t ppm)
{
    if (above(h, ppm) < 1)
        return (struct text){"-"};
    struct text t = time_of((double)hist_percentile(h, ppm));
    if (above(h, ppm) < FEW)
        strcat(t.s, "*");
    return t;
}

static bool is_marked(const struct worth *w)
{
    for (unsigned i = 0; i < w->variants; i++)
        for (int q = 0; q <= TRACE_QOSES; q++) {
            const struct hist *h = w->variant[i].first_token_ns[q];
            if (hist_count(h) > 0 && above(h, 950000) < FEW)
                return true;
        }
    return false;
}

/* The variant without any cache is the last one. */
static double saved(const struct worth *w, const struct worth_variant *v)
{
    return w->variant[w->variants - 1].gpu_s - v->gpu_s;
}

/* The same values, as often. */
static bool is_same(const struct hist *a, const struct hist *b)
{
    size_t at_a = 0, at_b = 0;
    int64_t lowest[2], highest[2];
    uint64_t n[2];
    if (hist_count(a) != hist_count(b) || hist_mean(a) != hist_mean(b))
        return false;
    while (hist_next(a, &at_a, &lowest[0], &highest[0], &n[0]))
        if (!hist_next(b, &at_b, &lowest[1], &highest[1], &n[1]) || lowest[0] != lowest[1] ||
            n[0] != n[1])
            return false;
    return true;
}

/* The first variant that came out like this one; NULL: none before it. */
static const struct worth_variant *twin_of(const struct worth *w, const struct worth_variant *v)
{
    for (const struct worth_variant *u = w->variant; u < v; u++) {
        bool same = u->gpu_s == v->gpu_s && u->cost == v->cost;
        for (int q = 0; q < TRACE_QOSES && same; q++)
            same = is_same(u->first_token_ns[q], v->first_token_ns[q]);
        if (same)
            return u;
    }
    return NULL;
}

static void print_variant(FILE *f, const struct worth *w, const struct worth_variant *v)
{
    const struct hist *h = v->first_token_ns[TRACE_QOSES];
    const struct worth_variant *twin = twin_of(w, v);
    if (twin) {
        fprintf(f, "  %-16s as \"%s\"\n", v->name, twin->name);
        return;
    }
    fprintf(f, "  %-16s %10s %10s %10s %9.1f %9.1f", v->name,
            hist_count(h) > 0 ? time_of(hist_mean(h)).s : "-", percentile(h, 500000).s,
            percentile(h, 950000).s, v->gpu_s, saved(w, v));
    if (w->priced)
        fprintf(f, " %7.3g", v->cost);
    fputc('\n', f);
    for (int q = 0; q < TRACE_QOSES; q++) {
        const struct hist *class = v->first_token_ns[q];
        if (hist_count(class) == 0)
            continue;
        fprintf(f, "    %-14s %10s %10s %10s", trace_qos_text((enum trace_qos)q),
                time_of(hist_mean(class)).s, percentile(class, 500000).s,
                percentile(class, 950000).s);
        if (w->targets[q])
            fprintf(f, "  %.1f %% in time", 100 * v->within[q]);
        fputc('\n', f);
    }
}

/* Where one mean hides it: classes for which the tier is something else, and what it saves
 * otherwise. */
static void print_rest(FILE *f, const struct worth_tier *t)
{
    bool differs = false, first = true;
    for (int q = 0; q < TRACE_QOSES; q++)
        differs |= !isnan(t->class_change[q]) && worth_verdict_of(t->class_change[q]) != t->verdict;
    for (int q = 0; q < TRACE_QOSES && differs; q++) {
        if (isnan(t->class_change[q]))
            continue;
        fprintf(f, "%s %s %+.0f %%", first ? "  By class:" : ",", trace_qos_text((enum trace_qos)q),
                100 * t->class_change[q]);
        first = false;
    }
    if (differs)
        fputs(".\n", f);
    if (worth_verdict_of(t->gpu_change) != WORTH_NO_GAIN)
        fprintf(f, "  Prefill takes %.0f %% %s GPU seconds with it.\n", 100 * fabs(t->gpu_change),
                t->gpu_change < 0 ? "fewer" : "more");
}

static void print_tier(FILE *f, const struct worth_tier *t)
{
    const char *tier = trace_tier_text(t->tier);
    char tokens[32];
    if (fabs(t->change) < 0.0005)
        fprintf(f, "%s: no gain. It does not change the mean time to the first token.\n", tier);
    else if (t->verdict == WORTH_NO_GAIN)
        fprintf(f, "%s: no gain. It changes the mean time to the first token by %+.1f %% only.\n",
                tier, 100 * t->change);
    else
        fprintf(f, "%s: %s. It makes the mean time to the first token %.0f %% %s.\n", tier,
                verdicts[t->verdict], 100 * fabs(t->change),
                t->verdict == WORTH_GAIN ? "shorter" : "longer");
    print_rest(f, t);
    fprintf(f, "  Loading (%s, then ", time_of(t->loading.latency_s * 1e9).s);
    if (t->bytes_per_s > 0)
        fprintf(f, "%.3g GB/s)", t->bytes_per_s / 1e9);
    else
        fputs("all at once)", f);
    if (t->break_even_tokens > 0)
        fprintf(f, " beats computing from %s tokens on.\n",
                units_format_count(tokens, sizeof(tokens), t->break_even_tokens));
    else
        fputs(" never beats computing.\n", f);
    if (t->loading.drive)
        fputs("  The rate is that of the measured drive, of one object at a time.\n", f);
    if (!t->timed)
        fputs("  Here the tier itself takes no time: --tier-model gives it a speed.\n", f);
}

void worth_print(FILE *f, const struct worth *w)
{
    fprintf(f, "\nTime to first token (%s), same requests at the same times:\n",
            w->measured ? "prefill measured" : "by calculation");
    fprintf(f, "  %-16s %10s %10s %10s %9s %9s%s\n", "", "mean", "p50", "p95", "GPU s", "saved",
            w->priced ? "    cost" : "");
    for (unsigned i = 0; i < w->variants; i++)
        print_variant(f, w, &w->variant[i]);
    for (unsigned i = 0; i < w->tiers; i++)
        print_tier(f, &w->tier[i]);
    if (w->tiers > 0 && w->needed_bytes_per_s > 0)
        fprintf(f, "A tier above %.3g GB/s has only its latency against it.\n",
                w->needed_bytes_per_s / 1e9);
    if (is_marked(w))
        fputs("*, -: fewer than ten requests above this percentile, or none\n", f);
    fputs("GPU s: GPU seconds of prefill; saved: compared with no cache\n", f);
    if (w->priced)
        fputs("cost: of a million input tokens\n", f);
}

static void put_variant(struct jsonout *j, const struct worth *w, const struct worth_variant *v)
{
    jsonout_object(j, NULL);
    jsonout_text_value(j, "name", v->name);
    jsonout_array(j, "tiers");
    for (int t = 0; t < TRACE_TIERS; t++)
        if (v->capacity[t] != HIERARCHY_ABSENT)
            jsonout_text_value(j, NULL, trace_tier_text((enum trace_tier)t));
    jsonout_end(j);
    jsonout_u64(j, "requests", v->requests);
    jsonout_u64(j, "input_tokens", v->input_tokens);
    jsonout_f64(j, "simulated_s", v->span_s);
    jsonout_object(j, "first_token_ms");
    jsonout_hist(j, "all", v->first_token_ns[TRACE_QOSES], 1e6);
    for (int q = 0; q < TRACE_QOSES; q++)
        jsonout_hist(j, trace_qos_text((enum trace_qos)q), v->first_token_ns[q], 1e6);
    jsonout_end(j);
    jsonout_object(j, "within_target");
    for (int q = 0; q < TRACE_QOSES; q++)
        jsonout_f64(j, trace_qos_text((enum trace_qos)q),
                    w->targets[q] && hist_count(v->first_token_ns[q]) > 0 ? v->within[q] : NAN);
    jsonout_end(j);
    jsonout_f64(j, "prefill_gpu_s", v->gpu_s);
    jsonout_f64(j, "saved_gpu_s", saved(w, v));
    jsonout_f64(j, "prefill_gpu_kwh", w->watts > 0 ? v->gpu_s * w->watts / 3.6e6 : NAN);
    jsonout_f64(j, "cost_per_million_input_tokens", w->priced ? v->cost : NAN);
    jsonout_end(j);
}

static void put_tier(struct jsonout *j, const struct worth_tier *t)
{
    jsonout_object(j, NULL);
    jsonout_text_value(j, "tier", trace_tier_text(t->tier));
    jsonout_text_value(j, "verdict", verdicts[t->verdict]);
    jsonout_f64(j, "mean_change", t->change);
    jsonout_object(j, "mean_change_by_class");
    for (int q = 0; q < TRACE_QOSES; q++)
        jsonout_f64(j, trace_qos_text((enum trace_qos)q), t->class_change[q]);
    jsonout_end(j);
    jsonout_f64(j, "gpu_s_change", t->gpu_change);
    jsonout_bool(j, "timed", t->timed);
    jsonout_bool(j, "measured", t->loading.drive != NULL);
    jsonout_f64(j, "latency_s", t->loading.latency_s);
    jsonout_f64(j, "bytes_per_s", t->bytes_per_s > 0 ? t->bytes_per_s : NAN);
    jsonout_u64_if(j, "break_even_tokens", t->break_even_tokens > 0, t->break_even_tokens);
    jsonout_end(j);
}

static void put_point(struct jsonout *j, const struct worth_point *p)
{
    jsonout_object(j, NULL);
    jsonout_u64(j, "tokens", p->tokens);
    jsonout_f64(j, "computed_ms", p->computed_s * 1e3);
    jsonout_object(j, "loaded_ms");
    for (int t = 0; t < TRACE_TIERS; t++)
        jsonout_f64(j, trace_tier_text((enum trace_tier)t), p->loaded_s[t] * 1e3);
    jsonout_end(j);
    jsonout_end(j);
}

void worth_put(struct jsonout *j, const struct worth *w)
{
    jsonout_object(j, "worth");
    jsonout_text_value(j, "times", w->measured ? "measured" : "by calculation");
    jsonout_array(j, "variants");
    for (unsigned i = 0; i < w->variants; i++)
        put_variant(j, w, &w->variant[i]);
    jsonout_end(j);
    jsonout_f64(j, "bandwidth_needed_bytes_per_s",
                w->needed_bytes_per_s > 0 ? w->needed_bytes_per_s : NAN);
    jsonout_array(j, "tiers");
    for (unsigned i = 0; i < w->tiers; i++)
        put_tier(j, &w->tier[i]);
    jsonout_end(j);
    jsonout_array(j, "curve");
    for (unsigned i = 0; i < WORTH_CURVE; i++)
        put_point(j, &w->curve[i]);
    jsonout_end(j);
    jsonout_end(j);
}
