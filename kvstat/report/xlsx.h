/* xlsx.h - writing a spreadsheet (libxlsxwriter stays in xlsx.c). */
#ifndef KVSTAT_REPORT_XLSX_H
#define KVSTAT_REPORT_XLSX_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"

/* False: this build has no libxlsxwriter, and xlsx_create always fails. */
bool xlsx_is_built(void);

struct xlsx;
/* A workbook that xlsx_save will write to path. 0, -ENOTSUP, -ENOMEM, or another negative errno
 * when no file can be made beside path; with *e. */
int xlsx_create(struct xlsx **out, const char *path, struct err *e);
/* Begins a sheet; cells go to it from now on. Its first row and column stay in sight. */
void xlsx_sheet(struct xlsx *x, const char *name);
/* Write cells; rows and columns count from 0, headers are bold. NAN leaves the cell empty. Errors
 * are kept for xlsx_save. */
void xlsx_header(struct xlsx *x, uint32_t column, const char *text);
void xlsx_text(struct xlsx *x, uint32_t row, uint32_t column, const char *text);
void xlsx_number(struct xlsx *x, uint32_t row, uint32_t column, double v);
/* Writes the file, which appears whole or not at all. Call once. 0 or a negative errno, class
 * ERR_OUTPUT. */
int xlsx_save(struct xlsx *x, struct err *e);
void xlsx_free(struct xlsx *x);

#endif
