/* Pictures of what the other programs measure: hit rate over capacity (kvgen --curve), the rounds
 * of kvprecond with the steady ones marked, and the ladder of kvtrace knee. */
#include <math.h>

#include "kvstat/draw/gnuplot.h"
#include "kvstat/draw/plot.h"
#include "kvstat/report/cells.h"
#include "lib/base/units.h"

/* A line of a panel: a column of the table, times scale. */
struct line {
    const char *column, *title, *style;
    double scale;
};

static double value_of(const struct number_table *t, size_t row, const struct line *l)
{
    return number_table_at(t, row, l->column) * l->scale;
}

static bool has_values(const struct number_table *t, const char *column)
{
    for (size_t row = 0; row < number_table_rows(t); row++)
        if (!isnan(number_table_at(t, row, column)))
            return true;
    return false;
}

/* A line's data, x by the column of that name. */
static void put_points(FILE *out, const struct number_table *t, const struct line *x,
                       const struct line *l)
{
    for (size_t row = 0; row < number_table_rows(t); row++) {
        double at = value_of(t, row, x), v = value_of(t, row, l);
        if (!isnan(at) && !isnan(v))
            fprintf(out, "%.9g %.9g\n", at, v);
    }
    fprintf(out, "e\n");
}

/* ---- hit rate over capacity ---- */

/* How far x has come from low to high: 0 to 1. */
static double fraction(double x, double low, double high)
{
    return high > low ? (x - low) / (high - low) : 0;
}

/* The row of the knee as kvgen finds it: where hits are furthest ahead of capacity on the way from
 * the first row to the ceiling (Satopaa et al., "Finding a 'Kneedle' in a haystack", ICDCSW 2011).
 * The number of rows: there is none. */
static size_t find_knee(const struct number_table *t)
{
    size_t n = number_table_rows(t), ceiling = 0, knee = n;
    double best = 0, most = n ? number_table_at(t, n - 1, "Hits") : NAN;
    if (!(most > 0))
        return n;
    while (number_table_at(t, ceiling, "Hits") < most)
        ceiling++;
    for (size_t i = 1; i <= ceiling; i++) {
        double above =
            fraction(number_table_at(t, i, "Hits"), number_table_at(t, 0, "Hits"), most) -
            fraction(number_table_at(t, i, "Capacity_Bytes"),
                     number_table_at(t, 0, "Capacity_Bytes"),
                     number_table_at(t, ceiling, "Capacity_Bytes"));
        if (above > best) {
            best = above;
            knee = i;
        }
    }
    return knee;
}

/* A label below the curve, on the side that has room, and a line down to the capacity. */
static void put_knee_label(FILE *out, const struct number_table *t, size_t knee)
{
    char size[CELL];
    double bytes = number_table_at(t, knee, "Capacity_Bytes"), mib = bytes / (double)UNITS_MIB;
    double rate = 100 * number_table_at(t, knee, "Object_Hit_Rate");
    double most = number_table_at(t, number_table_rows(t) - 1, "Capacity_Bytes");
    bool room = most > 16 * bytes;
    fprintf(out,
            "set style textbox opaque noborder\n"
            "set label 3 'knee: %s, %.1f %%' at first %.9g,first %.9g %s offset %s front boxed\n"
            "set arrow 1 from first %.9g,graph 0 to first %.9g,first %.9g nohead dt 3 lw 2 lc "
            "'#d55e00'\n",
            cell_bytes(size, bytes), rate, mib, rate, room ? "left" : "right",
            room ? "1.5,-0.7" : "-1.5,0.7", mib, mib, rate);
}

