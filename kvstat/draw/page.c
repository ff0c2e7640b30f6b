/* The HTML page of a run, and of a comparison: what comes in which order, and the pictures. */
#include "kvstat/draw/page.h"

#include <math.h>
#include <stdio.h>

#include "kvstat/draw/gnuplot.h"
#include "kvstat/draw/html.h"
#include "kvstat/draw/page_tables.h"
#include "kvstat/output.h"
#include "kvstat/report/cells.h"
#include "kvstat/sheet/sheet.h"
#include "lib/base/units.h"
#include "lib/trace/trace.h"

/* ---- pictures ---- */

struct picture {
    const struct plot *plot;
    size_t panel;
};

static int draw_panel(FILE *svg, const void *what, struct err *e)
{
    const struct picture *p = what;
    return plot_panel(svg, p->plot, p->panel, e);
}

static int put_plots(FILE *out, const struct page *p, struct err *e)
{
    struct plot *plot = NULL;
    int rc = 0;
    if (p->compare && (!p->run[0] || !p->run[1])) {
        fputs("<p>Pictures show one run of each side; here one side has several.</p>\n", out);
        return 0;
    }
    if (!gnuplot_is_there()) {
        html_no_pictures(out);
        return 0;
    }
    rc = plot_open(&plot, p->run[0], p->run[1], e);
    fputs("<div class=\"plots\">\n", out);
    for (size_t i = 0; rc == 0 && i < plot_panels(plot); i++)
        rc =
            html_picture(out, draw_panel, &(struct picture){plot, i}, plot_panel_title(plot, i), e);
    fputs("</div>\n", out);
    plot_close(plot);
    return rc;
}

/* ---- a comparison ---- */

static void put_compared(struct sheet *s, const struct compare_figure *f)
{
    static const struct {
        const char *word, *class;
    } changes[COMPARE_CHANGES] = {[COMPARE_NOT_CHANGED] = {"noise", "none"},
                                  [COMPARE_BETTER] = {"better", "good"},
                                  [COMPARE_WORSE] = {"worse", "bad"},
                                  [COMPARE_DIFFERENT] = {"different", "doubt"}};
    const enum figure_unit unit = figure_unit(f->id->what);
    const struct {
        const char *member;
        enum figure_unit unit;
        double v;
    } number[] = {{"base", unit, f->base},
                  {"new", unit, f->new},
                  {"change", FIGURE_UNIT_SHARE, f->difference},
                  {"p_value", FIGURE_UNIT_NONE, f->p}};
    char text[FIGURE_NAME + 16], name[FIGURE_NAME], section[COMPARE_SECTION];
    snprintf(text, sizeof(text), "%s: %s", compare_section(section, f->id),
             figure_headline(f->id)->label);
    sheet_row(s, text);
    for (size_t i = 0; i < sizeof(number) / sizeof(number[0]); i++) {
        snprintf(text, sizeof(text), "%s.%s", figure_name(name, f->id), number[i].member);
        sheet_number(s, text, number[i].v, number[i].unit, NULL);
    }
    sheet_marked(s, isnan(f->p) ? "not known" : changes[f->change].word,
                 isnan(f->p) ? "none" : changes[f->change].class);
}

static void put_changes(FILE *out, const struct compare *c, bool changed)
{
    static const struct sheet_column columns[] = {{"figure", 0, 0, 0}, {"base", 0, 0, 0},
                                                  {"new", 0, 0, 0},    {"change", 0, 0, 0},
                                                  {"p", 0, 0, 0},      {"verdict", 0, 0, 0}};
    struct sheet s = {SHEET(sheet_html, out, columns)};
    sheet_begin(&s);
    for (size_t i = 0; i < c->count; i++)
        if ((c->figure[i].change != COMPARE_NOT_CHANGED) == changed)
            put_compared(&s, &c->figure[i]);
    sheet_end(&s);
}

static void put_runs(struct sheet *s, const char *side, const struct run_table *t)
{
    const struct figure_id rows = figure_id(FIGURE_OF_RUN, FIGURE_ROWS);
    const struct figure_id elapsed = figure_id(FIGURE_OF_RUN, FIGURE_ELAPSED);
    for (size_t run = 0; run < run_table_runs(t); run++) {
        char cell[CELL];
        sheet_row(s, side);
        sheet_word(s, cell_count(cell, (uint64_t)run_table_number(t, run, rows)));
        sheet_word(s, cell_seconds(cell, run_table_number(t, run, elapsed)));
        sheet_word(s, run_table_text(t, run, figure_id(FIGURE_OF_RUN, FIGURE_FILES)));
        sheet_word(s, run_table_text(t, run, figure_id(FIGURE_OF_VALIDITY, FIGURE_VALIDITY_LINE)));
    }
}

