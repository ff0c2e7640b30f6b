/* The last step of kvstat for those who go on with other tools: the figures in the forms that these
 * read. */
#include "kvstat/report/exports.h"

#include <errno.h>
#include <math.h>
#include <sys/stat.h>

#include "kvstat/output.h"
#include "kvstat/report/cells.h"
#include "lib/trace/trace.h"

/* ---- HdrHistogram ---- */

#define TICKS_PER_HALF_DISTANCE 5

/*
 * The text of AbstractHistogram.outputPercentileDistribution with five ticks per half distance
 * (HdrHistogram, github.com/HdrHistogram/HdrHistogram, PercentileIterator): value / unit,
 * percentile, count up to it, 1 / (1 - percentile); then mean, deviation, max, count. h is not
 * empty.
 */
static void write_hgrm(FILE *out, const struct hist *h, double unit)
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
            /* Five ticks lead half of the way to 100 %. */
            double halvings = floor(log2(100 / (100 - level))) + 1;
            level += 100 / (TICKS_PER_HALF_DISTANCE * exp2(halvings));
            more = below < total;
        }
    }
    fprintf(out, "%12.3f %2.12f %10llu\n", (double)max / unit, 1.0, (unsigned long long)total);
    fprintf(out, "#[Mean    = %12.3f, StdDeviation   = %12.3f]\n", hist_mean(h) / unit,
            sqrt(hist_squares(h) / (double)total) / unit);
    fprintf(out, "#[Max     = %12.3f, Total count    = %12llu]\n", (double)max / unit,
            (unsigned long long)total);
    fprintf(out, "#[Buckets = %12d, SubBuckets     = %12d]\n", 54, 2048);
}

/* Writes a distribution to DIR/LABEL_MEMBER.hgrm; other figures are passed over. */
static int save_hgrm(const char *dir, const char *label, const struct figure *f, struct err *e)
{
    char path[4096];
    bool bare = label[0] == '-'; /* no file's name shall look like an option */
    if (f->form != FIGURE_FORM_DISTRIBUTION)
        return 0;
    int len = snprintf(path, sizeof(path), "%s/%s%s_%s.hgrm", dir, bare ? "none" : "", label + bare,
                       figure_member(f->id.what));
    if (len >= (int)sizeof(path))
        return err_set(e, -ENAMETOOLONG, ERR_OUTPUT, "--hgrm", "name of the folder is too long");
    struct output *out = output_open();
    if (!out)
        return err_nomem(e, "distribution");
    write_hgrm(output_stream(out), f->hist, figure_scale(f->id.what));
    int rc = output_save(out, path, NULL);
    output_free(out);
    return rc < 0 ? err_errno(e, rc, ERR_OUTPUT, path, "cannot be written") : 0;
}

int export_hgrm(const char *dir, const struct figures *f, struct err *e)
{
    struct figure_part part = {0};
    char label[LABEL];
    int rc = 0;
    if (mkdir(dir, 0777) < 0 && errno != EEXIST)
        return err_errno(e, -errno, ERR_OUTPUT, dir, "folder cannot be made");
    while (rc == 0 && figures_next(f, FIGURE_OF_GROUP, &part)) {
        const struct figure *size = figure_in(&part, FIGURE_SIZE);
        cell_label(label, &part.figure->id);
        for (char *p = label; *p; p++)
            if (*p == ' ')
                *p = '_';
        /* Generate and Miss rows move nothing. */
        bool moves = size && size->form == FIGURE_FORM_DISTRIBUTION;
        for (size_t i = 0; i < part.count && moves && rc == 0; i++)
            if (part.figure[i].id.what != FIGURE_SIZE)
                rc = save_hgrm(dir, label, &part.figure[i], e);
    }
    part = (struct figure_part){0};
    figures_next(f, FIGURE_OF_REQUESTS, &part);
    for (size_t i = 0; i < part.count && rc == 0; i++)
        rc = save_hgrm(dir, "requests", &part.figure[i], e);
    return rc;
}

/* ---- fio ---- */

enum {
    PARTS = 10 /* of the sizes: each a tenth of the operations */
};

/* Sizes of the storage tier's objects that were read or written; NULL: none. */
static const struct hist *sizes_of(const struct figures *f, enum trace_op op)
{
    const struct hist *h = figures_hist(f, figure_id_direction(TRACE_STORAGE, op, FIGURE_SIZE));
    return h && hist_max(h) > 0 ? h : NULL;
}

static double count_of(const struct hist *h)
{
    return h ? (double)hist_count(h) : 0;
}

static double sum_of(const struct hist *h)
{
    return h ? hist_sum(h) : 0;
}

/* The mean of each tenth, so that the mean of all stays. */
static void means_of_parts(const struct hist *h, double mean[PARTS])
{
    double tenth = (double)hist_count(h) / (double)PARTS, room = tenth;
    int64_t low, high;
    uint64_t n;
    int part = 0;
    for (int i = 0; i < PARTS; i++)
        mean[i] = 0;
    for (size_t pos = 0; hist_next(h, &pos, &low, &high, &n);) {
        double value = (double)low + (double)(high - low) / 2, left = (double)n;
        while (left > 0) {
            double take = part == PARTS - 1 ? left : fmin(left, room);
            mean[part] += value * take / tenth;
            left -= take;
            room -= take;
            if (room <= 0 && part < PARTS - 1) {
                part++;
                room = tenth;
            }
        }
    }
}

