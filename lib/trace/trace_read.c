/* The input half of the trace format: opens a file or pipe, reads its header, and hands out pieces
 * of whole rows in order to the cursors (trace_cursor.c), one thread at a time. Our own compressed
 * files go out as frames that the cursors decompress; everything else is cut at row ends here. */
#include "lib/trace/trace_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/trace/csv_scan.h"

/* ---- pieces ---- */

void trace_tally_add(struct trace_tally *t, uint64_t piece, uint64_t value)
{
    if (piece < t->next || piece - t->next >= TRACE_MAX_CURSORS) {
        t->lost = true;
        return;
    }
    t->value[piece % TRACE_MAX_CURSORS] = value;
    t->in[piece % TRACE_MAX_CURSORS] = true;
}

/* End of the whole rows in block[0..len). */
static size_t rows_end(const char *block, size_t len)
{
    if (len == 0 || !memchr(block, '"', len)) {
        const char *p = len ? memrchr(block, '\n', len) : NULL;
        return p ? (size_t)(p - block) + 1 : 0;
    }
    return csv_last_row_end(block, len);
}

/* A row of more than CSV_MAX_ROW bytes begins the block: gives up as little as can be, one line. */
static size_t endless_row_end(struct trace_reader *r, const char *block, size_t len)
{
    const char *p = memrchr(block, '\n', len);
    if (p)
        return (size_t)(p - block) + 1;
    r->drop_line = true;
    return len;
}

/* Drops the rest of a row that was given up; false: its end was not read yet. */
static bool drop_rest(struct trace_reader *r, struct trace_piece *p, size_t *len)
{
    const char *end = memchr(p->block, '\n', *len);
    if (!end) {
        *len = 0;
        return false;
    }
    size_t n = (size_t)(end - p->block) + 1;
    memmove(p->block, p->block + n, *len - n);
    *len -= n;
    p->lines_before = 1;
    r->drop_line = false;
    return true;
}

static void piece_set(struct trace_reader *r, struct trace_piece *p, size_t end, size_t len)
{
    r->carry_len = len - end;
    memcpy(r->carry, p->block + end, len - end);
    memset(p->block + end, 0, TRACE_TEXT_PAD);
    p->text = p->block;
    p->len = end;
}

/* Reads on until there are whole rows. */
static int take_block(struct trace_reader *r, struct trace_piece *p, struct err *e)
{
    size_t len = r->carry_len, end = 0;
    memcpy(p->block, r->carry, len);
    r->carry_len = 0;
    if (r->first_waits)
        end = rows_end(p->block, len);
    r->first_waits = false;
    while (end == 0) {
        int64_t n = frame_in_read(r->in, p->block + len, TRACE_READ_BYTES, e);
        if (n < 0)
            return (int)n;
        len += (size_t)n;
        if (r->drop_line && !drop_rest(r, p, &len) && n)
            continue;
        end = n ? rows_end(p->block, len) : len;
        if (n == 0 && len == 0)
            return 0;
        if (end == 0 && len > CSV_MAX_ROW)
            end = endless_row_end(r, p->block, len);
    }
    piece_set(r, p, end, len);
    return 1;
}

/* A compressed frame; its text is made by trace_take outside the lock. */
static int take_frame(struct trace_reader *r, struct trace_piece *p, struct err *e)
{
    if (!r->first_waits)
        return frame_in_take(r->in, p->frame, e);
    struct frame_piece *swap = r->first;
    r->first = p->frame;
    p->frame = swap;
    r->first_waits = false;
    return 1;
}

static int frame_rows(struct trace_piece *p, size_t from, struct err *e)
{
    int rc = frame_text(p->frame, &p->text, &p->len, e);
    if (rc)
        return rc;
    p->text += from;
    p->len -= from;
    if (frame_is_cut(p->frame))
        p->len = rows_end(p->text, p->len);
    return 0;
}

static void note_progress(struct trace_reader *r)
{
    uint64_t consumed, total;
    frame_in_progress(r->in, &consumed, &total);
    r->consumed = consumed;
    r->total = total;
}

static void input_ended(struct trace_reader *r)
{
    r->ended = true;
    if (r->digest)
        hash_hex(hash_stream_digest(r->digest), r->digest_hex);
}

