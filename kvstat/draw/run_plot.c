/* The report as a picture: percentiles, throughput, times, contents of the tiers and hit rate, as a
 * script with its data for gnuplot; of two runs with the lines of both in each panel. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kvstat/draw/gnuplot.h"
#include "kvstat/draw/plot.h"
#include "kvstat/draw/run_points.h"
#include "kvstat/report/cells.h"
#include "lib/text/text.h"

static const char *const directions[POINTS_DIRECTIONS] = {"read", "write"};
static const char *const names_of_runs[] = {"base", "new"};
/* Okabe and Ito's colours, which colour-blind readers tell apart: light for reads, dark for writes;
 * orange, green and blue for the tiers of one run; blue and orange for base and new. */
static const char *const tier_colours[TRACE_TIERS][POINTS_DIRECTIONS] = {
    {"#e69f00", "#a85d00"}, {"#009e73", "#00563f"}, {"#56b4e9", "#0072b2"}};
static const char *const run_colours[][POINTS_DIRECTIONS] = {{"#56b4e9", "#0072b2"},
                                                             {"#e69f00", "#a85d00"}};

/* An axis: a value is divided by the divisor to be in that unit. */
struct scale {
    double divisor;
    const char *unit;
};

enum panel {
    PERCENTILES,          /* service of all tiers, response of one; of a trace sizes */
    SERVICE_PERCENTILES,  /* of one tier, both runs */
    RESPONSE_PERCENTILES, /* the same */
    DRIVE_PERCENTILES,    /* of one tier: the drive's own time, and ours */
    QUEUE_PERCENTILES,    /* before the drive */
    THROUGHPUT,
    CONTENTS,
    TIMES,    /* service and response over time, and the worst */
    SERVICE,  /* of one tier over time, both runs */
    RESPONSE, /* the same, and the worst */
    WAITS,
    CACHE, /* the hit rate; operations where it is not known */
    PANELS
};

enum {
    PANELS_MAX = 8
};
struct plot {
    struct run_points run[2];
    size_t runs;
    unsigned tier;
    bool result;
    double length_s; /* of the longer run */
    struct scale time, rate, size;
    enum panel panel[PANELS_MAX];
    size_t panels;
    char title[PANELS_MAX][64];
};

/* ---- lines ---- */

enum quantity {
    CURVE_SERVICE, /* percentiles of a tier and direction */
    CURVE_RESPONSE,
    CURVE_DEVICE,
    CURVE_DRIVE,
    CURVE_QUEUE,
    CURVE_SIZE,
    RATE,        /* bytes a second of a tier and direction */
    HELD,        /* contents of a tier */
    HIT_RATE,    /* in the point */
    HITS_SO_FAR, /* since the start */
    OPERATIONS,  /* a second in one direction, all tiers */
    P95,         /* of a time of one tier in one direction, in ms */
    WORST        /* of a time of one tier in both directions, in ms */
};

enum {
    LINES = 12
};
struct line {
    enum quantity quantity;
    unsigned run, tier, direction, time;
    const char *colour, *style;
    char title[48];
};
struct lines {
    struct line line[LINES];
    size_t count;
};

static void add_line(struct lines *l, const struct line *line)
{
    l->line[l->count++] = *line;
}

static const struct hist *curve(const struct plot *p, const struct line *l)
{
    static const enum figure_what whats[] = {
        [CURVE_SERVICE] = FIGURE_SERVICE,    [CURVE_RESPONSE] = FIGURE_RESPONSE,
        [CURVE_DEVICE] = FIGURE_DEVICE,      [CURVE_DRIVE] = FIGURE_AT_DRIVE,
        [CURVE_QUEUE] = FIGURE_BEFORE_DRIVE, [CURVE_SIZE] = FIGURE_SIZE};
    return figures_hist(p->run[l->run].f,
                        figure_id_direction(l->tier, points_op[l->direction], whats[l->quantity]));
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
}

