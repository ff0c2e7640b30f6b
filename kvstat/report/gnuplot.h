/* gnuplot.h - what all scripts for gnuplot begin with. */
#ifndef KVSTAT_REPORT_GNUPLOT_H
#define KVSTAT_REPORT_GNUPLOT_H

#include <stdbool.h>
#include <stdio.h>

/* Writes text in single quotes, in which gnuplot neither expands nor runs anything; control
 * characters become '?'. */
void gnuplot_put_quoted(FILE *out, const char *text);
/* The terminal (1200 x 800), the layout of panels, the title, and how axes and keys look. */
void gnuplot_begin(FILE *out, bool svg, unsigned rows, unsigned columns, const char *title);
/* The last part of a path, for a title. */
const char *gnuplot_name(const char *path);

#endif
