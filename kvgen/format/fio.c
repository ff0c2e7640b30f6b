/* fio's iolog, both ways. Import: each place of a file that is read or written is an object.
 * Export: an iolog (version 3) and the job file that replays it. fio knows offsets, not objects, so
 * each object gets room in one slab file, which it gives back when it is deleted or moved away. It
 * is read and written in segments, because fio's lengths have 32 bits. Format: fio's HOWTO, "Trace
 * file format v2" and "v3". */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/format/export.h"
#include "kvgen/format/exporter.h"
#include "kvgen/format/import.h"
#include "lib/base/keymap.h"
#include "lib/base/save.h"
#include "lib/base/units.h"
#include "lib/layout/extent.h"
#include "lib/log/lines.h"
#include "lib/log/row.h"

#define VERSION_2 "fio version 2 iolog"
#define VERSION_3 "fio version 3 iolog"

/* ---- import ---- */

enum {
    MAX_TOKENS = 6, /* one more than a line can have */
    MAX_FILE_NAME = 4096
};
#define MAX_US ((uint64_t)INT64_MAX / 1000)

struct reader {
    struct import base; /* first */
    struct lines *lines;
    bool times; /* version 3: lines begin with a time. Version 2 has waits instead */
    int64_t now_ns;
    struct trace_row row;
    char key[MAX_FILE_NAME + 64];
};

/* A number of a line. */
struct number {
    const char *name;
    uint64_t max;
};
static const struct number time_us = {"time", MAX_US}, wait_us = {"wait", MAX_US},
                           offset_bytes = {"offset", (uint64_t)INT64_MAX},
                           length_bytes = {"length", (uint64_t)INT64_MAX};

static int read_number(const struct reader *r, const struct number *number, const char *text,
                       uint64_t *n, struct err *e)
{
    if (units_parse_digits(text, strlen(text), n) == 0 && *n <= number->max)
        return 0;
    return lines_bad(r->lines, e, "%s is \"%.40s\", not a number up to %llu", number->name, text,
                     (unsigned long long)number->max);
}

/* FILE ACTION [OFFSET LENGTH]: 1 and r->row; 0: no row; negative errno. */
static int read_action(struct reader *r, char *const *token, size_t tokens, struct err *e)
{
    static const char *const no_row[] = {"add", "open", "close", "sync", "datasync", "wait"};
    const char *action = tokens > 1 ? token[1] : "";
    uint64_t us, sum, offset, bytes;

    /* Version 2 tells time by FILE wait US. */
    if (strcmp(action, "wait") == 0 && !r->times && tokens >= 3) {
        if (read_number(r, &wait_us, token[2], &us, e) < 0)
            return -EINVAL;
        if (units_add((uint64_t)r->now_ns, us * 1000, &sum) < 0 || sum > INT64_MAX)
            return lines_bad(r->lines, e, "waits of more than 292 years");
        r->now_ns = (int64_t)sum;
        return 0;
    }
    for (size_t i = 0; tokens <= 4 && i < sizeof(no_row) / sizeof(*no_row); i++)
        if (strcmp(action, no_row[i]) == 0)
            return 0;

    enum trace_op op = strcmp(action, "read") == 0    ? TRACE_READ
                       : strcmp(action, "write") == 0 ? TRACE_WRITE
                       : strcmp(action, "trim") == 0  ? TRACE_DELETE
                                                      : TRACE_OPS;
    if (op == TRACE_OPS || tokens != 4)
        return lines_bad(r->lines, e,
                         "expected FILE add|open|close or FILE read|write|trim OFFSET LENGTH%s",
                         r->times ? ", after a time" : "");
    if (read_number(r, &offset_bytes, token[2], &offset, e) < 0 ||
        read_number(r, &length_bytes, token[3], &bytes, e) < 0)
        return -EINVAL;
    if (strlen(token[0]) > MAX_FILE_NAME)
        return lines_bad(r->lines, e, "a file name of more than %d bytes", MAX_FILE_NAME);
    int len = snprintf(r->key, sizeof(r->key), "%s@%llu+%llu", token[0], (unsigned long long)offset,
                       (unsigned long long)bytes);
    struct trace_str key = {.p = r->key, .len = (uint32_t)len};
    r->row = log_row(op, r->now_ns, bytes, key);
    return 1;
}