/* NAN: not known. so_far: hits and lookups up to the end of the point. */
static double value_at(const struct plot *p, const struct line *l, const struct point *point,
                       const uint64_t so_far[2])
{
    double n = 0;
    switch (l->quantity) {
    case RATE:
        return (double)point->bytes[l->tier][l->direction] / point->length_s / p->rate.divisor;
    case HELD:
        return point->contents[l->tier] / p->size.divisor;
    case HIT_RATE:
        return point->lookups > 0 ? 100 * (double)point->hits / (double)point->lookups : NAN;
    case HITS_SO_FAR:
        return so_far[1] > 0 ? 100 * (double)so_far[0] / (double)so_far[1] : NAN;
    case P95:
        return point->p95_us[l->time][l->direction] / 1e3;
    case WORST:
        return fmax(point->max_us[l->time][POINTS_READ], point->max_us[l->time][POINTS_WRITE]) /
               1e3;
    case OPERATIONS:
        for (unsigned t = 0; t < TRACE_TIERS; t++)
            n += (double)point->ops[t][l->direction];
        return n / point->length_s;
    case CURVE_SERVICE:
    case CURVE_RESPONSE:
    case CURVE_DEVICE:
    case CURVE_DRIVE:
    case CURVE_QUEUE:
    case CURVE_SIZE:
        break;
    }
    return NAN;
}

/* Points at the middles of their intervals; contents are those at the end. out: NULL: none are
 * written. Returns how many there are. */
static size_t put_over_time(FILE *out, const struct plot *p, const struct line *l)
{
    const struct run_points *run = &p->run[l->run];
    size_t known = 0;
    double at = 0;
    uint64_t so_far[2] = {0};
    for (size_t i = 0; i < run->points; i++) {
        const struct point *point = &run->point[i];
        so_far[0] += point->hits;
        so_far[1] += point->lookups;
        double v = value_at(p, l, point, so_far);
        if ((l->quantity == P95 || l->quantity == WORST) && l->time <= POINTS_RESPONSE)
            v = v < 1e-3 ? 1e-3 : v; /* a log axis has no 0 */
        known += isnan(v) ? 0 : 1;
        if (out && !isnan(v))
            fprintf(out, "%.9g %.6g\n",
                    (at + (l->quantity == HELD ? 1 : 0.5) * point->length_s) / p->time.divisor, v);
        at += point->length_s;
    }
    return known;
}

static void put_line(FILE *out, const struct plot *p, const struct line *l)
{
    if (l->quantity > CURVE_SIZE)
        put_over_time(out, p, l);
    else
        put_curve(out, curve(p, l), l->quantity == CURVE_SIZE ? 1 << 20 : 1e6);
    fprintf(out, "e\n");
}

static void drop_empty(struct lines *l, const struct plot *p)
{
    size_t kept = 0;
    for (size_t i = 0; i < l->count; i++)
        if (l->line[i].quantity <= CURVE_SIZE || put_over_time(NULL, p, &l->line[i]) > 0)
            l->line[kept++] = l->line[i];
    l->count = kept;
}

/* An empty panel says why, since the layout counts plots. */
static void put_lines(FILE *out, const struct plot *p, const struct lines *l, const char *nothing)
{
    if (l->count == 0) {
        fprintf(out,
                "unset logscale\nset label 1 '%s' at graph 0.5,0.5 center\nset xrange [0:1]\n"
                "set yrange [0:1]\nplot '-' with points notitle\n-1 -1\ne\nunset label 1\n",
                nothing);
        return;
    }
    for (size_t i = 0; i < l->count; i++) {
        const struct line *line = &l->line[i];
        bool few = p->run[line->run].points < 40 && line->quantity > CURVE_SIZE;
        /* A run of a single interval is a point. */
        const char *with = line->quantity == WORST ? "points pt 7 ps 0.6"
                           : few                   ? "linespoints pt 7 ps 0.5 lw 2"
                                                   : "lines lw 2";
        fprintf(out, "%s '-' with %s lc '%s' %s title '%s'", i ? "," : "plot", with, line->colour,
                line->style, line->title);
    }
    fputc('\n', out);
    for (size_t i = 0; i < l->count; i++)
        put_line(out, p, &l->line[i]);
}

