/* plot.h - a report's picture, drawn by gnuplot. */
#ifndef KVSTAT_REPORT_PLOT_H
#define KVSTAT_REPORT_PLOT_H

#include <stdbool.h>

#include "kvstat/number_table.h"
#include "kvstat/report/figures.h"
#include "lib/base/err.h"

/* Whether the name ends in .svg or .png. */
bool plot_is_drawable(const char *path);
/* Draws f, whose scan has a series, to path, which appears whole or not at all. 0, or a negative
 * errno, class ERR_OUTPUT: also when gnuplot is not there or fails. */
int plot_save(const char *path, const struct figures *f, struct err *e);
/* The same of a file of that kind; -EINVAL, class ERR_INPUT, when there is nothing in it to draw.
 */
int plot_save_columns(const char *path, const struct columns *c, enum columns_kind kind,
                      struct err *e);

#endif
