/* Splits CSV (RFC 4180) into fields. Rows without quotes go through a vectorised scanner, rows with
 * quotes through libcsv; a fuzzer holds the two against each other. */
#ifndef KVTRACE_TRACE_CSV_H
#define KVTRACE_TRACE_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

#define CSV_MAX_ROW    ((size_t)1 << 20) /* bytes of a row, unless csv_set_max_row says otherwise */
#define CSV_MAX_FIELDS 256
/* Fields that csv_next had to unescape have this many readable bytes behind their begin. */
#define CSV_PAD 64

struct csv_field {
    const char *p; /* not NUL-terminated; unescaped */
    uint32_t len;
    bool quoted; /* it was in quotes */
};

/* One row, lent until the next call on its splitter. */
struct csv_row {
    const struct csv_field *field;
    size_t count;
    const char *line; /* the row as in the text, without its CR and LF */
    uint32_t line_len;
    uint64_t number; /* of the line of the text on which it begins, from 0 */
};

struct csv;
struct csv *csv_create(void);  /* NULL: no memory */
void csv_close(struct csv *c); /* not csv_free, which is libcsv's */
/* Sets the most bytes of a row, at most 4 MiB. Before the first csv_next. */
void csv_set_max_row(struct csv *c, size_t bytes);

/* Sets the text to split: whole rows (the last may lack its newline). It stays the caller's and
 * must stay in place until the last csv_next. */
void csv_set(struct csv *c, const char *text, size_t len);
/* Gets the next row: 1; 0 at the end; -EINVAL (a stray or unclosed quote) or -E2BIG (the row has
 * too many bytes or fields) with *e and row->number set: the row is skipped and the next call goes
 * on behind it. Empty lines are skipped but counted. */
int csv_next(struct csv *c, struct csv_row *row, struct err *e);
/* Where the next row begins, and how many newlines are before it. */
void csv_place(const struct csv *c, size_t *offset, uint64_t *lines);

/* Returns the offset behind the last newline of text[0..len) that is not in quotes: up to there the
 * text has whole rows. 0: there is none. */
size_t csv_last_row_end(const char *text, size_t len);

/* Writes a field to dst, in quotes only if it holds a comma, quote, CR or LF. dst has room for
 * 2 x len + 2 bytes. Returns the length written. */
size_t csv_put_field(char *dst, const char *p, size_t len);

#endif