/* ---- which lines a panel has ---- */

static bool moves(const struct plot *p, unsigned run, unsigned tier, unsigned direction)
{
    return figures_find(p->run[run].f,
                        figure_id_direction(tier, points_op[direction], FIGURE_OPS)) != NULL;
}

/* The percentiles of one tier, of each run. what: in the legend, where several quantities share a
 * panel; else NULL. */
static void add_curves(struct lines *l, const struct plot *p, enum quantity quantity,
                       const char *style, const char *what)
{
    bool named = false;
    for (unsigned run = 0; run < p->runs; run++)
        for (unsigned d = 0; d < POINTS_DIRECTIONS; d++) {
            struct line line = {.quantity = quantity,
                                .run = run,
                                .tier = p->tier,
                                .direction = d,
                                .colour =
                                    p->runs > 1 ? run_colours[run][d] : tier_colours[p->tier][d],
                                .style = style};
            if (!curve(p, &line))
                continue;
            if (p->runs > 1)
                snprintf(line.title, sizeof(line.title), "%s %s%s%s", names_of_runs[run],
                         directions[d], what ? ", " : "", what ? what : "");
            else if (what)
                snprintf(line.title, sizeof(line.title), "%s, %s", directions[d], what);
            else if (!named) /* one word for both: the legend is full of tiers */
                snprintf(line.title, sizeof(line.title), "%s response", trace_tier_text(p->tier));
            named = true;
            add_line(l, &line);
        }
}

/* One run: the curves of all tiers, and the response of the one that is looked at. */
static void add_all_curves(struct lines *l, const struct plot *p)
{
    for (unsigned t = 0; t < TRACE_TIERS; t++)
        for (unsigned d = 0; d < POINTS_DIRECTIONS; d++) {
            struct line line = {.quantity = p->result ? CURVE_SERVICE : CURVE_SIZE,
                                .tier = t,
                                .direction = d,
                                .colour = tier_colours[t][d],
                                .style = ""};
            snprintf(line.title, sizeof(line.title), "%s %s", trace_tier_text(t), directions[d]);
            if (curve(p, &line))
                add_line(l, &line);
        }
    if (p->result)
        add_curves(l, p, CURVE_RESPONSE, "dt 2", NULL);
}

static void add_rates(struct lines *l, const struct plot *p)
{
    for (unsigned run = 0; run < p->runs; run++)
        for (unsigned t = 0; t < TRACE_TIERS; t++)
            for (unsigned d = 0; d < POINTS_DIRECTIONS; d++) {
                struct line line = {.quantity = RATE,
                                    .run = run,
                                    .tier = t,
                                    .direction = d,
                                    .colour =
                                        p->runs > 1 ? run_colours[run][d] : tier_colours[t][d],
                                    .style = ""};
                if (!moves(p, run, t, d) || (p->runs > 1 && t != p->tier))
                    continue;
                snprintf(line.title, sizeof(line.title), "%s %s",
                         p->runs > 1 ? names_of_runs[run] : trace_tier_text(t), directions[d]);
                add_line(l, &line);
            }
}

static void add_contents(struct lines *l, const struct plot *p)
{
    for (unsigned run = 0; run < p->runs; run++)
        for (unsigned t = 0; t < TRACE_TIERS; t++) {
            struct line line = {.quantity = HELD,
                                .run = run,
                                .tier = t,
                                .colour = p->runs > 1 ? run_colours[run][0] : tier_colours[t][0],
                                .style = ""};
            if ((p->runs > 1 && t != p->tier) ||
                !figures_find(p->run[run].f,
                              figure_id_tier(FIGURE_OF_CACHE_TIER, t, FIGURE_PEAK_BYTES)))
                continue;
            snprintf(line.title, sizeof(line.title), "%s",
                     p->runs > 1 ? names_of_runs[run] : trace_tier_text(t));
            add_line(l, &line);
        }
}

