/* Gaps of several threads that overlap become one, so that sums up to each give the overlap with
 * any span of time by two searches. */
#include "kvstat/count/gaps.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/io/gap_line.h"
#include "lib/json/jsonin.h"

#define SUMMARY_BYTES_MAX ((size_t)64 << 20)
/* Times beyond this are no replay's. */
#define SECONDS_MAX 1e9

struct gap {
    int64_t start_ns, end_ns;
    int64_t before_ns; /* length of all gaps before this one */
};

struct gaps {
    struct gaps *of_process; /* stops of it; NULL in that list itself */
    size_t count;
    struct gap gap[];
};

/* The name of all threads in kvreplay's list. */
#define PROCESS "process"

static int by_start(const void *a, const void *b)
{
    const struct gap *x = a, *y = b;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static void join(struct gaps *g)
{
    size_t kept = 0;
    int64_t sum_ns = 0;
    qsort(g->gap, g->count, sizeof(g->gap[0]), by_start);
    for (size_t i = 0; i < g->count; i++) {
        struct gap *last = kept > 0 ? &g->gap[kept - 1] : NULL;
        if (!last || g->gap[i].start_ns > last->end_ns)
            g->gap[kept++] = g->gap[i];
        else if (g->gap[i].end_ns > last->end_ns)
            last->end_ns = g->gap[i].end_ns;
    }
    g->count = kept;
    for (size_t i = 0; i < kept; i++) {
        g->gap[i].before_ns = sum_ns;
        sum_ns += g->gap[i].end_ns - g->gap[i].start_ns;
    }
}

/* The gaps of the list, or only those of the process. NULL: no memory. */
static struct gaps *take(const struct jsonin_v *list, bool process)
{
    size_t n = jsonin_count(list);
    struct gaps *g = calloc(1, sizeof(*g) + n * sizeof(g->gap[0]));
    for (size_t i = 0; g && i < n; i++) {
        const struct jsonin_v *v = jsonin_at(list, i);
        const char *thread = jsonin_text(jsonin_get(v, "thread"), NULL);
        double start_s = jsonin_number(v, "start_s"), end_s = jsonin_number(v, "end_s");
        if (process && (!thread || strcmp(thread, PROCESS) != 0))
            continue;
        if (fabs(start_s) < SECONDS_MAX && fabs(end_s) < SECONDS_MAX && end_s > start_s &&
            (!process || (end_s - start_s) * 1e9 >= GAP_STOP_NS))
            g->gap[g->count++] = (struct gap){llround(start_s * 1e9), llround(end_s * 1e9), 0};
    }
    if (g)
        join(g);
    return g;
}

static int take_both(struct gaps **out, const struct jsonin_v *list, struct err *e)
{
    if (jsonin_count(list) == 0)
        return 0;
    struct gaps *g = take(list, false);
    if (!g)
        return err_nomem(e, "gaps");
    g->of_process = take(list, true);
    if (!g->of_process) {
        gaps_free(g);
        return err_nomem(e, "gaps");
    }
    *out = g;
    return 0;
}

int gaps_read(struct gaps **out, const char *path, const char *summary, struct err *e)
{
    struct jsonin *doc = NULL;
    int rc = 0;
    *out = NULL;
    if (!path && !summary)
        return 0;
    if (path)
        rc = jsonin_load(&doc, path, SUMMARY_BYTES_MAX, e);
    else
        rc = jsonin_parse(&doc, summary, strlen(summary), "summary frame", e);
    if (rc == 0)
        rc = take_both(out, jsonin_get(jsonin_root(doc), "gaps"), e);
    jsonin_free(doc);
    return rc;
}

void gaps_free(struct gaps *g)
{
    if (g)
        free(g->of_process);
    free(g);
}

const struct gaps *gaps_of_process(const struct gaps *g)
{
    return g ? g->of_process : NULL;
}

/* The length of the gaps before a time. */
static int64_t sum_until(const struct gaps *g, int64_t ns)
{
    size_t low = 0, high = g->count; /* the first gap that begins at ns or later */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (g->gap[middle].start_ns < ns)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return 0;
    const struct gap *last = &g->gap[low - 1];
    return last->before_ns + (ns < last->end_ns ? ns : last->end_ns) - last->start_ns;
}

int64_t gaps_overlap_ns(const struct gaps *g, int64_t start_ns, int64_t end_ns)
{
    if (!g || g->count == 0 || end_ns <= start_ns)
        return 0;
    return sum_until(g, end_ns) - sum_until(g, start_ns);
}

static int64_t overlap_of(const void *stops, int64_t start_ns, int64_t end_ns)
{
    return gaps_overlap_ns(stops, start_ns, end_ns);
}

int64_t gaps_line_add_ns(struct gap_line *l, const struct gaps *stops, int64_t due_ns,
                         int64_t start_ns)
{
    return gap_line_add_ns(l, overlap_of, stops, due_ns, start_ns);
}
