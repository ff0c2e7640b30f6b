/* A form of the report beside its text: every distribution of times as a file for HdrHistogram's
 * plotter and other readers of its percentile text. */
#include "kvstat/report/hgrm.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "kvstat/report/cells.h"

#define TICKS_PER_HALF_DISTANCE 5

/* The next level is a tick further, of which there are five on the way to half of what is missing
 * to 100 %. */
static double next_level(double level)
{
    double halvings = floor(log2(100 / (100 - level))) + 1;
    return level + 100 / (TICKS_PER_HALF_DISTANCE * exp2(halvings));
}

static double deviation(const struct hist *h)
{
    return sqrt(hist_squares(h) / (double)hist_count(h));
}

void hgrm_write(FILE *out, const struct hist *h, double unit)
{
    uint64_t total = hist_count(h), below = 0, n;
    int64_t low, high, max = hist_max(h);
    double level = 0;
    fprintf(out, "%12s %14s %10s %14s\n\n", "Value", "Percentile", "TotalCount",
            "1/(1-Percentile)");
    for (size_t pos = 0; hist_next(h, &pos, &low, &high, &n);) {
        below += n;
        double value = (double)(high < max ? high : max) / unit;
        /* The bucket that completes the count gives one line, and the line of 100 %. */
        for (bool more = true; more && 100.0 * (double)below / (double)total >= level;) {
            fprintf(out, "%12.3f %2.12f %10llu %14.2f\n", value, level / 100,
                    (unsigned long long)below, 1 / (1 - level / 100));
            level = next_level(level);
            more = below < total;
        }
    }
    fprintf(out, "%12.3f %2.12f %10llu\n", (double)max / unit, 1.0, (unsigned long long)total);
    fprintf(out, "#[Mean    = %12.3f, StdDeviation   = %12.3f]\n", hist_mean(h) / unit,
            deviation(h) / unit);
    fprintf(out, "#[Max     = %12.3f, Total count    = %12llu]\n", (double)max / unit,
            (unsigned long long)total);
    fprintf(out, "#[Buckets = %12d, SubBuckets     = %12d]\n", 54, 2048);
}

static int save(const char *dir, const char *label, const char *metric, const struct hist *h,
                double unit, struct err *e)
{
    char path[4096];
    if (!h || hist_count(h) == 0)
        return 0;
    bool bare = label[0] == '-'; /* no file's name shall look like an option */
    int len = snprintf(path, sizeof(path), "%s/%s%s_%s.hgrm", dir, bare ? "none" : "", label + bare,
                       metric);
    if (len >= (int)sizeof(path))
        return err_set(e, -ENAMETOOLONG, ERR_OUTPUT, "--hgrm", "name of the folder is too long");
    FILE *out = fopen(path, "we");
    if (!out)
        return err_errno(e, -errno, ERR_OUTPUT, path, "cannot be written");
    hgrm_write(out, h, unit);
    bool failed = ferror(out);
    int closed = fclose(out);
    return failed || closed != 0
               ? err_errno(e, errno ? -errno : -EIO, ERR_OUTPUT, path, "cannot be written")
               : 0;
}

static int save_group(const char *dir, const struct group *g, unsigned by, struct err *e)
{
    static const char *const names[] = {[GROUP_SERVICE] = "service_us",
                                        [GROUP_WAIT] = "wait_us",
                                        [GROUP_RESPONSE] = "response_us",
                                        [GROUP_DEVICE] = "device_us"};
    char label[LABEL];
    int rc = 0;
    if (!g->metric[GROUP_SIZE]) /* Generate and Miss rows move nothing */
        return 0;
    cell_label(label, &g->key, by);
    for (char *p = label; *p; p++)
        if (*p == ' ')
            *p = '_';
    for (unsigned m = GROUP_SERVICE; m < GROUP_METRICS && rc == 0; m++)
        rc = save(dir, label, names[m], g->metric[m], 1e3, e);
    return rc;
}

int hgrm_save(const char *dir, const struct figures *f, struct err *e)
{
    static const char *const names[REQUESTS_METRICS] = {"end_to_end_ms", "queue_ms", "storage_ms",
                                                        "generation_ms"};
    struct groups *groups = agg_groups(f->scan->agg);
    size_t n = groups_sort(groups);
    int rc = 0;
    if (mkdir(dir, 0777) < 0 && errno != EEXIST)
        return err_errno(e, -errno, ERR_OUTPUT, dir, "folder cannot be made");
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = save_group(dir, groups_at(groups, i), groups_by(groups), e);
    for (unsigned m = 0; m < REQUESTS_METRICS && rc == 0; m++)
        rc = save(dir, "requests", names[m], f->requests->metric[m], 1e6, e);
    return rc;
}