/* A time of the tier that is looked at, over time. colours: NULL: those of the runs. */
static void add_p95(struct lines *l, const struct plot *p, unsigned time,
                    const char *const colours[POINTS_DIRECTIONS])
{
    static const char *const names[POINTS_TIMES] = {"service", "response", "wait", "lateness"};
    for (unsigned run = 0; run < p->runs; run++)
        for (unsigned d = 0; d < POINTS_DIRECTIONS; d++) {
            struct line line = {.quantity = P95,
                                .run = run,
                                .direction = d,
                                .time = time,
                                .colour = colours ? colours[d] : run_colours[run][d],
                                .style = ""};
            if (!run_points_have(&p->run[run], time, d))
                continue;
            snprintf(line.title, sizeof(line.title), "%s %s",
                     p->runs > 1 ? names_of_runs[run] : directions[d],
                     p->runs > 1 ? directions[d] : names[time]);
            add_line(l, &line);
        }
}

/* The longest answer in each point: a stall of a few operations shows in no percentile. */
static void add_worst(struct lines *l, const struct plot *p)
{
    for (unsigned run = 0; run < p->runs; run++) {
        const struct run_points *points = &p->run[run];
        bool response = run_points_have(points, POINTS_RESPONSE, POINTS_READ) ||
                        run_points_have(points, POINTS_RESPONSE, POINTS_WRITE);
        struct line line = {.quantity = WORST,
                            .run = run,
                            .time = response ? POINTS_RESPONSE : POINTS_SERVICE,
                            .colour = p->runs == 1 ? "#d55e00"
                                      : run        ? "#d55e00"
                                                   : "#332288",
                            .style = ""};
        snprintf(line.title, sizeof(line.title), "%s%sworst", p->runs > 1 ? names_of_runs[run] : "",
                 p->runs > 1 ? " " : "");
        if (response || run_points_have(points, POINTS_SERVICE, POINTS_READ) ||
            run_points_have(points, POINTS_SERVICE, POINTS_WRITE))
            add_line(l, &line);
    }
}

static bool hits_known(const struct plot *p)
{
    for (size_t run = 0; run < p->runs; run++)
        if (isnan(figures_number(p->run[run].f, figure_id(FIGURE_OF_LOOKUPS, FIGURE_HIT_RATE))))
            return false;
    return true;
}

static void add_hits(struct lines *l, const struct plot *p)
{
    for (unsigned run = 0; run < p->runs; run++) {
        const char *name = p->runs > 1 ? names_of_runs[run] : "";
        struct line now = {.quantity = HIT_RATE,
                           .run = run,
                           .colour = p->runs > 1 ? run_colours[run][0] : "#cc79a7",
                           .style = ""};
        struct line so_far = {.quantity = HITS_SO_FAR,
                              .run = run,
                              .colour = p->runs > 1 ? run_colours[run][1] : "#000000",
                              .style = "dt 2"};
        snprintf(now.title, sizeof(now.title), "%s%sin the interval", name, name[0] ? " " : "");
        snprintf(so_far.title, sizeof(so_far.title), "%s%ssince the start", name,
                 name[0] ? " " : "");
        add_line(l, &now);
        add_line(l, &so_far);
    }
}

static void add_operations(struct lines *l, const struct plot *p)
{
    for (unsigned run = 0; run < p->runs; run++)
        for (unsigned d = 0; d < POINTS_DIRECTIONS; d++) {
            struct line line = {.quantity = OPERATIONS,
                                .run = run,
                                .direction = d,
                                .colour = run_colours[run][d],
                                .style = ""};
            snprintf(line.title, sizeof(line.title), "%s%s%s",
                     p->runs > 1 ? names_of_runs[run] : "", p->runs > 1 ? " " : "", directions[d]);
            add_line(l, &line);
        }
}

