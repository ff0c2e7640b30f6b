/* The report as a picture: a script with its data for gnuplot. */
#include <math.h>
#include <string.h>

#include "kvstat/report/cells.h"
#include "kvstat/report/gnuplot.h"
#include "kvstat/report/report.h"

/* Okabe and Ito's colours, which colour-blind readers tell apart: blue, orange and green for the
 * tiers, light for reads, dark for writes. */
static const char *const colours[TRACE_TIERS][SERIES_DIRECTIONS] = {
    {"#e69f00", "#a85d00"}, {"#009e73", "#00563f"}, {"#56b4e9", "#0072b2"}};
static const char *const directions[SERIES_DIRECTIONS] = {"Read", "Write"};
static const uint8_t ops[SERIES_DIRECTIONS] = {TRACE_READ, TRACE_WRITE};

/* The unit of an axis of time, and what of sizes. */
struct scale {
    double time;
    const char *time_unit;
    double rate, size;
    const char *rate_unit, *size_unit;
    size_t together; /* intervals that make a point */
};

static const struct series_slot *slot_at(const struct series *s, size_t i)
{
    static const struct series_slot idle;
    const struct series_slot *slot = series_at(s, i);
    return slot ? slot : &idle;
}

static double seconds(const struct series *s)
{
    return (double)series_interval_ns(s) / 1e9;
}

/* A point of a few operations is noise: where the interval was chosen, points have so many. */
#define POINT_OPS 16

static size_t choose_together(const struct figures *f)
{
    const struct series *s = f->scan->series;
    size_t n = series_count(s), together = 1;
    uint64_t moved = f->totals->io_ops;
    if (!series_is_auto(s))
        return 1;
    while (together * 12 < n && moved * together < (uint64_t)POINT_OPS * n)
        together++;
    return together;
}

static size_t points(const struct figures *f, const struct scale *c)
{
    size_t n = series_count(f->scan->series);
    return n > 0 && n < c->together ? 1 : n / c->together;
}

/* What happened in the intervals of a point, the last one having those that are left, too;
 * *length_s: how long they are. Times are left out. */
static struct series_slot sum_of(const struct figures *f, const struct scale *c, size_t point,
                                 double *length_s)
{
    const struct series *s = f->scan->series;
    size_t from = point * c->together, to = from + c->together;
    struct series_slot sum = {0};
    if (point + 1 == points(f, c))
        to = series_count(s);
    for (size_t i = from; i < to; i++) {
        const struct series_slot *slot = slot_at(s, i);
        for (unsigned t = 0; t < TRACE_TIERS; t++) {
            sum.change_bytes[t] += slot->change_bytes[t];
            for (unsigned d = 0; d < SERIES_DIRECTIONS; d++) {
                sum.io[t][d].ops += slot->io[t][d].ops;
                sum.io[t][d].bytes += slot->io[t][d].bytes;
            }
        }
        sum.hits += slot->hits;
        sum.misses += slot->misses;
    }
    *length_s = (double)(to - from) * seconds(s);
    return sum;
}

static void choose_bytes(double most, double *divisor, const char **unit)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB"};
    size_t i = 0;
    *divisor = 1024;
    while (most >= *divisor * 1024 && i + 1 < sizeof(units) / sizeof(units[0])) {
        *divisor *= 1024;
        i++;
    }
    *unit = units[i];
}

static struct scale scale_of(const struct figures *f)
{
    const struct series *s = f->scan->series;
    int64_t held[TRACE_TIERS] = {0};
    double rate = 0, size = 0, last = seconds(s) * (double)series_count(s);
    struct scale c = {.time = 1, .time_unit = "s"};
    if (last > 4 * 3600)
        c = (struct scale){.time = 3600, .time_unit = "h"};
    else if (last > 600)
        c = (struct scale){.time = 60, .time_unit = "min"};
    else if (last < 1)
        c = (struct scale){.time = 1e-3, .time_unit = "ms"};
    c.together = choose_together(f);
    for (size_t i = 0; i < points(f, &c); i++) {
        double length_s;
        struct series_slot sum = sum_of(f, &c, i, &length_s);
        for (unsigned t = 0; t < TRACE_TIERS; t++) {
            held[t] += sum.change_bytes[t] + (i == 0 ? series_base_bytes(s, t) : 0);
            size = fmax(size, (double)held[t]);
            for (unsigned d = 0; d < SERIES_DIRECTIONS; d++)
                rate = fmax(rate, (double)sum.io[t][d].bytes / length_s);
        }
    }
    choose_bytes(rate, &c.rate, &c.rate_unit);
    choose_bytes(size, &c.size, &c.size_unit);
    return c;
}

static void put_start(FILE *out, const struct figures *f, bool svg)
{
    char title[256], rows[CELL], elapsed[CELL];
    /* gnuplot draws what fits: the end of the path says most. */
    snprintf(title, sizeof(title), "%.90s: %s, %s over %s of %s time", gnuplot_name(f->files[0]),
             f->result ? "replay" : "trace",
             cell_rows(rows, f->totals->rows - f->totals->warmup_rows),
             cell_seconds(elapsed, f->elapsed_s), f->result ? "replay" : "simulated");
    gnuplot_begin(out, svg, 2, 2, title);
}

