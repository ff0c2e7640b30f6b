/* gnuplot.h - runs gnuplot on a script, and writes what all scripts begin with. */
#ifndef KVSTAT_DRAW_GNUPLOT_H
#define KVSTAT_DRAW_GNUPLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "lib/base/err.h"

/* The paper of a picture. An SVG has no size of its own: it fills what it is shown in. */
struct gnuplot_paper {
    bool svg; /* else PNG */
    unsigned width, height, font;
};

/* Writes the script that draws a picture of what; false: there is nothing to draw. */
typedef bool (*gnuplot_script_fn)(FILE *script, const void *what, const struct gnuplot_paper *p);

/* Draws on that paper to picture, a stream in memory. 0; -EINVAL, class ERR_INPUT, with source:
 * there is nothing to draw; another negative errno, class ERR_OUTPUT, also when gnuplot fails. */
struct gnuplot_job {
    gnuplot_script_fn script;
    const void *what;
    const char *source; /* for messages */
    struct gnuplot_paper paper;
};
int gnuplot_draw(FILE *picture, const struct gnuplot_job *job, struct err *e);
/* Draws to path (.svg or .png), 1200 x 800, which appears whole or not at all. paper of the job is
 * not looked at. The same codes. */
int gnuplot_save(const char *path, const struct gnuplot_job *job, struct err *e);

/* Whether gnuplot is in PATH. */
bool gnuplot_is_there(void);
/* Says that it is not there, and how to install it, before hours are spent on what it shall draw.
 * 0, or -ENOENT with *e, class ERR_OUTPUT. */
int gnuplot_find(struct err *e);

/* The terminal, and how axes and keys look. */
void gnuplot_begin(FILE *out, const struct gnuplot_paper *p);
/* The layout of panels, and the lines of a title: texts from outside, cut to the width. */
enum {
    GNUPLOT_TITLE = 512 /* bytes of a line */
};
void gnuplot_layout(FILE *out, unsigned rows, unsigned columns, char (*title)[GNUPLOT_TITLE],
                    size_t lines);
/* The last part of a path, for a title. */
const char *gnuplot_name(const char *path);

#endif