/* ---- panels ---- */

static void add_lines(struct lines *l, const struct plot *p, enum panel panel)
{
    const char *const *storage = tier_colours[TRACE_STORAGE], *const *other = tier_colours[0];
    switch (panel) {
    case PERCENTILES:
        add_all_curves(l, p);
        break;
    case SERVICE_PERCENTILES:
        add_curves(l, p, p->result ? CURVE_SERVICE : CURVE_SIZE, "", NULL);
        break;
    case RESPONSE_PERCENTILES:
        add_curves(l, p, CURVE_RESPONSE, "", NULL);
        break;
    case DRIVE_PERCENTILES:
        add_curves(l, p, CURVE_DRIVE, "", "drive");
        add_curves(l, p, CURVE_DEVICE, "dt 2", "ours");
        break;
    case QUEUE_PERCENTILES:
        add_curves(l, p, CURVE_QUEUE, "", "before");
        break;
    case THROUGHPUT:
        add_rates(l, p);
        break;
    case CONTENTS:
        add_contents(l, p);
        break;
    case TIMES:
        add_p95(l, p, POINTS_SERVICE, storage);
        add_p95(l, p, POINTS_RESPONSE, other);
        add_worst(l, p);
        break;
    case SERVICE:
        add_p95(l, p, POINTS_SERVICE, NULL);
        break;
    case RESPONSE:
        add_p95(l, p, POINTS_RESPONSE, NULL);
        add_worst(l, p);
        break;
    case WAITS:
        add_p95(l, p, POINTS_WAIT, storage);
        add_p95(l, p, POINTS_LATENESS, other);
        break;
    case CACHE:
        if (hits_known(p))
            add_hits(l, p);
        else
            add_operations(l, p);
        break;
    case PANELS:
        break;
    }
}

static void put_axes(FILE *out, const struct plot *p, enum panel panel)
{
    bool curves = panel < THROUGHPUT, hits = panel == CACHE && hits_known(p);
    bool logarithmic = panel == TIMES || panel == SERVICE || panel == RESPONSE;
    fprintf(out, "unset logscale\nset format '%%g'\n");
    if (curves)
        fprintf(out,
                "set logscale xy\nset xrange [1:*]\nset yrange [*:*]\nset xlabel 'percentile "
                "[%%]'\nset ylabel '%s'\n"
                "set xtics ('0' 1, '50' 2, '90' 10, '99' 100, '99.9' 1e3, '99.99' 1e4, "
                "'99.999' 1e5, '99.9999' 1e6)\n",
                p->result ? "time [ms]" : "size [MiB]");
    else
        fprintf(out, "set xtics auto\nset xlabel 'time [%s]'\nset xrange [0:%.9g]\n", p->time.unit,
                p->length_s > 0 ? p->length_s / p->time.divisor : 1);
    if (logarithmic)
        fprintf(out, "set logscale y\nset yrange [*:*]\nset ylabel 'time [ms]'\n");
    else if (panel == THROUGHPUT)
        fprintf(out, "set yrange [0:*]\nset ylabel 'throughput [%s/s]'\n", p->rate.unit);
    else if (panel == CONTENTS)
        fprintf(out, "set yrange [0:*]\nset ylabel 'contents [%s]'\n", p->size.unit);
    else if (panel == WAITS)
        fprintf(out, "set yrange [0:*]\nset ylabel 'P95 [ms]'\n");
    else if (!curves)
        fprintf(out, "set yrange [0:%s]\nset ylabel '%s'\n", hits ? "105" : "*",
                hits ? "hit rate [%]" : "operations [1/s]");
}

