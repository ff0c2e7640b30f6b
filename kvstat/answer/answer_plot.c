/* Pictures of an answer as scripts with their data for gnuplot. What they show stands in the tables
 * of the page, too. */
#include "kvstat/answer/answer_plot.h"

#include <math.h>
#include <stdlib.h>

#include "kvstat/answer/answer_knee.h"
#include "kvstat/answer/view.h"
#include "kvstat/draw/gnuplot.h"
#include "kvstat/report/cells.h"
#include "lib/facts/judge.h"

/* Okabe and Ito's colours, which colour-blind readers tell apart. */
static const char *const colours[ANSWER_VARIANTS] = {
    [ANSWER_THIS] = "#0072b2", [ANSWER_NONE] = "#d55e00", [ANSWER_IDEAL] = "#009e73"};

static void begin(FILE *out, const struct gnuplot_paper *paper, const char *title)
{
    char line[1][GNUPLOT_TITLE];
    snprintf(line[0], sizeof(line[0]), "%s", title);
    gnuplot_begin(out, paper);
    gnuplot_layout(out, 1, 1, line, 1);
}

/* ---- users ---- */

static bool has_users(const struct answer *a)
{
    for (size_t i = 0; i < a->tried_count; i++)
        if (isfinite(a->tried[i].goodput))
            return true;
    return false;
}

/* As far as numbers matter: a third more than what is held. */
static double most_users(const struct answer *a)
{
    double most = isfinite(a->asked) ? a->asked : 0;
    for (unsigned v = 0; v < ANSWER_VARIANTS; v++)
        most = fmax(most, a->users[v].high);
    for (size_t i = 0; most <= 0 && i < a->tried_count; i++)
        most = fmax(most, a->tried[i].users);
    return most > 0 ? 1.33 * most : 1;
}

/* The points of a variant in the order of their numbers: all, or the line through them, which only
 * falls: near the edge the share of one load is chance, and first looks are of another seed (least
 * squares under order; Ayer et al., "An empirical distribution function for sampling with
 * incomplete information", Annals of Mathematical Statistics 26, 1955). */
static void put_good(FILE *out, const struct answer *a, enum answer_variant variant, bool line)
{
    struct step {
        double good, weight;
        size_t points;
    } *step = calloc(a->tried_count + 1, sizeof(*step));
    double *users = calloc(a->tried_count + 1, sizeof(*users));
    size_t n = 0, points = 0, at = 0;
    for (size_t i = 0; step && users && i < a->tried_count; i++) {
        const struct answer_tried *t = &a->tried[i];
        if (t->variant != variant || isnan(t->goodput))
            continue;
        users[points++] = t->users;
        step[n++] = (struct step){t->goodput, t->of > 0 ? t->of : 1, 1};
        while (line && n > 1 && step[n - 1].good > step[n - 2].good) {
            struct step *into = &step[n - 2], *from = &step[n - 1];
            double weight = into->weight + from->weight;
            into->good = (into->good * into->weight + from->good * from->weight) / weight;
            into->weight = weight;
            into->points += from->points;
            n--;
        }
    }
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < step[i].points; k++)
            fprintf(out, "%.9g %.6g\n", users[at++], 100 * step[i].good);
    fputs("e\n", out);
    free(users);
    free(step);
}

static void put_users(FILE *out, const struct answer *a)
{
    const struct answer_held *h = &a->users[ANSWER_THIS];
    const double limit = 100 * a->settings.goodput, most = most_users(a);
    char n[CONCLUSION_NUMBER];
    fprintf(out,
            "set xlabel '%s'\nset ylabel 'good requests [%%]'\nset xrange [0:%.9g]\n"
            "set yrange [0:105]\n",
            a->requests ? "requests a second" : "users", most);
    if (h->high > h->low)
        fprintf(out,
                "set object 1 rectangle from %.9g,graph 0 to %.9g,graph 1 behind fc '#cfe3f1' "
                "fs solid noborder\n",
                h->low, h->high);
    fprintf(out,
            "set arrow 1 from %.9g,graph 0 to %.9g,graph 1 nohead lw 2 lc '%s'\n"
            "set label 1 '%s' at %.9g,graph 0.06 left offset 0.6,0 tc '%s' front\n",
            h->value, h->value, colours[ANSWER_THIS], conclusion_count(n, a, h->value), h->value,
            colours[ANSWER_THIS]);
    if (isfinite(a->asked))
        fprintf(out,
                "set arrow 2 from %.9g,graph 0 to %.9g,graph 1 nohead dt 2 lw 2 lc '#000000'\n"
                "set label 2 'asked: %s' at %.9g,graph 0.14 right offset -0.6,0 front\n",
                a->asked, a->asked, conclusion_number(n, a, a->asked), a->asked);
    if (isfinite(limit))
        fprintf(out,
                "set arrow 3 from graph 0,first %.9g to graph 1,first %.9g nohead dt 3 lw 2 lc "
                "'#555555'\nset label 3 '%.3g %% must be good' at graph 0.02,first %.9g left "
                "offset 0,-0.7 tc '#555555' front\n",
                limit, limit, limit, limit);
    for (unsigned v = 0; v < ANSWER_VARIANTS; v++)
        fprintf(out,
                "%s '-' with points pt 7 ps 0.5 lc '%s' notitle, '-' with lines lw 2 lc '%s' title "
                "'%s'",
                v ? "," : "plot", colours[v], colours[v],
                answer_variant_words((enum answer_variant)v));
    fputc('\n', out);
    for (unsigned v = 0; v < ANSWER_VARIANTS; v++)
        for (int line = 0; line < 2; line++)
            put_good(out, a, (enum answer_variant)v, line);
}

