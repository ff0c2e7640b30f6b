/* Splits CSV text into rows of fields, for readers of traces and of foreign files. Stretches
 * without quotes are cut by the index of csv_scan.c. A row with a quote is measured here and split
 * by libcsv, which is also the oracle that tests hold the scanner against. */
#include "lib/trace/csv.h"

#include <csv.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/trace/csv_scan.h"

#define MAX_STRETCH ((size_t)4 << 20) /* bytes indexed at a time; not below the longest row */

struct csv {
    const char *text;
    size_t len, at; /* at: where the next row begins */
    uint64_t line;  /* number of that line */
    size_t max_row;
    csv_scan_fn scan;
    struct csv_index *index;          /* of text[index_at..index_end) */
    size_t index_at, index_end, next; /* next: the first separator of the next row */
    struct csv_parser parser;
    struct csv_field field[CSV_MAX_FIELDS];
    size_t count;
    char *unescaped; /* contents of the fields of a row with quotes; max_row bytes */
    size_t used;
    bool too_many;
};

static int no_space(unsigned char c)
{
    (void)c;
    return 0;
}

/* A lone CR ends a row for libcsv, but neither for the scanner nor in RFC 4180. */
static int is_newline(unsigned char c)
{
    return c == '\n';
}

static void parser_init(struct csv *c)
{
    csv_init(&c->parser, CSV_STRICT | CSV_STRICT_FINI); /* fails only for a NULL parser */
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
    c->max_row = CSV_MAX_ROW;
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

void csv_set_max_row(struct csv *c, size_t bytes)
{
    c->max_row = bytes < MAX_STRETCH ? bytes : MAX_STRETCH;
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

/* Returns the end of the quoted field that begins at text[i]: the offset behind its closing quote,
 * 0 if it has none. */
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

/* Returns the end of the row that begins at text[at]: the offset behind its newline, or len. 0: a
 * quoted field has no end. A quote opens a field only at its begin; elsewhere it is a stray that
 * ends nothing. */
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

size_t csv_last_row_end(const char *text, size_t len)
{
    size_t end = 0, at = 0;

    for (;;) {
        const char *quote = at < len ? memchr(text + at, '"', len - at) : NULL;
        size_t until = quote ? (size_t)(quote - text) : len;
        const char *newline = until > at ? memrchr(text + at, '\n', until - at) : NULL;
        if (newline)
            end = (size_t)(newline - text) + 1;
        if (!quote)
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

static int too_long(struct csv *c, struct csv_row *row, struct err *e)
{
    return row_error(c, row, e, -E2BIG, "row longer than 1 MiB");
}

static int too_many_fields(struct csv *c, struct csv_row *row, struct err *e)
{
    return row_error(c, row, e, -E2BIG, "more than 256 fields");
}

/* Goes to text[end], the end of a row (0: of the line). The index does not reach there. */
static void skip_row(struct csv *c, size_t end)
{
    const char *p = c->text + c->at;

    if (end == 0) {
        const char *newline = memchr(p, '\n', c->len - c->at);
        end = newline ? (size_t)(newline - c->text) + 1 : c->len;
    }
    c->line += csv_scan_count_lines(p, end - c->at);
    c->at = c->index_end = end;
    c->index->count = c->next = 0;
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

/* Splits the measured row by libcsv. */
static int split_quoted(struct csv *c, struct csv_row *row, struct err *e)
{
    if (!c->unescaped)
        c->unescaped = malloc(c->max_row + CSV_PAD);
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
        return row_error(c, row, e, -EINVAL, "unexpected quote");
    }
    if (c->too_many)
        return too_many_fields(c, row, e);

    /* libcsv does not say which fields were in quotes. The row is known to be well formed. */
    size_t i = 0;
    for (size_t f = 0; f < c->count; f++) {
        c->field[f].quoted = i < row->line_len && row->line[i] == '"';
        if (c->field[f].quoted)
            i = quoted_end(row->line, row->line_len, i);
        const char *comma =
            i < row->line_len ? memchr(row->line + i, ',', row->line_len - i) : NULL;
        i = comma ? (size_t)(comma - row->line) + 1 : row->line_len;
    }
    row->count = c->count;
    return 1;
}

/* The row at c->at holds a quote. */
static int next_quoted(struct csv *c, struct csv_row *row, struct err *e)
{
    size_t end = row_end(c->text, c->len, c->at);
    int rc;

    if (end == 0) {
        rc = row_error(c, row, e, -EINVAL, "quote is not closed");
    } else if (end - c->at > c->max_row) {
        rc = too_long(c, row, e);
    } else {
        set_line(c, row, end);
        rc = split_quoted(c, row, e);
    }
    skip_row(c, end);
    return rc;
}

/* Cuts the row that ends at text[end] with separator number last of the index (its count: the row
 * ends with the text). */
static int next_plain(struct csv *c, struct csv_row *row, size_t last, size_t end, struct err *e)
{
    const struct csv_index *ix = c->index;
    size_t begin = c->at, n = 0, k = c->next;
    int rc = 1;

    c->next = last + 1;
    set_line(c, row, end);
    if (end - c->at > c->max_row)
        rc = too_long(c, row, e);
    else if (last - k >= CSV_MAX_FIELDS)
        rc = too_many_fields(c, row, e);
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

/* Finds the newline that ends the next row. False: it is not in the index. */
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
        size_t len = c->len - c->at < MAX_STRETCH ? c->len - c->at : MAX_STRETCH;
        c->index_at = c->at;
        c->index_end = c->at + c->scan(c->index, c->text + c->at, len);
        c->next = 0;
        if (!find_newline(c, &last)) {
            if (c->index->quote)
                return next_quoted(c, row, e);
            if (c->index_end == c->len)
                return next_plain(c, row, c->index->count, c->len, e);
            /* The index cannot hold the row. */
            int rc = c->index->count >= CSV_MAX_FIELDS ? too_many_fields(c, row, e)
                                                       : too_long(c, row, e);
            skip_row(c, row_end(c->text, c->len, c->at));
            return rc;
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

void csv_place(const struct csv *c, size_t *offset, uint64_t *lines)
{
    *offset = c->at;
    *lines = c->line;
}

/* Whether a comma, a quote or an end of line is among the eight bytes: a zero byte after an
 * exclusive or. */
static inline uint64_t specials(uint64_t x)
{
    static const char special[] = {',', '"', '\n', '\r'};
    const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7;
    uint64_t found = 0;
    for (size_t i = 0; i < sizeof(special); i++) {
        uint64_t y = x ^ ones * (unsigned char)special[i];
        found |= (y - ones) & ~y;
    }
    return found & tops;
}

/* Copies the text, eight bytes at a time and the last eight perhaps twice. True: there were special
 * characters. */
static inline bool copy_field(char *dst, const char *p, size_t len)
{
    uint64_t x, found = 0;
    if (len < sizeof(x)) {
        char last[sizeof(x)] = {0};
        for (size_t i = 0; i < len; i++)
            dst[i] = last[i] = p[i];
        memcpy(&x, last, sizeof(x));
        return specials(x) != 0;
    }
    for (size_t i = 0; i < len - sizeof(x); i += sizeof(x)) {
        memcpy(&x, p + i, sizeof(x));
        memcpy(dst + i, &x, sizeof(x));
        found |= specials(x);
    }
    memcpy(&x, p + len - sizeof(x), sizeof(x));
    memcpy(dst + len - sizeof(x), &x, sizeof(x));
    return (found | specials(x)) != 0;
}

size_t csv_put_field(char *dst, const char *p, size_t len)
{
    size_t n = 0;

    if (!copy_field(dst, p, len))
        return len;
    dst[n++] = '"';
    for (size_t i = 0; i < len; i++) {
        if (p[i] == '"')
            dst[n++] = '"';
        dst[n++] = p[i];
    }
    dst[n++] = '"';
    return n;
}
