/* Pictures of what the other programs measure: hit rate over capacity (kvgen --curve), and the
 * rounds of kvprecond with those that were steady marked. */
#include <math.h>

#include "kvstat/number_table.h"
#include "kvstat/report/cells.h"
#include "kvstat/report/gnuplot.h"
#include "kvstat/report/report.h"
#include "lib/base/units.h"

#define MIB 1048576.0

struct line {
    const char *column, *title, *style;
    double scale;
};

static bool has_values(const struct columns *c, const char *column)
{
    for (size_t row = 0; row < columns_rows(c); row++)
        if (!isnan(columns_at(c, row, column)))
            return true;
    return false;
}

static void put_points(FILE *out, const struct columns *c, const char *x, double x_scale,
                       const struct line *l)
{
    for (size_t row = 0; row < columns_rows(c); row++) {
        double at = columns_at(c, row, x) / x_scale, v = columns_at(c, row, l->column) * l->scale;
        if (!isnan(at) && !isnan(v))
            fprintf(out, "%.9g %.9g\n", at, v);
    }
    fprintf(out, "e\n");
}

/* The lines that the file has columns for; false, and nothing drawn, when it has none. */
static bool put_lines(FILE *out, const struct columns *c, const char *x, double x_scale,
                      const struct line *lines, size_t n)
{
    const char *separator = "plot";
    for (size_t i = 0; i < n; i++)
        if (has_values(c, lines[i].column)) {
            fprintf(out, "%s '-' with %s title '%s'", separator, lines[i].style, lines[i].title);
            separator = ",";
        }
    if (separator[0] == 'p')
        return false;
    fputc('\n', out);
    for (size_t i = 0; i < n; i++)
        if (has_values(c, lines[i].column))
            put_points(out, c, x, x_scale, &lines[i]);
    return true;
}

/* ---- hit rate over capacity ---- */

bool report_curve_plot(FILE *out, const struct columns *c, bool svg)
{
    static const struct line lines[] = {
        /* Objects of one size have one curve: the lower line is wide enough to be seen. */
        {"Object_Hit_Rate", "of objects", "lines lw 6 lc '#8fc6e8'", 100},
        {"Byte_Hit_Rate", "of bytes", "linespoints pt 7 ps 0.4 lw 2 lc '#a85d00'", 100},
        {"Optimal_Object_Hit_Rate", "of objects at best", "lines lw 4 lc '#c9c9c9'", 100},
        {"Optimal_Byte_Hit_Rate", "of bytes at best", "lines lw 2 dt 2 lc '#000000'", 100}};
    double most = 0;
    for (size_t row = 0; row < columns_rows(c); row++)
        for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
            most = fmax(most, 100 * columns_at(c, row, lines[i].column));
    char title[256], count[CELL];
    size_t n = columns_rows(c);
    double lookups = n ? columns_at(c, n - 1, "Lookups") : NAN;
    snprintf(title, sizeof(title), "%.90s: hit rate by capacity%s%s%s",
             gnuplot_name(columns_file(c)), lookups >= 0 ? ", " : "",
             lookups >= 0 ? cell_number(count, lookups) : "", lookups >= 0 ? " lookups" : "");
    gnuplot_begin(out, svg, 1, 1, title);
    /* Marks at powers of two, each with its unit. */
    fprintf(out, "set logscale x 2\nset xtics (");
    static const char *const units[] = {"MiB", "GiB", "TiB", "PiB"};
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
    bool any = put_lines(out, c, "Capacity_Bytes", MIB, lines, sizeof(lines) / sizeof(lines[0]));
    fprintf(out, "unset multiplot\n");
    return any;
}

/* ---- rounds ---- */

#define STEADY_WINDOW 5

