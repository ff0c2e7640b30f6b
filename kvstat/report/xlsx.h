/* xlsx.h - writing a spreadsheet (libxlsxwriter stays in xlsx.c). */
#ifndef KVSTAT_REPORT_XLSX_H
#define KVSTAT_REPORT_XLSX_H

#include <stdbool.h>

#include "lib/base/err.h"

/* False: this build has no libxlsxwriter. */
bool xlsx_is_built(void);
/* False: this build or this machine has none, and xlsx_create always fails. */
bool xlsx_is_here(void);

struct xlsx;
/* A workbook that xlsx_save will write to path. 0, -ENOTSUP, -ENOMEM, or another negative errno
 * when no file can be made beside path; with *e. */
int xlsx_create(struct xlsx **out, const char *path, struct err *e);
/* The form sheet_xlsx writes each table to a sheet of its own, named by the table's title. Row 0
 * has the titles, in bold; it and the first column stay in sight. NAN leaves a cell empty. Errors
 * are kept for xlsx_save. */
/* Writes the file, which appears whole or not at all. Call once. 0 or a negative errno, class
 * ERR_OUTPUT. */
int xlsx_save(struct xlsx *x, struct err *e);
void xlsx_free(struct xlsx *x);

#endif