int trace_take(struct trace_reader *r, struct trace_piece *p, struct err *e)
{
    bool whole = frame_in_whole_rows(r->in);
    size_t from = 0;
    int rc = 0;
    p->lines_before = 0;
    pthread_mutex_lock(&r->input);
    p->number = r->next_piece;
    if (r->next_piece <= r->stop_piece && !r->ended) {
        if (whole && r->first_waits)
            from = r->first_at;
        rc = whole ? take_frame(r, p, e) : take_block(r, p, e);
        if (rc == 1)
            r->next_piece++;
        else if (rc == 0)
            input_ended(r);
        note_progress(r);
    }
    pthread_mutex_unlock(&r->input);
    if (rc == 1 && whole) {
        int bad = frame_rows(p, from, e);
        rc = bad ? bad : 1;
    }
    if (rc == 1 && r->digest) /* one cursor only: no lock is needed */
        hash_stream_add(r->digest, p->text, p->len);
    return rc;
}

/* ---- the header ---- */

static int no_header(struct trace_reader *r, struct err *e)
{
    return err_set(e, -EINVAL, ERR_INPUT, frame_in_name(r->in), "empty: no header");
}

/* Reads until the first row is whole; *text then begins the file. */
static int head_block(struct trace_reader *r, const char **text, size_t *len, struct err *e)
{
    r->carry_len = 0;
    for (;;) {
        int64_t n = frame_in_read(r->in, r->carry + r->carry_len, TRACE_READ_BYTES, e);
        if (n < 0)
            return (int)n;
        r->carry_len += (size_t)n;
        memset(r->carry + r->carry_len, 0, TRACE_TEXT_PAD);
        *text = r->carry;
        *len = r->carry_len;
        /* Blank lines may stand before the header, and their ends are not its end. */
        size_t blank = strspn(r->carry, "\r\n");
        if (n == 0 || (r->carry_len > blank && rows_end(*text + blank, *len - blank)))
            return 0;
        if (r->carry_len > CSV_MAX_ROW)
            return err_set(e, -E2BIG, ERR_INPUT, frame_in_name(r->in),
                           "no end of the first line within 1 MiB: not a trace");
    }
}

static int head_frame(struct trace_reader *r, const char **text, size_t *len, struct err *e)
{
    int rc = frame_in_take(r->in, r->first, e);
    *len = 0;
    if (rc > 0)
        rc = frame_text(r->first, text, len, e);
    if (rc == 0 && *len && frame_is_cut(r->first))
        *len = rows_end(*text, *len);
    if (rc == 0 && *len == 0) /* why there is none is said by the next */
        rc = frame_in_take(r->in, r->first, e);
    return rc < 0 ? rc : 0;
}

static int cut_header(struct trace_reader *r, int rc, struct err *e)
{
    if (rc != -EBADMSG || !e)
        return rc;
    struct err inner = *e;
    return err_set(e, rc, ERR_INPUT, frame_in_name(r->in), "%s in the header (%s)",
                   strstr(inner.what, "damaged") ? "damaged" : "cut", inner.what);
}

/* Reads the text that holds the header and splits it; what follows waits for the first take. */
static int read_head(struct trace_reader *r, struct csv *c, struct csv_row *row, struct err *e)
{
    bool whole = frame_in_whole_rows(r->in);
    const char *text = NULL;
    size_t len = 0, bom, end;
    int rc = whole ? head_frame(r, &text, &len, e) : head_block(r, &text, &len, e);
    if (rc)
        return cut_header(r, rc, e);
    bom = len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    if (len == bom)
        return no_header(r, e);
    csv_set(c, text + bom, len - bom);
    rc = csv_next(c, row, e);
    if (rc < 0 && e)
        return err_set(e, rc, ERR_INPUT, frame_in_name(r->in), "header: %s", e->what);
    if (rc != 1)
        return rc ? rc : no_header(r, e);
    csv_place(c, &end, &r->header_lines);
    r->first_at = bom + end;
    r->first_waits = true;
    return 0;
}

/* Drops the header from the carry; its fields are no more needed. */
static void drop_head(struct trace_reader *r)
{
    if (frame_in_whole_rows(r->in))
        return;
    r->carry_len -= r->first_at;
    memmove(r->carry, r->carry + r->first_at, r->carry_len);
}

/* The header line without the result columns that end it. */
static int keep_header(struct trace_reader *r, const struct csv_row *row, struct err *e)
{
    uint32_t len = row->line_len;
    for (unsigned i = r->layout.own_fields; i < r->layout.fields; i++)
        len -= row->field[i].len + 1 + (row->field[i].quoted ? 2 : 0);
    r->header = malloc((size_t)len + 1);
    if (!r->header)
        return err_nomem(e, "header");
    memcpy(r->header, row->line, len);
    r->header[len] = '\0';
    r->header_len = len;
    return 0;
}