static void put_panel(FILE *out, const struct plot *p, size_t i, unsigned font)
{
    enum panel panel = p->panel[i];
    struct lines lines = {.count = 0};
    double warmup_s = figures_number(p->run[0].f, figure_id(FIGURE_OF_WARMUP, FIGURE_SECONDS));
    fprintf(out, "set key title '%s' font ',%u'\n", p->title[i], font + 1);
    put_axes(out, p, panel);
    add_lines(&lines, p, panel);
    drop_empty(&lines, p);
    /* A band behind panels over time; the percentiles leave the warm-up out. */
    bool band = warmup_s > 0 && p->runs == 1 && panel >= THROUGHPUT && lines.count > 0;
    if (band)
        fprintf(out,
                "set object 1 rectangle from graph 0,graph 0 to first %.9g,graph 1 behind "
                "fillcolor rgb '#eeeeee' fillstyle solid noborder\n"
                "set label 2 'warm-up' at first 0,graph 0.06 offset 0.5,0 textcolor rgb "
                "'#707070'\n",
                warmup_s / p->time.divisor);
    put_lines(out, p, &lines,
              panel == WAITS || panel == RESPONSE || panel == RESPONSE_PERCENTILES
                  ? "nothing was due at a time"
                  : "no reads and writes");
    if (band)
        fprintf(out, "unset object 1\nunset label 2\n");
}

/* ---- titles ---- */

/* Names a run: its file, model, users, and where Tier-2 lay. The end of a path says most. */
static void name_run(char *line, const struct plot *p, unsigned run)
{
    const struct figures *f = p->run[run].f;
    const enum figure_scope of = FIGURE_OF_PROVENANCE;
    const char *target = figures_text(f, figure_id(of, FIGURE_TARGET));
    const char *device = figures_text(f, figure_id(of, FIGURE_SAME_OF_DEVICE));
    double users = figures_number(f, figure_id(of, FIGURE_USERS));
    size_t files, len = strlen(target), cut = len > 40 ? len - 40 : 0;
    char name[96], model[48];
    figure_cut_text(name, sizeof(name), gnuplot_name(figures_files(f, &files)[0]));
    figure_cut_text(model, sizeof(model), figures_text(f, figure_id(of, FIGURE_MODEL)));
    snprintf(line, GNUPLOT_TITLE, "%s%s%s", p->runs > 1 ? names_of_runs[run] : "",
             p->runs > 1 ? ": " : "", name);
    if (model[0])
        text_append(line, GNUPLOT_TITLE, ": %s", model);
    if (users > 0)
        text_append(line, GNUPLOT_TITLE, ", %.0f user%s", users, users > 1 ? "s" : "");
    while (cut && ((unsigned char)target[cut] & 0xc0) == 0x80)
        cut++;
    if (target[0])
        text_append(line, GNUPLOT_TITLE, ", %s%s%s%s", cut ? "..." : "", target + cut,
                    device[0] ? " on " : "", device);
}

/* How much there was of it, and what a reader of the picture must know: tiers that were
 * simulated or did nothing, and figures not to be believed. */
static void describe_run(char *line, const struct plot *p, unsigned run)
{
    const struct figures *f = p->run[run].f;
    uint64_t rows = figures_count(f, figure_id(FIGURE_OF_RUN, FIGURE_ROWS)) -
                    figures_count(f, figure_id(FIGURE_OF_WARMUP, FIGURE_ROWS));
    const char *why = figures_text(f, figure_id(FIGURE_OF_VALIDITY, FIGURE_VALIDITY_LINE));
    char a[CELL], b[CELL], text[80];
    snprintf(line, GNUPLOT_TITLE, "%s, %s over %s of %s time", p->result ? "replay" : "trace",
             cell_rows(a, rows),
             cell_seconds(b, figures_number(f, figure_id(FIGURE_OF_RUN, FIGURE_ELAPSED))),
             p->result ? "replay" : "simulated");
    for (unsigned t = 0; t < TRACE_TIERS; t++)
        if (figures_stand_in(f, t)[0])
            text_append(line, GNUPLOT_TITLE, "; %s %s", trace_tier_text(t), figures_stand_in(f, t));
    if (!p->result)
        return;
    const char *state = validity_state_word(validity_worst(figures_validity(f)));
    text_append(line, GNUPLOT_TITLE, "; validity %s", state);
    if (strncmp(why, state, strlen(state)) == 0) {
        figure_cut_text(text, sizeof(text), why + strlen(state));
        text_append(line, GNUPLOT_TITLE, "%s%s", text,
                    strlen(why) - strlen(state) >= sizeof(text) ? "..." : "");
    }
}

