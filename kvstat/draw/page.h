/* page.h - a report as one HTML page that needs nothing but itself: verdict, validity, tables,
 * pictures, and how it was run; of a comparison the changes and both runs. */
#ifndef KVSTAT_DRAW_PAGE_H
#define KVSTAT_DRAW_PAGE_H

#include "kvstat/draw/plot.h"
#include "kvstat/report/compare.h"
#include "kvstat/report/figures.h"
#include "kvstat/report/run_table.h"
#include "lib/base/err.h"

/* All lent. */
struct page {
    const struct figures *run[2];  /* of a comparison base and new, NULL where a side has several;
                                      else the run and NULL */
    const struct compare *compare; /* NULL: none, nor the tables */
    const struct run_table *base, *new;
    int argc; /* of the program that makes the page */
    char *const *argv;
};

/* Writes the page to path, whole or not at all. Without gnuplot it has no pictures and says so. 0
 * or a negative errno, class ERR_OUTPUT. */
int page_save(const char *path, const struct page *page, struct err *e);

#endif
