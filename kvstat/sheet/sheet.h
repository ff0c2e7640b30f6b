/* sheet.h - one model of a table for every form of a report: its columns with their figures, and
 * rows of cells. A report says once what a table holds; a form writes it, as text, on a screen or
 * in HTML. Nothing is kept: a table whose columns depend on its rows is put twice.
 *
 *     struct sheet s = {SHEET(sheet_text, out, columns)};
 *     while (sheet_pass(&s))
 *         for (each row) {
 *             sheet_row(&s, label);
 *             sheet_part(&s, part);
 *         }
 */
#ifndef KVSTAT_SHEET_SHEET_H
#define KVSTAT_SHEET_SHEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kvstat/report/figure.h"

enum sheet_flags {
    SHEET_LEFT = 1,     /* a text; numbers stand to the right */
    SHEET_OPTIONAL = 2, /* left out of a text where no row knows it */
    SHEET_NONZERO = 4,  /* with SHEET_OPTIONAL: and where all are 0 */
    SHEET_SPARE = 8,    /* left out of a text that has all its optional columns */
    SHEET_OWN = 16      /* from here on, those of a table, for struct sheet.without */
};

/* In a text, a column is as wide as its title, which has blanks where that is narrower; the first
 * is as wide as its longest cell. what: the figure that sheet_part puts; statistic: of it. */
struct sheet_column {
    const char *title;
    uint16_t what;
    uint8_t statistic, flags;
};

/* A cell: a text, or else a number, whose unit or text says how it is shown. */
struct sheet_cell {
    const char *text;  /* NULL: none */
    const char *class; /* of HTML: of the text; of a sign before the label of a row; NULL: none */
    const char *name;  /* of a number in JSON; NULL: that of its figure */
    const char *after; /* of HTML: behind the number; NULL: nothing */
    bool is_number;
    double number, ns; /* NAN: not known; ns: of a time of a distribution */
    enum figure_unit unit;
    struct figure_id id;
    bool whole;     /* a count */
    bool few, none; /* of a percentile: few samples lie above it, none does */
};

struct sheet;
/* A form. head: before the rows; row: behind the last cell of each; end: behind the rows. */
struct sheet_form {
    void (*head)(struct sheet *s);
    void (*cell)(struct sheet *s, const struct sheet_cell *c);
    void (*row)(struct sheet *s);
    void (*end)(struct sheet *s);
};
extern const struct sheet_form sheet_text, sheet_html; /* out: FILE */
extern const struct sheet_form sheet_screen;           /* out: struct lines */
extern const struct sheet_form sheet_xlsx;             /* out: struct xlsx; see there */

struct sheet {
    const struct sheet_form *form;
    void *out;
    const char *title, *note; /* NULL: none */
    const char *label;        /* title of the first column; NULL: its own */
    const struct sheet_column *column;
    size_t columns;           /* 64 at most */
    unsigned without;         /* columns with one of these flags are left out */
    const char *const *above; /* a line of a text above the titles; NULL: none */
    int indent;               /* of a text */
    int width;                /* of the first column of a text, at least */
    /* Its own: */
    enum {
        SHEET_NEW,
        SHEET_MEASURED,
        SHEET_WRITTEN
    } pass;
    size_t rows, at; /* of this pass; the next column */
    uint64_t known, left_out;
    char line[1024];
};

#define SHEET(of_form, to, array)                                                                  \
    .form = &(of_form), .out = (to), .column = (array),                                            \
    .columns = sizeof(array) / sizeof((array)[0])

/* True: put the rows now. Twice, first to measure, then with titles; no rows: nothing is written.
 */
bool sheet_pass(struct sheet *s);
/* In its place for a table that needs no measuring. */
void sheet_begin(struct sheet *s);
void sheet_end(struct sheet *s);

/* Begins a row with its label, NULL: none. Cells follow from the left; the last ones may lack. */
void sheet_row(struct sheet *s, const char *label);
void sheet_cell(struct sheet *s, const struct sheet_cell *c);
void sheet_word(struct sheet *s, const char *text);
void sheet_marked(struct sheet *s, const char *text, const char *class);
/* A number with its name in JSON, as it is shown; NULL: by its unit. */
void sheet_number(struct sheet *s, const char *name, double v, enum figure_unit unit,
                  const char *shown);
/* The figure that id names, or its statistic; f: NULL: it is not known. */
void sheet_figure(struct sheet *s, const struct figure *f, struct figure_id id);
/* The figures of a part that the next columns name. */
void sheet_part(struct sheet *s, const struct figure_part *part);
/* The statistics of a distribution that the next columns name, or that all values are 0. */
void sheet_statistics(struct sheet *s, const struct figure *f);

/* For forms: the title of a column; NULL: it is left out. */
const char *sheet_title(const struct sheet *s, size_t column);

#endif
