/* number_table.h - small CSV files of numbers by the names of their columns: the rounds of
 * kvprecond, the hit-rate curve of kvgen, and the ladder of kvtrace knee, for drawing; the rounds
 * of that ladder, and the runs of kvtrace model. */
#ifndef KVSTAT_NUMBER_TABLE_H
#define KVSTAT_NUMBER_TABLE_H

#include <stddef.h>

#include "lib/base/err.h"

enum number_table_kind {
    NUMBER_TABLE_NONE,   /* neither of these: a trace, for example */
    NUMBER_TABLE_CURVE,  /* kvgen --curve */
    NUMBER_TABLE_ROUNDS, /* kvprecond --rounds */
    NUMBER_TABLE_KNEE    /* kvtrace knee */
};

/* The kind by the header of the file; NUMBER_TABLE_NONE also when it cannot be read or is not a
 * regular file. */
enum number_table_kind number_table_kind_of(const char *path);

struct number_table;
/* Reads the file. 0; -EINVAL with FILE:LINE: a row with more or fewer fields than names; -EFBIG;
 * another negative errno with *e. */
int number_table_load(struct number_table **out, const char *path, struct err *e);
void number_table_free(struct number_table *t);
const char *number_table_file(const struct number_table *t);
size_t number_table_rows(const struct number_table *t);
/* The field of that row and column; NAN when there is no such column or the field is no number. */
double number_table_at(const struct number_table *t, size_t row, const char *column);

#endif
