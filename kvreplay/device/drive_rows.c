/* Between results.c, which holds rows back for it, and row_join.c, which finds their requests. It
 * adds up what it finds. */
#include "kvreplay/device/drive_rows.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "kvreplay/device/row_join.h"
#include "lib/base/hist.h"
#include "lib/base/units.h"
#include "lib/drive/size_class.h"

enum {
    REMEMBERED = 1 << 18, /* requests: 4 s of 60,000 a second */
    GIVEN = 32            /* at once: rows that ask do not wait long for the lock */
};

/* Rows of a direction and size that had requests. */
struct row_group {
    uint64_t rows, requests, bytes;
    double device_ns, drive_ns; /* of those whose Device_us is known */
    struct hist *queue, *drive; /* ns */
};

struct drive_rows {
    pthread_mutex_t lock; /* of join */
    struct row_join *join;
    atomic_int_least64_t until_ns;
    /* the reading thread's: */
    struct request given[GIVEN];
    unsigned held;
    /* the scheduler's: */
    struct row_group group[2][SIZE_CLASSES];
    uint64_t joined, without, unplaced;
    struct hist_batch times; /* on their way into histograms */
    int failed;              /* 0, or why some of them are lost */
};

struct drive_rows *drive_rows_create(void)
{
    struct drive_rows *d = calloc(1, sizeof(*d));

    if (!d)
        return NULL;
    pthread_mutex_init(&d->lock, NULL);
    d->join = row_join_create(REMEMBERED);
    bool good = d->join;
    for (unsigned i = 0; i < 2 * SIZE_CLASSES; i++) {
        struct row_group *g = &d->group[i / SIZE_CLASSES][i % SIZE_CLASSES];
        g->queue = hist_create();
        g->drive = hist_create();
        good &= g->queue && g->drive;
    }
    if (good)
        return d;
    drive_rows_free(d);
    return NULL;
}

void drive_rows_free(struct drive_rows *d)
{
    if (!d)
        return;
    for (unsigned i = 0; i < 2 * SIZE_CLASSES; i++) {
        hist_free(d->group[i / SIZE_CLASSES][i % SIZE_CLASSES].queue);
        hist_free(d->group[i / SIZE_CLASSES][i % SIZE_CLASSES].drive);
    }
    row_join_free(d->join);
    pthread_mutex_destroy(&d->lock);
    free(d);
}

static void give(struct drive_rows *d)
{
    pthread_mutex_lock(&d->lock);
    for (unsigned i = 0; i < d->held; i++)
        row_join_request(d->join, &d->given[i]);
    pthread_mutex_unlock(&d->lock);
    d->held = 0;
}

void drive_rows_request(struct drive_rows *d, const struct request *r)
{
    d->given[d->held++] = *r;
    if (d->held == GIVEN)
        give(d);
}

void drive_rows_until(struct drive_rows *d, int64_t until_ns)
{
    give(d);
    atomic_store_explicit(&d->until_ns, until_ns, memory_order_release);
}

/* ---- rows ---- */

static int64_t until(void *ctx)
{
    return atomic_load_explicit(&((struct drive_rows *)ctx)->until_ns, memory_order_acquire);
}

static void note(struct drive_rows *d, int rc)
{
    d->failed = d->failed ? d->failed : rc;
}

static void ask(void *ctx, const struct results_question *q, struct trace_extra *x)
{
    struct drive_rows *d = ctx;
    const struct row_join_ask about = {
        .where = q->where, .write = q->op == TRACE_WRITE, .done_ns = q->start_ns + q->latency_ns};
    struct row_join_answer a;
    int rc = -ESTALE;

    if (q->op != TRACE_READ && q->op != TRACE_WRITE)
        return; /* it moves no bytes */
    if (q->where->known) {
        pthread_mutex_lock(&d->lock);
        rc = row_join_find(d->join, &about, &a);
        pthread_mutex_unlock(&d->lock);
    }
    d->unplaced += rc == -ESTALE;
    d->without += rc == -ENOENT;
    if (rc < 0)
        return;
    int64_t queue_ns = a.issued_ns - q->where->first_ns;
    x->queue_ns = queue_ns > 0 ? queue_ns : 0;
    x->drive_ns = a.done_ns - a.issued_ns;
    d->joined++;
    struct row_group *g = &d->group[about.write][size_class(q->size)];
    g->rows++;
    g->requests += a.requests;
    g->bytes += a.bytes;
    note(d, hist_batch_add(&d->times, g->queue, x->queue_ns));
    note(d, hist_batch_add(&d->times, g->drive, x->drive_ns));
    if (q->device_ns == TRACE_NONE)
        return;
    g->device_ns += (double)q->device_ns;
    g->drive_ns += (double)x->drive_ns;
}

