/* curve_result.c - the end of a hit-rate curve: counts into points, the adjustment of a sample, the
 * knee, and the CSV. */
#include <stdio.h>
#include <stdlib.h>

#include "kvgen/curve/curve_state.h"
#include "lib/base/save.h"

/* Counts of followed objects as counts of all. The lookups that a sample has too many or too few
 * are taken for hits: objects looked up that often are few and in any cache ("SHARDS-adj"). */
struct scale {
    double sample, missing, mean_bytes;
    uint64_t lookups, lookup_bytes;
};

static struct scale make_scale(const struct curve *c)
{
    struct scale s = {
        .sample = c->o.sample, .lookups = c->lookups, .lookup_bytes = c->followed_bytes};
    if (s.sample == 1)
        return s;
    s.missing = (double)c->lookups * s.sample - (double)c->followed;
    s.mean_bytes = c->followed > 0 ? (double)c->followed_bytes / (double)c->followed : 0;
    s.lookup_bytes = (uint64_t)(s.mean_bytes * (double)c->lookups);
    return s;
}

static uint64_t scaled(const struct scale *s, uint64_t count, double missing, uint64_t most)
{
    if (s->sample == 1)
        return count;
    double n = ((double)count + missing) / s->sample;
    return n <= 0 ? 0 : n >= (double)most ? most : (uint64_t)(n + 0.5);
}

static void set_point(const struct curve *c, const struct scale *s, struct curve_point *p,
                      uint64_t hits, uint64_t bytes)
{
    p->hits = scaled(s, hits, s->missing, s->lookups);
    p->hit_bytes = scaled(s, bytes, s->missing * s->mean_bytes, s->lookup_bytes);
    if (c->optimal == NULL)
        return;
    uint64_t limit = s->sample == 1 ? p->capacity : (uint64_t)((double)p->capacity * s->sample);
    optimal_hits(c->optimal, limit, &hits, &bytes);
    p->optimal_hits = scaled(s, hits, s->missing, s->lookups);
    p->optimal_hit_bytes = scaled(s, bytes, s->missing * s->mean_bytes, s->lookup_bytes);
}

/* With stack distances: hits that need no more than each capacity. */
static void sum_up(struct curve *c)
{
    for (size_t i = 1; c->stack != NULL && i <= c->sizes; i++) {
        c->hits[i] += c->hits[i - 1];
        c->hit_bytes[i] += c->hit_bytes[i - 1];
    }
}

static uint64_t needed(const struct curve *c)
{
    uint64_t bytes = c->stack != NULL ? c->need : sized_cache_peak_bytes(c->cache[c->sizes]);
    return c->o.sample == 1 ? bytes : (uint64_t)((double)bytes / c->o.sample + 0.5);
}

/* Capacities that are shown: those asked for; of the default ones those from the last without hits
 * up to where there are no more. */
static void choose(const struct curve *c, uint64_t need, size_t *first, size_t *end)
{
    *first = 0;
    *end = c->sizes;
    if (!c->spaced)
        return;
    while (*first + 1 < c->sizes && c->hits[*first + 1] == 0)
        ++*first;
    for (*end = *first; *end < c->sizes && c->size[*end] < need;)
        ++*end;
}

/* How far x has come from low to high. */
static double way(uint64_t x, uint64_t low, uint64_t high)
{
    return high > low ? (double)(x - low) / (double)(high - low) : 0;
}

/* Kneedle without its smoothing and its threshold: one curve, one knee. */
static size_t find_knee(const struct curve_result *r)
{
    const struct curve_point *first = &r->point[0], *top = &r->point[r->points - 1];
    size_t knee = 0;
    double best = 0;
    if (top->hits == 0)
        return CURVE_NO_KNEE;
    for (size_t i = 1; i < r->points && r->point[i].capacity <= r->need; i++) {
        double above = way(r->point[i].hits, first->hits, top->hits) -
                       way(r->point[i].capacity, first->capacity, r->need);
        if (above > best) {
            best = above;
            knee = i;
        }
    }
    return knee;
}

int curve_result(struct curve *c, const struct curve_result **out, struct err *e)
{
    size_t first, end, n = 0;
    if (c->optimal != NULL && optimal_begin(c->optimal) < 0)
        return err_nomem(e, "optimal bound");
    sum_up(c);
    struct scale s = make_scale(c);
    uint64_t need = needed(c);
    choose(c, need, &first, &end);
    for (size_t i = first; i < end; i++) {
        c->point[n].capacity = c->size[i];
        set_point(c, &s, &c->point[n++], c->hits[i], c->hit_bytes[i]);
    }
    if (n == 0 || c->point[n - 1].capacity < need) {
        c->point[n].capacity = need;
        set_point(c, &s, &c->point[n++], c->hits[c->sizes], c->hit_bytes[c->sizes]);
    }
    c->result = (struct curve_result){.lookups = s.lookups,
                                      .lookup_bytes = s.lookup_bytes,
                                      .point = c->point,
                                      .points = n,
                                      .need = need};
    c->result.knee = find_knee(&c->result);
    *out = &c->result;
    return 0;
}

/* ---- CSV ---- */

static double share(uint64_t part, uint64_t of)
{
    return of > 0 ? (double)part / (double)of : 0;
}

static void put_point(FILE *f, const struct curve_result *r, const struct curve_point *p,
                      bool optimal)
{
    fprintf(f, "%llu,%llu,%llu,%.6f,%.6f", (unsigned long long)p->capacity,
            (unsigned long long)r->lookups, (unsigned long long)p->hits, share(p->hits, r->lookups),
            share(p->hit_bytes, r->lookup_bytes));
    if (optimal)
        fprintf(f, ",%llu,%.6f,%.6f", (unsigned long long)p->optimal_hits,
                share(p->optimal_hits, r->lookups), share(p->optimal_hit_bytes, r->lookup_bytes));
    fputc('\n', f);
}

int curve_save(const struct curve_result *r, bool optimal, const char *path, struct err *e)
{
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);
    if (f == NULL)
        return err_nomem(e, "curve");
    fputs("Capacity_Bytes,Lookups,Hits,Object_Hit_Rate,Byte_Hit_Rate", f);
    if (optimal)
        fputs(",Optimal_Hits,Optimal_Object_Hit_Rate,Optimal_Byte_Hit_Rate", f);
    fputc('\n', f);
    for (size_t i = 0; i < r->points; i++)
        put_point(f, r, &r->point[i], optimal);
    bool bad = ferror(f) != 0;
    bad |= fclose(f) != 0;
    int rc = bad ? err_nomem(e, "curve") : save_text(path, text, len, e);
    free(text);
    return rc;
}