static bool write_curve(FILE *out, const void *what, const struct gnuplot_paper *paper)
{
    static const struct line capacity = {"Capacity_Bytes", "", "", 1.0 / (double)UNITS_MIB};
    static const struct line lines[] = {
        /* Objects of one size have one curve: the lower line is wide enough to be seen. */
        {"Object_Hit_Rate", "of objects", "lines lw 6 lc '#8fc6e8'", 100},
        {"Byte_Hit_Rate", "of bytes", "linespoints pt 7 ps 0.4 lw 2 lc '#a85d00'", 100},
        {"Optimal_Object_Hit_Rate", "of objects at best", "lines lw 4 lc '#c9c9c9'", 100},
        {"Optimal_Byte_Hit_Rate", "of bytes at best", "lines lw 2 dt 2 lc '#000000'", 100}};
    const size_t all = sizeof(lines) / sizeof(lines[0]);
    static const char *const units[] = {"MiB", "GiB", "TiB", "PiB"};
    const struct number_table *t = what;
    size_t n = number_table_rows(t);
    double lookups = n ? number_table_at(t, n - 1, "Lookups") : NAN, most = 0;
    char title[1][GNUPLOT_TITLE], count[CELL];
    for (size_t row = 0; row < n; row++)
        for (size_t i = 0; i < all; i++)
            most = fmax(most, value_of(t, row, &lines[i]));
    snprintf(title[0], sizeof(title[0]), "%.90s: hit rate by capacity%s%s%s",
             gnuplot_name(number_table_file(t)), lookups >= 0 ? ", " : "",
             lookups >= 0 ? cell_number(count, lookups) : "", lookups >= 0 ? " lookups" : "");
    gnuplot_begin(out, paper);
    gnuplot_layout(out, 1, 1, title, 1);

    /* Marks at powers of two, each with its unit. */
    fprintf(out, "set logscale x 2\nset xtics (");
    for (int i = -10; i < 40; i += 2)
        if (i < 0)
            fprintf(out, "'%d KiB' %.9g, ", 1 << (i + 10), ldexp(1, i));
        else
            fprintf(out, "'%d %s' %.9g, ", 1 << i % 10, units[i / 10], ldexp(1, i));
    fprintf(out, "'1 EiB' %.9g)\n", ldexp(1, 40));
    fprintf(out,
            "set xlabel 'capacity of the cache [bytes, powers of two]'\n"
            "set ylabel 'hit rate [%%]'\nset yrange [0:%.9g]\n",
            most > 0 ? fmin(1.15 * most, 105) : 105);

    size_t knee = find_knee(t);
    if (knee < n)
        put_knee_label(out, t, knee);

    /* The lines that the file has columns for. */
    bool any = false;
    for (size_t i = 0; i < all; i++)
        if (has_values(t, lines[i].column)) {
            fprintf(out, "%s '-' with %s title '%s'", any ? "," : "plot", lines[i].style,
                    lines[i].title);
            any = true;
        }
    if (any && knee < n)
        fprintf(out, ", '-' with points pt 6 ps 1.6 lw 2 lc '#d55e00' title 'knee'");
    if (any)
        fputc('\n', out);
    for (size_t i = 0; i < all; i++)
        if (has_values(t, lines[i].column))
            put_points(out, t, &capacity, &lines[i]);
    if (any && knee < n)
        fprintf(out, "%.9g %.9g\ne\n", value_of(t, knee, &capacity), value_of(t, knee, &lines[0]));
    fprintf(out, "unset multiplot\n");
    return any;
}

/* ---- rounds ---- */

#define STEADY_WINDOW 5

static const struct line round_number = {"Round", "", "", 1};

static bool is_steady(const struct number_table *t, size_t row)
{
    return number_table_at(t, row, "Steady") == 1;
}

/* The last rounds that nothing else had a part in, in their order. Returns how many. */
static size_t find_window(const struct number_table *t, size_t window[STEADY_WINDOW])
{
    size_t found = 0;
    for (size_t row = number_table_rows(t); row-- > 0 && found < STEADY_WINDOW;)
        if (!(number_table_at(t, row, "Disturbed") > 0))
            window[STEADY_WINDOW - ++found] = row;
    return found;
}

/* The first line has the mean of the last rounds, which the verdict is about, and marks where the
 * rounds were steady. */
