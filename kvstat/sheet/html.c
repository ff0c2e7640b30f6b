/* Writes tables of an HTML page, each in a box that scrolls where the page is narrow. */
#include <math.h>
#include <stdio.h>

#include "kvstat/draw/html.h"
#include "kvstat/sheet/sheet.h"

static const char *class_of(const struct sheet *s, size_t column)
{
    return column > 0 && s->column[column].flags & SHEET_LEFT ? "text" : "";
}

static void head(struct sheet *s)
{
    if (s->title)
        fprintf(s->out, "<h3>%s</h3>\n", s->title);
    fprintf(s->out, "<div class=\"box%s\"><table>\n<thead><tr>", s->columns == 2 ? " narrow" : "");
    for (size_t i = 0; i < s->columns; i++)
        if (sheet_title(s, i))
            fprintf(s->out, "<th scope=\"col\"%s>%s</th>",
                    class_of(s, i)[0] ? " class=\"text\"" : "", sheet_title(s, i));
    fputs("</tr></thead>\n<tbody>\n", s->out);
}

static void put_label(FILE *out, const struct sheet_cell *c)
{
    fputs("<tr><th scope=\"row\">", out);
    if (c->class)
        fprintf(out, "<i class=\"%s\"></i>", c->class);
    html_text(out, c->text);
    fputs("</th>", out);
}

static void put_number(FILE *out, const struct sheet_cell *c)
{
    char buf[FIGURE_NAME];
    const char *name = c->name ? c->name : figure_name(buf, &c->id);
    fputs("<td>", out);
    if (c->text)
        html_shown(out, name, c->number, c->text);
    else
        html_value(out, name, c->unit, c->number, c->few);
    if (c->after && isfinite(c->number)) {
        fputc(' ', out);
        html_text(out, c->after);
    }
    fputs("</td>", out);
}

static void cell(struct sheet *s, const struct sheet_cell *c)
{
    if (s->at == 0)
        put_label(s->out, c);
    else if (c->is_number)
        put_number(s->out, c);
    else if (!c->text)
        fputs("<td></td>", s->out);
    else
        html_element(s->out, "td", c->class ? c->class : class_of(s, s->at), c->text);
}

static void row(struct sheet *s)
{
    fputs("</tr>\n", s->out);
}

static void end(struct sheet *s)
{
    fputs("</tbody></table></div>\n", s->out);
}

const struct sheet_form sheet_html = {head, cell, row, end};
