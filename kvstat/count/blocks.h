/* blocks.h - a series of values in the order of time, kept as consecutive blocks of equal counts
 * whose length doubles as the series grows. From the spread between blocks follows how much the
 * mean, or a share of the values, would differ in another run of the same length, however the
 * values depend on each other (batch means; Law and Kelton, Simulation Modeling and Analysis,
 * section 9.5.3). Memory is bounded. */
#ifndef KVSTAT_COUNT_BLOCKS_H
#define KVSTAT_COUNT_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

/* There are at most this many blocks, and over half of them once there are so many values. */
#define BLOCKS_MAX 64
/* Fewer say nothing on the spread. */
#define BLOCKS_LEAST 20

struct blocks;
/* NULL: no memory. */
struct blocks *blocks_create(void);
void blocks_free(struct blocks *b);
/* Adds the next value; negative ones count as 0. 0 or -ENOMEM. */
int blocks_add(struct blocks *b, int64_t value);
/* Adds the series of another file behind into. 0 or -ENOMEM. */
int blocks_append(struct blocks *into, const struct blocks *from);
/* The same where there may be none yet: *into is made for the first one. */
int blocks_merge(struct blocks **into, const struct blocks *from);
uint64_t blocks_count(const struct blocks *b); /* of values; NULL: 0 */
/* As coarse_hist_percentile, of all values. Allocates; -1 also without memory. */
int64_t blocks_percentile(const struct blocks *b, uint32_t ppm);

/* A mean over all values. */
struct blocks_mean {
    double mean;
    double variance; /* of the mean, from the blocks' spread and their correlation */
    double freedom;  /* degrees of freedom of that variance */
    bool settled;    /* the blocks are long enough not to depend on each other; with fewer values
                        than needed the variance is an extrapolation */
};
/* The mean of the values, and the share of them in the bucket of bound or above it
 * (coarse_hist_from). False: fewer than BLOCKS_LEAST blocks. */
bool blocks_mean(const struct blocks *b, struct blocks_mean *out);
/* How much more the last values are than the first, from the straight line through the blocks. */
bool blocks_rise(const struct blocks *b, struct blocks_mean *out);
bool blocks_share(const struct blocks *b, int64_t bound, struct blocks_mean *out);

#endif