static int read_line(struct reader *r, char *text, struct err *e)
{
    char *token[MAX_TOKENS], *rest = NULL;
    size_t tokens = 0;
    for (char *p = strtok_r(text, " \t", &rest); p && tokens < MAX_TOKENS;
         p = strtok_r(NULL, " \t", &rest))
        token[tokens++] = p;
    if (tokens == 0)
        return 0;
    if (!r->times)
        return read_action(r, token, tokens, e);
    uint64_t us;
    if (read_number(r, &time_us, token[0], &us, e) < 0)
        return -EINVAL;
    r->now_ns = (int64_t)us * 1000;
    return read_action(r, token + 1, tokens - 1, e);
}

static int reader_next(struct import *base, const struct trace_row **row, struct err *e)
{
    struct reader *r = (struct reader *)base;
    char *text;
    size_t len;
    int rc;
    *row = &r->row;
    while ((rc = lines_next(r->lines, &text, &len, e)) > 0) {
        rc = read_line(r, text, e);
        if (rc != 0)
            return rc;
    }
    return rc;
}

static void reader_close(struct import *base)
{
    struct reader *r = (struct reader *)base;
    lines_free(r->lines);
    free(r);
}

static const struct import_ops reader_ops = {
    .format = "fio iolog", .time_unit = "us", .next = reader_next, .close = reader_close};

int import_fio_open(struct import **out, struct frame_in *file, struct err *e)
{
    char *text;
    size_t len;
    struct reader *r = calloc(1, sizeof(*r));
    if (!r) {
        frame_in_close(file);
        return err_nomem(e, "import");
    }
    r->base.ops = &reader_ops;
    r->lines = lines_create(file);
    int rc = r->lines ? lines_next(r->lines, &text, &len, e) : err_nomem(e, "import");
    if (rc == 0)
        rc = err_set(e, -EINVAL, ERR_INPUT, lines_name(r->lines), "empty");
    if (rc > 0) {
        r->times = strcmp(text, VERSION_3) == 0;
        if (!r->times && strcmp(text, VERSION_2) != 0)
            rc = lines_bad(r->lines, e, "not \"" VERSION_2 "\" or \"" VERSION_3 "\"");
    }
    if (rc < 0) {
        reader_close(&r->base);
        return rc;
    }
    *out = &r->base;
    return 0;
}

/* ---- export ---- */

enum {
    UNIT = 4096, /* of space: what O_DIRECT and devices take */
    MAX_SLAB_NAME = 255,
    MAX_JOB = 4096
};
#define MAX_SLAB ((uint64_t)1 << 62)
#define SUFFIX   ".iolog"

enum {
    FIO_EMPTY = EXPORT_OWN_RULES,
    FIO_FULL,
    FIO_LARGER,
    FIO_UNWRITTEN,
    FIO_NOTHING
};
static const struct export_rule fio_rules[] = {
    {EXPORT_LOSS, "of size 0: no I/O"},
    {EXPORT_REFUSED, "more than 2^62 bytes are alive at once"},
    {EXPORT_REMARK, "that read more than was written: what lies behind is read as zeros"},
    {EXPORT_LOSS,
     "that read what was not written before: a hole of the file, for which no drive is asked"},
    {EXPORT_LOSS, "no read and no write: fio refuses such a log"},
    {EXPORT_REMARK, NULL}};

struct fio {
    struct keymap *objects; /* extent lists of the objects that have room, by place and key */
    struct extent_pool *pool;
    char *log, *job;              /* names of the files; NULL: rows are only looked at */
    char name[MAX_SLAB_NAME + 1]; /* of the slab */
    size_t name_len;
    int64_t first_ns, last_ns;
    uint64_t slab_bytes;
    bool begun, aligned; /* aligned: every length is a multiple of UNIT */
};

