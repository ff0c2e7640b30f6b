/* Has a device reached steady state? The rule of SNIA's Solid State Storage Performance Test
 * Specification (PTS 2.0.2, definition of Steady State), on plain numbers. */
#ifndef KVPRECOND_STEADY_H
#define KVPRECOND_STEADY_H

#include <stdbool.h>
#include <stddef.h>

enum {
    STEADY_WINDOW = 5, /* rounds that must agree */
    STEADY_ROUNDS = 25 /* rounds after which a test gives up */
};
#define STEADY_RANGE_MAX 0.20 /* of the average */
#define STEADY_SLOPE_MAX 0.10

/* The verdict on the last STEADY_WINDOW values. With fewer values all of it is 0. */
struct steady {
    bool steady;
    double average;
    double range_share; /* (largest - smallest value) / average */
    double slope_share; /* |rise of the least-squares line over the window| / average */
};

/*
 * Judges values[0..n), one per round, by the last STEADY_WINDOW of them:
 *   steady when  max(y) - min(y)              <= 0.20 average(y)
 *          and   |slope| x (STEADY_WINDOW - 1) <= 0.10 average(y)
 * where slope = sum((x - mean x)(y - mean y)) / sum((x - mean x)^2) for x = 0, 1, ... If
 * the average is not above 0, nothing was done, and that is never steady.
 */
struct steady steady_judge(const double *values, size_t n);

#endif
