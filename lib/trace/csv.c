/* Splits CSV text into rows of fields for readers of traces and of foreign files. Stretches without
 * quotes are cut by the scanner's index; a row that holds a quote is measured here and split by
 * libcsv, which is also the oracle that tests hold the scanner against. */
#include "lib/trace/csv.h"

#include <csv.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/trace/csv_scan.h"

#define MAX_STRETCH ((size_t)4 << 20) /* indexed at a time; over the longest row */

struct csv {
    const char *text;
    size_t len, at; /* at: where the next row begins */
    uint64_t line;  /* its line */
    csv_scan_fn scan;
    struct csv_index *index;          /* of text[index_at..index_end) */
    size_t index_at, index_end, next; /* next: first separator of the next row */
    struct csv_parser parser;
    struct csv_field field[CSV_MAX_FIELDS];
    size_t count;
    char *unescaped; /* contents of the fields of a row with quotes; CSV_MAX_ROW bytes */
    size_t used;
    bool too_many;
};

static int no_space(unsigned char c)
{
    (void)c;
    return 0;
}

/* A lone CR ends a row for libcsv, but not for the scanner nor in RFC 4180. */
static int is_newline(unsigned char c)
{
    return c == '\n';
}

static void parser_init(struct csv *c)
{
    csv_init(&c->parser, CSV_STRICT | CSV_STRICT_FINI); /* fails only without a parser */
    csv_set_space_func(&c->parser, no_space);           /* blanks are part of a field */
    csv_set_term_func(&c->parser, is_newline);
}

struct csv *csv_create(void)
{
    struct csv *c = calloc(1, sizeof(*c));
    if (!c)
        return NULL;
    c->index = malloc(sizeof(*c->index));
    if (!c->index) {
        free(c);
        return NULL;
    }
    parser_init(c);
    csv_set(c, "", 0);
    return c;
}

void csv_close(struct csv *c)
{
    if (!c)
        return;
    csv_free(&c->parser);
    free(c->unescaped);
    free(c->index);
    free(c);
}

void csv_set(struct csv *c, const char *text, size_t len)
{
    c->text = text;
    c->len = len;
    c->at = c->index_at = c->index_end = c->next = 0;
    c->line = 0;
    c->index->count = 0;
    c->scan = csv_scan_pick();
}

/* ---- where rows end ---- */

/* End of the quoted field that begins at text[i]: the offset behind its closing quote, 0 if it has
 * none. */
static size_t quoted_end(const char *text, size_t len, size_t i)
{
    for (i++;;) {
        const char *q = i < len ? memchr(text + i, '"', len - i) : NULL;
        if (!q)
            return 0;
        i = (size_t)(q - text) + 1;
        if (i >= len || text[i] != '"')
            return i;
        i++;
    }
}

/* End of the row that begins at text[at], behind its newline (or len). Quotes open a field only at
 * its begin; elsewhere they are strays that end nothing. A quoted field without end gives 0. */
static size_t row_end(const char *text, size_t len, size_t at)
{
    size_t i = at;
    bool begin = true;
    while (i < len) {
        if (begin && text[i] == '"') {
            i = quoted_end(text, len, i);
            if (i == 0)
                return 0;
            begin = false;
            continue;
        }
        if (text[i] == '\n')
            return i + 1;
        begin = text[i++] == ',';
    }
    return len;
}

static size_t last_newline(const char *text, size_t len)
{
    const char *p = len ? memrchr(text, '\n', len) : NULL;
    return p ? (size_t)(p - text) + 1 : 0;
}

size_t csv_last_row_end(const char *text, size_t len)
{
    size_t end = 0, at = 0;
    for (;;) {
        const char *q = at < len ? memchr(text + at, '"', len - at) : NULL;
        size_t until = q ? (size_t)(q - text) : len;
        size_t newline = last_newline(text + at, until - at);
        if (newline)
            end = at + newline;
        if (!q)
            return end;
        if (until > 0 && text[until - 1] != ',' && text[until - 1] != '\n') {
            at = until + 1; /* a stray */
            continue;
        }
        at = quoted_end(text, len, until);
        if (at == 0)
            return end;
    }
}

