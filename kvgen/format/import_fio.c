/* import_fio.c - fio's iolog as a trace: each place of a file that is read or written is an object.
 * Format: fio's HOWTO, "Trace file format v2" and "v3". */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/format/import.h"
#include "kvgen/format/lines.h"
#include "lib/base/units.h"

enum {
    MAX_TOKENS = 6, /* one more than a line can have */
    MAX_NAME = 4096
};
#define MAX_US ((uint64_t)INT64_MAX / 1000)

struct fio {
    struct import base;
    struct lines *lines;
    bool times; /* version 3: lines begin with one */
    int64_t now_ns;
    struct source_skips skips;
    struct trace_row row;
    char key[MAX_NAME + 64];
};

struct line {
    char *token[MAX_TOKENS];
    size_t tokens;
};

static void split(char *text, struct line *l)
{
    char *save = NULL;
    l->tokens = 0;
    for (char *p = strtok_r(text, " \t", &save); p && l->tokens < MAX_TOKENS;
         p = strtok_r(NULL, " \t", &save))
        l->token[l->tokens++] = p;
}

static int read_number(const struct fio *f, const char *text, const char *what, uint64_t max,
                       uint64_t *n, struct err *e)
{
    if (units_parse_digits(text, strlen(text), n) == 0 && *n <= max)
        return 0;
    return lines_bad(f->lines, e, "%s is \"%.40s\", not a number up to %llu", what, text,
                     (unsigned long long)max);
}

static bool is_one_of(const char *word, const char *const list[])
{
    while (*list && strcmp(word, *list) != 0)
        list++;
    return *list != NULL;
}

/* read, write or trim at a place: 1. */
static int read_io(struct fio *f, enum trace_op op, char *const *token, struct err *e)
{
    uint64_t offset, bytes;
    int rc = read_number(f, token[2], "offset", (uint64_t)INT64_MAX, &offset, e);
    if (rc == 0)
        rc = read_number(f, token[3], "length", (uint64_t)INT64_MAX, &bytes, e);
    if (rc < 0)
        return rc;
    if (strlen(token[0]) > MAX_NAME)
        return lines_bad(f->lines, e, "a file name of more than %d bytes", MAX_NAME);
    int n = snprintf(f->key, sizeof(f->key), "%s@%llu+%llu", token[0], (unsigned long long)offset,
                     (unsigned long long)bytes);
    f->row = import_row(op, f->now_ns, bytes, f->key, (size_t)n);
    return 1;
}

/* Version 2: time passes by waits, "FILE wait US". */
static int read_wait(struct fio *f, const char *text, struct err *e)
{
    uint64_t us, sum;
    int rc = read_number(f, text, "wait", MAX_US, &us, e);
    if (rc == 0 && (units_add((uint64_t)f->now_ns, us * 1000, &sum) < 0 || sum > INT64_MAX))
        rc = lines_bad(f->lines, e, "waits of more than 292 years");
    if (rc == 0)
        f->now_ns = (int64_t)sum;
    return rc;
}

/* FILE ACTION [OFFSET LENGTH]. 1: a row; 0: none; negative errno. */
static int read_action(struct fio *f, char *const *token, size_t tokens, struct err *e)
{
    static const char *const no_row[] = {"add", "open", "close", "sync", "wait", "datasync", NULL};
    const char *action = tokens > 1 ? token[1] : "";
    enum trace_op op = strcmp(action, "read") == 0    ? TRACE_READ
                       : strcmp(action, "write") == 0 ? TRACE_WRITE
                       : strcmp(action, "trim") == 0  ? TRACE_DELETE
                                                      : TRACE_OPS;
    if (op != TRACE_OPS && tokens == 4)
        return read_io(f, op, token, e);
    if (strcmp(action, "wait") == 0 && !f->times && tokens >= 3)
        return read_wait(f, token[2], e);
    if (op == TRACE_OPS && is_one_of(action, no_row) && tokens <= 4)
        return 0;
    return lines_bad(f->lines, e,
                     "neither FILE add|open|close nor FILE read|write|trim OFFSET LENGTH%s",
                     f->times ? " behind a time" : "");
}

static int read_line(struct fio *f, char *text, struct err *e)
{
    struct line l;
    uint64_t us;
    split(text, &l);
    if (l.tokens == 0 || !f->times)
        return l.tokens == 0 ? 0 : read_action(f, l.token, l.tokens, e);
    int rc = read_number(f, l.token[0], "time", MAX_US, &us, e);
    if (rc < 0)
        return rc;
    f->now_ns = (int64_t)us * 1000;
    return read_action(f, l.token + 1, l.tokens - 1, e);
}

static int fio_next(struct import *base, const struct trace_row **row, struct err *e)
{
    struct fio *f = (struct fio *)base;
    char *text;
    size_t len;
    int rc;
    while ((rc = lines_next(f->lines, &text, &len, e)) > 0) {
        rc = read_line(f, text, e);
        *row = &f->row;
        if (rc != 0)
            return rc;
    }
    return rc;
}

static const struct source_skips *fio_skips(const struct import *base)
{
    return &((const struct fio *)base)->skips;
}

static void fio_close(struct import *base)
{
    struct fio *f = (struct fio *)base;
    lines_free(f->lines);
    free(f);
}

static const struct import_ops fio_ops = {
    .name = "iolog", .next = fio_next, .skips = fio_skips, .close = fio_close};

static int read_version(struct fio *f, struct err *e)
{
    char *text;
    size_t len;
    int rc = lines_next(f->lines, &text, &len, e);
    if (rc <= 0)
        return rc < 0 ? rc : err_set(e, -EINVAL, ERR_INPUT, lines_name(f->lines), "empty");
    f->times = strcmp(text, "fio version 3 iolog") == 0;
    if (!f->times && strcmp(text, "fio version 2 iolog") != 0)
        return lines_bad(f->lines, e, "not \"fio version 2 iolog\" or \"fio version 3 iolog\"");
    return 0;
}

int import_fio_open(struct import **out, struct frame_in *file, struct err *e)
{
    struct fio *f = calloc(1, sizeof(*f));
    if (!f) {
        frame_in_close(file);
        return err_nomem(e, "import");
    }
    f->base.ops = &fio_ops;
    f->lines = lines_create(file);
    int rc = !f->lines ? err_nomem(e, "import") : read_version(f, e);
    if (rc < 0) {
        fio_close(&f->base);
        return rc;
    }
    *out = &f->base;
    return 0;
}
