/* columns.h - small CSV files of numbers, by the names of their columns: the rounds of kvprecond
 * and the hit-rate curve of kvgen, for drawing. */
#ifndef KVSTAT_NUMBER_TABLE_H
#define KVSTAT_NUMBER_TABLE_H

#include <stddef.h>

#include "lib/base/err.h"

enum columns_kind {
    COLUMNS_NONE,  /* neither: a trace, say */
    COLUMNS_CURVE, /* kvgen --curve */
    COLUMNS_ROUNDS /* kvprecond --rounds */
};

/* By the header of the file; COLUMNS_NONE when it cannot be read, or is no regular file. */
enum columns_kind columns_kind_of(const char *path);

struct columns;
/* Reads the file. -EINVAL with FILE:LINE: a row with more or fewer fields than names; -EFBIG; other
 * negative errno. */
int columns_load(struct columns **out, const char *path, struct err *e);
void columns_free(struct columns *c);
const char *columns_file(const struct columns *c);
size_t columns_rows(const struct columns *c);
/* In that row the column of that name: NAN when there is no such column or the field is no number.
 */
double columns_at(const struct columns *c, size_t row, const char *name);

#endif
