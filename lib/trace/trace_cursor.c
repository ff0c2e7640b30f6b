/* A thread's way through a trace: takes pieces of whole rows from the reader (trace_read.c),
 * indexes them with the CSV scanner and fills batches of records. Rows with quotes take the way
 * through csv.c. Line and row numbers are those of the file however many cursors share it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/trace/csv_scan.h"
#include "lib/trace/trace_read.h"

#define BATCH     128u
#define ARENA_CAP (2 * CSV_MAX_ROW)

struct trace_cursor {
    struct trace_reader *r;
    struct trace_cursor *next; /* list of the reader */
    struct trace_piece piece;
    bool in_piece;
    size_t at;          /* next row in the piece */
    uint64_t lines;     /* newlines in the piece before at */
    uint64_t rows_done; /* rows of the piece before at, bad ones too */
    bool counted;       /* the piece's lines were told at its begin */
    bool lines_known;   /* lines_base: lines of the file before the piece */
    uint64_t lines_base;
    _Atomic bool rows_known; /* rows_base: rows of the file before the piece, set before this */
    uint64_t rows_base;
    uint64_t row_number; /* of the batch, UINT64_MAX: unknown */
    csv_scan_fn scan;
    trace_parse_fn parse;
    struct csv_index *index; /* of the piece from index_at on */
    size_t index_at, index_next;
    struct csv *slow;
    char *arena; /* strings of rows with quotes, until the batch is given back */
    size_t arena_used;
    struct trace_row *rows;
    size_t count;
    struct err error; /* comes after the rows before it; then every call gives it again */
};

int trace_cursor_open(struct trace_cursor **out, struct trace_reader *r, struct err *e)
{
    struct trace_cursor *c = calloc(1, sizeof(*c));
    if (!c)
        return err_nomem(e, "trace cursor");
    c->r = r;
    bool whole = frame_in_whole_rows(r->in);
    c->piece.frame = whole ? frame_piece_create() : NULL;
    c->piece.block = whole ? NULL : malloc(TRACE_BLOCK_CAP);
    c->index = malloc(sizeof(*c->index));
    c->slow = csv_create();
    c->rows = malloc(BATCH * sizeof(*c->rows));
    c->scan = csv_scan_pick();
    c->parse = trace_parse_pick();
    pthread_mutex_lock(&r->lock);
    bool full = r->cursor_count == TRACE_MAX_CURSORS;
    if (!full) {
        c->next = r->cursors;
        r->cursors = c;
        r->cursor_count++;
    }
    pthread_mutex_unlock(&r->lock);
    if (full || !(c->piece.frame || c->piece.block) || !c->index || !c->slow || !c->rows) {
        trace_cursor_close(c);
        return err_nomem(e, "trace cursor");
    }
    for (size_t i = 0; i < BATCH; i++)
        trace_row_clear(&c->rows[i]);
    *out = c;
    return 0;
}

/* ---- numbers of lines and rows ---- */

/* Tells the cursor in the next piece to be summed what stands before it. */
static void tally_tell(struct trace_reader *r, const struct trace_tally *t)
{
    for (struct trace_cursor *c = r->cursors; c; c = c->next) {
        if (!c->in_piece || c->piece.number != t->next)
            continue;
        if (t == &r->lines) {
            c->lines_base = t->sum;
            c->lines_known = true;
        } else if (!t->lost && !c->rows_known) {
            c->rows_base = t->sum;
            c->rows_known = true;
        }
    }
}

/* Moves the sum over pieces that are in. Under the lock. */
static void tally_advance(struct trace_reader *r, struct trace_tally *t)
{
    for (;;) {
        tally_tell(r, t);
        size_t slot = t->next % TRACE_MAX_CURSORS;
        if (!t->in[slot])
            break;
        t->in[slot] = false;
        t->sum += t->value[slot];
        t->next++;
    }
    pthread_cond_broadcast(&r->told);
}

static void tell_lines(struct trace_cursor *c, uint64_t lines)
{
    struct trace_reader *r = c->r;
    pthread_mutex_lock(&r->lock);
    /* Never far ahead: whoever took an earlier piece tells its lines before it does anything else.
     */
    while (c->piece.number - r->lines.next >= TRACE_MAX_CURSORS && r->stop_piece >= c->piece.number)
        pthread_cond_wait(&r->told, &r->lock);
    trace_tally_add(&r->lines, c->piece.number, lines);
    tally_advance(r, &r->lines);
    pthread_mutex_unlock(&r->lock);
}