struct results_late drive_rows_late(struct drive_rows *d)
{
    return (struct results_late){.ctx = d, .until = until, .ask = ask};
}

int drive_rows_end(struct drive_rows *d)
{
    note(d, hist_batch_end(&d->times));
    return d->failed;
}

/* ---- telling ---- */

/* All sizes of a direction. */
static struct row_group sum_of(const struct drive_rows *d, unsigned write)
{
    struct row_group sum = {0};

    for (unsigned i = 0; i < SIZE_CLASSES; i++) {
        const struct row_group *g = &d->group[write][i];
        sum.rows += g->rows;
        sum.requests += g->requests;
        sum.bytes += g->bytes;
        sum.device_ns += g->device_ns;
        sum.drive_ns += g->drive_ns;
    }
    return sum;
}

static double share_of(const struct row_group *g)
{
    return g->device_ns > 0 ? g->drive_ns / g->device_ns : NAN;
}

static double per_row(const struct row_group *g, uint64_t n)
{
    return g->rows > 0 ? (double)n / (double)g->rows : NAN;
}

void drive_rows_put(const struct drive_rows *d, struct facts *f)
{
    static const struct {
        enum fact_id requests, share;
    } of[] = {{FACT_DRIVE_READ_REQUESTS, FACT_DRIVE_READ_SHARE},
              {FACT_DRIVE_WRITE_REQUESTS, FACT_DRIVE_WRITE_SHARE}};

    facts_put_count(f, FACT_DRIVE_ROWS, d, d ? d->joined : 0);
    facts_put_count(f, FACT_DRIVE_ROWS_WITHOUT, d, d ? d->without : 0);
    facts_put_count(f, FACT_DRIVE_ROWS_UNPLACED, d, d ? d->unplaced : 0);
    for (unsigned i = 0; i < 2; i++) {
        struct row_group sum = {0};
        if (d)
            sum = sum_of(d, i);
        facts_put_number(f, of[i].requests, per_row(&sum, sum.requests));
        facts_put_number(f, of[i].share, share_of(&sum));
    }
}

void drive_rows_json(const struct drive_rows *d, struct jsonout *j)
{
    if (!d) {
        jsonout_null(j, "drive_rows");
        return;
    }
    jsonout_array(j, "drive_rows");
    for (unsigned i = 0; i < 2 * SIZE_CLASSES; i++) {
        const struct row_group *g = &d->group[i / SIZE_CLASSES][i % SIZE_CLASSES];
        if (g->rows == 0)
            continue;
        jsonout_object(j, NULL);
        jsonout_text_value(j, "op", size_class_directions[i / SIZE_CLASSES]);
        jsonout_text_value(j, "size", size_class_names[i % SIZE_CLASSES]);
        jsonout_u64(j, "rows", g->rows);
        jsonout_f64(j, "requests_per_row", per_row(g, g->requests));
        jsonout_f64(j, "bytes_per_row", per_row(g, g->bytes));
        jsonout_f64(j, "drive_share", share_of(g));
        jsonout_hist(j, "queue_us", g->queue, 1e3);
        jsonout_hist(j, "drive_us", g->drive, 1e3);
        jsonout_end(j);
    }
    jsonout_end(j);
}

static const char *percentiles(char buf[96], const struct hist *h)
{
    char p50[32], p95[32], p99[32];

    snprintf(buf, 96, "P50 %s, P95 %s, P99 %s",
             units_format_duration(p50, sizeof(p50), (double)hist_percentile(h, 500000)),
             units_format_duration(p95, sizeof(p95), (double)hist_percentile(h, 950000)),
             units_format_duration(p99, sizeof(p99), (double)hist_percentile(h, 990000)));
    return buf;
}

void drive_rows_text(const struct drive_rows *d, FILE *out)
{
    char queue[96], drive[96];

    if (!d)
        return;
    for (unsigned i = 0; i < 2 * SIZE_CLASSES; i++) {
        const struct row_group *g = &d->group[i / SIZE_CLASSES][i % SIZE_CLASSES];
        if (g->rows > 0)
            fprintf(out,
                    "rows that %s %s: %llu, %.1f requests each; before the drive %s; at the drive "
                    "%s, %.0f %% of device time\n",
                    i / SIZE_CLASSES ? "write" : "read", size_class_names[i % SIZE_CLASSES],
                    (unsigned long long)g->rows, per_row(g, g->requests),
                    percentiles(queue, g->queue), percentiles(drive, g->drive), 100 * share_of(g));
    }
    if (d->without + d->unplaced > 0)
        fprintf(out,
                "rows without requests at the drive: %llu; whose place on it is not known: %llu\n",
                (unsigned long long)d->without, (unsigned long long)d->unplaced);
}