static int put_comparison(FILE *out, const struct page *p, struct err *e)
{
    static const struct sheet_column columns[] = {{"side", 0, 0, 0},
                                                  {"rows", 0, 0, 0},
                                                  {"elapsed", 0, 0, 0},
                                                  {"file", 0, 0, SHEET_LEFT},
                                                  {"validity", 0, 0, SHEET_LEFT}};
    struct sheet s = {SHEET(sheet_html, out, columns)};
    char sentence[COMPARE_SENTENCE];
    const struct compare *c = p->compare;
    size_t changed = c->count - c->changes[COMPARE_NOT_CHANGED];
    fputs("<h1>New against base</h1>\n<section>\n", out);
    html_element(out, "p", "", compare_sentence(sentence, c));
    sheet_begin(&s);
    put_runs(&s, "base", p->base);
    put_runs(&s, "new", p->new);
    sheet_end(&s);
    fprintf(out,
            "</section>\n<section>\n<h2>Changed</h2>\n<p>%zu of %zu figure%s that could be tested "
            "changed by more than the noise (99 %%, corrected for their number).</p>\n",
            changed, c->tested, units_plural(c->tested));
    if (changed > 0)
        put_changes(out, c, true);
    fputs("</section>\n<section>\n<h2>Both runs over each other</h2>\n", out);
    int rc = put_plots(out, p, e);
    fputs("</section>\n<section>\n<h2>Not changed, or not known</h2>\n", out);
    put_changes(out, c, false);
    fputs("</section>\n<section>\n<h2>How it was run</h2>\n", out);
    for (int side = 0; side < 2; side++)
        if (p->run[side]) {
            fprintf(out, "<h3>%s</h3>\n", side ? "New" : "Base");
            page_how(out, p->run[side]);
        }
    fputs("</section>\n", out);
    return rc;
}

/* ---- one run ---- */

static int put_run(FILE *out, const struct page *p, struct err *e)
{
    const struct figures *f = p->run[0];
    size_t files;
    const char *const *file = figures_files(f, &files);
    double users = figures_number(f, figure_id(FIGURE_OF_PROVENANCE, FIGURE_USERS));
    const char *model = figures_text(f, figure_id(FIGURE_OF_PROVENANCE, FIGURE_MODEL));
    char count[CELL], elapsed[CELL], number[CELL];
    html_element(out, "h1", "", gnuplot_name(file[0]));
    fprintf(out, "<p class=\"sub\">%s, %s over %s",
            figures_is_result(f) ? "Result of a replay" : "Trace: times are simulated",
            cell_rows(count, figures_count(f, figure_id(FIGURE_OF_RUN, FIGURE_ROWS))),
            cell_seconds(elapsed, figures_number(f, figure_id(FIGURE_OF_RUN, FIGURE_ELAPSED))));
    if (files > 1)
        fprintf(out, "; %zu files pooled", files);
    if (model[0]) {
        fputs("; ", out);
        html_text(out, model);
    }
    if (users >= 0)
        fprintf(out, ", %s user%s", cell_count(number, (uint64_t)users), users != 1 ? "s" : "");
    const char *target = figures_text(f, figure_id(FIGURE_OF_PROVENANCE, FIGURE_TARGET));
    if (target[0]) {
        fputs("; on ", out);
        html_text(out, target);
    }
    for (unsigned t = 0; t < TRACE_TIERS; t++)
        if (figures_stand_in(f, t)[0])
            fprintf(out, "; <strong class=\"doubt\">%s %s</strong>", trace_tier_text(t),
                    figures_stand_in(f, t));
    if (figures_is(f, figure_id(FIGURE_OF_RUN, FIGURE_CUT)))
        fputs("; <strong class=\"bad\">the file is cut: this is on what is there</strong>", out);
    fputs("</p>\n", out);
    page_verdict(out, f);
    page_validity(out, f);
    fputs("<section>\n<h2>Pictures</h2>\n", out);
    int rc = put_plots(out, p, e);
    fputs("</section>\n", out);
    page_tables(out, f);
    fputs("<section>\n<h2>How it was run</h2>\n", out);
    page_how(out, f);
    fputs("</section>\n", out);
    return rc;
}

/* ---- the page ---- */

static int put_page(FILE *out, const void *page, struct err *e)
{
    const struct page *p = page;
    size_t files;
    html_begin(out, p->compare ? "Comparison" : gnuplot_name(figures_files(p->run[0], &files)[0]));
    int rc = p->compare ? put_comparison(out, p, e) : put_run(out, p, e);
    html_end(out, p->argc, p->argv);
    return rc;
}

int page_save(const char *path, const struct page *page, struct err *e)
{
    return output_write(path, "page", put_page, page, e);
}
