/* csv_rows.c - cuts a stream of CSV into pieces of whole rows, which lib/trace/csv.h splits.
 * Sources give the columns their meaning. */
#include "kvgen/source/csv_rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BUFFER = 2 * CSV_MAX_ROW
};

struct rows {
    struct csv *csv;
    struct frame_in *file;
    char *buf;
    size_t used, len; /* buf[0..used) is being split, buf[used..len) was read ahead */
    uint64_t before;  /* lines of the file before buf[0] */
    uint64_t line;
    bool begun;
};

struct rows *rows_create(void)
{
    struct rows *r = calloc(1, sizeof(*r));
    if (!r)
        return NULL;
    r->csv = csv_create();
    r->buf = malloc(BUFFER);
    if (!r->csv || !r->buf) {
        rows_free(r);
        return NULL;
    }
    return r;
}

void rows_free(struct rows *r)
{
    if (!r)
        return;
    csv_close(r->csv);
    free(r->buf);
    free(r);
}

void rows_set(struct rows *r, struct frame_in *file)
{
    r->file = file;
    r->used = r->len = 0;
    r->before = r->line = 0;
    r->begun = false;
    csv_set(r->csv, r->buf, 0);
}

uint64_t rows_line(const struct rows *r)
{
    return r->line;
}

static void drop_split(struct rows *r)
{
    for (const char *p = r->buf; (p = memchr(p, '\n', (size_t)(r->buf + r->used - p))); p++)
        r->before++;
    memmove(r->buf, r->buf + r->used, r->len - r->used);
    r->len -= r->used;
    r->used = 0;
}

static size_t mark_length(const struct rows *r)
{
    return r->len >= 3 && memcmp(r->buf, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

/* Hands whole rows to the splitter: 1, 0 when there are none left, negative errno. */
static int refill(struct rows *r, struct err *e)
{
    int64_t n = 1;
    drop_split(r);
    while (r->used == 0 && r->len < BUFFER && n > 0) {
        n = frame_in_read(r->file, r->buf + r->len, BUFFER - r->len, e);
        r->len += n > 0 ? (size_t)n : 0;
        r->used = csv_last_row_end(r->buf, r->len);
    }
    if (n < 0)
        return (int)n;
    if (n == 0)
        r->used = r->len;
    if (r->used == 0 && r->len > 0) {
        char where[320];
        snprintf(where, sizeof(where), "%s:%llu", frame_in_name(r->file),
                 (unsigned long long)r->before + 1);
        return err_set(e, -E2BIG, ERR_INPUT, where, "a row of more than a MiB");
    }
    size_t skip = r->begun ? 0 : mark_length(r);
    r->begun = true;
    csv_set(r->csv, r->buf + skip, r->used - skip);
    return r->used > 0;
}

int rows_next(struct rows *r, struct csv_row *row, struct err *e)
{
    for (;;) {
        int rc = csv_next(r->csv, row, e);
        if (rc != 0) {
            r->line = r->before + row->number + 1;
            return rc > 0 ? 1 : 2;
        }
        rc = refill(r, e);
        if (rc <= 0)
            return rc;
    }
}