/* The mean over the last rounds, which the verdict is about, as a line below them. */
static void put_window(FILE *out, const struct columns *c, const struct line *l)
{
    size_t n = columns_rows(c);
    double sum = 0;
    for (size_t row = n - STEADY_WINDOW; row < n; row++)
        sum += columns_at(c, row, l->column) * l->scale / STEADY_WINDOW;
    for (size_t row = n - STEADY_WINDOW; row < n; row++)
        fprintf(out, "%.9g %.9g\n", columns_at(c, row, "Round"), sum);
    fprintf(out, "e\n");
}

static void put_steady(FILE *out, const struct columns *c, const struct line *l)
{
    for (size_t row = 0; row < columns_rows(c); row++)
        if (columns_at(c, row, "Steady") == 1)
            fprintf(out, "%.9g %.9g\n", columns_at(c, row, "Round"),
                    columns_at(c, row, l->column) * l->scale);
    fprintf(out, "e\n");
}

static bool is_steady(const struct columns *c)
{
    for (size_t row = 0; row < columns_rows(c); row++)
        if (columns_at(c, row, "Steady") == 1)
            return true;
    return false;
}

static void put_round_panel(FILE *out, const struct columns *c, const char *title, const char *unit,
                            const struct line *lines, size_t n)
{
    bool window = columns_rows(c) >= STEADY_WINDOW, steady = is_steady(c);
    fprintf(out, "set key title '%s' font 'Sans,12'\nset ylabel '%s'\nplot", title, unit);
    for (size_t i = 0; i < n; i++)
        fprintf(out, "%s '-' with %s title '%s'", i ? "," : "", lines[i].style, lines[i].title);
    if (window)
        fprintf(out, ", '-' with lines lw 2 dt 2 lc '#000000' title 'mean of the last 5'");
    if (steady)
        fprintf(out, ", '-' with points pt 6 ps 1.6 lw 2 lc '#d55e00' title 'steady from here'");
    fputc('\n', out);
    for (size_t i = 0; i < n; i++)
        put_points(out, c, "Round", 1, &lines[i]);
    if (window)
        put_window(out, c, &lines[0]);
    if (steady)
        put_steady(out, c, &lines[0]);
}

bool report_rounds_plot(FILE *out, const struct columns *c, bool svg)
{
    static const struct line bandwidth = {"Bandwidth_GiB_s", "writes",
                                          "linespoints pt 7 ps 0.6 lw 2 lc '#0072b2'", 1};
    static const struct line iops = {"IOPS", "writes", "linespoints pt 7 ps 0.6 lw 2 lc '#009e73'",
                                     1};
    static const struct line latency[] = {
        {"Latency_mean_us", "mean", "linespoints pt 7 ps 0.6 lw 2 lc '#cc79a7'", 1e-3},
        {"Latency_p99_us", "p99", "linespoints pt 7 ps 0.6 lw 2 lc '#7a3e5f'", 1e-3}};
    size_t n = columns_rows(c);
    char title[256];
    if (!has_values(c, bandwidth.column) || !has_values(c, iops.column) ||
        !has_values(c, latency[0].column) || !has_values(c, latency[1].column))
        return false;
    snprintf(title, sizeof(title), "%.90s: %zu round%s of %.3g s, %s",
             gnuplot_name(columns_file(c)), n, units_plural(n), columns_at(c, 0, "Seconds"),
             columns_at(c, n - 1, "Steady") == 1 ? "steady" : "not steady");
    gnuplot_begin(out, svg, 3, 1, title);
    fprintf(out,
            "set lmargin 11\nset xlabel 'round'\nset xrange [0.5:%zu.5]\nset xtics 1\nset yrange "
            "[0:*]\n",
            n);
    put_round_panel(out, c, "Bandwidth", "bandwidth [GiB/s]", &bandwidth, 1);
    put_round_panel(out, c, "Operations", "writes [1/s]", &iops, 1);
    put_round_panel(out, c, "Latency of writes", "latency [ms]", latency, 2);
    fprintf(out, "unset multiplot\n");
    return true;
}
