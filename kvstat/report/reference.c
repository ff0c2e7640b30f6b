/* --reference: compares the few figures that characterise a workload with those of another run. It
 * asks how large a difference is; whether it is more than noise is the question of --compare. */
#include "kvstat/report/reference.h"

#include <math.h>
#include <string.h>

#include "kvstat/report/cells.h"
#include "lib/facts/judge.h"

#define RECORDED(name)                                                                             \
    {                                                                                              \
        .scope = FIGURE_OF_OTHER, .what = FIGURE_OTHER, .member = (name)                           \
    }
#define OF_REQUESTS(is, s)                                                                         \
    {                                                                                              \
        .scope = FIGURE_OF_REQUESTS, .what = (is), .statistic = (s)                                \
    }

static const struct {
    struct figure_id id;
    const char *label;
    bool if_there; /* left out where the reference does not have it */
} compared[REFERENCE_FIGURES] = {
    {{.scope = FIGURE_OF_LOOKUPS, .what = FIGURE_HIT_RATE}, "hit rate of all lookups", false},
    {{.scope = FIGURE_OF_CACHE, .what = FIGURE_READ_WRITE_RATIO}, "bytes read / written", false},
    {{.scope = FIGURE_OF_REQUESTS, .what = FIGURE_CONTEXT_TOKENS_MEAN},
     "context tokens a request",
     false},
    {{.scope = FIGURE_OF_REQUESTS, .what = FIGURE_GENERATED_TOKENS_MEAN},
     "generated tokens a request",
     false},
    {{.scope = FIGURE_OF_WALL, .what = FIGURE_GENERATED_TOKENS_PER_S},
     "generated tokens a second",
     false},
    {REFERENCE_REQUESTS_PER_S, "requests a second", true},
    {REFERENCE_ALL_TOKENS_PER_S, "all tokens a second", true},
    {RECORDED("recorded.hit_rate"), "recorded hit rate of tokens", true},
    {RECORDED("recorded.end_to_end_ms.p50"), "recorded end to end p50, ms", true},
    {RECORDED("recorded.end_to_end_ms.p95"), "recorded end to end p95, ms", true},
    {RECORDED("recorded.first_token_ms.p50"), "recorded 1st token p50, ms", true},
    {RECORDED("recorded.first_token_ms.p95"), "recorded 1st token p95, ms", true},
};

/* The figures of this run that stand against recorded ones. */
static const struct {
    const char *member;
    struct figure_id id;
} against[] = {
    {"recorded.hit_rate", {.scope = FIGURE_OF_LOOKUPS, .what = FIGURE_HIT_RATE}},
    {"recorded.end_to_end_ms.p50", OF_REQUESTS(FIGURE_END_TO_END, FIGURE_P50)},
    {"recorded.end_to_end_ms.p95", OF_REQUESTS(FIGURE_END_TO_END, FIGURE_P95)},
    {"recorded.first_token_ms.p50", OF_REQUESTS(FIGURE_FIRST_TOKEN, FIGURE_P50)},
    {"recorded.first_token_ms.p95", OF_REQUESTS(FIGURE_FIRST_TOKEN, FIGURE_P95)},
};

static double mean_of(const struct run_table *t, struct figure_id id)
{
    size_t column = run_table_find(t, id);
    return column < run_table_columns(t) ? run_table_sample(t, column).mean : NAN;
}

/* The figure of runs of our own, by requests, their tokens and the elapsed time. */
static double actual_of(const struct run_table *t, struct figure_id id)
{
    const struct figure_id requests = REFERENCE_REQUESTS_PER_S, tokens = REFERENCE_ALL_TOKENS_PER_S;
    double per_s = mean_of(t, figure_id(FIGURE_OF_REQUESTS, FIGURE_REQUESTS)) /
                   mean_of(t, figure_id(FIGURE_OF_RUN, FIGURE_ELAPSED));
    double told = mean_of(t, id);
    if (!isnan(told))
        return told;
    for (size_t i = 0; i < sizeof(against) / sizeof(*against); i++)
        if (id.what == FIGURE_OTHER && strcmp(id.member, against[i].member) == 0)
            return mean_of(t, against[i].id);
    if (figure_id_compare(&id, &requests) == 0)
        return per_s;
    if (figure_id_compare(&id, &tokens) == 0)
        return per_s * (mean_of(t, figure_id(FIGURE_OF_REQUESTS, FIGURE_CONTEXT_TOKENS_MEAN)) +
                        mean_of(t, figure_id(FIGURE_OF_REQUESTS, FIGURE_GENERATED_TOKENS_MEAN)));
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
        f->reference = mean_of(reference, compared[i].id);
        f->actual = actual_of(actual, compared[i].id);
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
        bool share = figure_unit(compared[i].id.what) == FIGURE_UNIT_SHARE;
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
        char name[FIGURE_NAME];
        if (is_left_out(r, i))
            continue;
        jsonout_object(j, NULL);
        jsonout_text_value(j, "name", figure_name(name, &compared[i].id));
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
