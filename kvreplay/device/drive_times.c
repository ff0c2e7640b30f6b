/* Takes the requests that block_trace.c reads, in its thread, and adds up their times. The main
 * thread looks at them when that thread has ended. */
#include "kvreplay/device/drive_times.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kvreplay/device/block_trace.h"
#include "kvreplay/device/workers_why.h"
#include "lib/base/hist.h"
#include "lib/base/units.h"
#include "lib/drive/request_groups.h"

/* Requests at the drives over the run: the sum of their times in each interval. With all intervals
 * in use, these become twice as long. */
enum {
    DEPTH_INTERVALS = 240
};
#define DEPTH_FIRST_NS INT64_C(100000000)

struct depth {
    int64_t zero_ns, interval_ns;
    unsigned count;
    double io_ns[DEPTH_INTERVALS];
};

struct drive_times {
    char why[1024]; /* there are none */
    bool required;  /* then the run fails */
    unsigned devices;
    unsigned drives; /* the first so many are the last devices; the others lie above them */
    struct block_trace_device device[BLOCK_EVENTS_DEVICES];
    struct block_trace *trace;
    struct block_trace_figures figures;
    bool ended;
    /* the reading thread's until the end: */
    struct request_groups group[BLOCK_EVENTS_DEVICES];
    int64_t first_ns, last_ns; /* of them: first issue, last completion */
    struct depth depth;
    struct drive_rows *rows;
    /* after the end: */
    struct hist *all[2]; /* reads and writes of the drives */
};

static void depth_add(struct depth *d, int64_t issued_ns, int64_t done_ns)
{
    if (d->interval_ns == 0)
        *d = (struct depth){.zero_ns = issued_ns, .interval_ns = DEPTH_FIRST_NS};
    if (issued_ns < d->zero_ns) /* issued before the first one that was completed */
        issued_ns = d->zero_ns;
    if (done_ns <= issued_ns) /* an event that came late: all of it was before that */
        return;
    while (done_ns - d->zero_ns >= d->interval_ns * DEPTH_INTERVALS) {
        for (unsigned i = 0; i < DEPTH_INTERVALS; i++)
            d->io_ns[i] = i < DEPTH_INTERVALS / 2 ? d->io_ns[2 * i] + d->io_ns[2 * i + 1] : 0;
        d->interval_ns *= 2;
        d->count = (d->count + 1) / 2;
    }
    unsigned last = (unsigned)((done_ns - d->zero_ns) / d->interval_ns);
    d->count = last >= d->count ? last + 1 : d->count;
    for (unsigned i = (unsigned)((issued_ns - d->zero_ns) / d->interval_ns); i <= last; i++) {
        int64_t begin_ns = d->zero_ns + i * d->interval_ns, end_ns = begin_ns + d->interval_ns;
        d->io_ns[i] += (double)((done_ns < end_ns ? done_ns : end_ns) -
                                (issued_ns > begin_ns ? issued_ns : begin_ns));
    }
}

static int take_request(void *ctx, const struct request *r)
{
    struct drive_times *t = ctx;
    unsigned i = 0;

    while (i < t->devices && t->device[i].number != r->device)
        i++;
    drive_rows_request(t->rows, r);
    if (i == t->devices) /* a device that is not ours: the filter lets none through */
        return 0;
    int rc = request_groups_add(&t->group[i], r);
    if (rc < 0 || i >= t->drives)
        return rc;
    if (t->first_ns == 0 || r->issued_ns < t->first_ns)
        t->first_ns = r->issued_ns;
    t->last_ns = r->done_ns;
    depth_add(&t->depth, r->issued_ns, r->done_ns);
    return 0;
}

static void take_until(void *ctx, int64_t until_ns)
{
    struct drive_times *t = ctx;

    drive_rows_until(t->rows, until_ns);
}

/* ---- opening ---- */

static void set_why(struct drive_times *t, const struct err *why)
{
    snprintf(t->why, sizeof(t->why), "%.300s%s%.600s", why->where, why->where[0] ? ": " : "",
             why->what);
}

static void add_device(struct drive_times *t, const char *name)
{
    struct block_trace_device *d = &t->device[t->devices];
    uint32_t number;

    if (!name[0] || t->devices == BLOCK_EVENTS_DEVICES || block_trace_number(name, &number) < 0)
        return;
    for (unsigned i = 0; i < t->devices; i++)
        if (t->device[i].number == number)
            return;
    d->number = number;
    snprintf(d->name, sizeof(d->name), "%s", name);
    t->devices++;
}

/* A failure is the run's where the times are required. */
static int fails(const struct drive_times *t, int rc, struct err *e)
{
    if (rc == 0 || !t->required)
        return 0;
    return err_set(e, rc, ERR_TARGET, "--device-times", "%s", t->why);
}

