/* The only place that knows libxlsxwriter. The package of a spreadsheet is written beside the file
 * that it becomes. Compiled a second time without the library, for builds that cannot have it. */
#include "kvstat/report/xlsx.h"

#include <errno.h>

#if KVTRACE_XLSX

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xlsxwriter.h>

struct xlsx {
    char *path, *beside;
    lxw_workbook *book; /* workbook_close frees it, whatever it returns */
    lxw_worksheet *sheet;
    lxw_format *bold;
    lxw_error error; /* the first */
};

bool xlsx_is_built(void)
{
    return true;
}

int xlsx_create(struct xlsx **out, const char *path, struct err *e)
{
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
        int rc = err_errno(e, -errno, ERR_OUTPUT, path, "cannot be written");
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

void xlsx_sheet(struct xlsx *x, const char *name)
{
    x->sheet = workbook_add_worksheet(x->book, name);
    if (!x->sheet) {
        keep(x, LXW_ERROR_MEMORY_MALLOC_FAILED);
        return;
    }
    worksheet_freeze_panes(x->sheet, 1, 1);
    keep(x, worksheet_set_column(x->sheet, 0, 0, 28, NULL));
}

/* A spreadsheet has 16,384 columns; the library would let a wider number wrap. */
static bool fits(struct xlsx *x, uint32_t column)
{
    if (x->sheet && column < LXW_COL_MAX)
        return true;
    keep(x, LXW_ERROR_WORKSHEET_INDEX_OUT_OF_RANGE);
    return false;
}

void xlsx_header(struct xlsx *x, uint32_t column, const char *text)
{
    if (fits(x, column))
        keep(x, worksheet_write_string(x->sheet, 0, (lxw_col_t)column, text, x->bold));
}

void xlsx_text(struct xlsx *x, uint32_t row, uint32_t column, const char *text)
{
    if (fits(x, column))
        keep(x, worksheet_write_string(x->sheet, row, (lxw_col_t)column, text, NULL));
}

void xlsx_number(struct xlsx *x, uint32_t row, uint32_t column, double v)
{
    if (isfinite(v) && fits(x, column))
        keep(x, worksheet_write_number(x->sheet, row, (lxw_col_t)column, v, NULL));
}

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

int xlsx_create(struct xlsx **out, const char *path, struct err *e)
{
    (void)out;
    return err_set(e, -ENOTSUP, ERR_OUTPUT, path, "this build has no libxlsxwriter");
}

void xlsx_sheet(struct xlsx *x, const char *name)
{
    (void)x, (void)name;
}

void xlsx_header(struct xlsx *x, uint32_t column, const char *text)
{
    (void)x, (void)column, (void)text;
}

void xlsx_text(struct xlsx *x, uint32_t row, uint32_t column, const char *text)
{
    (void)x, (void)row, (void)column, (void)text;
}

void xlsx_number(struct xlsx *x, uint32_t row, uint32_t column, double v)
{
    (void)x, (void)row, (void)column, (void)v;
}

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