static void reset_state(struct trace_reader *r)
{
    memset(&r->lines, 0, sizeof(r->lines));
    memset(&r->rows, 0, sizeof(r->rows));
    r->lines.sum = r->header_lines;
    r->next_piece = 0;
    r->stop_piece = UINT64_MAX;
    r->ended = r->drop_line = false;
    r->bad_rows = 0;
    r->first_bad_line = UINT64_MAX;
    r->digest_hex[0] = '\0';
}

static int start(struct trace_reader *r, bool first_time, struct err *e)
{
    struct csv_row row;
    struct csv *c = csv_create();
    int rc = c ? read_head(r, c, &row, e) : err_nomem(e, "csv");
    if (rc == 0 && first_time) {
        rc = trace_layout_init(&r->layout, &row, r->opts.want, r->opts.want_line,
                               frame_in_name(r->in), e);
        if (rc == 0)
            rc = keep_header(r, &row, e);
    }
    if (rc == 0) {
        drop_head(r);
        reset_state(r);
        note_progress(r);
    }
    csv_close(c);
    return rc;
}

int trace_open(struct trace_reader **out, const char *path, const struct trace_read_opts *o,
               struct err *e)
{
    struct frame_in *in;
    int rc =
        frame_in_open(&in, path, &(struct frame_in_opts){.long_window = o && o->long_window}, e);
    return rc ? rc : trace_open_in(out, in, o, e);
}

int trace_open_in(struct trace_reader **out, struct frame_in *in, const struct trace_read_opts *o,
                  struct err *e)
{
    struct trace_reader *r = calloc(1, sizeof(*r));
    if (!r) {
        frame_in_close(in);
        return err_nomem(e, "trace");
    }
    r->in = in;
    if (o)
        r->opts = *o;
    pthread_mutex_init(&r->input, NULL);
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->told, NULL);
    r->carry = malloc(TRACE_BLOCK_CAP);
    r->first = frame_piece_create();
    r->digest = r->opts.want_digest ? hash_stream_create() : NULL;
    int rc =
        !r->carry || !r->first || (r->opts.want_digest && !r->digest) ? err_nomem(e, "trace") : 0;
    if (rc == 0)
        rc = start(r, true, e);
    if (rc)
        trace_close(r);
    else
        *out = r;
    return rc;
}

void trace_close(struct trace_reader *r)
{
    if (!r)
        return;
    frame_in_close(r->in);
    frame_piece_free(r->first);
    hash_stream_free(r->digest);
    pthread_cond_destroy(&r->told);
    pthread_mutex_destroy(&r->lock);
    pthread_mutex_destroy(&r->input);
    free(r->carry);
    free(r->header);
    free(r);
}

int trace_rewind(struct trace_reader *r, struct err *e)
{
    int rc = frame_in_rewind(r->in, e);
    if (rc == 0 && r->digest) {
        hash_stream_free(r->digest);
        r->digest = hash_stream_create();
        if (!r->digest)
            rc = err_nomem(e, "digest");
    }
    return rc ? rc : start(r, false, e);
}

/* ---- what is known about the input ---- */

uint32_t trace_columns(const struct trace_reader *r)
{
    return r->layout.present;
}

struct trace_str trace_header(const struct trace_reader *r)
{
    return (struct trace_str){r->header, r->header_len};
}

const char *trace_name(const struct trace_reader *r)
{
    return frame_in_name(r->in);
}

const char *trace_provenance(const struct trace_reader *r)
{
    return frame_in_provenance(r->in);
}

const char *trace_summary(const struct trace_reader *r)
{
    return frame_in_summary(r->in);
}

bool trace_can_rewind(const struct trace_reader *r)
{
    return frame_in_can_rewind(r->in);
}

void trace_progress(const struct trace_reader *r, uint64_t *consumed, uint64_t *total)
{
    *consumed = r->consumed;
    *total = r->total;
}

uint64_t trace_bad_rows(const struct trace_reader *r, const char **first)
{
    pthread_mutex_t *lock = (pthread_mutex_t *)&r->lock;
    pthread_mutex_lock(lock);
    uint64_t n = r->bad_rows;
    if (first)
        *first = r->first_bad;
    pthread_mutex_unlock(lock);
    return n;
}

const char *trace_digest(const struct trace_reader *r)
{
    return r->digest_hex;
}
