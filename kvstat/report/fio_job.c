/* A replay's storage tier distilled into a job for fio: mix, sizes, depth and pauses, not the order
 * of rows and not their keys. */
#include <math.h>
#include <string.h>

#include "kvstat/report/report.h"

enum {
    PARTS = 10 /* of the sizes: each a tenth of the operations */
};

static const struct group *find(const struct figures *f, enum trace_op op)
{
    const struct group *g = groups_find(agg_by_tier_op(f->scan->agg), TRACE_STORAGE, (uint8_t)op);
    return g && g->metric[GROUP_SIZE] && hist_max(g->metric[GROUP_SIZE]) > 0 ? g : NULL;
}

static uint64_t ops_of(const struct group *g)
{
    return g ? hist_count(g->metric[GROUP_SIZE]) : 0;
}

static double sum_of(const struct group *g, enum group_metric m)
{
    return g && g->metric[m] ? hist_sum(g->metric[m]) : 0;
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

/* A block that O_DIRECT takes, of at least one. */
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

static unsigned long long put_sizes(FILE *out, const struct group *read, const struct group *write)
{
    double n = (double)ops_of(read) + (double)ops_of(write);
    double mean = (sum_of(read, GROUP_SIZE) + sum_of(write, GROUP_SIZE)) / n;
    /* Small objects would be far from their size in whole pages. */
    double align = mean < 65536 ? 512 : 4096;
    unsigned long long largest = 0, other;
    /* Without bs_unaligned fio cuts each size to a multiple of the least one. */
    fprintf(out,
            "; all sizes are multiples of blockalign, so that O_DIRECT takes them\n"
            "bs_unaligned=1\nblockalign=%.0f\nbssplit=",
            align);
    if (read)
        largest = put_split(out, read->metric[GROUP_SIZE], align);
    if (write) {
        fprintf(out, "%s", read ? "," : "");
        if (!read) /* the first entry is that of reads */
            put_split(out, write->metric[GROUP_SIZE], align);
        fprintf(out, "%s", read ? "" : ",");
        other = put_split(out, write->metric[GROUP_SIZE], align);
        largest = other > largest ? other : largest;
    }
    fputc('\n', out);
    return largest;
}

/* Little 1961: operations in flight = rate x time in service. Rounded up, and slowed by a pause
 * after each round of them so that the rate stays. */
static void put_depth(FILE *out, const struct figures *f, const struct group *read,
                      const struct group *write)
{
    double n = (double)ops_of(read) + (double)ops_of(write);
    double service_s = (sum_of(read, GROUP_SERVICE) + sum_of(write, GROUP_SERVICE)) / 1e9;
    double flight = f->elapsed_s > 0 ? service_s / f->elapsed_s : 1;
    double depth = fmin(fmax(ceil(flight), 1), 4096);
    double pause_us = fmax(0, (depth - flight) * f->elapsed_s / n * 1e6);
    fprintf(out, "; %.3g operations in flight on average\niodepth=%.0f\n", flight, depth);
    if (pause_us >= 1)
        fprintf(out, "thinktime=%.0f\nthinktime_blocks=%.0f\n", pause_us, depth);
}

static void put_mix(FILE *out, const struct group *read, const struct group *write)
{
    double share = (double)ops_of(read) / ((double)ops_of(read) + (double)ops_of(write));
    if (read && write)
        fprintf(out, "rw=randrw\nrwmixread=%.0f\n", fmin(fmax(round(100 * share), 1), 99));
    else
        fprintf(out, "rw=%s\n", read ? "randread" : "randwrite");
}

bool report_fio(FILE *out, const struct figures *f)
{
    const struct group *read = find(f, TRACE_READ), *write = find(f, TRACE_WRITE);
    uint64_t n = ops_of(read) + ops_of(write);
    double moved = sum_of(read, GROUP_SIZE) + sum_of(write, GROUP_SIZE);
    double held = (double)f->scan->occupancy.tier[TRACE_STORAGE].peak_bytes;
    if (!f->result || n == 0)
        return false;
    fprintf(out,
            "; Made by kvstat from a replay: %llu reads and %llu writes of whole objects of "
            "Tier-2.\n; Mix, sizes, depth and pauses are the replay's; order and keys are not.\n"
            "; TARGET=/mnt/nvme/file fio JOB\n"
            "[kvcache]\nfilename=${TARGET}\nioengine=libaio\ndirect=1\nnorandommap=1\n"
            "randrepeat=1\n",
            (unsigned long long)ops_of(read), (unsigned long long)ops_of(write));
    put_mix(out, read, write);
    unsigned long long largest = put_sizes(out, read, write);
    put_depth(out, f, read, write);
    fprintf(out,
            "; what the tier held at its peak, and as many operations as the replay had\n"
            "size=%llu\nio_size=%llu\nnumber_ios=%llu\n",
            block_of(fmax(held, 2 * (double)largest), 1 << 20), block_of(2 * moved, 1 << 20),
            (unsigned long long)n);
    return true;
}