/* Writes "TIME NAME ACTION", and the place of a read or write. */
static int put_line(struct export *x, int64_t time_ns, const char *action,
                    const struct extent *where, struct err *e)
{
    const struct fio *f = x->state;
    char line[MAX_SLAB_NAME + 128];
    char *p = line + units_put_u64(line, ((uint64_t)time_ns - (uint64_t)f->first_ns) / 1000);
    *p++ = ' ';
    p = export_put_text(p, f->name, f->name_len);
    *p++ = ' ';
    p = export_put_text(p, action, strlen(action));
    if (where) {
        *p++ = ' ';
        p += units_put_u64(p, where->offset);
        *p++ = ' ';
        p += units_put_u64(p, where->len);
    }
    *p++ = '\n';
    return export_put(x, line, (size_t)(p - line), e);
}

/* Writes the segments of one extent. */
static int put_extent(struct export *x, const struct export_op *op, struct extent where,
                      struct err *e)
{
    struct fio *f = x->state;
    const char *action = op->op == TRACE_READ ? "read" : "write";
    if (where.offset + where.len > f->slab_bytes)
        f->slab_bytes = where.offset + where.len;
    if (where.len % UNIT != 0)
        f->aligned = false;
    for (uint64_t done = 0; done < where.len;) {
        uint64_t len = where.len - done;
        struct extent segment = {where.offset + done,
                                 len < x->o->segment_bytes ? len : x->o->segment_bytes};
        int rc = put_line(x, op->time_ns, action, &segment, e);
        if (rc < 0)
            return rc;
        done += segment.len;
        x->rows++;
    }
    return 0;
}

/* Tells the copies of an object in different tiers apart. */
static struct hash128 copy_of(const struct export_op *op)
{
    struct hash128 h = hash_128(op->key.p, op->key.len);
    h.hi ^= hash_mix(op->tier + UINT64_C(1));
    return h;
}

static void forget(struct fio *f, const struct export_op *op)
{
    const uint64_t *list = keymap_find(f->objects, copy_of(op));
    if (!list)
        return;
    extent_release(f->pool, (uint32_t)*list);
    keymap_remove(f->objects, copy_of(op));
}

/* A read or write of an object, which gets room if it has none or too little. */
static int transfer(struct export *x, const struct export_op *op, struct err *e)
{
    struct fio *f = x->state;
    uint64_t *list = keymap_get(f->objects, copy_of(op), 0);
    if (!list)
        return err_nomem(e, "objects of the export");
    if (*list == 0 || extent_bytes(f->pool, (uint32_t)*list) < op->size) {
        uint32_t room = 0;
        if (op->op == TRACE_READ)
            export_note(x, *list != 0 ? FIO_LARGER : FIO_UNWRITTEN, op->number);
        extent_release(f->pool, (uint32_t)*list);
        *list = 0;
        int rc = extent_alloc(f->pool, op->size, &room);
        if (rc == -ENOSPC)
            return export_refuse(x, FIO_FULL, op, e);
        if (rc < 0)
            return err_nomem(e, "space of the export");
        *list = room;
    }

    struct extent where;
    uint64_t left = op->size;
    int rc = 0;
    for (uint32_t pos = (uint32_t)*list;
         rc == 0 && left > 0 && extent_walk(f->pool, &pos, &where);) {
        where.len = where.len < left ? where.len : left;
        left -= where.len;
        rc = put_extent(x, op, where, e);
    }
    return rc;
}

static int begin(struct export *x, int64_t first_ns, struct err *e)
{
    struct fio *f = x->state;
    static const char version[] = VERSION_3 "\n";
    int rc;
    f->begun = true;
    f->first_ns = f->last_ns = first_ns;
    if ((rc = export_put(x, version, sizeof(version) - 1, e)) < 0 ||
        (rc = put_line(x, first_ns, "add", NULL, e)) < 0)
        return rc;
    return put_line(x, first_ns, "open", NULL, e);
}

static bool is_transfer(uint8_t op, uint8_t phase, uint64_t size)
{
    (void)phase;
    return op != TRACE_DELETE && size > 0;
}