/* ---- percentiles ---- */

static const struct hist *curve(const struct figures *f, unsigned t, unsigned d)
{
    const struct group *g = groups_find(agg_by_tier_op(f->scan->agg), (uint8_t)t, ops[d]);
    const struct hist *h = g ? g->metric[f->result ? GROUP_SERVICE : GROUP_SIZE] : NULL;
    return h && hist_count(h) > 0 ? h : NULL;
}

/* Points at 1 / (1 - p), twenty for each nine, as far as there are samples. */
static void put_curve(FILE *out, const struct hist *h, double unit)
{
    for (int i = 0; i <= 120; i++) {
        double x = pow(10, i / 20.0);
        uint32_t ppm = (uint32_t)lround(1e6 * (1 - 1 / x));
        double v = (double)hist_percentile(h, ppm) / unit;
        if (x > (double)hist_count(h) && i > 0)
            break;
        fprintf(out, "%.6g %.6g\n", x, v > 0 ? v : 1 / unit); /* a log axis has no 0 */
    }
    fprintf(out, "e\n");
}

static bool put_curves(FILE *out, const struct figures *f, bool data)
{
    const char *separator = "plot";
    for (unsigned t = 0; t < TRACE_TIERS; t++)
        for (unsigned d = 0; d < SERIES_DIRECTIONS; d++) {
            const struct hist *h = curve(f, t, d);
            if (h && data)
                put_curve(out, h, f->result ? 1e6 : 1 << 20);
            else if (h)
                fprintf(out, "%s '-' with lines lw 2 lc '%s' title '%s %s'", separator,
                        colours[t][d], trace_tier_text(t), directions[d]);
            separator = h ? "," : separator;
        }
    return separator[0] == ',';
}

/* An empty panel that says so, since the layout goes on by plots. */
static void put_nothing(FILE *out, const char *why)
{
    fprintf(out,
            "set label 1 '%s' at graph 0.5,0.5 center\nset xrange [0:1]\nset yrange [0:1]\n"
            "plot '-' with points notitle\n-1 -1\ne\nunset label 1\n",
            why);
}

/* Leaves axes of linear time behind, up to last. */
static void put_percentiles(FILE *out, const struct figures *f, double last)
{
    fprintf(out,
            "set key title '%s' font 'Sans,12'\nset xlabel 'percentile [%%]'\nset ylabel '%s'\n",
            f->result ? "Service time of whole objects" : "Size of objects",
            f->result ? "service time [ms]" : "size [MiB]");
    fprintf(out, "set logscale xy\nset format y '%%g'\nset xrange [1:*]\n"
                 "set xtics ('0' 1, '50' 2, '90' 10, '99' 100, '99.9' 1e3, '99.99' 1e4, "
                 "'99.999' 1e5, '99.9999' 1e6)\n");
    if (put_curves(out, f, false)) {
        fputc('\n', out);
        put_curves(out, f, true);
    } else {
        fprintf(out, "unset logscale\n");
        put_nothing(out, "no reads and writes");
    }
    fprintf(out,
            "unset logscale\nset xtics auto\nset format '%%g'\nset xrange [0:%.9g]\n"
            "set yrange [0:*]\n",
            last);
}

/* ---- over time ---- */

/* sum: what happened in a point's intervals, length_s long. sums: kept from point to point. */
struct line {
    const char *title, *colour, *style;
    unsigned tier, direction;
    double (*value)(const struct scale *c, const struct line *l, const struct series_slot *sum,
                    double length_s, double *sums);
};

static double rate_at(const struct scale *c, const struct line *l, const struct series_slot *sum,
                      double length_s, double *sums)
{
    (void)sums;
    return (double)sum->io[l->tier][l->direction].bytes / length_s / c->rate;
}

static double contents_at(const struct scale *c, const struct line *l,
                          const struct series_slot *sum, double length_s, double *sums)
{
    (void)length_s;
    sums[0] += (double)sum->change_bytes[l->tier];
    return sums[0] / c->size;
}

static double hits_at(const struct scale *c, const struct line *l, const struct series_slot *sum,
                      double length_s, double *sums)
{
    double hits = (double)sum->hits, lookups = hits + (double)sum->misses;
    (void)c, (void)length_s;
    sums[0] += hits;
    sums[1] += lookups;
    if (l->direction == 0)
        return lookups > 0 ? 100 * hits / lookups : NAN;
    return sums[1] > 0 ? 100 * sums[0] / sums[1] : NAN;
}

static double ops_at(const struct scale *c, const struct line *l, const struct series_slot *sum,
                     double length_s, double *sums)
{
    double n = 0;
    (void)c, (void)sums;
    for (unsigned t = 0; t < TRACE_TIERS; t++)
        n += (double)sum->io[t][l->direction].ops;
    return n / length_s;
}

