/* --reference: compares the few figures that characterise a workload with those of another run. It
 * asks how large a difference is; whether it is more than noise is the question of --compare. */
#include "kvstat/report/reference.h"

#include <math.h>
#include <string.h>

#include "kvstat/report/cells.h"
#include "lib/facts/judge.h"

/* Rates that only results of `vllm bench throughput` and the like have; ours are computed. */
#define REQUESTS_PER_S   "requests_per_second"
#define ALL_TOKENS_PER_S "tokens_per_second"

/* The figures that are compared, by their names. If our run has no such figure, own is compared in
 * its place. */
static const struct {
    const char *figure, *label;
    bool if_there; /* left out where the reference does not have it */
    const char *own;
} compared[REFERENCE_FIGURES] = {
    {"cache.lookups.all.hit_rate", "hit rate of all lookups", false, NULL},
    {"cache.read_write_ratio", "bytes read / written", false, NULL},
    {"requests.context_tokens_mean", "context tokens a request", false, NULL},
    {"requests.generated_tokens_mean", "generated tokens a request", false, NULL},
    {"throughput.wall.generated_tokens_per_s", "generated tokens a second", false, NULL},
    {REQUESTS_PER_S, "requests a second", true, NULL},
    {ALL_TOKENS_PER_S, "all tokens a second", true, NULL},
    {"recorded.hit_rate", "recorded hit rate of tokens", true, "cache.lookups.all.hit_rate"},
    {"recorded.end_to_end_ms.p50", "recorded end to end p50, ms", true,
     "requests.end_to_end_ms.p50"},
    {"recorded.end_to_end_ms.p95", "recorded end to end p95, ms", true,
     "requests.end_to_end_ms.p95"},
    {"recorded.first_token_ms.p50", "recorded 1st token p50, ms", true,
     "requests.first_token_ms.p50"},
    {"recorded.first_token_ms.p95", "recorded 1st token p95, ms", true,
     "requests.first_token_ms.p95"},
};

static double mean_of(const struct run_table *t, const char *figure)
{
    char scratch[FIGURE_NAME];
    size_t column = run_table_find(t, figure_parse(figure, scratch));
    return column < run_table_columns(t) ? run_table_sample(t, column).mean : NAN;
}

/* The figure of runs of our own, by requests, their tokens and the elapsed time. */
static double actual_of(const struct run_table *t, int i)
{
    double per_s = mean_of(t, "requests.count") / mean_of(t, "elapsed_s");
    double told = mean_of(t, compared[i].figure);
    if (!isnan(told))
        return told;
    if (compared[i].own)
        return mean_of(t, compared[i].own);
    if (strcmp(compared[i].figure, REQUESTS_PER_S) == 0)
        return per_s;
    if (strcmp(compared[i].figure, ALL_TOKENS_PER_S) == 0)
        return per_s * (mean_of(t, "requests.context_tokens_mean") +
                        mean_of(t, "requests.generated_tokens_mean"));
    return NAN;
}

static bool is_left_out(const struct reference *r, int i)
{
    return compared[i].if_there && isnan(r->figure[i].reference);
}

static enum reference_verdict verdict_of(const struct reference_figure *f)
{
    /* A difference of 5 % is within the limit, whatever the last bit of the division says. */
    const double limit = JUDGE_AGREES * (1 + 1e-12);
    if (isnan(f->reference) || isnan(f->actual))
        return REFERENCE_UNKNOWN;
    if (f->reference == 0)
        return f->actual == 0 ? REFERENCE_WITHIN : REFERENCE_OUTSIDE;
    return fabs(f->difference) <= limit ? REFERENCE_WITHIN : REFERENCE_OUTSIDE;
}

void reference_compare(struct reference *out, const struct run_table *reference,
                       const struct run_table *actual)
{
    out->verdict = REFERENCE_UNKNOWN;
    for (int i = 0; i < REFERENCE_FIGURES; i++) {
        struct reference_figure *f = &out->figure[i];
        f->reference = mean_of(reference, compared[i].figure);
        f->actual = actual_of(actual, i);
        f->difference = f->reference != 0 ? (f->actual - f->reference) / fabs(f->reference) : NAN;
        f->verdict = verdict_of(f);
        if (f->verdict == REFERENCE_OUTSIDE ||
            (f->verdict == REFERENCE_WITHIN && out->verdict == REFERENCE_UNKNOWN))
            out->verdict = f->verdict;
    }
}

void reference_text(FILE *out, const char *file, const struct reference *r)
{
    static const char *const words[] = {
        [REFERENCE_OUTSIDE] = "NO", [REFERENCE_WITHIN] = "yes", [REFERENCE_UNKNOWN] = "not known"};
    fprintf(out, "\nReference - %s\n  %-28s %14s %14s %12s  %s\n", file, "figure", "reference",
            "this", "difference", "within 5 %");
    for (int i = 0; i < REFERENCE_FIGURES; i++) {
        const struct reference_figure *f = &r->figure[i];
        char scratch[FIGURE_NAME];
        struct figure_id id = figure_parse(compared[i].figure, scratch);
        bool share = figure_unit(id.what) == FIGURE_UNIT_SHARE;
        const char *(*cell)(char *, double) = share ? cell_share : cell_number;
        char a[CELL], b[CELL], difference[CELL] = "-";
        if (is_left_out(r, i))
            continue;
        if (!isnan(f->difference))
            snprintf(difference, sizeof(difference), "%+.1f %%",
                     fabs(f->difference) < 0.0005 ? 0 : 100 * f->difference);
        fprintf(out, "  %-28s %14s %14s %12s  %s\n", compared[i].label, cell(a, f->reference),
                cell(b, f->actual), difference, words[f->verdict]);
    }
}

static void put_within(struct jsonout *j, enum reference_verdict v)
{
    jsonout_bool_if(j, "within", v != REFERENCE_UNKNOWN, v == REFERENCE_WITHIN);
}

void reference_json(struct jsonout *j, const char *file, const struct reference *r)
{
    jsonout_object(j, "reference");
    jsonout_text_value(j, "file", file);
    jsonout_f64(j, "tolerance", JUDGE_AGREES);
    jsonout_array(j, "figures");
    for (int i = 0; i < REFERENCE_FIGURES; i++) {
        const struct reference_figure *f = &r->figure[i];
        if (is_left_out(r, i))
            continue;
        jsonout_object(j, NULL);
        jsonout_text_value(j, "name", compared[i].figure);
        jsonout_f64(j, "reference", f->reference);
        jsonout_f64(j, "actual", f->actual);
        jsonout_f64(j, "difference", f->difference);
        put_within(j, f->verdict);
        jsonout_end(j);
    }
    jsonout_end(j);
    put_within(j, r->verdict);
    jsonout_end(j);
}
