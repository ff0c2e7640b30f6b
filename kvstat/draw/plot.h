/* plot.h - pictures, drawn by gnuplot: of a report, of two runs over each other, and of what the
 * other programs measure. */
#ifndef KVSTAT_DRAW_PLOT_H
#define KVSTAT_DRAW_PLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "kvstat/number_table.h"
#include "kvstat/report/figures.h"
#include "lib/base/err.h"

/* Whether the name ends in .svg or .png. */
bool plot_is_drawable(const char *path);

/* A picture in panels of one run, or of a base and a new run over each other. */
struct plot;
/* The runs are lent and have a time series; new: NULL: one run. 0 or -ENOMEM with *e. */
int plot_open(struct plot **out, const struct figures *base, const struct figures *new,
              struct err *e);
void plot_close(struct plot *p);
/* Draws all panels to a file. The same codes as gnuplot_save. */
int plot_save(const char *path, const struct plot *p, struct err *e);
/* A panel alone, as SVG, to a stream in memory, and what it shows. The same codes. */
size_t plot_panels(const struct plot *p);
int plot_panel(FILE *svg, const struct plot *p, size_t panel, struct err *e);
const char *plot_panel_title(const struct plot *p, size_t panel);

/* Draws a file of that kind (not NUMBER_TABLE_NONE). The same codes. */
int plot_save_numbers(const char *path, const struct number_table *t, enum number_table_kind kind,
                      struct err *e);

#endif
