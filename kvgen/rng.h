/* rng.h - the random generator of kvgen, specified so that it gives the same numbers on every host.
 * Generator: xoshiro256** 1.0 (Blackman and Vigna, "Scrambled linear pseudorandom number
 * generators", 2018). splitmix64 seeds its four words from hash(seed, stream), so each (seed,
 * stream) is a stream of its own. No function calls libm. Floating point uses only + - * / and is
 * compiled with -ffp-contract=off, so results are the same to the last bit. */
#ifndef KVGEN_RNG_H
#define KVGEN_RNG_H

#include <stdbool.h>
#include <stdint.h>

/* The state of a stream: a value that may be copied. One thread at a time. */
struct rng {
    uint64_t s[4];
};

/* Starts a stream of a seed. Any values are allowed. */
void rng_seed(struct rng *r, uint64_t seed, uint64_t stream);
/* 64 uniform bits. */
uint64_t rng_u64(struct rng *r);
/* Uniform in [0, n), unbiased (Lemire's multiply with rejection); n >= 1. */
uint64_t rng_below(struct rng *r, uint64_t n);
/* Uniform integer in [lo, hi], both included; lo <= hi. */
int64_t rng_range(struct rng *r, int64_t lo, int64_t hi);
/* Uniform in [0, 1): the top 53 bits of rng_u64 times 2^-53. */
double rng_unit(struct rng *r);
/* lo + (hi - lo) x rng_unit. */
double rng_uniform(struct rng *r, double lo, double hi);
/* True with probability p: rng_unit < p. */
bool rng_chance(struct rng *r, double p);
/* Normal with mean 0 and deviation 1, by Marsaglia's polar method (its second value is not kept).
 */
double rng_normal(struct rng *r);
/* Exponential with the given mean: -mean x ln(1 - u); ln by rng_ln below. */
double rng_exponential(struct rng *r, double mean);
/* Gamma with the given mean and coefficient of variation cv, from 0.01 to 100: shape 1/cv^2. By
 * Marsaglia and Tsang, "A simple method for generating gamma variables", 2000; a shape below 1 by
 * their note at the end of section 6. */
double rng_gamma(struct rng *r, double mean, double cv);
/* e^x; 0 below -700; x at most 700. Relative error under 1e-13; the same bits everywhere. */
double rng_exp(double x);
/* Natural logarithm of x > 0, from the exponent of x and an atanh series on its mantissa. Relative
 * error under 1e-14; the same bits everywhere. */
double rng_ln(double x);

#endif
