/* Reads traces: parses the rows of an input's pieces (pieces.c) into records. A cursor is one
 * thread's way through its pieces: the CSV scanner indexes a piece, rows without quotes are parsed
 * by the index, rows with quotes go through csv.c. Line numbers in messages are those of the file,
 * however many cursors share it. */
#include "lib/trace/read.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"
#include "lib/base/memory.h"
#include "lib/trace/csv.h"
#include "lib/trace/csv_scan.h"
#include "lib/trace/frame.h"
#include "lib/trace/parse.h"
#include "lib/trace/pieces.h"

_Static_assert(PIECE_TEXT_PAD >= TRACE_TEXT_PAD, "what parsers read behind a row");

#define MAX_CURSORS 256u
#define BATCH       128u
#define ARENA_CAP   (2 * CSV_MAX_ROW)

/* Lines of a piece, while they wait for those of the pieces before it. */
struct piece_lines {
    struct trace_cursor *owner; /* gets the lines before its piece; NULL: closed */
    uint64_t lines;
    bool known;
};

struct trace_reader {
    struct pieces *pieces;
    struct trace_read_opts opts;
    struct trace_layout layout;
    struct hash_stream *digest; /* used by the only cursor */
    char digest_hex[HASH_HEX_LEN + 1];

    pthread_mutex_t lock;                    /* guards all below */
    pthread_cond_t told;                     /* lines were summed, or parsing stops earlier */
    struct piece_lines waiting[MAX_CURSORS]; /* by piece number modulo MAX_CURSORS */
    uint64_t summed;                         /* pieces whose lines are in lines_sum */
    uint64_t lines_sum;                      /* of the header and these pieces */
    uint64_t pieces_done, rows_done;         /* pieces that were parsed, in any order; their rows */
    unsigned cursor_count;
    struct trace_notes notes;
    char *first_note, *last_note; /* their JSON; NULL: none */
    uint64_t last_note_piece;
    size_t last_note_end; /* in its piece; SIZE_MAX: it ends the piece */
    enum trace_end end;
    uint64_t bad_rows, first_bad_line;
    char first_bad[640];
};

/* A part of a piece's text. */
struct span {
    size_t begin, end;
};

struct trace_cursor {
    struct trace_reader *r;
    struct piece piece;
    bool in_piece;  /* changed under the reader's lock; piece.number is fixed while it is set */
    size_t at;      /* next row in the piece */
    uint64_t lines; /* newlines in the piece before at */
    uint64_t rows;  /* rows of the piece before at, bad ones too */
    /* Under the reader's lock. */
    bool counted;        /* the piece's lines were counted at its begin */
    bool base_known;     /* lines_base is valid */
    uint64_t lines_base; /* lines of the file before the piece */

    csv_scan_fn scan;
    trace_parse_fn parse;
    struct csv_index *index; /* of the piece from index_at on */
    size_t index_at, index_next;
    struct csv *slow;
    char *arena; /* strings of rows with quotes, until the batch is given back */
    size_t arena_used;
    struct trace_row *rows_out;
    struct trace_extra *extra; /* one for each of rows_out, where the file has such columns */
    size_t count;
    struct span *notes; /* Notes in the piece, which the digest leaves out */
    size_t note_count;
    bool open_end;    /* the row being read ends the input, without a newline */
    struct err error; /* comes after the rows before it; then every call returns it */
};

/* ---- the reader ---- */

/* Starts from the first row. */
static void begin(struct trace_reader *r)
{
    size_t len;

    memset(r->waiting, 0, sizeof(r->waiting));
    r->summed = r->pieces_done = r->rows_done = 0;
    pieces_header(r->pieces, &len, &r->lines_sum);
    r->notes.count = 0;
    free(r->last_note);
    r->last_note = NULL;
    r->bad_rows = 0;
    r->first_bad_line = UINT64_MAX;
    r->digest_hex[0] = '\0';
}

