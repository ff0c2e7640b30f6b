/* The only place that knows libxlsxwriter. The package of a spreadsheet is written beside the file
 * that it becomes. Compiled a second time without the library, for builds that cannot have it. */
#include "kvstat/report/xlsx.h"

#include <errno.h>

#include "kvstat/sheet/sheet.h"

#if KVTRACE_XLSX

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xlsxwriter.h>

#include "lib/base/late.h"

struct xlsx {
    char *path, *beside;
    lxw_workbook *book; /* workbook_close frees it, whatever it returns */
    lxw_worksheet *sheet;
    lxw_format *bold;
    lxw_error error; /* the first */
};

#define RETURN(X)                                                                                  \
    X(lxw_strerror, char *, (lxw_error error), (error))                                            \
    X(workbook_new, lxw_workbook *, (const char *path), (path))                                    \
    X(workbook_add_format, lxw_format *, (lxw_workbook * book), (book))                            \
    X(workbook_add_worksheet, lxw_worksheet *, (lxw_workbook * book, const char *name),            \
      (book, name))                                                                                \
    X(workbook_close, lxw_error, (lxw_workbook * book), (book))                                    \
    X(worksheet_set_column, lxw_error,                                                             \
      (lxw_worksheet * sheet, lxw_col_t first, lxw_col_t last, double width, lxw_format *format),  \
      (sheet, first, last, width, format))                                                         \
    X(worksheet_write_number, lxw_error,                                                           \
      (lxw_worksheet * sheet, lxw_row_t row, lxw_col_t column, double number, lxw_format *format), \
      (sheet, row, column, number, format))                                                        \
    X(worksheet_write_string, lxw_error,                                                           \
      (lxw_worksheet * sheet, lxw_row_t row, lxw_col_t column, const char *text,                   \
       lxw_format *format),                                                                        \
      (sheet, row, column, text, format))
#define VOIDS(X)                                                                                   \
    X(format_set_bold, void, (lxw_format * format), (format))                                      \
    X(worksheet_freeze_panes, void, (lxw_worksheet * sheet, lxw_row_t row, lxw_col_t column),      \
      (sheet, row, column))

LATE_LIBRARY(libxlsxwriter_load, LATE_FILE(KVTRACE_XLSX_FILE), "spreadsheets need it", RETURN,
             VOIDS, LATE_NONE)

bool xlsx_is_built(void)
{
    return true;
}

bool xlsx_is_here(void)
{
    return libxlsxwriter_load(NULL) == 0;
}

int xlsx_create(struct xlsx **out, const char *path, struct err *e)
{
    int rc = libxlsxwriter_load(e);
    if (rc < 0)
        return rc;
    struct xlsx *x = calloc(1, sizeof(*x));
    if (!x)
        return err_nomem(e, "spreadsheet");
    x->path = realpath(path, NULL); /* a link stays, the file that it names is replaced */
    if (!x->path)
        x->path = strdup(path);
    if (!x->path || asprintf(&x->beside, "%s.%ld.tmp", x->path, (long)getpid()) < 0)
        x->beside = NULL;
    /* The library complains on standard error about a file that it cannot make. */
    int fd = x->beside ? creat(x->beside, 0666) : -1;
    if (x->beside && fd < 0) {
        rc = err_errno(e, -errno, ERR_OUTPUT, path, "cannot be written");
        xlsx_free(x);
        return rc;
    }
    if (fd >= 0)
        close(fd);
    if (x->beside)
        x->book = workbook_new(x->beside);
    x->bold = x->book ? workbook_add_format(x->book) : NULL;
    if (!x->bold) {
        xlsx_free(x);
        return err_nomem(e, "spreadsheet");
    }
    format_set_bold(x->bold);
    *out = x;
    return 0;
}

static void keep(struct xlsx *x, lxw_error error)
{
    if (x->error == LXW_NO_ERROR)
        x->error = error;
}

static void put_cell(struct sheet *s, const struct sheet_cell *c)
{
    struct xlsx *x = s->out;
    const lxw_row_t row = (lxw_row_t)s->rows;
    const lxw_col_t column = (lxw_col_t)s->at;
    if (!x->sheet || s->at >= LXW_COL_MAX) /* the library would let a wider number wrap */
        keep(x, LXW_ERROR_WORKSHEET_INDEX_OUT_OF_RANGE);
    else if (!c->is_number)
        keep(x, worksheet_write_string(x->sheet, row, column, c->text, row == 0 ? x->bold : NULL));
    else if (isfinite(c->number))
        keep(x, worksheet_write_number(x->sheet, row, column, c->number, NULL));
}

static void begin_sheet(struct sheet *s)
{
    struct xlsx *x = s->out;
    x->sheet = workbook_add_worksheet(x->book, s->title);
    if (!x->sheet) {
        keep(x, LXW_ERROR_MEMORY_MALLOC_FAILED);
        return;
    }
    worksheet_freeze_panes(x->sheet, 1, 1);
    keep(x, worksheet_set_column(x->sheet, 0, 0, 28, NULL));
    for (s->at = 0; s->at < s->columns; s->at++)
        put_cell(s, &(struct sheet_cell){.text = s->column[s->at].title});
}

const struct sheet_form sheet_xlsx = {begin_sheet, put_cell, NULL, NULL};

int xlsx_save(struct xlsx *x, struct err *e)
{
    lxw_error error = workbook_close(x->book);
    x->book = NULL;
    keep(x, error);
    if (x->error == LXW_NO_ERROR && rename(x->beside, x->path) == 0)
        return 0;
    int rc = x->error == LXW_NO_ERROR ? -errno : -EIO;
    unlink(x->beside);
    if (x->error == LXW_ERROR_WORKSHEET_INDEX_OUT_OF_RANGE)
        return err_set(e, -EFBIG, ERR_OUTPUT, x->path,
                       "more than the 1,048,576 rows or 16,384 columns of a spreadsheet");
    if (x->error != LXW_NO_ERROR)
        return err_set(e, rc, ERR_OUTPUT, x->path, "%s", lxw_strerror(x->error));
    return err_errno(e, rc, ERR_OUTPUT, x->path, "cannot be written");
}

void xlsx_free(struct xlsx *x)
{
    if (!x)
        return;
    if (x->book) {
        workbook_close(x->book);
        unlink(x->beside);
    }
    free(x->beside);
    free(x->path);
    free(x);
}

#else

bool xlsx_is_built(void)
{
    return false;
}

bool xlsx_is_here(void)
{
    return false;
}

int xlsx_create(struct xlsx **out, const char *path, struct err *e)
{
    (void)out;
    return err_set(e, -ENOTSUP, ERR_OUTPUT, path, "this build has no libxlsxwriter");
}

const struct sheet_form sheet_xlsx = {NULL, NULL, NULL, NULL};

int xlsx_save(struct xlsx *x, struct err *e)
{
    (void)x;
    return err_set(e, -ENOTSUP, ERR_OUTPUT, "--xlsx", "this build has no libxlsxwriter");
}

void xlsx_free(struct xlsx *x)
{
    (void)x;
}

#endif
