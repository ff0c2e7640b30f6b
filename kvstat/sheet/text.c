/* Writes tables as text: to a report, or to a screen, whose lines have a greatest length. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kvstat/report/cells.h"
#include "kvstat/screen/lines.h"
#include "kvstat/sheet/sheet.h"
#include "lib/text/text.h"

/* The text of a number in a column. Rates have no unit there: it stands in the title. */
static const char *number(char buf[CELL], const struct sheet_cell *c)
{
    if (isnan(c->number) || c->none)
        return "-";
    if (!isnan(c->ns))
        return cell_time(buf, c->ns, !c->few);
    if (c->whole && c->unit == FIGURE_UNIT_NONE)
        return cell_count(buf, (uint64_t)c->number);
    if (c->unit == FIGURE_UNIT_GIB_PER_S || c->unit == FIGURE_UNIT_TOKENS_PER_S)
        return cell_number(buf, c->number);
    return cell_value(buf, c->unit, c->number);
}

static void add(struct sheet *s, size_t column, const char *text)
{
    const bool left = s->column[column].flags & SHEET_LEFT;
    const int width = column == 0 ? s->width : cell_columns(s->column[column].title);
    text_append(s->line, sizeof(s->line), "%*s%*s", column == 0 ? s->indent : 1, "",
                (left ? -1 : 1) * cell_pad(text, width), text);
}

static void put_line(struct sheet *s)
{
    if (s->form == &sheet_screen)
        lines_add(s->out, "%s", s->line);
    else
        fprintf(s->out, "%s\n", s->line);
    s->line[0] = '\0';
}

static void put_titles(struct sheet *s, const char *const *above)
{
    for (size_t i = 0; i < s->columns; i++)
        if (sheet_title(s, i) && (i == 0 || s->column[i].title[0]))
            add(s, i, above ? above[i] : sheet_title(s, i));
    put_line(s);
}

static void head(struct sheet *s)
{
    const int columns = cell_columns(sheet_title(s, 0));
    s->width = columns > s->width ? columns : s->width;
    if (s->title)
        fprintf(s->out, "\n%s%s%s\n", s->title, s->note && s->note[0] ? " - " : "",
                s->note ? s->note : "");
    if (s->above)
        put_titles(s, s->above);
    put_titles(s, NULL);
}

static void cell(struct sheet *s, const struct sheet_cell *c)
{
    char buf[CELL];
    add(s, s->at, c->text ? c->text : number(buf, c));
}

const struct sheet_form sheet_text = {head, cell, put_line, NULL};
const struct sheet_form sheet_screen = {head, cell, put_line, NULL};