/* ---- the drive ---- */

/* Objects in flight at the rate that is asked: Little, "A proof for the queuing formula L = lambda
 * W", Operations Research 9 (1961). NAN: not known. */
static double depth_of_reads(const struct answer *a, double size)
{
    return a->read.asked > 0 && a->hit_p50 > 0 ? a->read.asked * a->hit_p50 / size : NAN;
}

/* A line of the points of one mix: their rates, or (times) the P95 of an object. Returns whether it
 * has any; out NULL: that is all. */
static bool put_depths(FILE *out, const struct answer *a, double read_share, bool times)
{
    struct answer_point *p;
    const size_t n = answer_knee_ladder(&p, a, answer_knee_size(a), read_share);
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        double y = times ? p[i].p95_us / 1e3 : p[i].bytes_s / 1e9;
        any |= isfinite(y);
        if (out && isfinite(y))
            fprintf(out, "%.9g %.6g\n", p[i].in_flight, y);
    }
    if (out)
        fputs("e\n", out);
    free(p);
    return any;
}

/* Throughput of reads and writes, and their P95 by the axis on the right. */
static const struct {
    double read_share;
    bool times;
    const char *style;
} depth_lines[] = {
    {1, false, "linespoints pt 7 ps 0.6 lw 2 lc '#009e73' title 'reads'"},
    {0, false, "linespoints pt 7 ps 0.6 lw 2 lc '#0072b2' title 'writes'"},
    {1, true, "linespoints pt 6 ps 0.6 dt 2 lw 2 lc '#009e73' axes x1y2 title 'p95 of reads'"},
    {0, true, "linespoints pt 6 ps 0.6 dt 2 lw 2 lc '#0072b2' axes x1y2 title 'p95 of writes'"}};
enum {
    DEPTH_LINES = sizeof(depth_lines) / sizeof(depth_lines[0])
};

static bool has_depths(const struct answer *a)
{
    return put_depths(NULL, a, 1, false) || put_depths(NULL, a, 0, false);
}

static void put_drive(FILE *out, const struct answer *a)
{
    const double depth = depth_of_reads(a, answer_knee_size(a));
    const char *separator = "plot";
    struct answer_knee k;
    char n[CONCLUSION_NUMBER];
    bool marked = isfinite(depth) && a->reached, has[DEPTH_LINES];
    bool knee = answer_knee_find(&k, a) && k.found;
    for (unsigned i = 0; i < DEPTH_LINES; i++)
        has[i] = put_depths(NULL, a, depth_lines[i].read_share, depth_lines[i].times);
    fprintf(out, "set logscale x 2\nset xlabel 'objects in flight'\nset ylabel 'GB/s'\n"
                 "set yrange [0:*]\n");
    if (has[2] || has[3])
        fprintf(out, "set y2label 'p95 [ms]'\nset y2tics\nset y2range [0:*]\nset ytics nomirror\n");
    if (marked)
        fprintf(out, "set label 1 'reads at %s' at %.9g,%.9g left offset 1,0.8 tc '%s' front\n",
                conclusion_count(n, a, a->at), depth, a->read.asked / 1e9, colours[ANSWER_NONE]);
    for (unsigned i = 0; i < DEPTH_LINES; i++)
        if (has[i]) {
            fprintf(out, "%s '-' with %s", separator, depth_lines[i].style);
            separator = ",";
        }
    fprintf(out, "%s%s\n",
            knee ? ", '-' with points pt 6 ps 1.6 lw 2 lc '#000000' title 'knee'" : "",
            marked ? ", '-' with points pt 7 ps 1.6 lc '#d55e00' title 'this load'" : "");
    for (unsigned i = 0; i < DEPTH_LINES; i++)
        if (has[i])
            put_depths(out, a, depth_lines[i].read_share, depth_lines[i].times);
    if (knee)
        fprintf(out, "%.9g %.6g\ne\n", k.in_flight, k.bytes_s / 1e9);
    if (marked)
        fprintf(out, "%.9g %.6g\ne\n", depth, a->read.asked / 1e9);
}

