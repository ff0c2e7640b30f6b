/* The first stage of reading a trace: reads the header and cuts the input into pieces of whole
 * rows, one thread at a time. Our own compressed files go out as frames, which the taking thread
 * decompresses; all other input is cut at row ends here. read.c parses the rows. */
#include "lib/trace/pieces.h"
#include "lib/text/text.h"
#include "lib/trace/shape.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "lib/trace/csv.h"
#include "lib/trace/trace.h"

#define READ_BYTES ((size_t)256 << 10)
/* The begin of a row that has not ended yet, and the block read behind it. */
#define CARRY_CAP (TRACE_MAX_NOTE_ROW + READ_BYTES)
#define BLOCK_CAP (CARRY_CAP + READ_BYTES + PIECE_TEXT_PAD)

struct pieces {
    /* Copies for pieces_progress, which must not wait for the lock while a pipe is silent. */
    _Atomic uint64_t consumed, total;
    _Atomic uint64_t last; /* pieces behind it are not wanted */

    char *header;
    size_t header_len;
    uint64_t header_lines;

    pthread_mutex_t lock; /* held while reading; guards all below */
    struct frame_in *in;
    struct frame_piece *first; /* inputs in frames: holds the header; rows begin at first_at */
    size_t first_at;
    bool first_waits; /* first, or carry, holds whole rows that nobody took yet */
    char *carry;      /* other inputs: bytes read but not given out */
    size_t carry_len;
    bool drop_line; /* an endless row was given up: its rest is skipped */
    uint64_t next;  /* number of the next piece */
    bool ended;
};

/* Returns the end of the whole rows in block[0..len). */
static size_t rows_end(const char *block, size_t len)
{
    if (len == 0)
        return 0;
    if (memchr(block, '"', len))
        return csv_last_row_end(block, len);
    const char *newline = memrchr(block, '\n', len);
    return newline ? (size_t)(newline - block) + 1 : 0;
}

/* ---- the header ---- */

/* Does the text hold the header, and the first row if that has begun? It may be a Note of 2 MiB. */
static bool head_is_whole(const char *text, size_t len)
{
    size_t end = rows_end(text, len);
    const char *newline = memchr(text, '\n', len);

    if (end == 0 || !newline || end == len || len > TRACE_MAX_NOTE_ROW)
        return end > 0;
    return text + end > newline + 1;
}

/* Returns the length of the byte-order mark and the blank lines that text[0..len) begins with; adds
 * the number of these lines. */
static size_t blank_len(const char *text, size_t len, uint64_t *lines)
{
    size_t at = 0;

    for (;;) {
        if (at < len && text[at] == '\n') {
            at++;
            ++*lines;
        } else if (len - at >= 2 && memcmp(text + at, "\r\n", 2) == 0) {
            at += 2;
            ++*lines;
        } else if (text_mark(text + at, len - at) > 0) {
            at += text_mark(text + at, len - at);
        } else {
            return at;
        }
    }
}

/* Reads until the header is whole; *text then begins with it. What is blank before it is dropped as
 * it comes, for it may be longer than any buffer; *lines: of that. */
static int read_first_block(struct pieces *ps, const char **text, size_t *len, uint64_t *lines,
                            struct err *e)
{
    ps->carry_len = 0;
    for (;;) {
        int64_t n = frame_in_read(ps->in, ps->carry + ps->carry_len, READ_BYTES, e);
        if (n < 0)
            return (int)n;
        ps->carry_len += (size_t)n;
        size_t blank = blank_len(ps->carry, ps->carry_len, lines);
        ps->carry_len -= blank;
        memmove(ps->carry, ps->carry + blank, ps->carry_len);
        memset(ps->carry + ps->carry_len, 0, PIECE_TEXT_PAD);
        *text = ps->carry;
        *len = ps->carry_len;
        if (n == 0 || (*len && head_is_whole(*text, *len)))
            return 0;
        if (*len > CSV_MAX_ROW && !rows_end(*text, *len))
            return err_set(e, -E2BIG, ERR_INPUT, frame_in_name(ps->in),
                           "first line is longer than 1 MiB: not a trace");
    }
}

static int read_first_frame(struct pieces *ps, const char **text, size_t *len, bool *damaged,
                            struct err *e)
{
    int rc = frame_in_take(ps->in, ps->first, e);