static int fio_row(struct export *x, const struct export_op *op, struct err *e)
{
    struct fio *f = x->state;
    int rc = f->begun ? 0 : begin(x, op->time_ns, e);
    if (rc < 0)
        return rc;
    f->last_ns = op->time_ns;
    if (op->op == TRACE_DELETE) {
        forget(f, op);
        return 0;
    }
    if (op->size == 0)
        export_note(x, FIO_EMPTY, op->number);
    else
        rc = transfer(x, op, e);
    /* A move takes the object out of this tier. */
    if (rc == 0 && op->op == TRACE_READ && op->phase == TRACE_EVICT)
        forget(f, op);
    return rc;
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int fio_finish(struct export *x, struct err *e)
{
    struct fio *f = x->state;
    int rc = f->begun ? 0 : begin(x, 0, e);
    if (x->rows == 0)
        export_note(x, FIO_NOTHING, 0);
    if (rc == 0)
        rc = put_line(x, f->last_ns, "close", NULL, e);
    if (rc < 0 || !f->job)
        return rc;

    char text[MAX_JOB];
    int n = snprintf(
        text, sizeof(text),
        "; Replays %s, made by kvgen. Run it in its own folder: fio %s\n"
        "; Objects lie in one file; for a device: replay_redirect=/dev/..., without exec_prerun.\n"
        "; As fast as it goes: replay_no_stall=1; at twice the speed: replay_time_scale=200.\n"
        "; One job: several would each replay the whole log.\n"
        "; direct=0 where the file system has no O_DIRECT, or a size is no multiple of 4096.\n"
        "[kvtrace]\n"
        "ioengine=psync\n"
        "direct=%d\n"
        "read_iolog=%s\n"
        "; reads past the end of a file would fail\n"
        "exec_prerun=truncate -s %llu %s\n",
        base_of(f->log), base_of(f->job), f->aligned, base_of(f->log),
        (unsigned long long)((f->slab_bytes + UNIT - 1) / UNIT * UNIT), f->name);
    return save_text(f->job, text, (size_t)n, e);
}

/* X.iolog has the job X.fio and the slab X.slab. */
static size_t stem_of(const char *path)
{
    size_t stem = strlen(path), suffix = strlen(SUFFIX);
    if (stem > suffix && strcmp(path + stem - suffix, SUFFIX) == 0)
        stem -= suffix;
    return stem;
}

static char *fio_job(const char *path)
{
    char *job;
    return asprintf(&job, "%.*s.fio", (int)stem_of(path), path) < 0 ? NULL : job;
}

static int fio_open(struct export *x, struct err *e)
{
    struct fio *f = calloc(1, sizeof(*f));
    x->state = f;
    if (!f)
        return err_nomem(e, "export");
    f->aligned = true;
    f->objects = keymap_create();
    f->pool = extent_pool_create(MAX_SLAB, UNIT);
    if (!f->objects || !f->pool)
        return err_nomem(e, "export");
    const char *path = x->o->path;
    if (!path)
        return 0;

    size_t stem = stem_of(path);
    f->log = strdup(path);
    f->job = fio_job(path);
    if (!f->log || !f->job)
        return err_nomem(e, "export");
    const char *base = base_of(path);
    f->name_len = stem - (size_t)(base - path) + 5;
    if (f->name_len > MAX_SLAB_NAME || strpbrk(base, " \t\n;#:\\$\"'`&|<>()*?["))
        return err_set(e, -EINVAL, ERR_INPUT, path,
                       "fio takes no such name: at most %d bytes, without spaces and characters "
                       "that fio or the shell would read as their own",
                       MAX_SLAB_NAME - 5);
    memcpy(f->name, base, f->name_len - 5);
    memcpy(f->name + f->name_len - 5, ".slab", 6);
    return 0;
}

static void fio_free(struct export *x)
{
    struct fio *f = x->state;
    if (!f)
        return;
    keymap_free(f->objects);
    extent_pool_free(f->pool);
    free(f->log);
    free(f->job);
    free(f);
}

const struct exporter export_fio = {.name = "fio",
                                    .rules = fio_rules,
                                    .writes = is_transfer,
                                    .second_file = fio_job,
                                    .open = fio_open,
                                    .row = fio_row,
                                    .finish = fio_finish,
                                    .free = fio_free};
