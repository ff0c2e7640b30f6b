/* sheet.h - one model of a table for all forms of a report. A report says once which columns and
 * rows a table has; a form writes it as text, on a screen, in HTML or in a spreadsheet. Cells are
 * not kept, so a loop that depends on widths or on what is known puts all rows twice:
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
    SHEET_LEFT = 1,     /* aligned to the left, as texts are; numbers go to the right */
    SHEET_OPTIONAL = 2, /* sheet_pass leaves it out if no row knows a value */
    SHEET_NONZERO = 4,  /* with SHEET_OPTIONAL: also if all values are 0 */
    SHEET_SPARE = 8,    /* sheet_pass leaves it out if all optional columns are there */
    SHEET_OWN = 16      /* this and greater ones: a table's own, for struct sheet.without */
};

/* A column of a text is as wide as its title, which may begin with blanks; the first column is as
 * wide as its longest cell. what and statistic: the figure that sheet_part puts there. */
struct sheet_column {
    const char *title;
    uint16_t what;
    uint8_t statistic, flags;
};

/* A cell: a text, or a number. A number is shown as its text, or else by its unit. */
struct sheet_cell {
    const char *text;  /* NULL: none */
    const char *class; /* in HTML: of the text, or of a sign before the row's label; or NULL */
    const char *name;  /* of the number in JSON; NULL: the name of its figure */
    const char *after; /* in HTML: text behind the number, or NULL */
    bool is_number;
    double number, ns; /* NAN: not known; ns: if it is a time of a distribution, unrounded */
    enum figure_unit unit;
    struct figure_id id;
    bool whole;     /* a count */
    bool few, none; /* for a percentile: few samples, or none, lie above it */
};

struct sheet;
/* A form. head is called before the rows, row behind each row, end behind all; the last two may be
 * NULL. */
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
    const char *label;        /* title of the first column; NULL: that of the column */
    const struct sheet_column *column;
    size_t columns;           /* 64 at most */
    unsigned without;         /* columns with one of these flags are left out */
    const char *const *above; /* in a text: a line above the titles; or NULL */
    int indent;               /* in a text */
    int width;                /* in a text: of the first column, at least */
    /* For sheet.c: */
    enum {
        SHEET_NEW,
        SHEET_MEASURED,
        SHEET_WRITTEN
    } pass;
    size_t rows, at; /* rows of this pass so far; the next column */
    uint64_t known, left_out;
    char line[1024];
};

#define SHEET(of_form, to, array)                                                                  \
    .form = &(of_form), .out = (to), .column = (array),                                            \
    .columns = sizeof(array) / sizeof((array)[0])

/* True: put the rows now. It returns true twice: first the rows are measured, then written. If the
 * first pass had no row, nothing is written. */
bool sheet_pass(struct sheet *s);
/* Used in place of sheet_pass for a table that needs no measuring. */
void sheet_begin(struct sheet *s);
void sheet_end(struct sheet *s);

/* Begins a row with its label, or without (NULL). Put cells from the left; the last may lack. */
void sheet_row(struct sheet *s, const char *label);
void sheet_cell(struct sheet *s, const struct sheet_cell *c);
void sheet_word(struct sheet *s, const char *text);
void sheet_marked(struct sheet *s, const char *text, const char *class);
/* A number with its name in JSON. shown: its text; NULL: it is shown by its unit. */
void sheet_number(struct sheet *s, const char *name, double v, enum figure_unit unit,
                  const char *shown);
/* The figure (or the statistic of it) that id names. f is NULL: it is not known. */
void sheet_figure(struct sheet *s, const struct figure *f, struct figure_id id);
/* The figures of a part, for all next columns that name one. */
void sheet_part(struct sheet *s, const struct figure_part *part);
/* The statistics of a distribution that the next columns name, or "all 0". */
void sheet_statistics(struct sheet *s, const struct figure *f);

/* For forms: the title of a column, or NULL if it is left out. */
const char *sheet_title(const struct sheet *s, size_t column);

#endif