static void put_round_panel(FILE *out, const struct number_table *t, const char *titles,
                            const struct line *lines, size_t n)
{
    size_t rows = number_table_rows(t);
    size_t last[STEADY_WINDOW];
    bool window = find_window(t, last) == STEADY_WINDOW, steady = false;
    for (size_t row = 0; row < rows; row++)
        steady |= is_steady(t, row);
    fprintf(out, "%s\nplot", titles);
    for (size_t i = 0; i < n; i++)
        fprintf(out, "%s '-' with %s title '%s'", i ? "," : "", lines[i].style, lines[i].title);
    if (window)
        fprintf(out, ", '-' with lines lw 2 dt 2 lc '#000000' title 'mean of the last 5'");
    if (steady)
        fprintf(out, ", '-' with points pt 6 ps 1.6 lw 2 lc '#d55e00' title 'steady from here'");
    fputc('\n', out);
    for (size_t i = 0; i < n; i++)
        put_points(out, t, &round_number, &lines[i]);
    if (window) {
        double mean = 0;
        for (size_t i = 0; i < STEADY_WINDOW; i++)
            mean += value_of(t, last[i], &lines[0]) / STEADY_WINDOW;
        for (size_t i = 0; i < STEADY_WINDOW; i++)
            fprintf(out, "%.9g %.9g\n", value_of(t, last[i], &round_number), mean);
        fprintf(out, "e\n");
    }
    if (steady) {
        for (size_t row = 0; row < rows; row++)
            if (is_steady(t, row))
                fprintf(out, "%.9g %.9g\n", value_of(t, row, &round_number),
                        value_of(t, row, &lines[0]));
        fprintf(out, "e\n");
    }
}

static bool write_rounds(FILE *out, const void *what, const struct gnuplot_paper *paper)
{
    static const struct line bandwidth = {"Bandwidth_GiB_s", "writes",
                                          "linespoints pt 7 ps 0.6 lw 2 lc '#0072b2'", 1};
    static const struct line iops = {"IOPS", "writes", "linespoints pt 7 ps 0.6 lw 2 lc '#009e73'",
                                     1};
    static const struct line latency[] = {
        {"Latency_mean_us", "mean", "linespoints pt 7 ps 0.6 lw 2 lc '#cc79a7'", 1e-3},
        {"Latency_p99_us", "p99", "linespoints pt 7 ps 0.6 lw 2 lc '#7a3e5f'", 1e-3}};
    const struct number_table *t = what;
    size_t n = number_table_rows(t);
    char title[1][GNUPLOT_TITLE];
    if (!has_values(t, bandwidth.column) || !has_values(t, iops.column) ||
        !has_values(t, latency[0].column) || !has_values(t, latency[1].column))
        return false;
    snprintf(title[0], sizeof(title[0]), "%.90s: %zu round%s of %.3g s, %s",
             gnuplot_name(number_table_file(t)), n, units_plural(n),
             number_table_at(t, 0, "Seconds"), is_steady(t, n - 1) ? "steady" : "not steady");
    gnuplot_begin(out, paper);
    gnuplot_layout(out, 3, 1, title, 1);
    fprintf(out,
            "set lmargin 11\nset xlabel 'round'\nset xrange [0.5:%zu.5]\nset xtics 1\nset yrange "
            "[0:*]\n",
            n);
    put_round_panel(out, t,
                    "set key title 'Bandwidth' font 'Sans,12'\nset ylabel 'bandwidth [GiB/s]'",
                    &bandwidth, 1);
    put_round_panel(out, t, "set key title 'Operations' font 'Sans,12'\nset ylabel 'writes [1/s]'",
                    &iops, 1);
    put_round_panel(out, t,
                    "set key title 'Latency of writes' font 'Sans,12'\nset ylabel 'latency [ms]'",
                    latency, 2);
    fprintf(out, "unset multiplot\n");
    return true;
}

/* ---- the ladder of objects in flight ---- */

static const struct line in_flight = {"In_Flight", "", "", 1};

