/* bench_hist.c - what it costs to record a value and to take percentiles: 20 million latencies of
 * an exponential mix. Prints ns per value and us per percentile; judges nothing. */
#include <stdio.h>
#include <stdlib.h>

#include "kvgen/rng.h"
#include "lib/base/clock.h"
#include "lib/base/hist.h"

#define VALUES   20000000
#define DISTINCT 65536

int main(void)
{
    struct rng r;
    struct hist *h = hist_create();
    int64_t *v = malloc(DISTINCT * sizeof *v);
    int64_t sum = 0;
    if (!h || !v)
        return 1;
    rng_seed(&r, 1, 0);
    for (size_t i = 0; i < DISTINCT; i++)
        v[i] = (int64_t)rng_exponential(&r, 1e6);
    int64_t start = clock_now_ns();
    for (size_t i = 0; i < VALUES; i++)
        if (hist_record(h, v[i % DISTINCT]))
            return 1;
    int64_t recorded = clock_now_ns();
    for (uint32_t ppm = 0; ppm < 1000; ppm++)
        sum += hist_percentile(h, ppm * 1000);
    int64_t asked = clock_now_ns();
    printf("hist_record      %6.2f ns\n", (double)(recorded - start) / VALUES);
    printf("hist_percentile  %6.2f us (sum %lld)\n", (double)(asked - recorded) / 1e6,
           (long long)sum);
    free(v);
    hist_free(h);
    return 0;
}
