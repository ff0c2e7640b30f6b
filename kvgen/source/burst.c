/* Reads BurstGPT and Azure traces, one row ahead of the simulator. Nothing tells which requests
 * belong together, so each request has an object of its own; its service class and system prompt
 * are drawn. */
#include "kvgen/source/burst.h"

#include <errno.h>
#include <stdlib.h>

#include "kvgen/rng.h"
#include "kvgen/source/csv_rows.h"
#include "lib/base/units.h"
#include "lib/trace/shape.h"

enum {
    USERS = 1000 /* among whom requests go round */
};
#define DRAW_STREAM ((uint64_t)3 << 32) /* of the seed: service classes and system prompts */

enum column {
    TIME,
    CONTEXT,
    GENERATED,
    COLUMNS
};

/* One kind of file. */
struct layout {
    const char *known_as;
    struct csv_column column[COLUMNS];
};

#define TOKENS "tokens from 0 to 2^31"
static const struct layout burst_layout = {
    .known_as = "BurstGPT",
    .column = {[TIME] = {.name = "Timestamp", .wants = "seconds"},
               [CONTEXT] = {.name = "Request tokens", .wants = TOKENS},
               [GENERATED] = {.name = "Response tokens", .wants = TOKENS}}};
static const struct layout azure_layout = {
    .known_as = "Azure",
    .column = {
        [TIME] = {.name = "TIMESTAMP", .wants = "a time such as 2023-11-16 18:17:03.9799600"},
        [CONTEXT] = {.name = "ContextTokens", .wants = TOKENS},
        [GENERATED] = {.name = "GeneratedTokens", .wants = TOKENS}}};

struct burst {
    struct file_source files; /* first */
    const struct workload *workload;
    enum trace_qos qos;
    struct stamps stamps;
    struct csv_column session;
    bool has_sessions;    /* the present file has that column */
    struct layout layout; /* with the places of the columns in the present file */
    struct csv_rows *rows;
    struct rng rng;
    uint64_t read;
};

static int bad_header(const struct csv_row *header, const char *column, const char *name,
                      struct err *e)
{
    char begin[SHAPE_BEGIN];
    const char *divider = shape_divider(header->line, header->line_len);
    shape_begin(header->line, header->line_len, begin);
    if (divider)
        return err_set(e, -EINVAL, ERR_INPUT, name,
                       "the columns are divided by %s, and kvgen reads commas: \"%s\"", divider,
                       begin);
    return err_set(e, -EINVAL, ERR_INPUT, name, "the header has no column \"%s\": \"%s\"", column,
                   begin);
}

/* Opens the next file and reads its header: 1; 0 after the last file of the last cycle; negative
 * errno. */
static int next_file(struct burst *s, struct err *e)
{
    int rc = file_source_next_file(&s->files, e);
    if (rc <= 0)
        return rc;
    const char *name = frame_in_name(s->files.file);
    struct csv_row header;
    stamps_file(&s->stamps);
    csv_rows_set(s->rows, s->files.file, name);
    rc = csv_rows_next(s->rows, &header, e);
    if (rc == CSV_ROWS_END)
        return err_set(e, -EINVAL, ERR_INPUT, name, "the file is empty");
    if (rc == CSV_ROWS_BAD) {
        csv_rows_place(s->rows, e->where);
        return e->code;
    }
    for (int c = 0; rc == CSV_ROWS_ROW && c < COLUMNS; c++)
        if (!csv_rows_find(&s->layout.column[c], &header))
            return bad_header(&header, s->layout.column[c].name, name, e);
    s->has_sessions = csv_rows_find(&s->session, &header);
    return rc < 0 ? rc : 1;
}

static bool parse_tokens(const struct csv_field *f, int64_t *tokens)
{
    return f && units_parse_decimal(f->p, f->len, 0, tokens) == 0 && *tokens >= 0 &&
           *tokens <= REQUEST_MAX_TOKENS;
}

/* The column that is missing or wrong, or COLUMNS. */
static enum column parse_row(struct burst *s, const struct csv_row *row, int64_t *time_ns,
                             struct request *r)
{
    const struct csv_field *time = csv_rows_field(&s->layout.column[TIME], row);
    if (!time || stamps_text(&s->stamps, time->p, time->len, time_ns) < 0)
        return TIME;
    if (!parse_tokens(csv_rows_field(&s->layout.column[CONTEXT], row), &r->context_tokens))
        return CONTEXT;
    if (!parse_tokens(csv_rows_field(&s->layout.column[GENERATED], row), &r->generated_tokens))
        return GENERATED;
    return COLUMNS;
}

