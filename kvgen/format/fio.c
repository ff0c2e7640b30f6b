/* export_fio.c - an iolog (version 3) for fio and the job file that replays it. fio knows offsets,
 * not objects: each object gets room in one slab, which goes back when the object is deleted or
 * moved away, and is read and written in segments, since fio's lengths have 32 bits. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/format/exporter.h"
#include "lib/base/keymap.h"
#include "lib/base/save.h"
#include "lib/base/units.h"
#include "lib/tier/extent.h"

enum {
    UNIT = 4096, /* of space: what O_DIRECT and devices take */
    MAX_NAME = 255,
    MAX_JOB = 4096
};
#define MAX_SLAB ((uint64_t)1 << 62)

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
    struct keymap *objects; /* extent lists */
    struct extent_pool *pool;
    char *log, *job;         /* names of the files; NULL: only looked at */
    char name[MAX_NAME + 1]; /* of the slab */
    size_t name_len;
    int64_t first_ns, last_ns;
    uint64_t slab_bytes;
    bool begun, aligned; /* every length is a multiple of UNIT */
};

/* ---- lines ---- */

static char *put_text(char *p, const char *text, size_t len)
{
    memcpy(p, text, len);
    return p + len;
}

/* "TIME NAME ACTION", and the place of a read or write. */
static int put_line(struct export *x, int64_t time_ns, const char *action,
                    const struct extent *where, struct err *e)
{
    const struct fio *f = x->state;
    char line[MAX_NAME + 128];
    char *p = line + units_put_u64(line, ((uint64_t)time_ns - (uint64_t)f->first_ns) / 1000);
    *p++ = ' ';
    p = put_text(p, f->name, f->name_len);
    *p++ = ' ';
    p = put_text(p, action, strlen(action));
    if (where) {
        *p++ = ' ';
        p += units_put_u64(p, where->offset);
        *p++ = ' ';
        p += units_put_u64(p, where->len);
    }
    *p++ = '\n';
    return export_put(x, line, (size_t)(p - line), e);
}

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
        struct extent piece = {where.offset + done,
                               len < x->o.segment_bytes ? len : x->o.segment_bytes};
        int rc = put_line(x, op->time_ns, action, &piece, e);
        if (rc < 0)
            return rc;
        done += piece.len;
        x->rows++;
    }
    return 0;
}

static int put_object(struct export *x, const struct export_op *op, uint32_t list, struct err *e)
{
    const struct fio *f = x->state;
    struct extent where;
    uint64_t left = op->size;
    int rc = 0;
    for (uint32_t pos = list; rc == 0 && left > 0 && extent_walk(f->pool, &pos, &where);) {
        where.len = where.len < left ? where.len : left;
        left -= where.len;
        rc = put_extent(x, op, where, e);
    }
    return rc;
}

/* ---- rows ---- */

/* A copy is named by its tier and key. */
static struct hash128 name_of(const struct export_op *op)
{
    struct hash128 h = hash_128(op->key.p, op->key.len);
    h.hi ^= hash_mix(op->tier + UINT64_C(1));
    return h;
}

/* The object's room, new or larger where it has none or too little. */
static int make_room(struct export *x, const struct export_op *op, uint64_t *list, struct err *e)
{
    struct fio *f = x->state;
    uint32_t room = 0;
    if (*list != 0 && extent_bytes(f->pool, (uint32_t)*list) >= op->size)
        return 0;
    if (op->op == TRACE_READ)
        export_note(x, *list != 0 ? FIO_LARGER : FIO_UNWRITTEN, op->number);
    extent_release(f->pool, (uint32_t)*list);
    *list = 0;
    int rc = extent_alloc(f->pool, op->size, &room);
    if (rc == -ENOSPC)
        return export_refuse(x, FIO_FULL, op, e);
    *list = room;
    return rc < 0 ? err_nomem(e, "space of the export") : 0;
}

static void forget(struct fio *f, const struct export_op *op)
{
    const uint64_t *list = keymap_find(f->objects, name_of(op));
    if (!list)
        return;
    extent_release(f->pool, (uint32_t)*list);
    keymap_remove(f->objects, name_of(op));
}

static int transfer(struct export *x, const struct export_op *op, struct err *e)
{
    struct fio *f = x->state;
    uint64_t *list = keymap_get(f->objects, name_of(op), 0);
    if (!list)
        return err_nomem(e, "objects of the export");
    int rc = make_room(x, op, list, e);
    return rc == 0 ? put_object(x, op, (uint32_t)*list, e) : rc;
}

static int begin(struct export *x, int64_t first_ns, struct err *e)
{
    struct fio *f = x->state;
    static const char version[] = "fio version 3 iolog\n";
    f->begun = true;
    f->first_ns = f->last_ns = first_ns;
    int rc = export_put(x, version, sizeof(version) - 1, e);
    if (rc == 0)
        rc = put_line(x, first_ns, "add", NULL, e);
    return rc == 0 ? put_line(x, first_ns, "open", NULL, e) : rc;
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

/* ---- the job file ---- */

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int save_job(const struct export *x, struct err *e)
{
    const struct fio *f = x->state;
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

static int fio_finish(struct export *x, struct err *e)
{
    struct fio *f = x->state;
    int rc = f->begun ? 0 : begin(x, 0, e);
    if (x->rows == 0)
        export_note(x, FIO_NOTHING, 0);
    if (rc == 0)
        rc = put_line(x, f->last_ns, "close", NULL, e);
    return rc == 0 && f->job ? save_job(x, e) : rc;
}

/* ---- open and close ---- */

/* X.iolog: the job is X.fio, the slab X.slab. */
static int make_names(struct export *x, struct err *e)
{
    struct fio *f = x->state;
    const char *path = x->o.path;
    size_t stem = strlen(path);
    if (stem > 6 && strcmp(path + stem - 6, ".iolog") == 0)
        stem -= 6;
    f->log = strdup(path);
    if (!f->log || asprintf(&f->job, "%.*s.fio", (int)stem, path) < 0)
        return err_nomem(e, "export");
    const char *base = base_of(path);
    f->name_len = stem - (size_t)(base - path) + 5;
    if (f->name_len > MAX_NAME || strpbrk(base, " \t\n;#:\\$\"'`&|<>()*?["))
        return err_set(e, -EINVAL, ERR_INPUT, path,
                       "fio takes no such name: at most %d bytes, without spaces and characters "
                       "that fio or the shell would read as their own",
                       MAX_NAME - 5);
    memcpy(f->name, base, f->name_len - 5);
    memcpy(f->name + f->name_len - 5, ".slab", 6);
    return 0;
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
    return x->o.path ? make_names(x, e) : 0;
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

const struct export_ops export_fio = {.name = "fio",
                                      .rules = fio_rules,
                                      .writes = is_transfer,
                                      .open = fio_open,
                                      .row = fio_row,
                                      .finish = fio_finish,
                                      .free = fio_free};
