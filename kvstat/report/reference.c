/* --reference: the few figures that make a workload what it is, held against those of another run.
 * It asks how large a difference is; whether it is more than noise is what --compare asks. */
#include "kvstat/report/reference.h"

#include <math.h>

static const char *const names[REFERENCE_FIGURES] = {
    "cache.lookups.all.hit_rate",
    "cache.read_write_ratio",
    "requests.context_tokens_mean",
    "requests.generated_tokens_mean",
    "throughput.wall.generated_tokens_per_s",
};

static double mean_of(const struct runs *r, const char *name)
{
    size_t figure = runs_find(r, name);
    return figure < runs_figures(r) ? runs_sample(r, figure).mean : NAN;
}

static enum reference_verdict verdict_of(const struct reference_figure *f)
{
    /* A limit of 5 % is met by 5 %, whatever the last bit of the division says. */
    const double limit = REFERENCE_TOLERANCE * (1 + 1e-12);
    if (isnan(f->reference) || isnan(f->actual))
        return REFERENCE_UNKNOWN;
    if (f->reference == 0)
        return f->actual == 0 ? REFERENCE_WITHIN : REFERENCE_OUTSIDE;
    return fabs(f->difference) <= limit ? REFERENCE_WITHIN : REFERENCE_OUTSIDE;
}

void reference_compare(struct reference *out, const struct runs *reference,
                       const struct runs *actual)
{
    out->verdict = REFERENCE_UNKNOWN;
    for (int i = 0; i < REFERENCE_FIGURES; i++) {
        struct reference_figure *f = &out->figure[i];
        f->name = names[i];
        f->reference = mean_of(reference, names[i]);
        f->actual = mean_of(actual, names[i]);
        f->difference = f->reference != 0 ? (f->actual - f->reference) / fabs(f->reference) : NAN;
        f->verdict = verdict_of(f);
        if (f->verdict == REFERENCE_OUTSIDE ||
            (f->verdict == REFERENCE_WITHIN && out->verdict == REFERENCE_UNKNOWN))
            out->verdict = f->verdict;
    }
}