static int read_layout(struct trace_reader *r, struct err *e)
{
    struct csv *c = csv_create();
    struct csv_row row;
    uint64_t lines;
    size_t len;
    int rc;

    if (!c)
        return err_nomem(e, "csv");
    r->layout.want = r->opts.want;
    r->layout.want_line = r->opts.want_line;
    const char *header = pieces_header(r->pieces, &len, &lines);
    csv_set(c, header, len);
    rc = csv_next(c, &row, e); /* read before without an error */
    if (rc == 1)
        rc = trace_layout_init(&r->layout, &row, trace_name(r), e);
    else if (rc == 0) /* the line was a carriage return, which is blank by itself */
        rc = err_set(e, -EINVAL, ERR_INPUT, trace_name(r), "the header is blank: not a trace");
    csv_close(c);
    return rc;
}

static bool is_note(const struct trace_layout *l, const struct csv_row *row)
{
    const struct trace_word *note = trace_op_word(TRACE_NOTE);
    const struct csv_field *op = &row->field[l->at[TRACE_COL_OPERATION]];

    return row->count == l->fields && op->len == note->len &&
           memcmp(op->p, note->text, op->len) == 0;
}

/* Keeps the Note that is the first row, if it came with the header. */
static int look_for_note(struct trace_reader *r, struct err *e)
{
    struct csv_row row;
    size_t len;
    const char *text = pieces_first(r->pieces, &len);
    struct csv *c = len ? csv_create() : NULL;

    if (len && !c)
        return err_nomem(e, "csv");
    if (c) {
        csv_set_max_row(c, TRACE_MAX_NOTE_ROW);
        csv_set(c, text, len);
        if (csv_next(c, &row, NULL) == 1 && is_note(&r->layout, &row)) {
            const struct csv_field *key = &row.field[r->layout.at[TRACE_COL_KEY]];
            r->first_note = strndup(key->p, key->len);
        }
        csv_close(c);
    }
    return 0;
}

int trace_open(struct trace_reader **out, const char *path, const struct trace_read_opts *o,
               struct err *e)
{
    const struct frame_in_opts opts = {.long_window = o && o->long_window,
                                       .patient = o && o->patient};
    struct frame_in *in;
    int rc = frame_in_open(&in, path, &opts, e);

    return rc ? rc : trace_open_in(out, in, o, e);
}

int trace_open_in(struct trace_reader **out, struct frame_in *in, const struct trace_read_opts *o,
                  struct err *e)
{
    struct trace_reader *r = calloc(1, sizeof(*r));
    int rc;

    if (!r) {
        frame_in_close(in);
        return err_nomem(e, "trace");
    }
    if (o)
        r->opts = *o;
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->told, NULL);
    rc = pieces_open(&r->pieces, in, e);
    if (rc == 0)
        rc = read_layout(r, e);
    if (rc == 0 && r->opts.want_digest) {
        r->digest = hash_stream_create();
        rc = r->digest ? 0 : err_nomem(e, "digest");
    }
    if (rc == 0)
        rc = look_for_note(r, e);
    if (rc) {
        trace_close(r);
        return rc;
    }
    begin(r);
    *out = r;
    return 0;
}