/* ---- the picture ---- */

static bool write_script(FILE *out, const void *what, const struct gnuplot_paper *paper)
{
    const struct plot *p = what;
    char title[4][GNUPLOT_TITLE];
    for (unsigned run = 0; run < p->runs; run++) {
        name_run(title[2 * run], p, run);
        describe_run(title[2 * run + 1], p, run);
    }
    gnuplot_begin(out, paper);
    gnuplot_layout(out, (unsigned)(p->panels + 1) / 2, 2, title, 2 * p->runs);
    for (size_t i = 0; i < p->panels; i++)
        put_panel(out, p, i, paper->font);
    fprintf(out, "unset multiplot\n");
    return true;
}

struct one_panel {
    const struct plot *plot;
    size_t panel;
};

static bool write_panel(FILE *out, const void *what, const struct gnuplot_paper *paper)
{
    const struct one_panel *one = what;
    gnuplot_begin(out, paper);
    put_panel(out, one->plot, one->panel, paper->font);
    return true;
}

bool plot_is_drawable(const char *path)
{
    return text_ends_with(path, ".svg") || text_ends_with(path, ".png");
}

static struct scale scale_of_bytes(double most)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB"};
    struct scale s = {1024, units[0]};
    for (size_t i = 1; i < sizeof(units) / sizeof(units[0]) && most >= s.divisor * 1024; i++)
        s = (struct scale){s.divisor * 1024, units[i]};
    return s;
}

static void choose_scales(struct plot *p)
{
    double rate = 0, size = 0;
    p->time = p->length_s > 4 * 3600 ? (struct scale){3600, "h"}
              : p->length_s > 600    ? (struct scale){60, "min"}
              : p->length_s < 1      ? (struct scale){1e-3, "ms"}
                                     : (struct scale){1, "s"};
    for (size_t run = 0; run < p->runs; run++)
        for (size_t i = 0; i < p->run[run].points; i++) {
            const struct point *point = &p->run[run].point[i];
            for (unsigned t = 0; t < TRACE_TIERS; t++) {
                size = fmax(size, point->contents[t]);
                for (unsigned d = 0; d < POINTS_DIRECTIONS; d++)
                    rate = fmax(rate, (double)point->bytes[t][d] / point->length_s);
            }
        }
    p->rate = scale_of_bytes(rate);
    p->size = scale_of_bytes(size);
}

/* Whether the first run has the drive's own times of the tier. */
static bool has_drive_times(const struct plot *p)
{
    struct line line = {.quantity = CURVE_DRIVE, .tier = p->tier};
    bool reads = curve(p, &line);

    line.direction = POINTS_WRITE;
    return reads || curve(p, &line);
}

