/* html.h - writes HTML. Every text from outside goes through html_text, numbers through html_value:
 * names in a trace are whatever its writer liked. */
#ifndef KVSTAT_DRAW_HTML_H
#define KVSTAT_DRAW_HTML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "kvstat/report/figure.h"
#include "lib/base/err.h"

/* The page up to its first heading, and from its last section on: the command that made it. */
void html_begin(FILE *out, const char *title);
void html_end(FILE *out, int argc, char *const *argv);

/* Text, also inside a quoted attribute: no markup, no control characters, valid UTF-8. */
void html_text(FILE *out, const char *text);
/* <tag>text</tag>; class: "" none. Both are ours, not texts from outside. */
void html_element(FILE *out, const char *tag, const char *class, const char *text);

/* Draws a picture as SVG to a stream in memory. 0 or a negative errno with *e. */
typedef int (*html_draw_fn)(FILE *svg, const void *what, struct err *e);
/* That picture in a frame. The same codes. */
int html_picture(FILE *out, html_draw_fn draw, const void *what, const char *description,
                 struct err *e);
/* In the place of pictures: that gnuplot is not there, and how to install it. */
void html_no_pictures(FILE *out);

/*
 * A number with its name in the JSON and its exact value:
 * <data title="tiers.Tier-2.read.ops" value="12">12</data>, shown as the text report has it; a dash
 * where it is not known. few: too few samples support it.
 */
void html_value(FILE *out, const char *name, enum figure_unit unit, double v, bool few);
/* The same with a text of its own. */
void html_shown(FILE *out, const char *name, double v, const char *shown);

#endif
