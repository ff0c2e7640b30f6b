/* Cuts a stream of CSV into pieces of whole rows, which lib/trace/csv.h splits into fields. The
 * burst source and the file of users give the columns their meaning. */
#include "kvgen/source/csv_rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/text/text.h"

enum {
    BUFFER = 2 * CSV_MAX_ROW
};

struct csv_rows {
    struct csv *csv;
    struct frame_in *file;
    const char *name;
    char *buf;
    size_t used, len; /* buf[0..used) is being split, buf[used..len) was read ahead */
    uint64_t before;  /* lines of the file before buf[0] */
    uint64_t line;    /* of the row returned last, from 1 */
    bool begun;
};

struct csv_rows *csv_rows_create(void)
{
    struct csv_rows *r = calloc(1, sizeof(*r));
    if (!r)
        return NULL;
    r->csv = csv_create();
    r->buf = malloc(BUFFER);
    if (!r->csv || !r->buf) {
        csv_rows_free(r);
        return NULL;
    }
    return r;
}

void csv_rows_free(struct csv_rows *r)
{
    if (!r)
        return;
    csv_close(r->csv);
    free(r->buf);
    free(r);
}

void csv_rows_set(struct csv_rows *r, struct frame_in *file, const char *name)
{
    r->file = file;
    r->name = name;
    r->used = r->len = 0;
    r->before = r->line = 0;
    r->begun = false;
    csv_set(r->csv, r->buf, 0);
}

uint64_t csv_rows_line(const struct csv_rows *r)
{
    return r->line;
}

void csv_rows_place(const struct csv_rows *r, char where[320])
{
    snprintf(where, 320, "%s:%llu", r->name, (unsigned long long)r->line);
}

/* Reads more and hands whole rows to the splitter: 1; 0 when none are left; negative errno. */
static int refill(struct csv_rows *r, struct err *e)
{
    for (const char *p = r->buf; (p = memchr(p, '\n', (size_t)(r->buf + r->used - p))); p++)
        r->before++;
    memmove(r->buf, r->buf + r->used, r->len - r->used);
    r->len -= r->used;
    r->used = 0;

    int64_t n = 1;
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
        r->line = r->before + 1;
        csv_rows_place(r, where);
        return err_set(e, -E2BIG, ERR_INPUT, where, "a row of more than a MiB");
    }

    size_t skip = r->begun ? 0 : text_mark(r->buf, r->len);
    r->begun = true;
    csv_set(r->csv, r->buf + skip, r->used - skip);
    return r->used > 0;
}

int csv_rows_next(struct csv_rows *r, struct csv_row *row, struct err *e)
{
    for (;;) {
        int rc = csv_next(r->csv, row, e);
        if (rc != 0) {
            r->line = r->before + row->number + 1;
            return rc > 0 ? CSV_ROWS_ROW : CSV_ROWS_BAD;
        }
        rc = refill(r, e);
        if (rc <= 0)
            return rc < 0 ? rc : CSV_ROWS_END;
    }
}

bool csv_rows_field_is(const struct csv_field *f, const char *text)
{
    return f->len == strlen(text) && memcmp(f->p, text, f->len) == 0;
}

bool csv_rows_find(struct csv_column *c, const struct csv_row *header)
{
    for (c->at = 0; c->at < header->count; c->at++)
        if (csv_rows_field_is(&header->field[c->at], c->name))
            return true;
    return false;
}

const struct csv_field *csv_rows_field(const struct csv_column *c, const struct csv_row *row)
{
    return c->at < row->count ? &row->field[c->at] : NULL;
}

int csv_rows_bad_field(const struct csv_rows *r, const struct csv_row *row,
                       const struct csv_column *c, struct err *e)
{
    char where[320];
    csv_rows_place(r, where);
    const struct csv_field *f = csv_rows_field(c, row);
    if (!f)
        return err_set(e, -EINVAL, ERR_INPUT, where, "no field for %s", c->name);
    return err_set(e, -EINVAL, ERR_INPUT, where, "%s is \"%.*s\", wanted: %s", c->name,
                   (int)(f->len < 80 ? f->len : 80), f->p, c->wants);
}
