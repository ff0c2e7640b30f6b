/* The accesses of a trace for cache simulators: libCacheSim's CSV, and its binary oracleGeneral.
 * Such a program decides itself which objects stay. So moves and deletions are left out, and a
 * lookup is one access: the Read that hit, or the Write after a Miss. */
#include <stdlib.h>
#include <string.h>

#include "kvgen/format/exporter.h"
#include "lib/base/keymap.h"
#include "lib/base/units.h"
#include "lib/sort/temp_file.h"

enum {
    RECORD = 24,    /* u32 time, u64 id, u32 size, i64 next; little endian */
    NEXT = 16,      /* place of next in it */
    BLOCK = 1 << 15 /* records that wait for the temporary file */
};
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the format's byte order");

enum {
    CACHE_MOVES = EXPORT_OWN_RULES,
    CACHE_ZERO,
    CACHE_TIME,
    CACHE_SIZE
};
static const struct export_rule csv_rules[] = {
    {EXPORT_REMARK, "of moves and deletions, left out: the simulator makes its own"},
    {EXPORT_LOSS, "of size 0: the simulator passes over them"},
    {EXPORT_REFUSED, "at a time before 0 or after 2^32 seconds"},
    {EXPORT_LOSS, "of more than 4 GiB: some versions read sizes as 32 bits"},
    {EXPORT_REMARK, NULL}};
static const struct export_rule oracle_rules[] = {
    {EXPORT_REMARK, "of moves and deletions, left out: the simulator makes its own"},
    {EXPORT_LOSS, "of size 0: the simulator passes over them"},
    {EXPORT_REFUSED, "at a time before 0 or after 2^32 seconds"},
    {EXPORT_REFUSED, "of more than 4 GiB: sizes have 32 bits"},
    {EXPORT_REMARK, NULL}};

struct access {
    uint32_t time_s;
    uint64_t id, size;
};

static bool is_access(uint8_t op, uint8_t phase, uint64_t size)
{
    (void)size;
    return op != TRACE_DELETE && phase != TRACE_EVICT;
}

/* 1 and *a; 0: the row is no access, or cannot be one; negative errno with *e. */
static int access_of(struct export *x, const struct export_op *op, struct access *a, struct err *e)
{
    if (!is_access(op->op, op->phase, op->size)) {
        export_note(x, CACHE_MOVES, op->number);
        return 0;
    }
    int64_t s = op->time_ns / UNITS_NS_PER_S;
    if (op->time_ns < 0 || s > UINT32_MAX)
        return export_refuse(x, CACHE_TIME, op, e);
    if (op->size == 0)
        export_note(x, CACHE_ZERO, op->number);
    *a = (struct access){
        .time_s = (uint32_t)s, .id = hash_64(op->key.p, op->key.len), .size = op->size};
    return 1;
}

/* ---- libCacheSim's CSV ---- */

static int csv_header(struct export *x, struct err *e)
{
    static const char header[] = "time,id,size\n";
    return export_put(x, header, sizeof(header) - 1, e);
}

static int csv_row(struct export *x, const struct export_op *op, struct err *e)
{
    struct access a;
    char line[64], *p = line;
    int rc = access_of(x, op, &a, e);
    if (rc <= 0)
        return rc;
    if (a.size > UINT32_MAX)
        export_note(x, CACHE_SIZE, op->number);
    rc = x->rows++ == 0 ? csv_header(x, e) : 0;
    if (rc < 0)
        return rc;
    p += units_put_u64(p, a.time_s);
    *p++ = ',';
    p += units_put_u64(p, a.id);
    *p++ = ',';
    p += units_put_u64(p, a.size);
    *p++ = '\n';
    return export_put(x, line, (size_t)(p - line), e);
}

static int csv_finish(struct export *x, struct err *e)
{
    return x->rows == 0 ? csv_header(x, e) : 0;
}

const struct exporter export_libcachesim = {.name = "libcachesim",
                                            .rules = csv_rules,
                                            .writes = is_access,
                                            .row = csv_row,
                                            .finish = csv_finish};

/* ---- oracleGeneral ---- */

/* Records go to a temporary file, because each tells when its object is accessed next: that is put
 * into a record when the next access comes. */
struct oracle {
    struct keymap *last; /* by id: number of the last access, from 0 */
    struct temp_file *file;
    uint64_t filed; /* records in the file; those after them are in block */
    uint32_t used;
    char *block; /* BLOCK records */
};

static int oracle_open(struct export *x, struct err *e)
{
    struct oracle *o = calloc(1, sizeof(*o));
    x->state = o;
    if (!o)
        return err_nomem(e, "export");
    o->last = keymap_create();
    o->block = malloc((size_t)BLOCK * RECORD);
    if (!o->last || !o->block)
        return err_nomem(e, "export");
    return temp_file_open(&o->file, x->folder, e);
}

/* Moves the records of block to the file. */
static int file_block(struct oracle *o, struct err *e)
{
    int rc = temp_file_write(o->file, o->block, (size_t)o->used * RECORD, o->filed * RECORD, e);
    o->filed += o->used;
    o->used = 0;
    return rc;
}

static int oracle_row(struct export *x, const struct export_op *op, struct err *e)
{
    struct oracle *o = x->state;
    struct access a;
    int rc = access_of(x, op, &a, e);
    if (rc <= 0)
        return rc;
    if (a.size > UINT32_MAX)
        return export_refuse(x, CACHE_SIZE, op, e);
    uint64_t *last = keymap_get(o->last, (struct hash128){.lo = a.id, .hi = 1}, UINT64_MAX);
    if (!last)
        return err_nomem(e, "objects of the export");
    /* This is the next access after *last. The format counts accesses from 1. */
    int64_t next = (int64_t)x->rows + 1;
    if (*last != UINT64_MAX && *last >= o->filed)
        memcpy(o->block + (*last - o->filed) * RECORD + NEXT, &next, sizeof(next));
    else if (*last != UINT64_MAX)
        rc = temp_file_write(o->file, &next, sizeof(next), *last * RECORD + NEXT, e);
    if (rc < 0)
        return rc;
    *last = x->rows++;

    uint32_t size = (uint32_t)a.size;
    int64_t none = -1;
    char *p = o->block + (size_t)o->used++ * RECORD;
    memcpy(p, &a.time_s, 4);
    memcpy(p + 4, &a.id, 8);
    memcpy(p + 12, &size, 4);
    memcpy(p + NEXT, &none, 8);
    return o->used == BLOCK ? file_block(o, e) : 0;
}

static int oracle_finish(struct export *x, struct err *e)
{
    struct oracle *o = x->state;
    int rc = file_block(o, e);
    for (uint64_t at = 0, end = o->filed * RECORD; rc == 0 && at < end;) {
        int64_t n = temp_file_read(o->file, o->block, (size_t)BLOCK * RECORD, at, e);
        if (n < 0)
            return (int)n;
        rc = export_put(x, o->block, (size_t)n, e);
        at += (uint64_t)n;
    }
    return rc;
}

static void oracle_free(struct export *x)
{
    struct oracle *o = x->state;
    if (!o)
        return;
    temp_file_close(o->file);
    keymap_free(o->last);
    free(o->block);
    free(o);
}

const struct exporter export_oracle = {.name = "oracle",
                                       .rules = oracle_rules,
                                       .writes = is_access,
                                       .open = oracle_open,
                                       .row = oracle_row,
                                       .finish = oracle_finish,
                                       .free = oracle_free};