int drive_times_open(struct drive_times **out, enum drive_times_wish wish,
                     const struct target_device *const *device, unsigned n, struct err *e)
{
    struct drive_times *t;
    struct err why = {0};
    int rc = 0;

    if (wish == DRIVE_TIMES_NO)
        return 0;
    t = calloc(1, sizeof(*t));
    if (!t || !(t->all[0] = hist_create()) || !(t->all[1] = hist_create()) ||
        !(t->rows = drive_rows_create())) {
        drive_times_close(t);
        return err_nomem(e, "device times");
    }
    for (unsigned i = 0; i < n; i++) {
        const struct target_layers *l = &device[i]->layers;
        for (unsigned k = 0; k < l->disks; k++)
            add_device(t, l->disk[k]);
    }
    t->drives = t->devices;
    for (unsigned i = 0; i < n; i++)
        add_device(t, device[i]->layers.top);
    if (t->drives == 0) /* what is below is hidden */
        t->drives = t->devices;
    const struct block_trace_sink sink = {.ctx = t, .request = take_request, .until = take_until};
    if (t->devices == 0)
        rc = err_set(&why, -ENODEV, ERR_TARGET, "", "no block device is known below the target");
    else
        rc = block_trace_open(&t->trace, t->device, t->devices, &sink, &why);
    if (rc < 0)
        set_why(t, &why);
    t->required = wish == DRIVE_TIMES_YES;
    rc = fails(t, rc, e);
    if (rc < 0) {
        drive_times_close(t);
        return rc;
    }
    *out = t;
    return 0;
}

const char *drive_times_why(const struct drive_times *t)
{
    return t ? t->why : "";
}

bool drive_times_late(const struct drive_times *t, struct results_late *late)
{
    if (!t || t->why[0])
        return false;
    *late = drive_rows_late(t->rows);
    return true;
}

int drive_times_begin(struct drive_times *t, struct err *e)
{
    struct err why = {0};
    int rc = t && t->trace ? block_trace_begin(t->trace, &why) : 0;

    if (rc < 0)
        set_why(t, &why);
    if (t && t->why[0])
        drive_rows_until(t->rows, INT64_MAX);
    return fails(t, rc, e);
}

void drive_times_end(struct drive_times *t)
{
    if (!t || !t->trace || t->ended)
        return;
    block_trace_end(t->trace);
    block_trace_count(t->trace, &t->figures);
    for (unsigned i = 0; i < t->devices && t->figures.failed == 0; i++)
        t->figures.failed = request_groups_end(&t->group[i]);
    for (unsigned i = 0; i < t->drives && t->figures.failed == 0; i++)
        for (unsigned k = 0; k < REQUEST_GROUPS && t->figures.failed == 0; k++)
            if (t->group[i].of[k].times)
                t->figures.failed = hist_merge(t->all[k / SIZE_CLASSES], t->group[i].of[k].times);
    t->ended = true;
    if (!t->why[0] && t->figures.failed < 0)
        snprintf(t->why, sizeof(t->why), "the reading of events ended: %s",
                 strerror(-t->figures.failed));
    else if (!t->why[0] && t->figures.events.lost)
        snprintf(t->why, sizeof(t->why), "unknown: %llu events had no room in the buffers",
                 (unsigned long long)t->figures.events.lost);
    else if (!t->why[0] && t->figures.events.broken)
        snprintf(t->why, sizeof(t->why), "unknown: %llu events could not be read",
                 (unsigned long long)t->figures.events.broken);
}

void drive_times_rows_end(struct drive_times *t)
{
    int rc = t ? drive_rows_end(t->rows) : 0;

    if (rc < 0 && !t->why[0])
        snprintf(t->why, sizeof(t->why), "unknown: the times of some rows are lost: %s",
                 strerror(-rc));
}

void drive_times_close(struct drive_times *t)
{
    if (!t)
        return;
    block_trace_close(t->trace);
    for (unsigned i = 0; i < BLOCK_EVENTS_DEVICES; i++)
        request_groups_free(&t->group[i]);
    hist_free(t->all[0]);
    hist_free(t->all[1]);
    drive_rows_free(t->rows);
    free(t);
}

/* ---- telling ---- */

/* Whether what was added up is all that there was. */
static bool is_whole(const struct drive_times *t)
{
    return t && t->ended && !t->why[0];
}

static double io_ns(const struct drive_times *t)
{
    return hist_sum(t->all[0]) + hist_sum(t->all[1]);
}

/* The mean number of requests at the drive, by Little's law. */
static double mean_depth(const struct drive_times *t)
{
    int64_t ns = t->last_ns - t->first_ns;

    return ns > 0 ? io_ns(t) / (double)ns : NAN;
}