/* ---- one row ---- */

static int row_error(struct csv *c, struct csv_row *row, struct err *e, int code, const char *what)
{
    row->number = c->line;
    row->count = 0;
    return err_set(e, code, ERR_INPUT, "", "%s", what);
}

/* Goes behind text[..end), the end of a row. */
static void skip_to(struct csv *c, size_t end)
{
    const char *p = c->text + c->at;
    c->line += csv_scan_count_lines(p, end - c->at);
    c->at = end;
}

/* Behind the newline that ends the line at c->at. */
static size_t line_end(const struct csv *c)
{
    const char *p = memchr(c->text + c->at, '\n', c->len - c->at);
    return p ? (size_t)(p - c->text) + 1 : c->len;
}

static void set_line(const struct csv *c, struct csv_row *row, size_t end)
{
    size_t len = end - c->at;
    if (len && c->text[end - 1] == '\n')
        len--;
    if (len && c->text[c->at + len - 1] == '\r')
        len--;
    row->line = c->text + c->at;
    row->line_len = (uint32_t)len;
    row->number = c->line;
    row->field = c->field;
}

static void on_field(void *p, size_t len, void *ctx)
{
    struct csv *c = ctx;
    if (c->count == CSV_MAX_FIELDS) {
        c->too_many = true;
        return;
    }
    if (len)
        memcpy(c->unescaped + c->used, p, len);
    c->field[c->count].p = c->unescaped + c->used;
    c->field[c->count].len = (uint32_t)len;
    c->used += len;
    c->count++;
}

static void on_row(int ch, void *ctx)
{
    (void)ch;
    (void)ctx;
}

/* Which fields stood in quotes: libcsv does not say. The row is known to be well formed. */
static void mark_quoted(struct csv *c, const struct csv_row *row)
{
    size_t i = 0;
    for (size_t f = 0; f < c->count; f++) {
        c->field[f].quoted = i < row->line_len && row->line[i] == '"';
        if (c->field[f].quoted)
            i = quoted_end(row->line, row->line_len, i);
        const char *comma =
            i < row->line_len ? memchr(row->line + i, ',', row->line_len - i) : NULL;
        i = comma ? (size_t)(comma - row->line) + 1 : row->line_len;
    }
}

static int split_quoted(struct csv *c, struct csv_row *row, struct err *e)
{
    if (!c->unescaped)
        c->unescaped = malloc(CSV_MAX_ROW + CSV_PAD);
    if (!c->unescaped)
        return err_nomem(e, "csv row");
    c->count = c->used = 0;
    c->too_many = false;
    bool bad =
        csv_parse(&c->parser, row->line, row->line_len, on_field, on_row, c) != row->line_len;
    /* The end of the text ends the row; after an error it only resets the parser. */
    bad |= csv_fini(&c->parser, on_field, on_row, c) != 0;
    if (bad) {
        csv_free(&c->parser);
        parser_init(c);
        return row_error(c, row, e, -EINVAL, "a stray quote");
    }
    if (c->too_many)
        return row_error(c, row, e, -E2BIG, "more than 256 fields");
    mark_quoted(c, row);
    row->count = c->count;
    return 1;
}

/* The row at c->at holds a quote. */
static int next_quoted(struct csv *c, struct csv_row *row, struct err *e)
{
    size_t end = row_end(c->text, c->len, c->at);
    int rc;
    if (end == 0) {
        rc = row_error(c, row, e, -EINVAL, "a quote is never closed");
        end = line_end(c);
    } else if (end - c->at > CSV_MAX_ROW) {
        rc = row_error(c, row, e, -E2BIG, "row longer than 1 MiB");
    } else {
        set_line(c, row, end);
        rc = split_quoted(c, row, e);
    }
    skip_to(c, end);
    c->index_end = c->at; /* the scanner starts anew behind this row */
    c->index->count = c->next = 0;
    return rc;
}