void trace_cursor_close(struct trace_cursor *c)
{
    if (!c)
        return;
    if (c->in_piece && !c->counted)
        tell_lines(c, c->lines); /* nobody is to wait for it */
    pthread_mutex_lock(&c->r->lock);
    for (struct trace_cursor **p = &c->r->cursors; *p; p = &(*p)->next)
        if (*p == c) {
            *p = c->next;
            c->r->cursor_count--;
            break;
        }
    pthread_mutex_unlock(&c->r->lock);
    frame_piece_free(c->piece.frame);
    free(c->piece.block);
    free(c->index);
    csv_close(c->slow);
    free(c->arena);
    free(c->rows);
    free(c);
}

/* Begins the piece just taken. With other cursors around, its lines are counted now: one of them
 * may need them for a message while this one's owner does something else. */
static void piece_begin(struct trace_cursor *c)
{
    struct trace_reader *r = c->r;
    c->at = c->index_next = 0;
    c->index_at = SIZE_MAX;
    c->index->count = 0;
    c->lines = c->piece.lines_before;
    c->rows_done = 0;
    pthread_mutex_lock(&r->lock);
    c->in_piece = true;
    c->lines_known = false;
    c->rows_known = false;
    c->counted = r->cursor_count > 1;
    tally_tell(r, &r->lines);
    tally_tell(r, &r->rows);
    pthread_mutex_unlock(&r->lock);
    if (c->counted)
        tell_lines(c, c->lines + csv_scan_count_lines(c->piece.text, c->piece.len));
}

static void piece_end(struct trace_cursor *c)
{
    struct trace_reader *r = c->r;
    if (!c->counted)
        tell_lines(c, c->lines);
    pthread_mutex_lock(&r->lock);
    c->in_piece = false;
    trace_tally_add(&r->rows, c->piece.number, c->rows_done);
    tally_advance(r, &r->rows);
    pthread_mutex_unlock(&r->lock);
}

/* Nothing behind this piece will be parsed. */
static void stop_here(struct trace_cursor *c)
{
    struct trace_reader *r = c->r;
    pthread_mutex_lock(&r->lock);
    if (r->stop_piece > c->piece.number)
        r->stop_piece = c->piece.number;
    pthread_cond_broadcast(&r->told);
    pthread_mutex_unlock(&r->lock);
}

/* Waits for the lines before this piece; false: an error in an earlier piece makes them moot. */
static bool know_lines(struct trace_cursor *c)
{
    struct trace_reader *r = c->r;
    pthread_mutex_lock(&r->lock);
    while (!c->lines_known && r->stop_piece >= c->piece.number)
        pthread_cond_wait(&r->told, &r->lock);
    bool known = c->lines_known;
    pthread_mutex_unlock(&r->lock);
    return known;
}

static uint64_t rows_before(struct trace_cursor *c)
{
    struct trace_reader *r = c->r;
    pthread_mutex_lock(&r->lock);
    bool known = !r->rows.lost && r->rows.next == c->piece.number;
    uint64_t n = known ? r->rows.sum : UINT64_MAX;
    pthread_mutex_unlock(&r->lock);
    return n;
}

uint64_t trace_cursor_row_number(const struct trace_cursor *c)
{
    return c->row_number;
}

uint64_t trace_cursor_piece(const struct trace_cursor *c)
{
    return c->piece.number;
}

/* ---- errors ---- */

/* Rows before this piece while other cursors still parse: a line is a row. Waits until those who
 * took the pieces before it have told their lines, which they do before anything else. */
static uint64_t lines_before(struct trace_cursor *c)
{
    struct trace_reader *r = c->r;
    pthread_mutex_lock(&r->lock);
    while (r->lines.next < c->piece.number && r->stop_piece >= c->piece.number)
        pthread_cond_wait(&r->told, &r->lock);
    uint64_t lines = r->lines.sum - r->header_lines;
    pthread_mutex_unlock(&r->lock);
    return lines;
}

/* A cut or damaged input: says after which row. */
static int input_error(struct trace_cursor *c, struct err *inner)
{
    struct trace_reader *r = c->r;
    uint64_t rows = rows_before(c);
    if (inner->code != -EBADMSG) {
        c->error = *inner;
    } else {
        if (rows == UINT64_MAX)
            rows = lines_before(c);
        err_set(&c->error, -EBADMSG, ERR_INPUT, trace_name(r), "%s after row %llu (%s)",
                strstr(inner->what, "damaged") ? "damaged" : "cut", (unsigned long long)rows,
                inner->what);
    }
    stop_here(c);
    return c->error.code;
}

