/* csv_rows.h - the rows of a CSV that is not a trace of ours, read as a stream. Memory: the largest
 * row. One thread. */
#ifndef KVGEN_SOURCE_CSV_ROWS_H
#define KVGEN_SOURCE_CSV_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/trace/csv.h"
#include "lib/trace/frame.h"

/* Results of csv_rows_next. */
enum {
    CSV_ROWS_END,
    CSV_ROWS_ROW,
    CSV_ROWS_BAD /* this row is not CSV; the next call goes on behind it */
};

/* A column that a reader needs. */
struct csv_column {
    const char *name;
    const char *wants; /* which values it takes, for error messages */
    size_t at;         /* index of its field in a row */
};

struct csv_rows;

struct csv_rows *csv_rows_create(void); /* NULL: no memory */
void csv_rows_free(struct csv_rows *r); /* NULL is fine */
/* Reads file from where it is, which is its start. file and name (for error messages) stay the
 * caller's. A byte-order mark is skipped. */
void csv_rows_set(struct csv_rows *r, struct frame_in *file, const char *name);
/* CSV_ROWS_ROW and *row, lent until the next call; CSV_ROWS_END; CSV_ROWS_BAD with *e, whose where
 * is empty; or a negative errno with *e when reading cannot go on. */
int csv_rows_next(struct csv_rows *r, struct csv_row *row, struct err *e);
/* Line on which the row returned last begins, from 1, and "NAME:LINE". */
uint64_t csv_rows_line(const struct csv_rows *r);
void csv_rows_place(const struct csv_rows *r, char where[320]);

bool csv_rows_field_is(const struct csv_field *f, const char *text);
/* Sets c->at to the place of its name in the header; false: the header does not have it. */
bool csv_rows_find(struct csv_column *c, const struct csv_row *header);
/* The field of the column; NULL: the row is too short. */
const struct csv_field *csv_rows_field(const struct csv_column *c, const struct csv_row *row);
/* Says in *e, at the place of the row returned last, that its field is missing or has a value that
 * c does not take. Returns -EINVAL. */
int csv_rows_bad_field(const struct csv_rows *r, const struct csv_row *row,
                       const struct csv_column *c, struct err *e);

#endif
