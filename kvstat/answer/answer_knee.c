/* Between the points of a drive's model, which kvgen passes on, and the screen and picture that
 * show them. */
#include "kvstat/answer/answer_knee.h"

#include <math.h>
#include <stdlib.h>

#include "kvstat/knee/ladder.h"

double answer_knee_size(const struct answer *a)
{
    double size = NAN;
    size_t most = 1; /* one point makes no line */
    for (size_t i = 0; i < a->points; i++) {
        size_t n = 0;
        for (size_t k = 0; k < a->points; k++)
            n += a->point[k].size_bytes == a->point[i].size_bytes;
        if (n > most || (n == most && a->point[i].size_bytes > size)) {
            most = n;
            size = a->point[i].size_bytes;
        }
    }
    return size;
}

static int by_depth(const void *a, const void *b)
{
    const struct answer_point *x = a, *y = b;
    return (x->in_flight > y->in_flight) - (x->in_flight < y->in_flight);
}

size_t answer_knee_ladder(struct answer_point **point, const struct answer *a, double size,
                          double read_share)
{
    struct answer_point *p = calloc(a->points + 1, sizeof(*p));
    size_t n = 0;
    for (size_t i = 0; p && i < a->points; i++)
        if (a->point[i].size_bytes == size && a->point[i].read_share == read_share)
            p[n++] = a->point[i];
    if (n > 0)
        qsort(p, n, sizeof(*p), by_depth);
    *point = p;
    return n;
}

/* The mix of that size's points that is nearest to the load's. */
static double nearest_share(const struct answer *a, double size)
{
    const double read = fmax(a->read.asked, 0), all = read + fmax(a->write.asked, 0);
    const double share = all > 0 ? read / all : 1;
    double nearest = NAN;
    for (size_t i = 0; i < a->points; i++) {
        double of = a->point[i].read_share;
        if (a->point[i].size_bytes == size && !(fabs(of - share) >= fabs(nearest - share)))
            nearest = of;
    }
    return nearest;
}

static bool is_knee(const struct answer_point *p, const struct answer_point *next)
{
    return next->bytes_s / p->bytes_s < ladder_knee_below(p->in_flight, next->in_flight);
}

bool answer_knee_find(struct answer_knee *k, const struct answer *a)
{
    struct answer_point *p;
    const double size = answer_knee_size(a), share = nearest_share(a, size);
    const size_t n = answer_knee_ladder(&p, a, size, share);
    size_t at = 0;
    while (at + 1 < n && !is_knee(&p[at], &p[at + 1]))
        at++;
    if (n > 1)
        *k = (struct answer_knee){.size_bytes = size,
                                  .read_share = share,
                                  .found = at + 1 < n,
                                  .in_flight = p[at].in_flight,
                                  .bytes_s = p[at].bytes_s,
                                  .p95_s = p[at].p95_us / 1e6};
    free(p);
    return n > 1;
}
