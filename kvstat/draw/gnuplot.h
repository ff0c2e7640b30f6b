/* gnuplot.h - runs gnuplot on a script, and writes what all scripts begin with. */
#ifndef KVSTAT_DRAW_GNUPLOT_H
#define KVSTAT_DRAW_GNUPLOT_H

#include <stdbool.h>
#include <stdio.h>

#include "lib/base/err.h"

/* Writes the script that draws a picture of what; false: there is nothing to draw. */
typedef bool (*gnuplot_script_fn)(FILE *script, const void *what, bool svg);

/* Draws to path (.svg or .png), which appears whole or not at all. 0; -EINVAL, class ERR_INPUT,
 * with source: there is nothing to draw; another negative errno, class ERR_OUTPUT, also when
 * gnuplot is missing or fails. */
int gnuplot_save(const char *path, gnuplot_script_fn script, const void *what, const char *source,
                 struct err *e);

/* Looks for gnuplot in PATH, before hours are spent on what it shall draw. 0, or -ENOENT with *e,
 * class ERR_OUTPUT. */
int gnuplot_find(struct err *e);

/* The terminal (1200 x 800), the layout of panels, the title, and how axes and keys look. */
void gnuplot_begin(FILE *out, bool svg, unsigned rows, unsigned columns, const char *title);
/* The last part of a path, for a title. */
const char *gnuplot_name(const char *path);

#endif