    *len = 0;
    if (rc > 0) {
        rc = frame_text(ps->first, text, len, e);
        *damaged = rc == -EBADMSG;
    }
    if (rc == 0 && *len && frame_is_cut(ps->first))
        *len = rows_end(*text, *len);
    if (rc == 0 && *len == 0) /* the next take says why there is none */
        rc = frame_in_take(ps->in, ps->first, e);
    return rc < 0 ? rc : 0;
}

/* Reads the header and keeps its line; rows behind it wait for the first take. */
static int read_head(struct pieces *ps, struct csv *c, struct err *e)
{
    const char *name = frame_in_name(ps->in), *text = NULL;
    bool frames = frame_in_whole_rows(ps->in), damaged = false;
    struct csv_row row;
    uint64_t blank_lines = 0;
    size_t len = 0, blank, end;
    int rc = frames ? read_first_frame(ps, &text, &len, &damaged, e)
                    : read_first_block(ps, &text, &len, &blank_lines, e);

    if (rc == -EBADMSG && e) {
        struct err inner = *e;
        if (frame_in_is_unfinished(ps->in))
            return err_set(e, rc, ERR_INPUT, name,
                           "incomplete: its writer was killed before the first row");
        return err_set(e, rc, ERR_INPUT, name, "%s in the header (%s)",
                       damaged || frame_in_is_damaged(ps->in) ? "damaged" : "cut", inner.what);
    }
    if (rc)
        return rc;
    blank = blank_len(text, len, &blank_lines);
    const char *shape = shape_name(text + blank, len - blank);
    if (shape)
        return err_set(e, -EINVAL, ERR_INPUT, name, "not a trace: %s", shape);
    if (len > blank) {
        csv_set(c, text + blank, len - blank);
        rc = csv_next(c, &row, e);
        if (rc < 0 && e)
            return err_set(e, rc, ERR_INPUT, name, "header: %s", e->what);
        if (rc < 0)
            return rc;
    }
    if (rc == 0)
        return err_set(e, -EINVAL, ERR_INPUT, name, "empty: no header");
    csv_place(c, &end, &ps->header_lines);
    ps->header_lines += blank_lines;

    if (!ps->header) { /* the first time */
        ps->header = malloc((size_t)row.line_len + 1);
        if (!ps->header)
            return err_nomem(e, "header");
        memcpy(ps->header, row.line, row.line_len);
        ps->header[row.line_len] = '\0';
        ps->header_len = row.line_len;
    }

    ps->first_at = blank + end;
    ps->first_waits = true;
    if (!frames) {
        ps->carry_len -= ps->first_at;
        memmove(ps->carry, ps->carry + ps->first_at, ps->carry_len);
    }
    return 0;
}

static void note_progress(struct pieces *ps)
{
    uint64_t consumed, total;

    frame_in_progress(ps->in, &consumed, &total);
    ps->consumed = consumed;
    ps->total = total;
}

static int begin(struct pieces *ps, struct err *e)
{
    struct csv *c = csv_create();
    int rc = c ? read_head(ps, c, e) : err_nomem(e, "csv");

    csv_close(c);
    ps->next = 0;
    ps->last = UINT64_MAX;
    ps->ended = ps->drop_line = false;
    note_progress(ps);
    return rc;
}

int pieces_open(struct pieces **out, struct frame_in *in, struct err *e)
{
    struct pieces *ps = calloc(1, sizeof(*ps));

    if (!ps) {
        frame_in_close(in);
        return err_nomem(e, "trace");
    }
    ps->in = in;
    pthread_mutex_init(&ps->lock, NULL);
    ps->carry = malloc(BLOCK_CAP);
    ps->first = frame_piece_create();
    int rc = !ps->carry || !ps->first ? err_nomem(e, "trace") : begin(ps, e);
    if (rc)
        pieces_close(ps);
    else
        *out = ps;
    return rc;
}

void pieces_close(struct pieces *ps)
{
    if (!ps)
        return;
    frame_in_close(ps->in);
    frame_piece_free(ps->first);
    pthread_mutex_destroy(&ps->lock);
    free(ps->carry);
    free(ps->header);
    free(ps);
}

int pieces_rewind(struct pieces *ps, struct err *e)
{
    int rc = frame_in_rewind(ps->in, e);

    return rc ? rc : begin(ps, e);
}

const struct frame_in *pieces_input(const struct pieces *ps)
{
    return ps->in;
}

const char *pieces_first(const struct pieces *ps, size_t *len)
{
    *len = 0;
    if (!ps->first_waits || frame_in_whole_rows(ps->in))
        return NULL;
    *len = rows_end(ps->carry, ps->carry_len);
    return ps->carry;
}

