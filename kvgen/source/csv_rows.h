/* csv_rows.h - the rows of a CSV that is not a trace of ours, streamed: a header, then rows with
 * the line that each begins on. Memory: the largest row. */
#ifndef KVGEN_SOURCE_CSV_ROWS_H
#define KVGEN_SOURCE_CSV_ROWS_H

#include <stdint.h>

#include "lib/trace/csv.h"
#include "lib/trace/frame.h"

struct rows;

struct rows *rows_create(void); /* NULL: no memory */
void rows_free(struct rows *r);
/* From the start of this file, which stays the caller's. */
void rows_set(struct rows *r, struct frame_in *file);
/* 1 and *row (lent until the next call), 0 at the end, 2 for a row that is no CSV, with *e, behind
 * which reading goes on; negative errno with *e when it does not. A byte-order mark at the start is
 * skipped. */
int rows_next(struct rows *r, struct csv_row *row, struct err *e);
/* Line on which the row returned last begins, from 1. */
uint64_t rows_line(const struct rows *r);

#endif