/* A line and its columns NAME_Low and NAME_High, between which the same measurement comes again. */
struct ladder_line {
    struct line line;
    const char *low, *high, *colour;
};

static const struct ladder_line ladder_rate = {
    {"Bytes_Per_s", "throughput", "linespoints pt 7 ps 0.6 lw 2 lc '#0072b2'", 1e-9},
    "Bytes_Per_s_Low",
    "Bytes_Per_s_High",
    "#cfe3f1"};
static const struct ladder_line ladder_times[] = {
    {{"P50_us", "p50", "linespoints pt 7 ps 0.6 lw 2 lc '#e69f00'", 1e-3},
     "P50_us_Low",
     "P50_us_High",
     "#fae7c2"},
    {{"P95_us", "p95", "linespoints pt 7 ps 0.6 lw 2 lc '#cc79a7'", 1e-3},
     "P95_us_Low",
     "P95_us_High",
     "#f2dcea"},
    {{"P99_us", "p99", "linespoints pt 7 ps 0.6 lw 2 lc '#7a3e5f'", 1e-3},
     "P99_us_Low",
     "P99_us_High",
     "#dccfd7"}};
enum {
    LADDER_TIMES = sizeof(ladder_times) / sizeof(ladder_times[0])
};

static bool has_interval(const struct number_table *t, const struct ladder_line *l)
{
    return has_values(t, l->low) && has_values(t, l->high);
}

/* A low of 0 has no place on a logarithmic axis: it is drawn at a tenth of the mean. */
static void put_interval(FILE *out, const struct number_table *t, const struct ladder_line *l)
{
    for (size_t row = 0; row < number_table_rows(t); row++) {
        double at = number_table_at(t, row, in_flight.column);
        double low = number_table_at(t, row, l->low) * l->line.scale;
        double high = number_table_at(t, row, l->high) * l->line.scale;
        if (!isnan(low) && !isnan(high))
            fprintf(out, "%.9g %.9g %.9g\n", at, low > 0 ? low : value_of(t, row, &l->line) / 10,
                    high);
    }
    fprintf(out, "e\n");
}

/* Below each step what the device got: requests in flight, their size, and how they lie. */
static void put_steps(FILE *out, const struct number_table *t)
{
    char cell[CELL];
    fprintf(out, "set bmargin 7\nset xlabel offset 0,-2.5\nset xtics (");
    for (size_t row = 0; row < number_table_rows(t); row++) {
        double at = number_table_at(t, row, in_flight.column);
        double depth = number_table_at(t, row, "Device_Depth");
        double bytes = number_table_at(t, row, "IO_Bytes");
        double alignment = number_table_at(t, row, "Alignment_Bytes");
        fprintf(out, "%s\"%.0f", row ? ", " : "", at);
        if (!isnan(depth))
            fprintf(out, "\\ndepth %s", cell_number(cell, depth));
        if (!isnan(bytes))
            fprintf(out, "\\n%s I/O", cell_size(cell, bytes));
        if (alignment > 1)
            fprintf(out, "\\n%s aligned", cell_size(cell, alignment));
        else if (!isnan(alignment))
            fprintf(out, "\\nnot aligned");
        fprintf(out, "\" %.9g", at);
    }
    fprintf(out, ") font 'Sans,9'\n");
}

/* The steps that may be the knee. Returns how many; *first, *last: their rows. */
static size_t find_steps(const struct number_table *t, size_t *first, size_t *last)
{
    size_t n = 0;
    for (size_t row = 0; row < number_table_rows(t); row++)
        if (number_table_at(t, row, "Knee") == 1) {
            if (n == 0)
                *first = row;
            *last = row;
            n++;
        }
    return n;
}

