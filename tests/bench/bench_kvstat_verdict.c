/* How often a verdict is wrong: synthetic runs whose 95th percentile is known, judged by the bounds
 * that --profile uses. Each case is a length, a share of values that are truly beyond the limit (5
 * % lies on it) and the correlation of successive values (AR(1); 0: independent). Prints the share
 * of PASS, FAIL and INCONCLUSIVE. PASS is false where 5 % or more are beyond the limit, FAIL where
 * less are. Judges nothing. bench_kvstat_verdict [runs a case]. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "kvgen/rng.h"
#include "kvstat/report/bounds.h"

#define P95 950000u

/* Two normal variables, by Box and Muller 1958. */
static void normals(struct rng *r, double out[2])
{
    double u = ((double)rng_below(r, UINT64_C(1) << 50) + 1) / 0x1p50;
    double v = 2 * 3.14159265358979323846 * (double)rng_below(r, UINT64_C(1) << 50) / 0x1p50;
    double radius = sqrt(-2 * log(u));
    out[0] = radius * cos(v);
    out[1] = radius * sin(v);
}

/* The value that a normal variable exceeds with that probability. */
static double normal_above(double share)
{
    double low = -10, high = 10;
    for (int i = 0; i < 100; i++) {
        double middle = (low + high) / 2;
        *(erfc(middle / sqrt(2)) / 2 > share ? &low : &high) = middle;
    }
    return low;
}

/* Latencies around 10 ms, log-normal. 0, or -1 without memory. */
static int draw(struct rng *r, int n, double phi, struct hist *h, struct blocks *b)
{
    double z[2], state, fresh = sqrt(1 - phi * phi);
    normals(r, z);
    state = z[1];
    for (int i = 0; i < n; i++) {
        if (i % 2 == 0)
            normals(r, z);
        state = phi * state + fresh * z[i % 2];
        int64_t ns = (int64_t)(1e7 * exp(0.5 * state));
        if (hist_record(h, ns) < 0 || blocks_add(b, ns) < 0)
            return -1;
    }
    return 0;
}

static int judge(struct rng *r, int runs, int n, double phi, double beyond)
{
    int64_t limit = (int64_t)(1e7 * exp(0.5 * normal_above(beyond)));
    int answers[3] = {0};
    double independent = 0;
    for (int i = 0; i < runs; i++) {
        struct hist *h = hist_create();
        struct blocks *b = blocks_create();
        if (!h || !b || draw(r, n, phi, h, b) < 0)
            return 1;
        struct bounds found = bounds_of(h, b, P95, limit);
        answers[found.answer]++;
        independent += found.independent;
        hist_free(h);
        blocks_free(b);
    }
    printf("%8d %9.2f %9.2f %% %12.0f %8.1f %% %8.1f %% %8.1f %%\n", n, phi, 100 * beyond,
           independent / runs, 100.0 * answers[BOUNDS_WITHIN] / runs,
           100.0 * answers[BOUNDS_BEYOND] / runs, 100.0 * answers[BOUNDS_UNDECIDED] / runs);
    fflush(stdout);
    return 0;
}

int main(int argc, char **argv)
{
    static const int lengths[] = {60, 200, 1000, 4000, 20000, 100000};
    static const double correlations[] = {0, 0.9, 0.98, 0.99},
                        beyond[] = {0.005, 0.02, 0.035, 0.0499, 0.0501, 0.07, 0.1};
    int runs = argc > 1 ? atoi(argv[1]) : 2000;
    struct rng r;
    rng_seed(&r, 1, 0);
    printf("    rows    AR(1)     beyond  independent       PASS       FAIL INCONCLUSIVE\n");
    for (size_t c = 0; c < sizeof(correlations) / sizeof(*correlations); c++)
        for (size_t s = 0; s < sizeof(beyond) / sizeof(*beyond); s++)
            for (size_t l = 0; l < sizeof(lengths) / sizeof(*lengths); l++)
                if (judge(&r, runs, lengths[l], correlations[c], beyond[s]) != 0)
                    return 1;
    return 0;
}
