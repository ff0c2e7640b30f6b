/* Between the ranks of a step: each sends its sums and the counts of its histograms to rank 0,
 * which adds them up and spreads what came of it. autoscale.c decides by that. */
#include "kvreplay/many/pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/hist.h"
#include "lib/base/memory.h"

enum {
    POOL_HISTS = 3 + TRACE_QOSES
};

/* How often a value was there. */
struct pool_count {
    int64_t value;
    uint64_t count;
};

/* The head of a rank's message: its figures, and how many counts of each histogram follow. */
struct pool_head {
    struct replay_figures figures;
    uint64_t counts[POOL_HISTS];
};

/* The histograms of t in the order in which they travel, with the place of each one's P95. */
static void pool_order(const struct replay_times *t, struct replay_figures *f,
                       const struct hist *hist[POOL_HISTS], int64_t *p95[POOL_HISTS])
{
    hist[0] = t->read;
    p95[0] = &f->read_p95_ns;
    hist[1] = t->write;
    p95[1] = &f->write_p95_ns;
    hist[2] = t->queue;
    p95[2] = &f->queue_p95_ns;
    for (unsigned i = 0; i < TRACE_QOSES; i++) {
        hist[3 + i] = t->end_to_end[i];
        p95[3 + i] = &f->end_to_end_p95_ns[i];
    }
}

/* A histogram keeps its least and greatest value exactly, which bound its percentiles: they are
 * told apart from the others of their buckets. Returns how many counts were written. */
static uint64_t put_hist(FILE *out, const struct hist *h)
{
    struct pool_count c;
    uint64_t n = 0;
    size_t pos = 0;
    int64_t highest;

    if (!h || hist_count(h) == 0)
        return 0;
    int64_t ends[2] = {hist_min(h), hist_max(h)};
    unsigned left = hist_count(h) > 1 ? 2 : 1;
    for (unsigned i = 0; i < left; i++, n++) {
        c = (struct pool_count){.value = ends[i], .count = 1};
        fwrite(&c, sizeof(c), 1, out);
    }
    while (hist_next(h, &pos, &c.value, &highest, &c.count)) {
        for (unsigned i = 0; i < left; i++)
            c.count -= c.value <= ends[i] && ends[i] <= highest;
        if (c.count == 0)
            continue;
        fwrite(&c, sizeof(c), 1, out);
        n++;
    }
    return n;
}

/* This rank's message, malloc'ed; NULL: no memory. */
static char *pool_text(const struct replay_figures *f, const struct replay_times *times,
                       size_t *len)
{
    struct pool_head head = {.figures = *f};
    const struct hist *hist[POOL_HISTS];
    int64_t *p95[POOL_HISTS];
    char *text = NULL;
    FILE *out = memory_stream(&text, len);

    if (!out)
        return NULL;
    pool_order(times, &head.figures, hist, p95);
    fwrite(&head, sizeof(head), 1, out);
    for (unsigned i = 0; i < POOL_HISTS; i++)
        head.counts[i] = put_hist(out, hist[i]);
    bool whole = !ferror(out);
    if (fclose(out) != 0 || !whole) {
        free(text);
        return NULL;
    }
    memcpy(text, &head, sizeof(head));
    return text;
}

static void pool_sums(struct replay_figures *all, const struct replay_figures *one, bool first)
{
    all->interrupted |= one->interrupted;
    all->stopped |= one->stopped;
    all->seconds = one->seconds > all->seconds ? one->seconds : all->seconds;
    all->least_s = first || one->least_s < all->least_s ? one->least_s : all->least_s;
    all->tokens += one->tokens;
    all->bytes += one->bytes;
    all->failed += one->failed;
    all->waiting += one->waiting;
}

/* Rank 0. texts: of all ranks, as ranks_gather gives them. */
static int pool_all(unsigned ranks, const char *texts, const size_t *lens,
                    struct replay_figures *all, struct err *e)
{
    struct hist *sum[POOL_HISTS];
    const struct hist *unused[POOL_HISTS];
    const struct replay_times none = {0};
    int64_t *p95[POOL_HISTS];
    bool first = true;
    int rc = 0;

    for (unsigned i = 0; i < POOL_HISTS; i++)
        if (!(sum[i] = hist_create()))
            rc = -ENOMEM;
    *all = (struct replay_figures){0};
    for (unsigned k = 0; rc == 0 && k < ranks; texts += lens[k] + 1, k++) {
        struct pool_head head;
        struct pool_count c;
        const char *at = texts + sizeof(head);
        if (lens[k] < sizeof(head)) /* it was lost */
            continue;
        memcpy(&head, texts, sizeof(head));
        pool_sums(all, &head.figures, first);
        first = false;
        for (unsigned i = 0; i < POOL_HISTS; i++) {
            for (uint64_t n = 0; rc == 0 && n < head.counts[i]; n++, at += sizeof(c)) {
                memcpy(&c, at, sizeof(c));
                rc = hist_record_n(sum[i], c.value, c.count);
            }
        }
    }
    pool_order(&none, all, unused, p95);
    for (unsigned i = 0; i < POOL_HISTS; i++) {
        if (rc == 0)
            *p95[i] = hist_count(sum[i]) ? hist_percentile(sum[i], 950000) : TRACE_NONE;
        hist_free(sum[i]);
    }
    return rc < 0 ? err_nomem(e, "figures") : 0;
}

int pool_figures(struct ranks *ranks, int rc, struct replay_figures *f,
                 const struct replay_times *times, struct err *e)
{
    struct replay_figures all;
    char *texts = NULL, *own = NULL;
    size_t *lens = NULL, len = 0;

    if (rc == 0 && !(own = pool_text(f, times, &len)))
        rc = err_nomem(e, "figures");
    rc = ranks_agree(ranks, rc, e);
    if (rc == 0)
        rc = ranks_gather(ranks, own, len, &texts, &lens, e);
    free(own);
    if (rc < 0)
        return rc;
    if (ranks_rank(ranks) == 0)
        rc = pool_all(ranks_count(ranks), texts, lens, &all, e);
    free(texts);
    free(lens);
    rc = ranks_agree(ranks, rc, e);
    if (rc == 0)
        rc = ranks_spread(ranks, &all, sizeof(all), e);
    if (rc == 0)
        *f = all;
    return rc;
}