/* A size that O_DIRECT takes: a multiple of align, at least one. */
static unsigned long long block_of(double bytes, double align)
{
    return (unsigned long long)(fmax(1, round(bytes / align)) * align);
}

/* "4096/30:8192/70": equal neighbours are one entry. Returns the largest block. */
static unsigned long long put_split(FILE *out, const struct hist *h, double align)
{
    double mean[PARTS];
    unsigned long long block = 0, largest = 0;
    unsigned percent = 0;
    bool first = true;
    means_of_parts(h, mean);
    for (int i = 0; i <= PARTS; i++) {
        unsigned long long next = i < PARTS ? block_of(mean[i], align) : 0;
        if (i > 0 && next != block) {
            fprintf(out, "%s%llu/%u", first ? "" : ":", block, percent);
            first = false;
            percent = 0;
            largest = block > largest ? block : largest;
        }
        block = next;
        percent += 100 / PARTS;
    }
    return largest;
}

static unsigned long long put_sizes(FILE *out, const struct hist *read, const struct hist *write)
{
    double mean = (sum_of(read) + sum_of(write)) / (count_of(read) + count_of(write));
    /* Small objects would be far from their size in whole pages. */
    double align = mean < 65536 ? 512 : 4096;
    unsigned long long largest = 0, other;
    /* Without bs_unaligned fio cuts each size to a multiple of the smallest one. */
    fprintf(out,
            "; all sizes are multiples of blockalign, so that O_DIRECT takes them\n"
            "bs_unaligned=1\nblockalign=%.0f\nbssplit=",
            align);
    if (read)
        largest = put_split(out, read, align);
    if (write) {
        fprintf(out, "%s", read ? "," : "");
        if (!read) /* the first entry is that of reads */
            put_split(out, write, align);
        fprintf(out, "%s", read ? "" : ",");
        other = put_split(out, write, align);
        largest = other > largest ? other : largest;
    }
    fputc('\n', out);
    return largest;
}

bool export_fio_job(FILE *out, const struct figures *f)
{
    const struct hist *read = sizes_of(f, TRACE_READ), *write = sizes_of(f, TRACE_WRITE);
    double n = count_of(read) + count_of(write), moved = sum_of(read) + sum_of(write);
    double held =
        figures_number(f, figure_id_tier(FIGURE_OF_CACHE_TIER, TRACE_STORAGE, FIGURE_PEAK_BYTES));
    double elapsed_s = figures_number(f, figure_id(FIGURE_OF_RUN, FIGURE_ELAPSED));
    double service_ns = 0;
    if (!figures_is_result(f) || n == 0)
        return false;
    if (read)
        service_ns +=
            sum_of(figures_hist(f, figure_id_direction(TRACE_STORAGE, TRACE_READ, FIGURE_SERVICE)));
    if (write)
        service_ns += sum_of(
            figures_hist(f, figure_id_direction(TRACE_STORAGE, TRACE_WRITE, FIGURE_SERVICE)));
    fprintf(out,
            "; Made by kvstat from a replay: %.0f reads and %.0f writes of whole objects of "
            "Tier-2.\n; Mix, sizes, depth and pauses are the replay's; order and keys are not.\n"
            "; TARGET=/mnt/nvme/file fio JOB\n"
            "[kvcache]\nfilename=${TARGET}\nioengine=libaio\ndirect=1\nnorandommap=1\n"
            "randrepeat=1\n",
            count_of(read), count_of(write));
    if (read && write)
        fprintf(out, "rw=randrw\nrwmixread=%.0f\n",
                fmin(fmax(round(100 * count_of(read) / n), 1), 99));
    else
        fprintf(out, "rw=%s\n", read ? "randread" : "randwrite");
    unsigned long long largest = put_sizes(out, read, write);
    /* Little 1961: operations in flight = rate x time in service. The number is rounded up; a pause
     * after each round of operations keeps the rate. */
    double flight = elapsed_s > 0 ? service_ns / 1e9 / elapsed_s : 1;
    double depth = fmin(fmax(ceil(flight), 1), 4096);
    double pause_us = fmax(0, (depth - flight) * elapsed_s / n * 1e6);
    fprintf(out, "; %.3g operations in flight on average\niodepth=%.0f\n", flight, depth);
    if (pause_us >= 1)
        fprintf(out, "thinktime=%.0f\nthinktime_blocks=%.0f\n", pause_us, depth);
    fprintf(out,
            "; what the tier held at its peak, and as many operations as the replay had\n"
            "size=%llu\nio_size=%llu\nnumber_ios=%.0f\n",
            block_of(fmax(held, 2 * (double)largest), 1 << 20), block_of(2 * moved, 1 << 20), n);
    return true;
}
