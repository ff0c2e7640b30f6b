/* burst.c - requests of BurstGPT and Azure traces: CSV rows of an arrival and two numbers of
 * tokens, one row ahead of the simulator. Nothing tells which requests belong together, so each has
 * an object of its own; who asks and how urgently is drawn. */
#include "kvgen/source/burst.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/iso_time.h"
#include "kvgen/rng.h"
#include "kvgen/source/csv_rows.h"
#include "kvgen/source/lookahead.h"
#include "kvgen/source/request_draw.h"
#include "lib/base/units.h"

enum {
    USERS = 1000
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
    const char *column[COLUMNS];
    int (*time)(const char *text, size_t len, int64_t *ns);
    const char *time_wants;
};

static int parse_seconds(const char *text, size_t len, int64_t *ns)
{
    return units_parse_decimal(text, len, 9, ns);
}

static const struct layout layouts[INPUTS_KINDS] = {
    [INPUTS_BURST] = {.column = {"Timestamp", "Request tokens", "Response tokens"},
                      .time = parse_seconds,
                      .time_wants = "seconds"},
    [INPUTS_AZURE] = {.column = {"TIMESTAMP", "ContextTokens", "GeneratedTokens"},
                      .time = iso_time_parse,
                      .time_wants = "a time such as 2023-11-16 18:17:03.9799600"},
};

struct burst {
    struct source base;
    struct source_burst_opts o;
    const struct layout *layout;
    struct inputs *in;
    struct frame_in *file;
    struct rows *rows;
    size_t at[COLUMNS]; /* of this file */
    struct pace pace;
    struct rng rng;
    struct lookahead ahead;
    uint64_t read;
    struct source_skips skips;
};

static struct burst *burst_of(struct source *s)
{
    return (struct burst *)s;
}

static void place_of(const struct burst *s, char where[320])
{
    snprintf(where, 320, "%s:%llu", frame_in_name(s->file), (unsigned long long)rows_line(s->rows));
}

/* ---- files ---- */

static bool field_is(const struct csv_field *f, const char *text)
{
    return f->len == strlen(text) && memcmp(f->p, text, f->len) == 0;
}

static int find_columns(struct burst *s, const struct csv_row *head, struct err *e)
{
    for (int c = 0; c < COLUMNS; c++) {
        size_t i = 0;
        while (i < head->count && !field_is(&head->field[i], s->layout->column[c]))
            i++;
        if (i == head->count)
            return err_set(e, -EINVAL, ERR_INPUT, frame_in_name(s->file),
                           "the header has no column \"%s\"", s->layout->column[c]);
        s->at[c] = i;
    }
    return 0;
}

/* The next file's header: 1; 0 after the last file of the last cycle; negative errno. */
static int next_file(struct burst *s, struct err *e)
{
    int rc = inputs_next(s->in, &s->file, e);
    if (rc == 0) {
        rc = pace_again(&s->pace, inputs_path(s->in), e);
        if (rc <= 0)
            return rc;
        inputs_rewind(s->in);
        rc = inputs_next(s->in, &s->file, e);
    }
    if (rc <= 0)
        return rc;
    struct csv_row head;
    pace_new_file(&s->pace);
    rows_set(s->rows, s->file);
    rc = rows_next(s->rows, &head, e);
    if (rc == 0)
        return err_set(e, -EINVAL, ERR_INPUT, frame_in_name(s->file), "the file is empty");
    if (rc == 2) {
        place_of(s, e->where);
        return e->code;
    }
    if (rc > 0)
        rc = find_columns(s, &head, e);
    return rc < 0 ? rc : 1;
}

/* ---- rows ---- */

/* Column c of the row, if it is there and a number of tokens. */
static bool read_tokens(const struct burst *s, const struct csv_row *row, enum column c,
                        int64_t *tokens)
{
    if (s->at[c] >= row->count)
        return false;
    const struct csv_field *f = &row->field[s->at[c]];
    return units_parse_decimal(f->p, f->len, 0, tokens) == 0 && *tokens >= 0 &&
           *tokens <= REQUEST_MAX_TOKENS;
}

static void skip(struct burst *s, const struct err *why)
{
    if (s->skips.rows++ == 0)
        s->skips.first = *why;
}

static void skip_column(struct burst *s, const struct csv_row *row, enum column c)
{
    struct err why = {0};
    char where[320];
    place_of(s, where);
    const char *name = s->layout->column[c];
    if (s->at[c] >= row->count) {
        err_set(&why, -EINVAL, ERR_INPUT, where, "no field for %s", name);
    } else {
        const struct csv_field *f = &row->field[s->at[c]];
        err_set(&why, -EINVAL, ERR_INPUT, where, "%s is \"%.*s\", wanted: %s", name,
                (int)(f->len < 80 ? f->len : 80), f->p,
                c == TIME ? s->layout->time_wants : "tokens from 0 to 2^31");
    }
    skip(s, &why);
}