const char *pieces_header(const struct pieces *ps, size_t *len, uint64_t *lines)
{
    *len = ps->header_len;
    *lines = ps->header_lines;
    return ps->header;
}

void pieces_progress(const struct pieces *ps, uint64_t *consumed, uint64_t *total)
{
    *consumed = ps->consumed;
    *total = ps->total;
}

/* ---- taking ---- */

int piece_open(struct piece *p, const struct pieces *ps, struct err *e)
{
    bool frames = frame_in_whole_rows(ps->in);

    *p = (struct piece){.frame = frames ? frame_piece_create() : NULL,
                        .block = frames ? NULL : malloc(BLOCK_CAP)};
    return p->frame || p->block ? 0 : err_nomem(e, "trace cursor");
}

void piece_close(struct piece *p)
{
    frame_piece_free(p->frame);
    free(p->block);
}

void pieces_stop_after(struct pieces *ps, uint64_t number)
{
    uint64_t last = atomic_load(&ps->last);

    while (number < last && !atomic_compare_exchange_weak(&ps->last, &last, number))
        ;
}

uint64_t pieces_last(const struct pieces *ps)
{
    return atomic_load(&ps->last);
}

/* Reads on until there are whole rows; the begin of the next row goes to the carry. */
static int take_block(struct pieces *ps, struct piece *p, struct err *e)
{
    size_t len = ps->carry_len, end = 0;

    memcpy(p->block, ps->carry, len);
    ps->carry_len = 0;
    if (ps->first_waits)
        end = rows_end(p->block, len);
    ps->first_waits = false;
    while (end == 0) {
        int64_t n = frame_in_read(ps->in, p->block + len, READ_BYTES, e);
        if (n < 0)
            return (int)n;
        len += (size_t)n;
        if (ps->drop_line) { /* skip the rest of a row that was given up */
            const char *newline = memchr(p->block, '\n', len);
            size_t rest = newline ? (size_t)(newline - p->block) + 1 : len;
            memmove(p->block, p->block + rest, len - rest);
            len -= rest;
            if (newline) {
                p->lines_before = 1;
                ps->drop_line = false;
            } else if (n) {
                continue;
            }
        }
        end = n ? rows_end(p->block, len) : len;
        if (n == 0 && len == 0)
            return 0;
        if (end == 0 && len > TRACE_MAX_NOTE_ROW) {
            /* The row is too long. Give up as little as possible: one line of it. */
            const char *newline = memrchr(p->block, '\n', len);
            end = newline ? (size_t)(newline - p->block) + 1 : len;
            ps->drop_line = !newline;
        }
    }
    ps->carry_len = len - end;
    memcpy(ps->carry, p->block + end, len - end);
    memset(p->block + end, 0, PIECE_TEXT_PAD);
    p->text = p->block;
    p->len = end;
    return 1;
}

/* Takes a compressed frame; the first one was read for the header and is swapped in. */
static int take_frame(struct pieces *ps, struct piece *p, struct err *e)
{
    struct frame_piece *first = ps->first;

    if (!ps->first_waits)
        return frame_in_take(ps->in, p->frame, e);
    ps->first = p->frame;
    p->frame = first;
    ps->first_waits = false;
    return 1;
}

int pieces_take(struct pieces *ps, struct piece *p, struct err *e)
{
    bool frames = frame_in_whole_rows(ps->in);
    size_t from = 0;
    int rc = 0;

    p->lines_before = 0;
    p->damaged = p->unfinished = false;
    pthread_mutex_lock(&ps->lock);
    p->number = ps->next;
    if (ps->next <= ps->last && !ps->ended) {
        if (frames && ps->first_waits)
            from = ps->first_at;
        rc = frames ? take_frame(ps, p, e) : take_block(ps, p, e);
        if (rc == 1)
            ps->next++;
        else if (rc == 0)
            ps->ended = true;
        p->damaged = rc < 0 && frame_in_is_damaged(ps->in);
        p->unfinished = rc < 0 && frame_in_is_unfinished(ps->in);
        note_progress(ps);
    }
    pthread_mutex_unlock(&ps->lock);
    if (rc != 1 || !frames)
        return rc;

    rc = frame_text(p->frame, &p->text, &p->len, e);
    if (rc) {
        p->damaged = true;
        return rc;
    }
    p->text += from;
    p->len -= from;
    if (frame_is_cut(p->frame))
        p->len = rows_end(p->text, p->len);
    return 1;
}
