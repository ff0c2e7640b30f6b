/* Every random draw of kvgen comes from here. The numbers are part of the promise that the same
 * seed gives the same rows on every host. So nothing here may call libm or depend on how a compiler
 * rounds, and a change of any number is a change of the format. */
#include "kvgen/rng.h"

#include <assert.h>
#include <float.h>
#include <string.h>

#include "lib/base/hash.h"

_Static_assert(FLT_EVAL_METHOD == 0, "doubles must be rounded to doubles at every step");

#define GOLDEN_GAMMA UINT64_C(0x9e3779b97f4a7c15) /* splitmix64's increment */

static void put_le64(unsigned char *p, uint64_t v)
{
    for (int i = 0; i < 8; i++)
        p[i] = (unsigned char)(v >> (8 * i));
}

void rng_seed(struct rng *r, uint64_t seed, uint64_t stream)
{
    unsigned char name[16];
    put_le64(name, seed);
    put_le64(name + 8, stream);
    uint64_t x = hash_64(name, sizeof(name));
    for (int i = 0; i < 4; i++) {
        x += GOLDEN_GAMMA;
        r->s[i] = hash_mix(x);
    }
}

static uint64_t rotate_left(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

uint64_t rng_u64(struct rng *r)
{
    uint64_t *s = r->s;
    uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

uint64_t rng_below(struct rng *r, uint64_t n)
{
    assert(n >= 1);
    unsigned __int128 m = (unsigned __int128)rng_u64(r) * n;
    if ((uint64_t)m < n) {
        /* 2^64 mod n. Low halves below it would favour some results. */
        uint64_t floor = (0 - n) % n;
        while ((uint64_t)m < floor)
            m = (unsigned __int128)rng_u64(r) * n;
    }
    return (uint64_t)(m >> 64);
}

int64_t rng_range(struct rng *r, int64_t lo, int64_t hi)
{
    assert(lo <= hi);
    uint64_t span = (uint64_t)hi - (uint64_t)lo;
    uint64_t draw = span == UINT64_MAX ? rng_u64(r) : rng_below(r, span + 1);
    return (int64_t)((uint64_t)lo + draw);
}

double rng_unit(struct rng *r)
{
    return (double)(rng_u64(r) >> 11) * 0x1p-53;
}

double rng_uniform(struct rng *r, double lo, double hi)
{
    return lo + (hi - lo) * rng_unit(r);
}

bool rng_chance(struct rng *r, double p)
{
    return rng_unit(r) < p;
}

double rng_exponential(struct rng *r, double mean)
{
    /* 0 - ln, not -ln: a draw of exactly 0 must not become -0. */
    return mean * (0.0 - rng_ln(1.0 - rng_unit(r)));
}

/*
 * x = m x 2^e with m in [sqrt(1/2), sqrt(2)), ln x = e ln 2 + 2 atanh(z), z = (m - 1) / (m + 1),
 * |z| < 0.1716, and 2 atanh(z) = 2 z (1 + z^2/3 + z^4/5 + ...) (Abramowitz and Stegun, 4.1.27).
 * The first term left out, z^26/27, is under 1e-21.
 */
double rng_ln(double x)
{
    assert(x > 0 && x <= DBL_MAX);
    int e = 0;
    if (x < DBL_MIN) {
        x *= 0x1p54;
        e = -54;
    }
    uint64_t bits;
    memcpy(&bits, &x, sizeof(bits));
    e += (int)(bits >> 52) - 1023;
    bits = (bits & UINT64_C(0x000fffffffffffff)) | UINT64_C(0x3ff0000000000000);
    double m;
    memcpy(&m, &bits, sizeof(m));
    if (m >= 0x1.6a09e667f3bcdp+0) { /* sqrt(2) */
        m *= 0.5;
        e++;
    }
    double z = (m - 1.0) / (m + 1.0);
    double z2 = z * z;
    double sum = 0;
    for (int k = 25; k >= 1; k -= 2)
        sum = sum * z2 + 1.0 / (double)k;
    return (double)e * 0x1.62e42fefa39efp-1 + 2.0 * z * sum;
}

/*
 * x = n ln 2 + r with |r| <= ln(2)/2, e^x = 2^n e^r (Abramowitz and Stegun, 4.2.1). The first term
 * left out, r^18/18!, is under 1e-24. ln 2 is subtracted in two parts, of which the first has
 * trailing zeros, so that n times it is exact.
 */
double rng_exp(double x)
{
    assert(x <= 700);
    if (!(x >= -700))
        return 0;
    double n = (double)(int)(x * 0x1.71547652b82fep+0 + (x < 0 ? -0.5 : 0.5));
    double r = (x - n * 0x1.62e42fefa0000p-1) - n * 0x1.cf79abc9e3b3ap-40;
    double sum = 1.0;
    for (int k = 17; k >= 1; k--)
        sum = 1.0 + sum * r / (double)k;
    uint64_t bits = (uint64_t)((int)n + 1023) << 52;
    double power;
    memcpy(&power, &bits, sizeof(power));
    return sum * power;
}

/* The square root of x > 0. */
static double root(double x)
{
    return rng_exp(0.5 * rng_ln(x));
}

double rng_normal(struct rng *r)
{
    double u, s;
    do {
        u = rng_uniform(r, -1, 1);
        double v = rng_uniform(r, -1, 1);
        s = u * u + v * v;
    } while (s >= 1 || s <= 0);
    return u * root((0.0 - 2.0) * rng_ln(s) / s);
}

/* Gamma of a shape of at least 1 and scale 1. */
static double gamma_of(struct rng *r, double shape)
{
    double d = shape - 1.0 / 3.0, c = 1.0 / root(9.0 * d);
    for (;;) {
        double x = rng_normal(r), v = 1.0 + c * x;
        if (v <= 0)
            continue;
        v = v * v * v;
        double u = 1.0 - rng_unit(r); /* never 0 */
        if (rng_ln(u) < 0.5 * x * x + d - d * v + d * rng_ln(v))
            return d * v;
    }
}

double rng_gamma(struct rng *r, double mean, double cv)
{
    double shape = 1.0 / (cv * cv);
    double scaled = shape >= 1 ? gamma_of(r, shape) : gamma_of(r, shape + 1);
    if (shape < 1) {
        double u = 1.0 - rng_unit(r);
        scaled *= rng_exp(rng_ln(u) / shape);
    }
    return mean * scaled / shape;
}