/* Points at the middles of their intervals; contents are those at the end. */
static void put_line(FILE *out, const struct figures *f, const struct scale *c,
                     const struct line *l)
{
    double at = 0, sums[2] = {0};
    if (l->value == contents_at)
        sums[0] = (double)series_base_bytes(f->scan->series, l->tier);
    for (size_t i = 0; i < points(f, c); i++) {
        double length_s;
        struct series_slot sum = sum_of(f, c, i, &length_s);
        double v = l->value(c, l, &sum, length_s, sums);
        if (!isnan(v))
            fprintf(out, "%.9g %.6g\n",
                    (at + (l->value == contents_at ? 1 : 0.5) * length_s) / c->time, v);
        at += length_s;
    }
    fprintf(out, "e\n");
}

/* A band behind all panels over time, which the percentiles beside them leave out. */
static void put_warmup(FILE *out, const struct figures *f, const struct scale *c)
{
    double until = (double)f->scan->warmup_ns / 1e9 / c->time;
    if (until > 0)
        fprintf(out,
                "set object 1 rectangle from graph 0,graph 0 to first %.9g,graph 1 behind "
                "fillcolor rgb '#eeeeee' fillstyle solid noborder\n"
                "set label 2 'warm-up' at first 0,graph 0.06 offset 0.5,0 textcolor rgb "
                "'#707070'\n",
                until);
}

static void put_lines(FILE *out, const struct figures *f, const struct scale *c,
                      const struct line *lines, size_t n)
{
    /* A run of a single interval is a point. */
    const char *mark = points(f, c) < 40 ? "linespoints pt 7 ps 0.5" : "lines";
    if (n == 0 || series_count(f->scan->series) == 0) {
        put_nothing(out, "no reads and writes");
        fprintf(out, "set xrange [0:*]\nset yrange [0:*]\n");
        return;
    }
    for (size_t i = 0; i < n; i++)
        fprintf(out, "%s '-' with %s lw 2 lc '%s' %s title '%s'", i ? "," : "plot", mark,
                lines[i].colour, lines[i].style, lines[i].title);
    fputc('\n', out);
    for (size_t i = 0; i < n; i++)
        put_line(out, f, c, &lines[i]);
}

static void put_throughput(FILE *out, const struct figures *f, const struct scale *c)
{
    struct line lines[TRACE_TIERS * SERIES_DIRECTIONS];
    char titles[TRACE_TIERS * SERIES_DIRECTIONS][32];
    size_t n = 0;
    for (unsigned t = 0; t < TRACE_TIERS; t++)
        for (unsigned d = 0; d < SERIES_DIRECTIONS; d++) {
            if (!groups_find(agg_by_tier_op(f->scan->agg), (uint8_t)t, ops[d]))
                continue;
            snprintf(titles[n], sizeof(titles[n]), "%s %s", trace_tier_text(t), directions[d]);
            lines[n] = (struct line){titles[n], colours[t][d], "", t, d, rate_at};
            n++;
        }
    fprintf(out,
            "set key title 'Throughput%s' font 'Sans,12'\nset xlabel 'time [%s]'\nset ylabel "
            "'throughput [%s/s]'\n",
            f->result ? "" : " asked for", c->time_unit, c->rate_unit);
    put_lines(out, f, c, lines, n);
}

static void put_contents(FILE *out, const struct figures *f, const struct scale *c)
{
    struct line lines[TRACE_TIERS];
    size_t n = 0;
    for (unsigned t = 0; t < TRACE_TIERS; t++)
        if (f->tier[t].used)
            lines[n++] = (struct line){trace_tier_text(t), colours[t][0], "", t, 0, contents_at};
    fprintf(out,
            "set key title 'Contents of the tiers' font 'Sans,12'\nset xlabel 'time [%s]'\nset "
            "ylabel 'contents [%s]'\n",
            c->time_unit, c->size_unit);
    put_lines(out, f, c, lines, n);
}

static void put_last(FILE *out, const struct figures *f, const struct scale *c)
{
    static const struct line hits[] = {
        {"in the interval", "#cc79a7", "", 0, 0, hits_at},
        {"since the start", "#000000", "dt 2", 0, 1, hits_at},
    };
    static const struct line operations[] = {
        {"Read", "#56b4e9", "", 0, 0, ops_at},
        {"Write", "#0072b2", "", 0, 1, ops_at},
    };
    bool known = f->lookup[FIGURES_ALL].known && f->lookup[FIGURES_ALL].lookups > 0;
    fprintf(out, "set key title '%s' font 'Sans,12'\nset xlabel 'time [%s]'\nset ylabel '%s'\n%s",
            known ? "Hit rate of all lookups" : "Operations, all tiers", c->time_unit,
            known ? "hit rate [%]" : "operations [1/s]", known ? "set yrange [0:105]\n" : "");
    put_lines(out, f, c, known ? hits : operations, 2);
}

void report_plot(FILE *out, const struct figures *f, bool svg)
{
    struct scale c = scale_of(f);
    put_start(out, f, svg);
    double last = seconds(f->scan->series) * (double)series_count(f->scan->series);
    put_percentiles(out, f, last > 0 ? last / c.time : 1);
    put_warmup(out, f, &c);
    put_throughput(out, f, &c);
    put_contents(out, f, &c);
    put_last(out, f, &c);
    fprintf(out, "unset multiplot\n");
}