/* Records a bad row at c->lines, or makes it the error. True: go on behind it. */
static bool bad_row(struct trace_cursor *c, int code, const char *what)
{
    struct trace_reader *r = c->r;
    if (!know_lines(c)) {
        c->error = (struct err){0};
        return false;
    }
    char where[320];
    uint64_t line = c->lines_base + c->lines + 1;
    snprintf(where, sizeof(where), "%.290s:%llu", trace_name(r), (unsigned long long)line);
    struct err e = {0};
    err_set(&e, code, ERR_INPUT, where, "%s", what);
    if (!r->opts.skip_bad_rows) {
        c->error = e;
        stop_here(c);
        return false;
    }
    pthread_mutex_lock(&r->lock);
    r->bad_rows++;
    if (line < r->first_bad_line) {
        r->first_bad_line = line;
        snprintf(r->first_bad, sizeof(r->first_bad), "%s: %.300s", e.where, e.what);
    }
    pthread_mutex_unlock(&r->lock);
    return true;
}

/* ---- rows ---- */

/* Strings of the last row that lie in the splitter's buffer move to the batch's own. */
static void keep_string(struct trace_cursor *c, struct trace_str *s)
{
    if (!s->len || (s->p >= c->piece.text && s->p < c->piece.text + c->piece.len))
        return;
    memcpy(c->arena + c->arena_used, s->p, s->len);
    s->p = c->arena + c->arena_used;
    c->arena_used += s->len;
}

/* Length of the row without its result columns: none of them is ever quoted by a writer of ours,
 * but may be by others, so commas are counted outside quotes from the front. */
static uint32_t own_line_len(const struct trace_layout *l, const struct csv_row *row)
{
    unsigned fields = 0;
    bool quoted = false;
    for (uint32_t i = 0; i < row->line_len; i++) {
        quoted ^= row->line[i] == '"';
        if (row->line[i] == ',' && !quoted && ++fields == l->own_fields)
            return i;
    }
    return row->line_len;
}

static bool accept_slow(struct trace_cursor *c, const struct csv_row *row)
{
    const struct trace_layout *l = &c->r->layout;
    struct trace_row *t = &c->rows[c->count];
    if (row->count == l->fields && trace_parse_fields(l, row->field, t)) {
        keep_string(c, &t->key);
        keep_string(c, &t->user);
        if (l->want_line)
            t->line = (struct trace_str){row->line, own_line_len(l, row)};
        c->count++;
        return true;
    }
    char what[320];
    trace_parse_explain(l, row, what, sizeof(what));
    return bad_row(c, -EINVAL, what);
}

/* What csv.c gets to see: the line, when no quote stands in it. */
static size_t slow_len(const struct trace_cursor *c)
{
    const char *text = c->piece.text + c->at;
    size_t len = c->piece.len - c->at;
    const char *newline = memchr(text, '\n', len);
    if (!newline || memchr(text, '"', (size_t)(newline - text)))
        return len;
    return (size_t)(newline - text) + 1;
}

/* The first newline of the index from its next separator on, NULL: none. */
static const uint8_t *index_newline(const struct trace_cursor *c)
{
    const struct csv_index *ix = c->index;
    return memchr(ix->sep + c->index_next, '\n', ix->count - c->index_next);
}

/* After a row that did not come from the index: goes on in it if that row stood in it. */
static void index_skip_to(struct trace_cursor *c)
{
    const uint8_t *newline = index_newline(c);
    size_t i = newline ? (size_t)(newline - c->index->sep) : 0;
    if (newline && c->index_at + c->index->pos[i] + 1 == c->at) {
        c->index_next = i + 1;
        return;
    }
    c->index->count = c->index_next = 0;
    c->index_at = SIZE_MAX; /* no index: made anew at the next row */
}

/* One row through csv.c: it holds a quote, or something is wrong with it. False: an error. */
static bool next_slow(struct trace_cursor *c)
{
    struct csv_row row;
    struct err e = {0};
    size_t used;
    uint64_t lines, before = c->lines;
    if (!c->arena)
        c->arena = malloc(ARENA_CAP);
    if (!c->arena) {
        err_nomem(&c->error, "batch");
        return false;
    }
    csv_set(c->slow, c->piece.text + c->at, slow_len(c));
    int rc = csv_next(c->slow, &row, &e);
    csv_place(c->slow, &used, &lines);
    c->lines = before + row.number; /* blank lines may stand before it */
    bool ok = rc == 0 || (rc == 1 ? accept_slow(c, &row) : bad_row(c, rc, e.what));
    c->rows_done += rc != 0;
    c->lines = before + lines;
    c->at += used;
    index_skip_to(c);
    return ok;
}

