/* csv.h - splitting CSV (RFC 4180) into fields. Text without quotes goes through a vectorised
 * scanner; from the first quote on, rows go through libcsv. One interface: no caller knows which
 * one ran, and a fuzzer holds them against each other. */
#ifndef KVTRACE_TRACE_CSV_H
#define KVTRACE_TRACE_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

#define CSV_MAX_ROW    ((size_t)1 << 20) /* bytes of a row */
#define CSV_MAX_FIELDS 256

struct csv_field {
    const char *p; /* not NUL-terminated; unescaped */
    uint32_t len;
    bool quoted; /* stood in quotes */
};

/* One row, lent until the next call on its splitter. */
struct csv_row {
    const struct csv_field *field;
    size_t count;
    const char *line; /* the row as it stands in the text, without its CR and LF */
    uint32_t line_len;
    uint64_t number; /* line of the text on which it begins, from 0 */
};

struct csv;
struct csv *csv_create(void);  /* NULL: no memory */
void csv_close(struct csv *c); /* csv_free is libcsv's */

/* Sets the text to split: whole rows (the last may lack its newline). It stays the caller's and in
 * place until the last csv_next. */
void csv_set(struct csv *c, const char *text, size_t len);
/* 1 and *row; 0 at the end; -EINVAL (stray or unclosed quote), -E2BIG (row or field count over the
 * limits) with *e and row->number set: the row is skipped, and the next call goes on behind it.
 * Empty lines are skipped and counted. */
int csv_next(struct csv *c, struct csv_row *row, struct err *e);

/* Where text[0..len) may be cut so that the first part holds whole rows: the offset behind the last
 * newline that is not in quotes; 0 if there is none. */
size_t csv_last_row_end(const char *text, size_t len);

/* Appends a field, quoted only when it holds a comma, quote, CR or LF, to dst, which has room for
 * 2 x len + 2 bytes; returns the length written. */
size_t csv_put_field(char *dst, const char *p, size_t len);
/* Instruction set in use: "avx512", "avx2" or "portable"; csv_force_isa selects one for tests
 * (-ENOTSUP when the processor lacks it). */
const char *csv_isa(void);
int csv_force_isa(const char *isa);

#endif