void drive_times_put(const struct drive_times *t, const struct tier_info *tier,
                     const char *file_system, struct facts *f)
{
    char why[WORKERS_WHY];

    if (!t)
        return;
    const struct request_counts *n = &t->figures.requests;
    bool whole = is_whole(t);
    facts_put_text(f, FACT_DRIVE_STATE, t->why[0] ? t->why : "measured");
    facts_put_count(f, FACT_DRIVE_REQUESTS, whole,
                    hist_count(t->all[REQUEST_READ]) + hist_count(t->all[REQUEST_WRITE]));
    facts_put_count(f, FACT_DRIVE_LOST, t->ended, t->figures.events.lost);
    facts_put_count(f, FACT_DRIVE_UNJOINED, whole, n->unjoined);
    facts_put_count(f, FACT_DRIVE_REQUEUED, whole, n->requeued);
    facts_put_count(f, FACT_DRIVE_OTHERS, whole, n->others);
    facts_put_number(f, FACT_DRIVE_IO_S, whole ? io_ns(t) / 1e9 : NAN);
    facts_put_number(f, FACT_DRIVE_DEPTH, whole ? mean_depth(t) : NAN);
    facts_put_times(f, FACT_DRIVE_READ_US, whole ? t->all[0] : NULL, 1e3);
    facts_put_times(f, FACT_DRIVE_WRITE_US, whole ? t->all[1] : NULL, 1e3);
    const struct block_events_counts *w = &t->figures.events;
    facts_put_count(f, FACT_URING_READS, whole && w->workers_known, w->worker_reads);
    facts_put_count(f, FACT_URING_WRITES, whole && w->workers_known, w->worker_writes);
    facts_put_count(f, FACT_URING_CALLS, whole && w->workers_known, w->worker_calls);
    facts_put_text(f, FACT_URING_WHY, whole ? workers_why(why, w, tier, file_system) : NULL);
    drive_rows_put(whole ? t->rows : NULL, f);
}

/* The last interval ends with the last completion. */
static void json_depth(const struct drive_times *t, struct jsonout *j)
{
    const struct depth *d = &t->depth;

    jsonout_array(j, "drive_depth");
    for (unsigned i = 0; i < d->count; i++) {
        int64_t begin_ns = i * d->interval_ns, left_ns = t->last_ns - d->zero_ns - begin_ns;
        double ns = (double)(left_ns < d->interval_ns ? left_ns : d->interval_ns);
        jsonout_object(j, NULL);
        jsonout_f64(j, "t_s", (double)begin_ns / 1e9);
        jsonout_f64(j, "mean_depth", ns > 0 ? d->io_ns[i] / ns : 0);
        jsonout_end(j);
    }
    jsonout_end(j);
}

void drive_times_json(const struct drive_times *t, struct jsonout *j)
{
    if (!is_whole(t)) {
        jsonout_null(j, "drive_times");
        drive_rows_json(NULL, j);
        jsonout_null(j, "drive_depth");
        return;
    }
    jsonout_array(j, "drive_times");
    for (unsigned i = 0; i < t->devices; i++)
        request_groups_json(&t->group[i], t->device[i].name, j);
    jsonout_end(j);
    drive_rows_json(t->rows, j);
    json_depth(t, j);
}

static void text_workers(const struct block_events_counts *w, const struct tier_info *tier,
                         const char *file_system, FILE *out)
{
    char why[WORKERS_WHY];

    if (!tier || strcmp(tier->engine, "io_uring") != 0)
        return;
    workers_why(why, w, tier, file_system);
    fprintf(out, "io_uring gave to threads that wait: ");
    if (w->workers_known)
        fprintf(out, "%llu reads, %llu writes, %llu other calls%s",
                (unsigned long long)w->worker_reads, (unsigned long long)w->worker_writes,
                (unsigned long long)w->worker_calls, why[0] ? "; " : "");
    fprintf(out, "%s\n", why);
}

void drive_times_text(const struct drive_times *t, const struct tier_info *tier,
                      const char *file_system, FILE *out)
{
    char p50[32], p95[32], p99[32], bytes[32];

    if (!t)
        return;
    if (t->why[0]) {
        fprintf(out, "device times: %s\n", t->why);
        return;
    }
    for (unsigned i = 0; i < t->devices; i++)
        for (unsigned k = 0; k < REQUEST_GROUPS; k++) {
            const struct request_group *g = &t->group[i].of[k];
            if (g->times)
                fprintf(out, "drive %s, %s %s: %llu requests, %s, P50 %s, P95 %s, P99 %s\n",
                        t->device[i].name, k < SIZE_CLASSES ? "reads" : "writes",
                        request_groups_size(k), (unsigned long long)hist_count(g->times),
                        units_format_bytes(bytes, sizeof(bytes), (double)g->bytes),
                        units_format_duration(p50, sizeof(p50),
                                              (double)hist_percentile(g->times, 500000)),
                        units_format_duration(p95, sizeof(p95),
                                              (double)hist_percentile(g->times, 950000)),
                        units_format_duration(p99, sizeof(p99),
                                              (double)hist_percentile(g->times, 990000)));
        }
    drive_rows_text(t->rows, out);
    text_workers(&t->figures.events, tier, file_system, out);
}