static void put_rate_panel(FILE *out, const struct number_table *t, bool knee)
{
    bool interval = has_interval(t, &ladder_rate);
    put_steps(out, t);
    fprintf(out, "set ylabel 'throughput [GB/s]'\nset yrange [0:*]\nplot");
    if (interval)
        fprintf(out, " '-' with filledcurves lc '%s' title '95 %% of reruns',", ladder_rate.colour);
    fprintf(out, " '-' with %s title '%s'", ladder_rate.line.style, ladder_rate.line.title);
    if (knee)
        fprintf(out, ", '-' with points pt 6 ps 1.6 lw 2 lc '#d55e00' title 'knee'");
    fputc('\n', out);
    if (interval)
        put_interval(out, t, &ladder_rate);
    put_points(out, t, &in_flight, &ladder_rate.line);
    if (!knee)
        return;
    for (size_t row = 0; row < number_table_rows(t); row++)
        if (number_table_at(t, row, "Knee") == 1)
            fprintf(out, "%.9g %.9g\n", value_of(t, row, &in_flight),
                    value_of(t, row, &ladder_rate.line));
    fprintf(out, "e\n");
}

static void put_times_panel(FILE *out, const struct number_table *t)
{
    const char *separator = "plot";
    fprintf(out,
            "set bmargin -1\nset xlabel 'objects in flight' offset 0,0\nset xtics autofreq font "
            "''\nset ylabel 'latency [ms]'\nset logscale y\nset yrange [*:*]\n");
    for (size_t i = LADDER_TIMES; i-- > 0;)
        if (has_interval(t, &ladder_times[i])) {
            fprintf(out, "%s '-' with filledcurves fs transparent solid 0.7 lc '%s' notitle",
                    separator, ladder_times[i].colour);
            separator = ",";
        }
    for (size_t i = 0; i < LADDER_TIMES; i++) {
        fprintf(out, "%s '-' with %s title '%s'", separator, ladder_times[i].line.style,
                ladder_times[i].line.title);
        separator = ",";
    }
    fputc('\n', out);
    for (size_t i = LADDER_TIMES; i-- > 0;)
        if (has_interval(t, &ladder_times[i]))
            put_interval(out, t, &ladder_times[i]);
    for (size_t i = 0; i < LADDER_TIMES; i++)
        put_points(out, t, &in_flight, &ladder_times[i].line);
}

static bool write_ladder(FILE *out, const void *what, const struct gnuplot_paper *paper)
{
    const struct number_table *t = what;
    size_t first = 0, last = 0, knees = find_steps(t, &first, &last);
    char title[1][GNUPLOT_TITLE], at[64] = "no knee found";
    if (!has_values(t, ladder_rate.line.column) || !has_values(t, ladder_times[0].line.column))
        return false;
    if (knees == 1)
        snprintf(at, sizeof(at), "knee at %.0f", value_of(t, first, &in_flight));
    else if (knees > 1)
        snprintf(at, sizeof(at), "knee between %.0f and %.0f", value_of(t, first, &in_flight),
                 value_of(t, last, &in_flight));
    snprintf(title[0], sizeof(title[0]), "%.90s: %zu steps of objects in flight, %s",
             gnuplot_name(number_table_file(t)), number_table_rows(t), at);
    gnuplot_begin(out, paper);
    gnuplot_layout(out, 2, 1, title, 1);
    fprintf(out,
            "set lmargin 11\nset rmargin 3\nset logscale x 2\nset xrange [%.9g:%.9g]\nset xlabel "
            "'objects in flight; "
            "at the device: depth, size and alignment of requests'\n",
            value_of(t, 0, &in_flight) / 1.3,
            value_of(t, number_table_rows(t) - 1, &in_flight) * 1.3);
    put_rate_panel(out, t, knees > 0);
    put_times_panel(out, t);
    fprintf(out, "unset multiplot\n");
    return true;
}

int plot_save_numbers(const char *path, const struct number_table *t, enum number_table_kind kind,
                      struct err *e)
{
    const struct gnuplot_job job = {.script = kind == NUMBER_TABLE_CURVE  ? write_curve
                                              : kind == NUMBER_TABLE_KNEE ? write_ladder
                                                                          : write_rounds,
                                    .what = t,
                                    .source = number_table_file(t)};
    return gnuplot_save(path, &job, e);
}
