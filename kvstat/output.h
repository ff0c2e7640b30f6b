/* output.h - a text report on its way out: collected in memory, then written whole or not at all.
 */
#ifndef KVSTAT_OUTPUT_H
#define KVSTAT_OUTPUT_H

#include <stdio.h>

#include "lib/base/err.h"

struct output;
struct output *output_open(void); /* NULL: no memory */
/* Where the report is written to; closed by output_save or output_free. */
FILE *output_stream(const struct output *o);
/* Writes what was collected to path ("-": standard output); a file is written beside and renamed.
 * Once. 0 or a negative errno, class ERR_OUTPUT. */
int output_save(struct output *o, const char *path, struct err *e);
void output_free(struct output *o);

#endif
