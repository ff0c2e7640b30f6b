/* plot.h - pictures, drawn by gnuplot: of a report, and of what the other programs measure. */
#ifndef KVSTAT_DRAW_PLOT_H
#define KVSTAT_DRAW_PLOT_H

#include <stdbool.h>

#include "kvstat/number_table.h"
#include "kvstat/report/figures.h"
#include "lib/base/err.h"

/* Whether the name ends in .svg or .png. */
bool plot_is_drawable(const char *path);
/* Draws f, which has a time series. The same codes as gnuplot_save. */
int plot_save(const char *path, const struct figures *f, struct err *e);
/* Draws a file of that kind (not NUMBER_TABLE_NONE). The same codes. */
int plot_save_numbers(const char *path, const struct number_table *t, enum number_table_kind kind,
                      struct err *e);

#endif
