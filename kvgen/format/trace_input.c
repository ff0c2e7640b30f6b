/* Opens an existing trace by its kind and hands out its rows one by one. lib/trace/trace.h reads
 * our own traces; the imports read others. */
#include "kvgen/format/trace_input.h"

#include <errno.h>
#include <stdlib.h>

#include "kvgen/format/import.h"
#include "kvgen/meaning/reading.h"
#include "lib/trace/read.h"

/* The objects of all rows. A run adds up sizes by tier, operation and class, and one row may count
 * several times: none of these sums shall wrap. */
#define MOST_PIB   512
#define MOST_BYTES ((uint64_t)MOST_PIB << 50)

struct trace_input {
    struct source base;    /* first */
    struct source_ops ops; /* of base */
    struct import *import; /* NULL: a trace of ours */
    struct trace_reader *reader;
    struct trace_cursor *cursor;
    const struct trace_row *rows; /* rows[at..count) are still to come */
    size_t at, count;
    uint64_t given, bytes;         /* rows, and the size of their objects */
    const struct trace_row *first; /* was read by trace_input_first_ns and not given; or NULL */
    struct skips none;
};

static const struct skips *trace_input_skips(const struct source *s)
{
    const struct trace_input *t = (const struct trace_input *)s;
    return t->import && t->import->ops->skips ? t->import->ops->skips(t->import) : &t->none;
}

static void no_conversations(const struct source *s, uint64_t *count, uint64_t *turns)
{
    (void)s;
    *count = *turns = 0;
}

static void close_source(struct source *s)
{
    trace_input_close((struct trace_input *)s);
}

/* Only recordings have it. */
static const struct source_recording *trace_input_recording(const struct source *s)
{
    const struct trace_input *t = (const struct trace_input *)s;
    return t->import->ops->recording(t->import);
}

static void trace_input_reading(const struct source *s, struct source_reading *r)
{
    const struct trace_input *t = (const struct trace_input *)s;
    const struct source_recording *n =
        t->import && t->import->ops->recording ? t->import->ops->recording(t->import) : NULL;
    r->format = t->import ? t->import->ops->format : "a trace";
    r->time_unit = n && !n->has_times ? NULL : t->import ? t->import->ops->time_unit : "s";
    r->time_by = r->time_unit ? "file" : NULL;
    r->blocks_by = n ? "event" : NULL;
}

static const struct source_ops trace_input_ops = {.name = "trace",
                                                  .reading = trace_input_reading,
                                                  .conversations = no_conversations,
                                                  .skips = trace_input_skips,
                                                  .close = close_source};

static int open_kind(struct trace_input *t, struct inputs *in, enum inputs_kind kind, struct err *e)
{
    if (inputs_count(in) > 1)
        return err_set(e, -EINVAL, ERR_INPUT, inputs_path(in),
                       "several files: one trace is read at a time");
    struct frame_in *file = inputs_take(in);
    switch (kind) {
    case INPUTS_FIO:
        return import_fio_open(&t->import, file, e);
    case INPUTS_OPLOG:
        return import_oplog_open(&t->import, file, e);
    default: {
        struct trace_read_opts o = {0};
        int rc = trace_open_in(&t->reader, file, &o, e);
        return rc == 0 ? trace_cursor_open(&t->cursor, t->reader, e) : rc;
    }
    }
}

int trace_input_open(struct trace_input **out, struct inputs *in, enum inputs_kind kind,
                     struct err *e)
{
    struct trace_input *t = calloc(1, sizeof(*t));
    int rc = t ? open_kind(t, in, kind, e) : err_nomem(e, "trace");
    inputs_close(in);
    if (rc < 0) {
        trace_input_close(t);
        return rc;
    }
    t->ops = trace_input_ops;
    t->base.ops = &t->ops;
    *out = t;
    return 0;
}

int trace_input_of_import(struct trace_input **out, struct import *import, struct err *e)
{
    struct trace_input *t = calloc(1, sizeof(*t));
    if (!t) {
        import->ops->close(import);
        return err_nomem(e, "trace");
    }
    t->import = import;
    t->ops = trace_input_ops;
    if (import->ops->name)
        t->ops.name = import->ops->name;
    if (import->ops->recording)
        t->ops.recording = trace_input_recording;
    t->base.ops = &t->ops;
    *out = t;
    return 0;
}

int trace_input_finish(struct trace_input *t, struct err *e)
{
    return t->import && t->import->ops->finish ? t->import->ops->finish(t->import, e) : 0;
}

void trace_input_close(struct trace_input *t)
{
    if (!t)
        return;
    trace_cursor_close(t->cursor);
    trace_close(t->reader);
    if (t->import)
        t->import->ops->close(t->import);
    free(t);
}

static int read_row(struct trace_input *t, const struct trace_row **row, struct err *e)
{
    if (t->import)
        return t->import->ops->next(t->import, row, e);
    if (t->at == t->count) {
        int rc = trace_cursor_next(t->cursor, &t->rows, &t->count, e);
        t->at = 0;
        if (rc <= 0) {
            t->count = 0;
            return rc;
        }
    }
    *row = &t->rows[t->at++];
    return 1;
}

static int next_row(struct trace_input *t, const struct trace_row **row, struct err *e)
{
    int rc = read_row(t, row, e);

    if (rc <= 0 || rc == IMPORT_NONE_NOW)
        return rc;
    t->given++;
    if ((*row)->size > MOST_BYTES - t->bytes)
        return err_set(
            e, -EFBIG, ERR_INPUT, t->reader ? trace_name(t->reader) : "--input",
            "row %llu: the objects up to this row have more than %d PiB: not a valid trace",
            (unsigned long long)t->given, MOST_PIB);
    t->bytes += (*row)->size;
    return rc;
}

int trace_input_next(struct trace_input *t, const struct trace_row **row, struct err *e)
{
    if (!t->first)
        return next_row(t, row, e);
    *row = t->first;
    t->first = NULL;
    return 1;
}

int trace_input_first_ns(struct trace_input *t, int64_t *time_ns, struct err *e)
{
    int rc = t->first ? 1 : IMPORT_NONE_NOW;
    while (rc == IMPORT_NONE_NOW)
        rc = next_row(t, &t->first, e);
    if (rc <= 0)
        t->first = NULL;
    *time_ns = rc > 0 ? t->first->time_ns : 0;
    return rc < 0 ? rc : 0;
}

uint32_t trace_input_columns(const struct trace_input *t)
{
    if (!t->import)
        return trace_columns(t->reader);
    return t->import->ops->columns ? t->import->ops->columns(t->import) : TRACE_CORE;
}

int trace_input_zero_ns(struct trace_input *t, int64_t *time_ns, struct err *e)
{
    *time_ns = 0;
    bool measured = trace_input_columns(t) & TRACE_BIT(TRACE_COL_START);
    return t->import && measured ? trace_input_first_ns(t, time_ns, e) : 0;
}

const char *trace_input_provenance(const struct trace_input *t)
{
    return t->import ? NULL : trace_provenance(t->reader);
}

const char *trace_input_client(const struct trace_input *t)
{
    return t->import && t->import->ops->client ? t->import->ops->client(t->import) : NULL;
}

struct source *trace_input_source(struct trace_input *t)
{
    return &t->base;
}
