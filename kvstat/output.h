/* output.h - collects a text in memory, then writes it whole or not at all. */
#ifndef KVSTAT_OUTPUT_H
#define KVSTAT_OUTPUT_H

#include <stdio.h>

#include "lib/base/err.h"

struct output;
struct output *output_open(void); /* NULL: no memory */
/* The stream to write the text to. output_save or output_free closes it. */
FILE *output_stream(const struct output *o);
/* Writes the text to path ("-": standard output); a file is written beside and renamed. Call once.
 * 0 or a negative errno, class ERR_OUTPUT. */
int output_save(struct output *o, const char *path, struct err *e);
/* The same for what people read: control characters but for line ends become '?', since names and
 * keys come from files and must not steer a terminal. */
int output_save_text(struct output *o, const char *path, struct err *e);
void output_free(struct output *o);
/* All of it: what `write` writes goes to path, unless it fails. what: names the text in errors. 0,
 * or a negative errno with *e. */
int output_write(const char *path, const char *what,
                 int (*write)(FILE *out, const void *ctx, struct err *e), const void *ctx,
                 struct err *e);

#endif
