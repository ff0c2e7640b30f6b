/* The model of a table: which cell stands where, which columns have anything to say, and how wide
 * the first one is. Reports put cells; a form of this folder writes them. */
#include "kvstat/sheet/sheet.h"

#include <math.h>

#include "kvstat/report/cells.h"
#include "lib/facts/judge.h"

static uint64_t bit(size_t column)
{
    return UINT64_C(1) << column;
}

static bool is_left_out(const struct sheet *s, size_t column)
{
    return column < s->columns &&
           (s->left_out & bit(column) || s->column[column].flags & s->without);
}

const char *sheet_title(const struct sheet *s, size_t column)
{
    if (is_left_out(s, column))
        return NULL;
    return column == 0 && s->label ? s->label : s->column[column].title;
}

/* ---- passes ---- */

void sheet_begin(struct sheet *s)
{
    s->pass = SHEET_WRITTEN;
    s->rows = 0;
    s->form->head(s);
}

void sheet_end(struct sheet *s)
{
    if (s->rows > 0 && s->form->row)
        s->form->row(s);
    if (s->form->end)
        s->form->end(s);
}

/* Leaves out the optional columns of which no row knows a value, or else the spare ones. */
static void choose_columns(struct sheet *s)
{
    uint64_t optional = 0, spare = 0;
    for (size_t i = 0; i < s->columns; i++) {
        optional |= s->column[i].flags & SHEET_OPTIONAL ? bit(i) : 0;
        spare |= s->column[i].flags & SHEET_SPARE ? bit(i) : 0;
    }
    s->left_out = optional & ~s->known ? optional & ~s->known : spare;
}

bool sheet_pass(struct sheet *s)
{
    if (s->pass == SHEET_WRITTEN) {
        sheet_end(s);
        return false;
    }
    if (s->pass == SHEET_NEW || s->rows == 0)
        return s->pass++ == SHEET_NEW;
    choose_columns(s);
    sheet_begin(s);
    return true;
}

/* ---- cells ---- */

void sheet_row(struct sheet *s, const char *label)
{
    if (s->rows++ > 0 && s->pass == SHEET_WRITTEN && s->form->row)
        s->form->row(s);
    s->at = 0;
    if (label)
        sheet_word(s, label);
}

static bool is_known(const struct sheet_cell *c, unsigned flags)
{
    return !c->is_number ||
           (!isnan(c->number) && !c->none && !(flags & SHEET_NONZERO && c->number == 0));
}

void sheet_cell(struct sheet *s, const struct sheet_cell *c)
{
    if (s->pass != SHEET_WRITTEN) {
        const int columns = s->at == 0 ? cell_columns(c->text) : 0;
        s->width = columns > s->width ? columns : s->width;
        s->known |= is_known(c, s->column[s->at].flags) ? bit(s->at) : 0;
    } else if (!is_left_out(s, s->at)) {
        s->form->cell(s, c);
    }
    s->at++;
}

void sheet_word(struct sheet *s, const char *text)
{
    sheet_cell(s, &(struct sheet_cell){.text = text});
}

void sheet_marked(struct sheet *s, const char *text, const char *class)
{
    sheet_cell(s, &(struct sheet_cell){.text = text, .class = class});
}

void sheet_number(struct sheet *s, const char *name, double v, enum figure_unit unit,
                  const char *shown)
{
    sheet_cell(
        s,
        &(struct sheet_cell){
            .is_number = true, .name = name, .number = v, .ns = NAN, .unit = unit, .text = shown});
}

void sheet_figure(struct sheet *s, const struct figure *f, struct figure_id id)
{
    struct sheet_cell c = {.is_number = true, .id = id, .number = NAN, .ns = NAN};
    const unsigned percentile = id.statistic - (unsigned)FIGURE_P50;
    c.unit = id.statistic == FIGURE_COUNT ? FIGURE_UNIT_NONE : figure_unit(id.what);
    c.whole = id.statistic == FIGURE_COUNT;
    if (f && id.statistic == FIGURE_VALUE) {
        c.number = figure_number(f);
        c.whole = f->form == FIGURE_FORM_UNSIGNED || f->form == FIGURE_FORM_SIGNED;
    } else if (f && f->form == FIGURE_FORM_DISTRIBUTION) {
        c.number = figure_statistic(f, id.statistic);
        if (c.unit == FIGURE_UNIT_S || c.unit == FIGURE_UNIT_MS || c.unit == FIGURE_UNIT_US)
            c.ns = hist_statistic(f->hist, id.statistic - FIGURE_COUNT); /* unrounded */
        if (percentile < HIST_PERCENTILES) {
            const uint64_t n = hist_count(f->hist);
            const uint32_t ppm = hist_percentiles[percentile].ppm;
            c.few = !judge_enough(n, ppm);
            c.none = !isnan(c.ns) && n * (uint64_t)(1000000 - ppm) < 1000000;
        }
    }
    sheet_cell(s, &c);
}

void sheet_part(struct sheet *s, const struct figure_part *part)
{
    struct figure_id id = part->figure->id;
    while (s->at < s->columns && s->column[s->at].what) {
        id.what = s->column[s->at].what;
        id.statistic = s->column[s->at].statistic;
        sheet_figure(s, figure_in(part, id.what), id);
    }
}

void sheet_statistics(struct sheet *s, const struct figure *f)
{
    const bool says = s->pass == SHEET_WRITTEN && hist_max(f->hist) == 0;
    sheet_figure(s, f, figure_id_statistic(f->id, FIGURE_COUNT));
    if (says)
        sheet_word(s, "all 0");
    while (!says && s->at < s->columns)
        sheet_figure(s, f, figure_id_statistic(f->id, s->column[s->at].statistic));
}