static void choose_panels(struct plot *p)
{
    static const enum panel of_result[] = {
        PERCENTILES, THROUGHPUT, CONTENTS,          TIMES,
        WAITS,       CACHE,      DRIVE_PERCENTILES, QUEUE_PERCENTILES};
    static const enum panel of_trace[] = {PERCENTILES, THROUGHPUT, CONTENTS, CACHE};
    static const enum panel of_results[] = {
        SERVICE_PERCENTILES, RESPONSE_PERCENTILES, THROUGHPUT, SERVICE, RESPONSE, CACHE,
        DRIVE_PERCENTILES,   QUEUE_PERCENTILES};
    static const enum panel of_traces[] = {SERVICE_PERCENTILES, THROUGHPUT, CONTENTS, CACHE};
    const char *tier = trace_tier_text(p->tier), *of = p->runs > 1 ? " of " : "";
    const char *of_one = p->runs > 1 ? tier : "";
    const enum panel *panels =
        p->result ? (p->runs > 1 ? of_results : of_result) : (p->runs > 1 ? of_traces : of_trace);
    p->panels = !p->result ? 4 : has_drive_times(p) ? 8 : 6;
    for (size_t i = 0; i < p->panels; i++) {
        char *title = p->title[i];
        size_t n = sizeof(p->title[i]);
        p->panel[i] = panels[i];
        switch (panels[i]) {
        case PERCENTILES:
        case SERVICE_PERCENTILES:
            snprintf(title, n, "%s%s%s",
                     p->result ? "Service time of whole objects" : "Size of objects", of, of_one);
            break;
        case RESPONSE_PERCENTILES:
            snprintf(title, n, "Response time of whole objects%s%s", of, of_one);
            break;
        case DRIVE_PERCENTILES:
            snprintf(title, n, "%s: time at the drive, and ours", tier);
            break;
        case QUEUE_PERCENTILES:
            snprintf(title, n, "%s: from the first I/O to the drive", tier);
            break;
        case THROUGHPUT:
            snprintf(title, n, "Throughput%s%s%s", p->result ? "" : " asked for", of, of_one);
            break;
        case CONTENTS:
            snprintf(title, n, "Contents of %s", p->runs > 1 ? tier : "the tiers");
            break;
        case TIMES:
            snprintf(title, n, "Times of %s: P95, and the worst", tier);
            break;
        case SERVICE:
            snprintf(title, n, "Service time of %s: P95", tier);
            break;
        case RESPONSE:
            snprintf(title, n, "Response time of %s: P95, and the worst", tier);
            break;
        case WAITS:
            snprintf(title, n, "Waits for %s", tier);
            break;
        case CACHE:
            snprintf(title, n, "%s",
                     hits_known(p) ? "Hit rate of all lookups" : "Operations, all tiers");
            break;
        case PANELS:
            break;
        }
    }
}

int plot_open(struct plot **out, const struct figures *base, const struct figures *new,
              struct err *e)
{
    struct plot *p = calloc(1, sizeof(*p));
    if (!p)
        return err_nomem(e, "plot");
    p->runs = new ? 2 : 1;
    p->result = figures_is_result(base);
    int rc = run_points_make(&p->run[0], base, e);
    if (rc == 0 && new)
        rc = run_points_make(&p->run[1], new, e);
    if (rc < 0) {
        plot_close(p);
        return rc;
    }
    p->tier = p->run[0].tier;
    p->length_s = fmax(p->run[0].length_s, new ? p->run[1].length_s : 0);
    choose_scales(p);
    choose_panels(p);
    *out = p;
    return 0;
}

void plot_close(struct plot *p)
{
    if (!p)
        return;
    for (size_t run = 0; run < 2; run++)
        free(p->run[run].point);
    free(p);
}

static const char *source_of(const struct plot *p)
{
    size_t files;
    return figures_files(p->run[p->runs - 1].f, &files)[0];
}

int plot_save(const char *path, const struct plot *p, struct err *e)
{
    const struct gnuplot_job job = {.script = write_script, .what = p, .source = source_of(p)};
    return gnuplot_save(path, &job, e);
}

size_t plot_panels(const struct plot *p)
{
    return p->panels;
}

int plot_panel(FILE *svg, const struct plot *p, size_t panel, struct err *e)
{
    const struct one_panel one = {p, panel};
    const struct gnuplot_job job = {
        .script = write_panel,
        .what = &one,
        .source = source_of(p),
        .paper = {.svg = true, .width = 600, .height = 400, .font = 14}};
    return gnuplot_draw(svg, &job, e);
}

const char *plot_panel_title(const struct plot *p, size_t panel)
{
    return p->title[panel];
}