/* Whether --config sample keeps the row's session; a row without one is a session of its own. */
static bool keeps_row(struct burst *s, const struct csv_row *row)
{
    const struct csv_field *session = s->has_sessions ? csv_rows_field(&s->session, row) : NULL;
    return session && session->len > 0 ? file_source_keeps(&s->files, session->p, session->len)
                                       : file_source_keeps(&s->files, NULL, 0);
}

/* The next row of any file that has good numbers: 1; 0 at the end; negative errno. */
static int next_row(struct burst *s, int64_t *time_ns, struct err *e)
{
    for (;;) {
        struct csv_row row;
        struct err why = {0};
        int rc = s->files.file ? csv_rows_next(s->rows, &row, &why) : CSV_ROWS_END;
        if (rc == CSV_ROWS_END) {
            rc = next_file(s, e);
            if (rc <= 0)
                return rc;
        } else if (rc == CSV_ROWS_BAD) {
            csv_rows_place(s->rows, why.where);
            file_source_note_skip(&s->files, &why);
        } else if (rc == CSV_ROWS_ROW) {
            enum column bad = parse_row(s, &row, time_ns, &s->files.next);
            if (bad == COLUMNS && keeps_row(s, &row))
                return 1;
            if (bad == COLUMNS)
                continue;
            csv_rows_bad_field(s->rows, &row, &s->layout.column[bad], &why);
            file_source_note_skip(&s->files, &why);
        } else {
            *e = why;
            return rc;
        }
    }
}

static int read_ahead(struct file_source *files, struct err *e)
{
    struct burst *s = (struct burst *)files;
    struct request *r = &files->next;
    int64_t time_ns;
    int rc = next_row(s, &time_ns, e);
    if (rc <= 0)
        return rc;
    rc = file_source_arrival(files, time_ns, &r->arrival_ns);
    if (rc < 0)
        return file_source_bad(files, csv_rows_line(s->rows), e, "%s %s",
                               s->layout.column[TIME].name,
                               rc == -EINVAL ? FILE_SOURCE_GOES_BACK : FILE_SOURCE_TOO_LATE);
    file_source_cut(files, r);
    r->user = (uint32_t)(s->read % USERS);
    r->number = ++s->read;
    r->object = ident_request(r->user, r->number);
    file_source_draw(r, &s->rng, s->workload, s->qos);
    return 1;
}

/* ---- the table's functions ---- */

static void burst_conversations(const struct source *base, uint64_t *count, uint64_t *turns)
{
    (void)base;
    *count = *turns = 0;
}

static void burst_reading(const struct source *base, struct source_reading *r)
{
    const struct burst *s = (const struct burst *)base;
    r->format = s->layout.known_as;
    file_source_note_cuts(&s->files, "requests", &r->remarks);
    stamps_reading(&s->stamps, r);
    r->tokens_by = "given";
}

static void burst_close(struct source *base)
{
    struct burst *s = (struct burst *)base;
    csv_rows_free(s->rows);
    file_source_release(&s->files);
}

#define BURST_OPS(kind_name)                                                                       \
    {                                                                                              \
        .name = (kind_name), .peek = file_source_peek, .take = file_source_take,                   \
        .done = file_source_done, .user_name = file_source_trace_user,                             \
        .conversations = burst_conversations, .skips = file_source_skips,                          \
        .reading = burst_reading, .close = burst_close                                             \
    }
static const struct source_ops burst_ops = BURST_OPS("burst");
static const struct source_ops azure_ops = BURST_OPS("azure");

int source_burst_open(struct source **out, struct inputs *in, const struct source_burst_opts *o,
                      struct err *e)
{
    bool azure = o->kind == INPUTS_AZURE;
    struct burst *s = file_source_create(sizeof(*s), azure ? &azure_ops : &burst_ops, in, &o->files,
                                         file_source_again, e);
    if (!s)
        return -ENOMEM;
    s->files.read = read_ahead;
    s->workload = o->workload;
    s->qos = o->qos;
    s->session = (struct csv_column){.name = "Session ID"};
    s->layout = azure ? azure_layout : burst_layout;
    s->stamps = (struct stamps){.given = o->files.unit, .usual = STAMPS_S};
    if (o->files.unit != STAMPS_AUTO)
        s->layout.column[TIME].wants = stamps_wanted(&s->stamps);
    rng_seed(&s->rng, o->seed, DRAW_STREAM);

    int64_t first_ns;
    s->rows = csv_rows_create();
    int rc = s->rows ? file_source_peek(&s->files.base, &first_ns, e) : err_nomem(e, "source");
    if (rc == 0 && s->files.skips.rows > 0 && s->files.left_out == 0) {
        *e = s->files.skips.first;
        rc = e->code;
    } else if (rc == 0) {
        rc = file_source_none(&s->files, "request", e);
    }
    return file_source_opened(&s->files, rc, out);
}
