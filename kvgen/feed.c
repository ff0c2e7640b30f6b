/* feed.c - opens an existing trace by its kind and hands out its rows one by one. Our own are read
 * by lib/trace.h, others by the imports. */
#include "kvgen/feed.h"

#include <errno.h>
#include <stdlib.h>

#include "kvgen/import.h"

struct feed {
    struct source base;
    struct trace_reader *reader; /* NULL: an import */
    struct trace_cursor *cursor;
    const struct trace_row *rows; /* [at, count) are still to come */
    size_t at, count;
    struct import *import;
    const struct trace_row *first; /* looked at, not yet given */
    struct source_skips none;
};

static const struct source_skips *feed_skips(const struct source *s)
{
    const struct feed *f = (const struct feed *)s;
    return f->import != NULL ? f->import->ops->skips(f->import) : &f->none;
}

static void no_conversations(const struct source *s, uint64_t *count, uint64_t *turns)
{
    (void)s;
    *count = *turns = 0;
}

static void close_source(struct source *s)
{
    feed_close((struct feed *)s);
}

static const struct source_ops feed_ops = {
    .name = "trace", .conversations = no_conversations, .skips = feed_skips, .close = close_source};

static int open_ours(struct feed *f, struct frame_in *file, struct err *e)
{
    struct trace_read_opts o = {0};
    int rc = trace_open_in(&f->reader, file, &o, e);
    return rc == 0 ? trace_cursor_open(&f->cursor, f->reader, e) : rc;
}

static int open_kind(struct feed *f, struct inputs *in, enum inputs_kind kind, struct err *e)
{
    if (inputs_count(in) > 1)
        return err_set(e, -EINVAL, ERR_INPUT, inputs_path(in),
                       "several files: one trace is read at a time");
    struct frame_in *file = inputs_take(in);
    switch (kind) {
    case INPUTS_FIO:
        return import_fio_open(&f->import, file, e);
    case INPUTS_OPLOG:
        return import_oplog_open(&f->import, file, e);
    default:
        return open_ours(f, file, e);
    }
}

int feed_open(struct feed **out, struct inputs *in, enum inputs_kind kind, struct err *e)
{
    struct feed *f = calloc(1, sizeof *f);
    int rc = f == NULL ? err_nomem(e, "trace") : open_kind(f, in, kind, e);
    inputs_close(in);
    if (rc < 0) {
        feed_close(f);
        return rc;
    }
    f->base.ops = &feed_ops;
    *out = f;
    return 0;
}

void feed_close(struct feed *f)
{
    if (f == NULL)
        return;
    trace_cursor_close(f->cursor);
    trace_close(f->reader);
    if (f->import != NULL)
        f->import->ops->close(f->import);
    free(f);
}

static int next_row(struct feed *f, const struct trace_row **row, struct err *e)
{
    if (f->import != NULL)
        return f->import->ops->next(f->import, row, e);
    if (f->at == f->count) {
        int rc = trace_cursor_next(f->cursor, &f->rows, &f->count, e);
        f->at = 0;
        if (rc <= 0) {
            f->count = 0;
            return rc;
        }
    }
    *row = &f->rows[f->at++];
    return 1;
}

int feed_next(struct feed *f, const struct trace_row **row, struct err *e)
{
    if (f->first == NULL)
        return next_row(f, row, e);
    *row = f->first;
    f->first = NULL;
    return 1;
}

int feed_first_ns(struct feed *f, int64_t *time_ns, struct err *e)
{
    int rc = f->first != NULL ? 1 : next_row(f, &f->first, e);
    if (rc <= 0)
        f->first = NULL;
    *time_ns = rc > 0 ? f->first->time_ns : 0;
    return rc < 0 ? rc : 0;
}

uint32_t feed_columns(const struct feed *f)
{
    return f->import != NULL ? TRACE_CORE : trace_columns(f->reader);
}

const char *feed_provenance(const struct feed *f)
{
    return f->import != NULL ? NULL : trace_provenance(f->reader);
}

struct source *feed_source(struct feed *f)
{
    return &f->base;
}
