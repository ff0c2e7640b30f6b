/* The report as a picture: percentiles, throughput, contents of the tiers, and hit rate, as a
 * script with its data for gnuplot. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kvstat/draw/gnuplot.h"
#include "kvstat/draw/plot.h"
#include "kvstat/report/cells.h"
#include "kvstat/report/intervals.h"
#include "lib/trace/trace.h"

enum {
    DIRECTIONS = 2
};
static const enum trace_op ops[DIRECTIONS] = {TRACE_READ, TRACE_WRITE};
static const char *const directions[DIRECTIONS] = {"Read", "Write"};
/* Okabe and Ito's colours, which colour-blind readers tell apart: blue, orange and green for the
 * tiers, light for reads, dark for writes. */
static const char *const colours[TRACE_TIERS][DIRECTIONS] = {
    {"#e69f00", "#a85d00"}, {"#009e73", "#00563f"}, {"#56b4e9", "#0072b2"}};

/* Times over time. */
enum {
    SERVICE,
    RESPONSE,
    WAIT,
    LATENESS,
    TIMES
};
static const enum figure_what times[TIMES] = {[SERVICE] = FIGURE_SERVICE,
                                              [RESPONSE] = FIGURE_RESPONSE,
                                              [WAIT] = FIGURE_WAIT,
                                              [LATENESS] = FIGURE_LATENESS};

/* What happened in the intervals of a point. */
struct point {
    size_t intervals;
    double length_s; /* of them */
    uint64_t ops[TRACE_TIERS][DIRECTIONS], bytes[TRACE_TIERS][DIRECTIONS];
    double contents[TRACE_TIERS];     /* bytes at the end */
    double p95_us[TIMES][DIRECTIONS]; /* of Tier-2, the greatest of the intervals; NAN: none */
    uint64_t hits, lookups;
};

/* An axis: a value is divided by the divisor to be in that unit. */
struct scale {
    double divisor;
    const char *unit;
};

struct picture {
    const struct figures *f;
    struct point *point;
    size_t points;
    double length_s; /* of all */
    struct scale time, rate, size;
};

/* ---- points and scales ---- */

/* A point of a few operations is noise: where kvstat chose the interval, points have so many. */
#define POINT_OPS 16

/* How many intervals make a point. */
static size_t choose_together(const struct figures *f, const struct intervals *series)
{
    size_t n = intervals_count(series), together = 1;
    uint64_t moved = figures_count(f, figure_id(FIGURE_OF_ROWS, FIGURE_IO_OPS));
    if (intervals_asked_for(series))
        return 1;
    while (together * 12 < n && moved * together < (uint64_t)POINT_OPS * n)
        together++;
    return together;
}

static void add_interval(struct point *p, const struct intervals *series, size_t i)
{
    const struct figure_part part = intervals_at(series, i);
    for (unsigned m = 0; m < TIMES; m++)
        for (unsigned d = 0; d < DIRECTIONS; d++) {
            const struct figure_id id = figure_id_statistic(
                figure_id_direction(TRACE_STORAGE, ops[d], times[m]), FIGURE_P95);
            double us = intervals_number(series, i, id);
            p->p95_us[m][d] = p->intervals ? fmax(p->p95_us[m][d], us) : us;
        }
    p->intervals++;
    p->length_s = (double)p->intervals * intervals_length_s(series);
    for (size_t k = 0; k < part.count; k++) {
        const struct figure *v = &part.figure[k];
        unsigned t = v->id.tier, d = v->id.op == TRACE_WRITE;
        if (v->id.scope == FIGURE_OF_DIRECTION && v->id.what == FIGURE_OPS)
            p->ops[t][d] += v->count;
        else if (v->id.scope == FIGURE_OF_DIRECTION && v->id.what == FIGURE_BYTES)
            p->bytes[t][d] += v->count;
        else if (v->id.what == FIGURE_CONTENTS_BYTES)
            p->contents[t] = (double)v->level;
        else if (v->id.what == FIGURE_HITS)
            p->hits += v->count;
        else if (v->id.what == FIGURE_LOOKUPS)
            p->lookups += v->count;
    }
}

static struct scale scale_of_bytes(double most)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB"};
    struct scale s = {1024, units[0]};
    for (size_t i = 1; i < sizeof(units) / sizeof(units[0]) && most >= s.divisor * 1024; i++)
        s = (struct scale){s.divisor * 1024, units[i]};
    return s;
}

