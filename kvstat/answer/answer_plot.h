/* answer_plot.h - the pictures of an answer, drawn by gnuplot. */
#ifndef KVSTAT_ANSWER_ANSWER_PLOT_H
#define KVSTAT_ANSWER_ANSWER_PLOT_H

#include <stdbool.h>
#include <stdio.h>

#include "kvstat/answer/conclusion.h"
#include "lib/base/err.h"

enum answer_picture {
    ANSWER_PICTURE_USERS,     /* good requests by users, in three variants */
    ANSWER_PICTURE_DRIVE,     /* the load on the drive's throughput by depth */
    ANSWER_PICTURE_CONFIRMED, /* times on the drive beside its model's */
    ANSWER_PICTURES
};

struct answer_plot {
    const struct conclusion *conclusion; /* lent */
    enum answer_picture picture;
};

/* Whether there is anything to draw, and what it shows. Lent for ever. */
bool answer_plot_has(const struct answer_plot *p);
const char *answer_plot_title(const struct answer_plot *p);
/* Draws what, a struct answer_plot that has something, as SVG (an html_draw_fn). */
int answer_plot_draw(FILE *svg, const void *what, struct err *e);

#endif