/* Cuts the row whose last separator is the one numbered last (count: it ends with the text). */
static int next_plain(struct csv *c, struct csv_row *row, size_t last, size_t end, struct err *e)
{
    const struct csv_index *ix = c->index;
    size_t begin = c->at, n = 0, k = c->next;
    c->next = last + 1;
    set_line(c, row, end);
    int rc = 1;
    if (end - c->at > CSV_MAX_ROW)
        rc = row_error(c, row, e, -E2BIG, "row longer than 1 MiB");
    else if (last - k >= CSV_MAX_FIELDS)
        rc = row_error(c, row, e, -E2BIG, "more than 256 fields");
    for (; rc == 1 && k <= last; k++) {
        size_t stop = k < last ? c->index_at + ix->pos[k] : begin;
        if (k == last)
            stop = c->at + row->line_len;
        c->field[n++] = (struct csv_field){c->text + begin, (uint32_t)(stop - begin), false};
        begin = stop + 1;
    }
    if (rc == 1)
        row->count = n;
    c->line += end > 0 && c->text[end - 1] == '\n';
    c->at = end;
    return rc;
}

/* A row that the index could not hold. */
static int next_endless(struct csv *c, struct csv_row *row, struct err *e)
{
    bool fields = c->index->count >= CSV_MAX_FIELDS;
    int rc =
        row_error(c, row, e, -E2BIG, fields ? "more than 256 fields" : "row longer than 1 MiB");
    size_t end = row_end(c->text, c->len, c->at);
    skip_to(c, end ? end : line_end(c));
    c->index_end = c->at;
    c->index->count = c->next = 0;
    return rc;
}

/* Indexes on from the row at c->at. */
static void refill(struct csv *c)
{
    size_t len = c->len - c->at < MAX_STRETCH ? c->len - c->at : MAX_STRETCH;
    c->index_at = c->at;
    c->index_end = c->at + c->scan(c->index, c->text + c->at, len);
    c->next = 0;
}

/* Finds the newline that ends the next row; false: it is not in the index. */
static bool find_newline(const struct csv *c, size_t *last)
{
    const uint8_t *from = c->index->sep + c->next;
    const uint8_t *p = memchr(from, '\n', c->index->count - c->next);
    if (p)
        *last = (size_t)(p - c->index->sep);
    return p != NULL;
}

static int next_row(struct csv *c, struct csv_row *row, struct err *e)
{
    size_t last;
    if (!find_newline(c, &last)) {
        refill(c);
        if (!find_newline(c, &last)) {
            if (c->index->quote)
                return next_quoted(c, row, e);
            if (c->index_end < c->len)
                return next_endless(c, row, e);
            return next_plain(c, row, c->index->count, c->len, e);
        }
    }
    return next_plain(c, row, last, c->index_at + c->index->pos[last] + 1, e);
}

int csv_next(struct csv *c, struct csv_row *row, struct err *e)
{
    while (c->at < c->len) {
        int rc = next_row(c, row, e);
        if (rc != 1 || row->line_len > 0)
            return rc;
    }
    row->number = c->line;
    row->count = 0;
    return 0;
}

size_t csv_put_field(char *dst, const char *p, size_t len)
{
    bool quote = false;
    for (size_t i = 0; i < len; i++)
        quote |= p[i] == ',' || p[i] == '"' || p[i] == '\n' || p[i] == '\r';
    if (!quote) {
        if (len)
            memcpy(dst, p, len);
        return len;
    }
    size_t n = 0;
    dst[n++] = '"';
    for (size_t i = 0; i < len; i++) {
        if (p[i] == '"')
            dst[n++] = '"';
        dst[n++] = p[i];
    }
    dst[n++] = '"';
    return n;
}

void csv_place(const struct csv *c, size_t *offset, uint64_t *lines)
{
    *offset = c->at;
    *lines = c->line;
}