/* Indexes on from c->at; a last row without newline gets one in the index. */
static void refill(struct trace_cursor *c)
{
    struct csv_index *ix = c->index;
    const char *text = c->piece.text + c->at;
    size_t len = c->piece.len - c->at;
    size_t done = c->scan(ix, text, len);
    c->index_at = c->at;
    c->index_next = 0;
    if (done == len && text[len - 1] != '\n') {
        ix->pos[ix->count] = (uint32_t)len;
        ix->sep[ix->count++] = '\n';
    }
}

static inline uint64_t newlines_of_8(const uint8_t *sep)
{
    uint64_t x;
    memcpy(&x, sep, 8);
    x ^= UINT64_C(0x0a0a0a0a0a0a0a0a);
    return (x - UINT64_C(0x0101010101010101)) & ~x & UINT64_C(0x8080808080808080);
}

/* Is separator `last` of sep the first newline? Eight at a time, the last eight perhaps again. */
static inline bool row_is_whole(const uint8_t *sep, unsigned last)
{
    uint64_t before = 0;
    if (last < 8) {
        for (unsigned i = 0; i < last; i++)
            before |= sep[i] == '\n';
        return !before && sep[last] == '\n';
    }
    for (unsigned i = 0; i + 8 < last; i += 8)
        before |= newlines_of_8(sep + i);
    return !(before | newlines_of_8(sep + last - 8)) && sep[last] == '\n';
}

/* Rows from the index until something unusual. */
static void next_fast(struct trace_cursor *c)
{
    const struct trace_layout *l = &c->r->layout;
    struct csv_index *ix = c->index;
    if (c->index_next == ix->count)
        return;
    const char *text = c->piece.text + c->index_at;
    size_t k = c->index_next, fields = l->fields, count = c->count;
    uint32_t begin = (uint32_t)(c->at - c->index_at);
    while (count < BATCH && k + fields <= ix->count && row_is_whole(ix->sep + k, l->fields - 1)) {
        uint32_t *last = &ix->pos[k + fields - 1], end = *last;
        if (end - begin > CSV_MAX_ROW)
            break;
        *last -= end > begin && text[end - 1] == '\r';
        bool ok = c->parse(l, text, begin, ix->pos + k, &c->rows[count]);
        *last = end;
        if (__builtin_expect(!ok, 0))
            break;
        begin = end + 1;
        k += fields;
        count++;
    }
    size_t n = count - c->count;
    c->rows_done += n;
    c->lines += n;
    c->count = count;
    c->index_next = k;
    c->at = c->index_at + begin;
    if (c->at > c->piece.len) { /* the newline that ended the last row was not there */
        c->at = c->piece.len;
        c->lines--;
    }
}

/* Fills the batch from the piece; stops at its end, or at an error. */
static void fill_batch(struct trace_cursor *c)
{
    c->count = c->arena_used = 0;
    while (c->count < BATCH && c->at < c->piece.len && ARENA_CAP - c->arena_used > CSV_MAX_ROW) {
        size_t before = c->at;
        next_fast(c);
        if (c->at != before)
            continue;
        bool tried = c->index_at == c->at && c->index_next == 0;
        if (!index_newline(c) && !tried)
            refill(c);
        else if (!next_slow(c))
            return;
    }
}

/* 1: a batch; 0: the piece, or all parsing, is over. */
static int batch_from_piece(struct trace_cursor *c, const struct trace_row **rows, size_t *n)
{
    c->row_number = c->rows_known ? c->rows_base + c->rows_done : UINT64_MAX;
    if (c->r->stop_piece < c->piece.number)
        return 0;
    fill_batch(c);
    *rows = c->rows;
    *n = c->count;
    return c->count > 0;
}

static int take_piece(struct trace_cursor *c, struct err *e)
{
    struct err inner = {0};
    int rc = trace_take(c->r, &c->piece, &inner);
    if (rc == 1)
        piece_begin(c);
    else if (rc < 0) {
        rc = input_error(c, &inner);
        if (e)
            *e = c->error;
    }
    return rc;
}

int trace_cursor_next(struct trace_cursor *c, const struct trace_row **rows, size_t *n,
                      struct err *e)
{
    for (;;) {
        if (c->error.code) {
            if (e)
                *e = c->error;
            return c->error.code;
        }
        if (!c->in_piece) {
            int rc = take_piece(c, e);
            if (rc != 1)
                return rc;
        }
        if (batch_from_piece(c, rows, n))
            return 1;
        if (!c->error.code)
            piece_end(c);
    }
}