void trace_close(struct trace_reader *r)
{
    if (!r)
        return;
    pieces_close(r->pieces);
    hash_stream_free(r->digest);
    free(r->first_note);
    free(r->last_note);
    pthread_cond_destroy(&r->told);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

int trace_rewind(struct trace_reader *r, struct err *e)
{
    int rc = pieces_rewind(r->pieces, e);

    if (rc == 0 && r->digest) {
        hash_stream_free(r->digest);
        r->digest = hash_stream_create();
        rc = r->digest ? 0 : err_nomem(e, "digest");
    }
    if (rc == 0)
        begin(r);
    return rc;
}

uint32_t trace_columns(const struct trace_reader *r)
{
    return r->layout.present;
}

struct trace_str trace_header(const struct trace_reader *r)
{
    uint64_t lines;
    size_t len;
    const char *header = pieces_header(r->pieces, &len, &lines);

    for (unsigned i = r->layout.own_fields; i < r->layout.fields; i++)
        while (len > 0 && header[--len] != ',') /* no name of a result column holds a comma */
            ;
    return (struct trace_str){header, (uint32_t)len};
}

const char *trace_name(const struct trace_reader *r)
{
    return frame_in_name(pieces_input(r->pieces));
}

const char *trace_provenance(const struct trace_reader *r)
{
    const char *frame = frame_in_provenance(pieces_input(r->pieces));

    return frame ? frame : r->first_note;
}

/* Returns whether the pieces so far end with a Note. Under the lock. */
static bool ends_with_note(const struct trace_reader *r)
{
    return r->last_note && r->last_note_end == SIZE_MAX && r->last_note_piece + 1 == r->pieces_done;
}

struct trace_notes trace_notes(const struct trace_reader *r)
{
    pthread_mutex_t *lock = (pthread_mutex_t *)&r->lock;

    pthread_mutex_lock(lock);
    struct trace_notes notes = r->notes;
    notes.last = ends_with_note(r);
    pthread_mutex_unlock(lock);
    return notes;
}

const char *trace_summary(const struct trace_reader *r)
{
    const char *frame = frame_in_summary(pieces_input(r->pieces));

    return frame || !trace_notes(r).last ? frame : r->last_note;
}

enum trace_end trace_end(const struct trace_reader *r)
{
    pthread_mutex_t *lock = (pthread_mutex_t *)&r->lock;

    pthread_mutex_lock(lock);
    enum trace_end end = r->end;
    pthread_mutex_unlock(lock);
    return end;
}

bool trace_is_own(const struct trace_reader *r)
{
    return frame_in_whole_rows(pieces_input(r->pieces));
}

bool trace_can_rewind(const struct trace_reader *r)
{
    return frame_in_can_rewind(pieces_input(r->pieces));
}

void trace_progress(const struct trace_reader *r, uint64_t *consumed, uint64_t *total)
{
    pieces_progress(r->pieces, consumed, total);
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

/* ---- line numbers ---- */

/* The line of a bad row is counted from the begin of the file, but pieces are parsed in any order.
 * Each cursor therefore counts the newlines of its piece before it parses it, and sums are moved on
 * as soon as all earlier pieces are counted. A cursor that is alone counts while it parses. */

/* Adds the lines of the cursor's piece. Under the lock. */
static void count_piece(struct trace_cursor *c, uint64_t lines)
{
    struct trace_reader *r = c->r;
    uint64_t number = c->piece.number;

    /* Never far ahead: who took an earlier piece counts it before doing anything else. */
    while (number - r->summed >= MAX_CURSORS && pieces_last(r->pieces) >= number)
        pthread_cond_wait(&r->told, &r->lock);
    if (number - r->summed >= MAX_CURSORS)
        return; /* parsing stops before this piece */
    r->waiting[number % MAX_CURSORS] = (struct piece_lines){c, lines, true};
    for (;;) {
        struct piece_lines *next = &r->waiting[r->summed % MAX_CURSORS];
        if (!next->known)
            break;
        if (next->owner && next->owner->in_piece && next->owner->piece.number == r->summed) {
            next->owner->lines_base = r->lines_sum;
            next->owner->base_known = true;
        }
        r->lines_sum += next->lines;
        next->known = false;
        r->summed++;
    }
    pthread_cond_broadcast(&r->told);
}

/* Nothing behind this piece will be parsed. */
static void stop_here(struct trace_cursor *c)
{
    pthread_mutex_lock(&c->r->lock);
    pieces_stop_after(c->r->pieces, c->piece.number);
    pthread_cond_broadcast(&c->r->told);
    pthread_mutex_unlock(&c->r->lock);
}

/* Waits until the lines before this piece are known. False: an error in an earlier piece makes them
 * useless. */
static bool wait_for_base(struct trace_cursor *c)
{
    struct trace_reader *r = c->r;

    pthread_mutex_lock(&r->lock);
    while (!c->base_known && pieces_last(r->pieces) >= c->piece.number)
        pthread_cond_wait(&r->told, &r->lock);
    bool known = c->base_known;
    pthread_mutex_unlock(&r->lock);
    return known;
}

/* Returns the rows before this piece, the first one that cannot be read. With other cursors around,
 * which may still be parsing, lines stand for rows. */
static uint64_t rows_before(struct trace_cursor *c)
{
    struct trace_reader *r = c->r;
    uint64_t header_lines, rows;
    size_t len;

    pieces_header(r->pieces, &len, &header_lines);
    pthread_mutex_lock(&r->lock);
    if (r->cursor_count == 1 && r->pieces_done == c->piece.number) {
        rows = r->rows_done;
    } else {
        while (r->summed < c->piece.number && pieces_last(r->pieces) >= c->piece.number)
            pthread_cond_wait(&r->told, &r->lock);
        rows = r->lines_sum - header_lines;
    }
    pthread_mutex_unlock(&r->lock);
    return rows;
}

/* ---- cursors and their pieces ---- */

int trace_cursor_open(struct trace_cursor **out, struct trace_reader *r, struct err *e)
{
    struct trace_cursor *c = calloc(1, sizeof(*c));

    if (!c)
        return err_nomem(e, "trace cursor");
    c->r = r;
    c->index = malloc(sizeof(*c->index));
    c->slow = csv_create();
    c->rows_out = malloc(BATCH * sizeof(*c->rows_out));
    c->scan = csv_scan_pick();
    c->parse = trace_parse_pick(&r->layout);
    bool extra = r->layout.parsed & TRACE_EXTRA;
    c->extra = extra ? malloc(BATCH * sizeof(*c->extra)) : NULL;
    int rc = piece_open(&c->piece, r->pieces, e);
    pthread_mutex_lock(&r->lock);
    bool full = r->cursor_count++ >= MAX_CURSORS;
    pthread_mutex_unlock(&r->lock);
    if (rc == 0 && (full || !c->index || !c->slow || !c->rows_out || (extra && !c->extra)))
        rc = err_nomem(e, "trace cursor");
    if (rc) {
        trace_cursor_close(c);
        return rc;
    }
    csv_set_max_row(c->slow, TRACE_MAX_NOTE_ROW);
    for (size_t i = 0; i < BATCH; i++) {
        trace_row_clear(&c->rows_out[i]);
        if (extra) {
            trace_extra_clear(&c->extra[i]);
            c->rows_out[i].extra = &c->extra[i];
        }
    }
    *out = c;
    return 0;
}

void trace_cursor_close(struct trace_cursor *c)
{
    if (!c)
        return;
    pthread_mutex_lock(&c->r->lock);
    if (c->in_piece && !c->counted)
        count_piece(c, c->lines); /* nobody shall wait for it */
    for (unsigned i = 0; i < MAX_CURSORS; i++)
        if (c->r->waiting[i].owner == c)
            c->r->waiting[i].owner = NULL;
    c->r->cursor_count--;
    pthread_mutex_unlock(&c->r->lock);
    piece_close(&c->piece);
    free(c->index);
    csv_close(c->slow);
    free(c->arena);
    free(c->rows_out);
    free(c->extra);
    free(c->notes);
    free(c);
}

/* Begins the piece just taken. */
static void piece_begin(struct trace_cursor *c)
{
    struct trace_reader *r = c->r;

    c->at = c->index_next = 0;
    c->index_at = SIZE_MAX;
    c->index->count = 0;
    c->lines = c->piece.lines_before;
    c->rows = 0;
    c->note_count = 0;
    pthread_mutex_lock(&r->lock);
    c->in_piece = true;
    c->counted = r->cursor_count > 1;
    c->base_known = r->summed == c->piece.number;
    c->lines_base = r->lines_sum;
    pthread_mutex_unlock(&r->lock);
    if (c->counted) {
        uint64_t lines = c->lines + csv_scan_count_lines(c->piece.text, c->piece.len);
        pthread_mutex_lock(&r->lock);
        count_piece(c, lines);
        pthread_mutex_unlock(&r->lock);
    }
}

static void piece_end(struct trace_cursor *c)
{
    struct trace_reader *r = c->r;

    if (r->digest) {
        size_t from = 0;
        for (size_t i = 0; i < c->note_count; i++) {
            hash_stream_add(r->digest, c->piece.text + from, c->notes[i].begin - from);
            from = c->notes[i].end;
        }
        hash_stream_add(r->digest, c->piece.text + from, c->piece.len - from);
    }
    pthread_mutex_lock(&r->lock);
    if (!c->counted)
        count_piece(c, c->lines);
    c->in_piece = false;
    r->pieces_done++;
    r->rows_done += c->rows;
    pthread_mutex_unlock(&r->lock);
}

/* A cut or damaged input: says after which row. */
static int input_error(struct trace_cursor *c, const struct err *inner)
{
    if (inner->code == -EBADMSG)
        err_set(&c->error, -EBADMSG, ERR_INPUT, trace_name(c->r), "%s after row %llu (%s)",
                c->piece.damaged ? "damaged" : "cut", (unsigned long long)rows_before(c),
                inner->what);
    else
        c->error = *inner;
    pthread_mutex_lock(&c->r->lock);
    c->r->end = c->piece.damaged      ? TRACE_END_DAMAGED
                : c->piece.unfinished ? TRACE_END_UNFINISHED
                                      : TRACE_END_CUT;
    pthread_mutex_unlock(&c->r->lock);
    stop_here(c);
    return c->error.code;
}

/* Ends the reading of a result at its last whole row. False, for callers that go on while true. */
static bool end_here(struct trace_cursor *c, enum trace_end end, uint64_t rows, const char *why)
{
    err_set(&c->error, -EBADMSG, ERR_INPUT, trace_name(c->r), "cut after row %llu (%s)",
            (unsigned long long)rows, why);
    pthread_mutex_lock(&c->r->lock);
    c->r->end = end;
    pthread_mutex_unlock(&c->r->lock);
    stop_here(c);
    return false;
}

/* All pieces were taken. Looks for the Note that ends a result which a Note begins. */
static void check_end(struct trace_cursor *c)
{
    struct trace_reader *r = c->r;

    pthread_mutex_lock(&r->lock);
    bool missing = r->notes.first && r->pieces_done == c->piece.number && !ends_with_note(r);
    uint64_t rows = r->rows_done;
    pthread_mutex_unlock(&r->lock);
    if (missing && (r->layout.present & TRACE_RESULT) == TRACE_RESULT)
        end_here(c, TRACE_END_UNFINISHED, rows, "the Note row at its end is missing");
}

/* ---- rows ---- */

/* Records a bad row at c->lines, or makes it the error. True: go on behind it. */
static bool bad_row(struct trace_cursor *c, int code, const char *what)
{
    struct trace_reader *r = c->r;
    struct err e = {0};
    char where[320];

    if (!wait_for_base(c)) {
        c->error = (struct err){0};
        return false;
    }
    uint64_t line = c->lines_base + c->lines + 1, header_lines;
    size_t len;

    pieces_header(r->pieces, &len, &header_lines);
    if (c->open_end && (r->layout.present & TRACE_RESULT) == TRACE_RESULT)
        return end_here(c, TRACE_END_IN_ROW, line - 1 - header_lines, "its last row is incomplete");
    snprintf(where, sizeof(where), "%.290s:%llu", trace_name(r), (unsigned long long)line);
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

/* Moves a string that lies in the splitter's buffer to the batch's own. */
static void keep_string(struct trace_cursor *c, struct trace_str *s)
{
    if (!s->len || (s->p >= c->piece.text && s->p < c->piece.text + c->piece.len))
        return;
    memcpy(c->arena + c->arena_used, s->p, s->len);
    s->p = c->arena + c->arena_used;
    c->arena_used += s->len;
}

/* Length of the row without its result columns. Other writers may quote these, so commas are
 * counted outside of quotes from the front. */
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

/* Tells the reader of a Note, which ends at text[end] of the piece. False: no memory. */
static bool tell_note(struct trace_cursor *c, const struct csv_field *key, size_t end)
{
    struct trace_reader *r = c->r;
    bool first = c->piece.number == 0 && c->rows == 0 && c->note_count == 0, ok = true;

    pthread_mutex_lock(&r->lock);
    r->notes.count++;
    if (first) {
        r->notes.first = true;
        if (!r->first_note)
            ok = (r->first_note = strndup(key->p, key->len)) != NULL;
    } else if (!r->last_note || c->piece.number >= r->last_note_piece) {
        free(r->last_note);
        ok = (r->last_note = strndup(key->p, key->len)) != NULL;
        r->last_note_piece = c->piece.number;
        r->last_note_end = end == c->piece.len ? SIZE_MAX : end;
    }
    pthread_mutex_unlock(&r->lock);
    return ok;
}

/* Skips a Note, which ends at text[end] of the piece: it is no row. False: an error. */
static bool skip_note(struct trace_cursor *c, const struct csv_row *row, size_t end)
{
    const struct csv_field *key = &row->field[c->r->layout.at[TRACE_COL_KEY]];

    if (key->len == 0 || key->len > TRACE_MAX_NOTE)
        return bad_row(c, -EINVAL,
                       key->len ? "the Key of a Note is longer than 1 MiB"
                                : "Note row without Key");
    c->rows--;
    if (!tell_note(c, key, end) ||
        memory_resize(&c->notes, c->note_count + 1, sizeof(*c->notes)) < 0) {
        err_nomem(&c->error, "note");
        return false;
    }
    c->notes[c->note_count++] = (struct span){(size_t)(row->line - c->piece.text), end};
    return true;
}

/* Takes a row that csv.c has split and that ends at text[end] of the piece. False: an error. */
static bool accept_slow(struct trace_cursor *c, const struct csv_row *row, size_t end)
{
    const struct trace_layout *l = &c->r->layout;
    struct trace_row *t = &c->rows_out[c->count];
    char what[320];

    if (is_note(l, row))
        return skip_note(c, row, end);
    if (end - (size_t)(row->line - c->piece.text) > CSV_MAX_ROW)
        return bad_row(c, -E2BIG, "row longer than 1 MiB");
    if (row->count != l->fields || !trace_parse_fields(l, row->field, t)) {
        trace_parse_explain(l, row, what, sizeof(what));
        return bad_row(c, -EINVAL, what);
    }
    keep_string(c, &t->key);
    keep_string(c, &t->user);
    if (t->extra) {
        keep_string(c, &t->extra->endpoint);
        keep_string(c, &t->extra->thread);
    }
    if (l->want_line)
        t->line = (struct trace_str){row->line, own_line_len(l, row)};
    c->count++;
    return true;
}

/* The first newline of the index from its next separator on; NULL: none. */
static const uint8_t *index_newline(const struct trace_cursor *c)
{
    const struct csv_index *ix = c->index;

    return memchr(ix->sep + c->index_next, '\n', ix->count - c->index_next);
}

/* Reads one row through csv.c: it holds a quote, or something is wrong with it. False: an error. */
static bool next_slow(struct trace_cursor *c)
{
    const char *text = c->piece.text + c->at;
    size_t len = c->piece.len - c->at, used;
    uint64_t lines, before = c->lines;
    struct csv_row row;
    struct err e = {0};

    if (!c->arena)
        c->arena = malloc(ARENA_CAP);
    if (!c->arena) {
        err_nomem(&c->error, "batch");
        return false;
    }
    /* csv.c sees one line if that holds no quote, else the rest of the piece. */
    const char *end = memchr(text, '\n', len);
    if (end && !memchr(text, '"', (size_t)(end - text)))
        len = (size_t)(end - text) + 1;
    csv_set(c->slow, text, len);
    int rc = csv_next(c->slow, &row, &e);
    csv_place(c->slow, &used, &lines);
    c->lines = before + row.number; /* blank lines may come before it */
    c->rows += rc != 0;
    c->open_end = c->at + used == c->piece.len && c->piece.text[c->piece.len - 1] != '\n';
    bool ok = rc == 0 || (rc == 1 ? accept_slow(c, &row, c->at + used) : bad_row(c, rc, e.what));
    c->lines = before + lines;
    c->at += used;

    /* Go on in the index if this row was in it; else it is made anew at the next row. */
    const uint8_t *newline = index_newline(c);
    size_t i = newline ? (size_t)(newline - c->index->sep) : 0;
    if (newline && c->index_at + c->index->pos[i] + 1 == c->at) {
        c->index_next = i + 1;
    } else {
        c->index->count = c->index_next = 0;
        c->index_at = SIZE_MAX;
    }
    return ok;
}

static inline uint64_t newlines_of_8(const uint8_t *sep)
{
    uint64_t x;
    memcpy(&x, sep, 8);
    x ^= UINT64_C(0x0a0a0a0a0a0a0a0a);
    return (x - UINT64_C(0x0101010101010101)) & ~x & UINT64_C(0x8080808080808080);
}

/* Is separator `last` of sep the first newline? Compares eight at a time, the last eight perhaps
 * twice. */
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

/* Reads rows by the index until something unusual comes. */
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
        bool ok = c->parse(l, text, begin, ix->pos + k, &c->rows_out[count]);
        *last = end;
        if (__builtin_expect(!ok, 0))
            break;
        begin = end + 1;
        k += fields;
        count++;
    }
    size_t n = count - c->count;
    c->rows += n;
    c->lines += n;
    c->count = count;
    c->index_next = k;
    c->at = c->index_at + begin;
    if (c->at > c->piece.len) { /* the last row had no newline */
        c->at = c->piece.len;
        c->lines--;
    }
}

/* Indexes on from c->at. A last row without newline gets one in the index. */
static void refill(struct trace_cursor *c)
{
    struct csv_index *ix = c->index;
    const char *text = c->piece.text + c->at;
    size_t len = c->piece.len - c->at, done = c->scan(ix, text, len);

    c->index_at = c->at;
    c->index_next = 0;
    if (done == len && text[len - 1] != '\n') {
        ix->pos[ix->count] = (uint32_t)len;
        ix->sep[ix->count++] = '\n';
    }
}

/* Skips blank lines: separators that follow each other. False: there are none. */
static bool skip_blank(struct trace_cursor *c)
{
    const struct csv_index *ix = c->index;
    if (c->index_next == ix->count)
        return false;
    size_t k = c->index_next, at = c->at - c->index_at;
    const char *text = c->piece.text + c->index_at;

    for (; k < ix->count && ix->sep[k] == '\n'; k++) {
        if (ix->pos[k] != at && !(ix->pos[k] == at + 1 && text[at] == '\r'))
            break;
        at = ix->pos[k] + 1;
    }
    if (k == c->index_next)
        return false;
    c->lines += k - c->index_next;
    c->index_next = k;
    c->at = c->index_at + at;
    if (c->at > c->piece.len) { /* a last "\r" had no newline */
        c->at = c->piece.len;
        c->lines--;
    }
    return true;
}

/* Fills the batch from the piece, up to its end or an error. */
static void fill_batch(struct trace_cursor *c)
{
    c->count = c->arena_used = 0;
    while (c->count < BATCH && c->at < c->piece.len && ARENA_CAP - c->arena_used > CSV_MAX_ROW) {
        size_t before = c->at;
        next_fast(c);
        if (c->at != before || skip_blank(c))
            continue;
        bool tried = c->index_at == c->at && c->index_next == 0;
        if (!index_newline(c) && !tried)
            refill(c);
        else if (!next_slow(c))
            return;
    }
}

int trace_cursor_next(struct trace_cursor *c, const struct trace_row **rows, size_t *n,
                      struct err *e)
{
    struct trace_reader *r = c->r;

    while (!c->error.code) {
        if (!c->in_piece) {
            struct err inner = {0};
            int rc = pieces_take(r->pieces, &c->piece, &inner);
            if (rc == 0) {
                if (r->digest)
                    hash_hex(hash_stream_digest(r->digest), r->digest_hex);
                check_end(c);
                if (c->error.code)
                    break;
                return 0;
            }
            if (rc < 0) {
                input_error(c, &inner);
                break;
            }
            piece_begin(c);
        }
        c->count = 0;
        if (pieces_last(r->pieces) >= c->piece.number)
            fill_batch(c);
        if (c->count > 0) {
            *rows = c->rows_out;
            *n = c->count;
            return 1;
        }
        if (!c->error.code)
            piece_end(c);
    }
    if (e)
        *e = c->error;
    return c->error.code;
}

uint64_t trace_cursor_piece(const struct trace_cursor *c)
{
    return c->piece.number;
}