/* The column that is bad, or COLUMNS. */
static enum column parse_row(struct burst *s, const struct csv_row *row, int64_t *time_ns)
{
    if (s->at[TIME] >= row->count)
        return TIME;
    const struct csv_field *f = &row->field[s->at[TIME]];
    if (s->layout->time(f->p, f->len, time_ns) < 0)
        return TIME;
    if (!read_tokens(s, row, CONTEXT, &s->ahead.request.context_tokens))
        return CONTEXT;
    return read_tokens(s, row, GENERATED, &s->ahead.request.generated_tokens) ? COLUMNS : GENERATED;
}

/* 1: ahead is a request; 0: the row was skipped; negative errno. */
static int read_row(struct burst *s, const struct csv_row *row, struct err *e)
{
    int64_t time_ns;
    enum column bad = parse_row(s, row, &time_ns);
    if (bad != COLUMNS) {
        skip_column(s, row, bad);
        return 0;
    }
    int rc = pace_row(&s->pace, time_ns, &s->ahead.request.arrival_ns);
    if (rc < 0) {
        char where[320];
        place_of(s, where);
        return err_set(e, rc, ERR_INPUT, where, "%s %s", s->layout->column[TIME],
                       rc == -EINVAL ? "goes back; requests must be in order of arrival"
                                     : "lies after the end of virtual time (146 years)");
    }
    s->ahead.request.number = ++s->read;
    s->ahead.request.user = (uint32_t)((s->read - 1) % USERS);
    s->ahead.request.object = ident_request(s->ahead.request.user, s->read);
    request_draw(&s->ahead.request, &s->rng, s->o.workload, s->o.qos);
    return 1;
}

static int read_ahead(void *source, struct err *e)
{
    struct burst *s = source;
    for (;;) {
        struct csv_row row;
        struct err why = {0};
        int rc = !s->file ? 0 : rows_next(s->rows, &row, &why);
        if (rc == 0) {
            rc = next_file(s, e);
            if (rc <= 0)
                return rc;
            continue;
        }
        if (rc < 0) {
            *e = why;
            return rc;
        }
        if (rc == 2) {
            place_of(s, why.where);
            skip(s, &why);
            continue;
        }
        rc = read_row(s, &row, e);
        if (rc != 0)
            return rc;
    }
}

/* ---- the table's functions ---- */

static int burst_peek(struct source *base, int64_t *arrival_ns, struct err *e)
{
    struct burst *s = burst_of(base);
    return lookahead_peek(&s->ahead, read_ahead, s, arrival_ns, e);
}

static void burst_take(struct source *base, struct request *out)
{
    lookahead_take(&burst_of(base)->ahead, out);
}

static size_t burst_user_name(const struct source *base, uint32_t user, char *buf)
{
    (void)base;
    memcpy(buf, "trace_user_", 11);
    return 11 + units_put_u64(buf + 11, user);
}

static void burst_conversations(const struct source *base, uint64_t *count, uint64_t *turns)
{
    (void)base;
    *count = *turns = 0;
}

static const struct source_skips *burst_skips(const struct source *base)
{
    return &((const struct burst *)base)->skips;
}

static void burst_close(struct source *base)
{
    struct burst *s = burst_of(base);
    rows_free(s->rows);
    inputs_close(s->in);
    free(s);
}

#define BURST_OPS(kind_name)                                                                       \
    {                                                                                              \
        .name = (kind_name), .peek = burst_peek, .take = burst_take, .user_name = burst_user_name, \
        .conversations = burst_conversations, .skips = burst_skips, .close = burst_close           \
    }
static const struct source_ops burst_ops = BURST_OPS("burst");
static const struct source_ops azure_ops = BURST_OPS("azure");

static int read_first(struct burst *s, struct err *e)
{
    int64_t first_ns;
    int rc = burst_peek(&s->base, &first_ns, e);
    if (rc != 0)
        return rc < 0 ? rc : 0;
    if (s->skips.rows == 0)
        return err_set(e, -EINVAL, ERR_INPUT, inputs_path(s->in), "holds no request");
    *e = s->skips.first;
    return e->code;
}

int source_burst_open(struct source **out, struct inputs *in, const struct source_burst_opts *o,
                      struct err *e)
{
    struct burst *s = calloc(1, sizeof(*s));
    if (!s) {
        inputs_close(in);
        return err_nomem(e, "source");
    }
    s->base.ops = o->kind == INPUTS_AZURE ? &azure_ops : &burst_ops;
    s->o = *o;
    s->layout = &layouts[o->kind];
    s->in = in;
    s->pace.o = o->pace;
    rng_seed(&s->rng, o->seed, DRAW_STREAM);
    s->rows = rows_create();
    int rc = !s->rows ? err_nomem(e, "source") : read_first(s, e);
    if (rc < 0) {
        burst_close(&s->base);
        return rc;
    }
    *out = &s->base;
    return 0;
}