static void choose_scales(struct picture *p)
{
    double rate = 0, size = 0;
    p->time = p->length_s > 4 * 3600 ? (struct scale){3600, "h"}
              : p->length_s > 600    ? (struct scale){60, "min"}
              : p->length_s < 1      ? (struct scale){1e-3, "ms"}
                                     : (struct scale){1, "s"};
    for (size_t i = 0; i < p->points; i++)
        for (unsigned t = 0; t < TRACE_TIERS; t++) {
            size = fmax(size, p->point[i].contents[t]);
            for (unsigned d = 0; d < DIRECTIONS; d++)
                rate = fmax(rate, (double)p->point[i].bytes[t][d] / p->point[i].length_s);
        }
    p->rate = scale_of_bytes(rate);
    p->size = scale_of_bytes(size);
}

/* ---- percentiles ---- */

static const struct hist *curve(const struct figures *f, unsigned t, unsigned d)
{
    return figures_hist(
        f, figure_id_direction(t, ops[d], figures_is_result(f) ? FIGURE_SERVICE : FIGURE_SIZE));
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

/* An empty panel that says so, since the layout counts plots. */
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
    bool any = false;
    fprintf(out,
            "set key title '%s' font 'Sans,12'\nset xlabel 'percentile [%%]'\nset ylabel '%s'\n",
            figures_is_result(f) ? "Service time of whole objects" : "Size of objects",
            figures_is_result(f) ? "service time [ms]" : "size [MiB]");
    fprintf(out, "set logscale xy\nset format y '%%g'\nset xrange [1:*]\n"
                 "set xtics ('0' 1, '50' 2, '90' 10, '99' 100, '99.9' 1e3, '99.99' 1e4, "
                 "'99.999' 1e5, '99.9999' 1e6)\n");
    for (unsigned t = 0; t < TRACE_TIERS; t++)
        for (unsigned d = 0; d < DIRECTIONS; d++)
            if (curve(f, t, d)) {
                fprintf(out, "%s '-' with lines lw 2 lc '%s' title '%s %s'", any ? "," : "plot",
                        colours[t][d], trace_tier_text(t), directions[d]);
                any = true;
            }
    if (any) {
        fputc('\n', out);
        for (unsigned t = 0; t < TRACE_TIERS; t++)
            for (unsigned d = 0; d < DIRECTIONS; d++)
                if (curve(f, t, d))
                    put_curve(out, curve(f, t, d), figures_is_result(f) ? 1e6 : 1 << 20);
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

enum quantity {
    RATE,        /* bytes a second of a tier and direction */
    CONTENTS,    /* of a tier */
    HIT_RATE,    /* in the point */
    HITS_SO_FAR, /* since the start */
    OPERATIONS,  /* a second in one direction, all tiers */
    P95          /* of a time of Tier-2 in one direction, in ms */
};

struct line {
    const char *title, *colour, *style;
    enum quantity quantity;
    unsigned tier, direction, time;
};

/* NAN: not known. so_far: hits and lookups up to the end of the point. */
static double value_at(const struct picture *p, const struct line *l, const struct point *point,
                       const uint64_t so_far[2])
{
    double n = 0;
    switch (l->quantity) {
    case RATE:
        return (double)point->bytes[l->tier][l->direction] / point->length_s / p->rate.divisor;
    case CONTENTS:
        return point->contents[l->tier] / p->size.divisor;
    case HIT_RATE:
        return point->lookups > 0 ? 100 * (double)point->hits / (double)point->lookups : NAN;
    case HITS_SO_FAR:
        return so_far[1] > 0 ? 100 * (double)so_far[0] / (double)so_far[1] : NAN;
    case P95:
        return point->p95_us[l->time][l->direction] / 1e3;
    case OPERATIONS:
        for (unsigned t = 0; t < TRACE_TIERS; t++)
            n += (double)point->ops[t][l->direction];
        return n / point->length_s;
    }
    return NAN;
}

/* Points at the middles of their intervals; contents are those at the end. */
static void put_line(FILE *out, const struct picture *p, const struct line *l)
{
    double at = 0;
    uint64_t so_far[2] = {0};
    for (size_t i = 0; i < p->points; i++) {
        const struct point *point = &p->point[i];
        so_far[0] += point->hits;
        so_far[1] += point->lookups;
        double v = value_at(p, l, point, so_far);
        if (!isnan(v))
            fprintf(out, "%.9g %.6g\n",
                    (at + (l->quantity == CONTENTS ? 1 : 0.5) * point->length_s) / p->time.divisor,
                    v);
        at += point->length_s;
    }
    fprintf(out, "e\n");
}

static void put_lines(FILE *out, const struct picture *p, const struct line *lines, size_t n)
{
    /* A run of a single interval is a point. */
    const char *mark = p->points < 40 ? "linespoints pt 7 ps 0.5" : "lines";
    if (n == 0 || p->points == 0) {
        put_nothing(out, "no reads and writes");
        fprintf(out, "set xrange [0:*]\nset yrange [0:*]\n");
        return;
    }
    for (size_t i = 0; i < n; i++)
        fprintf(out, "%s '-' with %s lw 2 lc '%s' %s title '%s'", i ? "," : "plot", mark,
                lines[i].colour, lines[i].style, lines[i].title);
    fputc('\n', out);
    for (size_t i = 0; i < n; i++)
        put_line(out, p, &lines[i]);
}

static void put_throughput(FILE *out, const struct picture *p)
{
    struct line lines[TRACE_TIERS * DIRECTIONS];
    char titles[TRACE_TIERS * DIRECTIONS][32];
    size_t n = 0;
    for (unsigned t = 0; t < TRACE_TIERS; t++)
        for (unsigned d = 0; d < DIRECTIONS; d++) {
            if (!figures_find(p->f, figure_id_direction(t, ops[d], FIGURE_OPS)))
                continue;
            snprintf(titles[n], sizeof(titles[n]), "%s %s", trace_tier_text(t), directions[d]);
            lines[n] = (struct line){titles[n], colours[t][d], "", RATE, t, d, 0};
            n++;
        }
    fprintf(out,
            "set key title 'Throughput%s' font 'Sans,12'\nset xlabel 'time [%s]'\nset ylabel "
            "'throughput [%s/s]'\n",
            figures_is_result(p->f) ? "" : " asked for", p->time.unit, p->rate.unit);
    put_lines(out, p, lines, n);
}

static void put_contents(FILE *out, const struct picture *p)
{
    struct line lines[TRACE_TIERS];
    size_t n = 0;
    for (unsigned t = 0; t < TRACE_TIERS; t++)
        if (figures_find(p->f, figure_id_tier(FIGURE_OF_CACHE_TIER, t, FIGURE_PEAK_BYTES)))
            lines[n++] = (struct line){trace_tier_text(t), colours[t][0], "", CONTENTS, t, 0, 0};
    fprintf(out,
            "set key title 'Contents of the tiers' font 'Sans,12'\nset xlabel 'time [%s]'\nset "
            "ylabel 'contents [%s]'\n",
            p->time.unit, p->size.unit);
    put_lines(out, p, lines, n);
}

static bool has_time(const struct picture *p, unsigned time, unsigned direction)
{
    for (size_t i = 0; i < p->points; i++)
        if (!isnan(p->point[i].p95_us[time][direction]))
            return true;
    return false;
}

/* A panel of two times of Tier-2: what the drive took beside what a user felt, or how long
 * operations waited beside what of it the tool itself made. */
static void put_times(FILE *out, const struct picture *p, const char *title, unsigned first)
{
    static const char *const names[TIMES] = {"service", "response", "wait", "lateness"};
    struct line lines[2 * DIRECTIONS];
    char titles[2 * DIRECTIONS][32];
    size_t n = 0;
    for (unsigned m = first; m < first + 2; m++)
        for (unsigned d = 0; d < DIRECTIONS; d++) {
            if (!has_time(p, m, d))
                continue;
            snprintf(titles[n], sizeof(titles[n]), "%s %s", directions[d], names[m]);
            lines[n] = (struct line){.title = titles[n],
                                     .colour = colours[m == first ? TRACE_STORAGE : TRACE_GPU][d],
                                     .style = "",
                                     .quantity = P95,
                                     .direction = d,
                                     .time = m};
            n++;
        }
    fprintf(out,
            "set key title '%s' font 'Sans,12'\nset xlabel 'time [%s]'\nset ylabel 'P95 [ms]'\n",
            title, p->time.unit);
    if (n > 0) {
        put_lines(out, p, lines, n);
        return;
    }
    put_nothing(out, first == WAIT ? "nothing was due at a time" : "no reads and writes");
    fprintf(out, "set xrange [0:%.9g]\nset yrange [0:*]\n",
            p->length_s > 0 ? p->length_s / p->time.divisor : 1);
}

/* The hit rate; operations where it is not known. */
static void put_last(FILE *out, const struct picture *p)
{
    static const struct line hits[] = {
        {"in the interval", "#cc79a7", "", HIT_RATE, 0, 0, 0},
        {"since the start", "#000000", "dt 2", HITS_SO_FAR, 0, 0, 0},
    };
    static const struct line operations[] = {
        {"Read", "#56b4e9", "", OPERATIONS, 0, 0, 0},
        {"Write", "#0072b2", "", OPERATIONS, 0, 1, 0},
    };
    bool known = !isnan(figures_number(p->f, figure_id(FIGURE_OF_LOOKUPS, FIGURE_HIT_RATE)));
    fprintf(out, "set key title '%s' font 'Sans,12'\nset xlabel 'time [%s]'\nset ylabel '%s'\n%s",
            known ? "Hit rate of all lookups" : "Operations, all tiers", p->time.unit,
            known ? "hit rate [%]" : "operations [1/s]", known ? "set yrange [0:105]\n" : "");
    put_lines(out, p, known ? hits : operations, 2);
}

/* ---- the picture ---- */

/* What a reader of the picture must know: simulated tiers, and figures not to be believed. */
static void add_doubts(char *title, size_t n, const struct figures *f)
{
    size_t len = strlen(title);
    for (unsigned t = 0; t < TRACE_TIERS && len < n; t++)
        if (figures_is(f, figure_id_tier(FIGURE_OF_ROWS, t, FIGURE_SIMULATED)))
            len += (size_t)snprintf(title + len, n - len, "; %s SIMULATED", trace_tier_text(t));
    if (!figures_is_result(f) || len >= n)
        return;
    snprintf(title + len, n - len, "; validity %s",
             validity_state_word(validity_worst(figures_validity(f))));
}

static bool write_script(FILE *out, const void *what, bool svg)
{
    const struct picture *p = what;
    const struct figures *f = p->f;
    const char *of = figures_is_result(f) ? "replay" : "simulated";
    uint64_t rows = figures_count(f, figure_id(FIGURE_OF_RUN, FIGURE_ROWS)) -
                    figures_count(f, figure_id(FIGURE_OF_WARMUP, FIGURE_ROWS));
    double warmup_s = figures_number(f, figure_id(FIGURE_OF_WARMUP, FIGURE_SECONDS));
    char title[256], a[CELL], b[CELL];
    size_t files;
    /* gnuplot draws what fits: the end of the path says most. */
    snprintf(title, sizeof(title), "%.90s: %s, %s over %s of %s time",
             gnuplot_name(figures_files(f, &files)[0]), figures_is_result(f) ? "replay" : "trace",
             cell_rows(a, rows),
             cell_seconds(b, figures_number(f, figure_id(FIGURE_OF_RUN, FIGURE_ELAPSED))), of);
    add_doubts(title, sizeof(title), f);
    gnuplot_begin(out, svg, figures_is_result(f) ? 3 : 2, 2, title);
    put_percentiles(out, f, p->length_s > 0 ? p->length_s / p->time.divisor : 1);
    /* A band behind all panels over time; the percentiles leave it out. */
    if (warmup_s > 0)
        fprintf(out,
                "set object 1 rectangle from graph 0,graph 0 to first %.9g,graph 1 behind "
                "fillcolor rgb '#eeeeee' fillstyle solid noborder\n"
                "set label 2 'warm-up' at first 0,graph 0.06 offset 0.5,0 textcolor rgb "
                "'#707070'\n",
                warmup_s / p->time.divisor);
    put_throughput(out, p);
    put_contents(out, p);
    if (figures_is_result(f)) {
        put_times(out, p, "Times of Tier-2", SERVICE);
        put_times(out, p, "Waits for Tier-2", WAIT);
    }
    put_last(out, p);
    fprintf(out, "unset multiplot\n");
    return true;
}

static bool ends_with(const char *text, const char *end)
{
    size_t len = strlen(text), tail = strlen(end);
    return len > tail && strcmp(text + len - tail, end) == 0;
}

bool plot_is_drawable(const char *path)
{
    return ends_with(path, ".svg") || ends_with(path, ".png");
}

int plot_save(const char *path, const struct figures *f, struct err *e)
{
    const struct intervals *series = figures_intervals(f);
    size_t n = intervals_count(series), together = choose_together(f, series), files;
    struct picture p = {.f = f,
                        .points = n > 0 && n < together ? 1 : n / together,
                        .length_s = intervals_length_s(series) * (double)n};
    p.point = calloc(p.points + 1, sizeof(*p.point));
    if (!p.point)
        return err_nomem(e, "plot");
    for (size_t i = 0; i < n; i++) { /* the last point has the intervals that are left, too */
        size_t point = i / together < p.points ? i / together : p.points - 1;
        add_interval(&p.point[point], series, i);
    }
    choose_scales(&p);
    int rc = gnuplot_save(path, write_script, &p, figures_files(f, &files)[0], e);
    free(p.point);
    return rc;
}