/* ---- confirmed ---- */

static bool has_confirmed(const struct confirm *c)
{
    return c && c->drive.op[CONFIRM_READS].samples + c->drive.op[CONFIRM_WRITES].samples > 0;
}

static void put_confirmed(FILE *out, const struct confirm *c)
{
    static const char *const words[CONFIRM_OPS] = {"reads", "writes"};
    static const char *const percentiles[CONFIRM_PERCENTILES] = {"p50", "p95"};
    const struct confirm_side *side[] = {&c->model, &c->drive};
    unsigned bars = 0;
    char time[CELL];
    fprintf(out, "set ylabel 'service time [ms]'\nset yrange [0:*]\nset style fill solid "
                 "noborder\nset boxwidth 0.36\nset xtics (");
    for (unsigned op = 0; op < CONFIRM_OPS; op++)
        for (unsigned p = 0; p < CONFIRM_PERCENTILES; p++)
            if (c->drive.op[op].samples > 0)
                fprintf(out, "%s'%s %s' %u", bars > 0 ? ", " : "", words[op], percentiles[p], bars),
                    bars++;
    fprintf(out, ")\nset xrange [-0.6:%.1f]\n", bars - 0.4);
    fprintf(out, "plot '-' with boxes lc '#999999' title 'model', '-' with boxes lc '#0072b2' "
                 "title 'measured', '-' with labels offset 0,0.6 notitle, '-' with labels offset "
                 "0,0.6 notitle\n");
    for (unsigned pass = 0; pass < 4; pass++) {
        double x = pass % 2 ? 0.19 : -0.19;
        for (unsigned op = 0; op < CONFIRM_OPS; op++)
            for (unsigned p = 0; p < CONFIRM_PERCENTILES; p++) {
                double ms = 1e3 * side[pass % 2]->op[op].s[p];
                if (c->drive.op[op].samples == 0)
                    continue;
                if (isfinite(ms) && pass < 2)
                    fprintf(out, "%.3g %.6g\n", x, ms);
                else if (isfinite(ms))
                    fprintf(out, "%.3g %.6g \"%s\"\n", x, ms, view_span(time, ms / 1e3));
                x++;
            }
        fputs("e\n", out);
    }
}

/* ---- all of them ---- */

bool answer_plot_has(const struct answer_plot *p)
{
    const struct answer *a = p->conclusion->answer;
    switch (p->picture) {
    case ANSWER_PICTURE_USERS:
        return has_users(a);
    case ANSWER_PICTURE_DRIVE:
        return has_depths(a);
    case ANSWER_PICTURE_CONFIRMED:
        return has_confirmed(p->conclusion->confirm);
    case ANSWER_PICTURES:
        break;
    }
    return false;
}

const char *answer_plot_title(const struct answer_plot *p)
{
    static const char *const titles[ANSWER_PICTURES] = {
        [ANSWER_PICTURE_USERS] = "Good requests by load",
        [ANSWER_PICTURE_DRIVE] = "The load against the drive's limits",
        [ANSWER_PICTURE_CONFIRMED] = "On the drive beside its model"};
    return titles[p->picture];
}

static bool write_script(FILE *out, const void *what, const struct gnuplot_paper *paper)
{
    const struct answer_plot *p = what;
    char title[GNUPLOT_TITLE], size[CELL];
    if (!answer_plot_has(p))
        return false;
    snprintf(title, sizeof(title), "%s", answer_plot_title(p));
    if (p->picture == ANSWER_PICTURE_DRIVE)
        snprintf(title, sizeof(title), "%s, objects of %s", answer_plot_title(p),
                 cell_size(size, answer_knee_size(p->conclusion->answer)));
    begin(out, paper, title);
    if (p->picture == ANSWER_PICTURE_USERS)
        put_users(out, p->conclusion->answer);
    else if (p->picture == ANSWER_PICTURE_DRIVE)
        put_drive(out, p->conclusion->answer);
    else
        put_confirmed(out, p->conclusion->confirm);
    fprintf(out, "unset multiplot\n");
    return true;
}

int answer_plot_draw(FILE *svg, const void *what, struct err *e)
{
    const struct answer_plot *p = what;
    const struct gnuplot_job job = {
        .script = write_script,
        .what = p,
        .source = p->conclusion->answer->file,
        .paper = {.svg = true, .width = 600, .height = 400, .font = 14}};
    return gnuplot_draw(svg, &job, e);
}
