/* bench_kvgen_hierarchy.c - what a block lookup costs with a million live blocks: lookups of blocks
 * drawn by Zipf-like skew over three tiers, as a block trace makes them (a miss is written, which
 * demotes and deletes), with the simulator's look-ahead. Prints lookups a second; judges nothing.
 */
#include <stdio.h>
#include <stdlib.h>

#include "kvgen/rng.h"
#include "kvgen/sim/hierarchy.h"
#include "lib/base/clock.h"

#define LIVE    1000000
#define LOOKUPS 10000000
#define IDS     (LIVE + LIVE / 4) /* so that some lookups miss */
#define AHEAD   16
#define BLOCK   ((uint64_t)1 << 20)

struct counts {
    uint64_t rows, misses;
};

static void count(void *ctx, const struct hierarchy_op *op)
{
    struct counts *c = ctx;
    c->rows++;
    c->misses += op->op == TRACE_MISS;
}

static int look_up(struct hierarchy *h, uint64_t id)
{
    struct ident block = ident_block(id);
    if (hierarchy_read(h, block, TRACE_BLOCK))
        return 0;
    return hierarchy_write(h, block, BLOCK, 512, TRACE_BLOCK) < 0 ? -1 : 0;
}

static int look_up_all(struct hierarchy *h, const uint32_t *id, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (i + AHEAD < n) {
            hierarchy_prefetch(h, ident_block(id[i + AHEAD]), 1);
            hierarchy_prefetch(h, ident_block(id[i + AHEAD / 2]), 2);
        }
        if (look_up(h, id[i]) < 0)
            return -1;
    }
    return 0;
}

static uint64_t live(const struct hierarchy *h)
{
    uint64_t n = 0;
    for (int t = 0; t < TRACE_TIERS; t++) {
        struct hierarchy_tier_stats s;
        hierarchy_stats(h, (enum trace_tier)t, &s);
        n += s.objects;
    }
    return n;
}

/* The product of two even draws: low numbers come more often. */
static void draw(uint32_t *id, size_t n)
{
    struct rng r;
    rng_seed(&r, 1, 0);
    for (size_t i = 0; i < n; i++)
        id[i] = (uint32_t)(rng_unit(&r) * rng_unit(&r) * IDS);
}

static int run(const char *name, const struct hierarchy_opts *o, const uint32_t *id)
{
    struct counts c = {0};
    struct hierarchy *h = hierarchy_create(o, count, &c);
    if (h == NULL)
        return 1;
    int rc = 0;
    for (uint32_t i = IDS; rc == 0 && i-- > 0;)
        rc = look_up(h, i);
    c = (struct counts){0};
    int64_t start = clock_now_ns();
    rc = rc < 0 ? rc : look_up_all(h, id, LOOKUPS);
    double s = (double)(clock_now_ns() - start) / 1e9;
    printf("%-12s %9llu live  %6.2f million lookups/s  %6.2f million rows/s  hit rate %.3f\n", name,
           (unsigned long long)live(h), LOOKUPS / s / 1e6, (double)c.rows / s / 1e6,
           1 - (double)c.misses / LOOKUPS);
    hierarchy_free(h);
    return rc < 0;
}

int main(void)
{
    struct hierarchy_opts o = {
        .large_entry_limit_ratio = 0.95, .target_usage_ratio = 0.8, .policy = &policy_lru};
    uint32_t *id = malloc(LOOKUPS * sizeof *id);
    if (id == NULL)
        return 1;
    draw(id, LOOKUPS);
    o.capacity[TRACE_STORAGE] = LIVE * BLOCK;
    int rc = run("one tier", &o, id);
    o.capacity[TRACE_GPU] = LIVE / 8 * BLOCK; /* 80 % of an eighth and a quarter are used */
    o.capacity[TRACE_CPU] = LIVE / 4 * BLOCK;
    o.capacity[TRACE_STORAGE] = LIVE * 7 / 10 * BLOCK;
    rc |= run("three tiers", &o, id);
    free(id);
    return rc;
}
