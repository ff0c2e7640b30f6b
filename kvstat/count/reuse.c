/* --reuse: a second pass over the file, by one thread, since distances depend on the order of all
 * rows and on every key. The distances themselves come from lib/base/lru_stack. */
#include "kvstat/count/reuse.h"

#include <errno.h>
#include <stdlib.h>

#include "kvstat/count/agg.h"
#include "kvstat/count/scan.h"
#include "lib/base/lru_stack.h"
#include "lib/base/memory.h"
#include "lib/trace/read.h"

struct pass {
    struct reuse *r;
    struct lru_stack *bytes, *objects; /* the same uses, of their sizes and of size 1 */
    int64_t *last_ns;                  /* by the stack's numbers */
    size_t room;
    bool result;
};

/* A read that found nothing, and a Miss row, have no size: the object keeps that of its last use.
 */
static int use(struct pass *p, const struct trace_row *row, int64_t now_ns)
{
    struct hash128 key = hash_128(row->key.p, row->key.len);
    bool reads = row->op != TRACE_WRITE;
    uint64_t size = row->size, bytes = LRU_STACK_NEW, objects = LRU_STACK_NEW;
    uint32_t number;
    if (row->op == TRACE_MISS || row->status == TRACE_ABSENT)
        lru_stack_find(p->bytes, key, &size);
    int rc = lru_stack_use(p->objects, key, 1, &objects, &number);
    if (rc == 0)
        rc = lru_stack_use(p->bytes, key, size, &bytes, &number);
    if (rc < 0)
        return rc;

    if (memory_room(&p->last_ns, &p->room, number, sizeof(*p->last_ns), 4096) < 0)
        return -ENOMEM;
    if (reads && bytes != LRU_STACK_NEW) {
        p->r->reuses++;
        /* The object used last has a distance of 0 on the stack, but a cache has to hold it. */
        rc = hist_record(p->r->bytes_hist, (int64_t)(bytes ? bytes : size));
        if (rc == 0)
            rc = hist_record(p->r->objects_hist, (int64_t)(objects ? objects : 1));
        if (rc == 0)
            rc = hist_record(p->r->time_ns, now_ns - p->last_ns[number]);
    }
    p->last_ns[number] = now_ns;
    p->r->uses++;
    return rc;
}

static bool is_use(const struct pass *p, const struct trace_row *row)
{
    if (row->phase == TRACE_EVICT || row->key.len == 0 || agg_is_populating(p->result, row))
        return false;
    if (row->op == TRACE_MISS)
        return true;
    bool ok = row->status == TRACE_OK || row->status == TRACE_NO_STATUS;
    return (row->op == TRACE_WRITE && ok) ||
           (row->op == TRACE_READ && (ok || row->status == TRACE_ABSENT));
}

static int read_rows(struct pass *p, struct trace_cursor *cursor, const char *name, struct err *e)
{
    const struct trace_row *rows;
    size_t n;
    int rc;
    while ((rc = trace_cursor_next(cursor, &rows, &n, e)) == 1) {
        for (size_t i = 0; i < n && rc >= 0; i++) {
            bool started = p->result && rows[i].start_ns != TRACE_NONE;
            if (is_use(p, &rows[i]))
                rc = use(p, &rows[i], started ? rows[i].start_ns : rows[i].time_ns);
        }
        if (rc == -EOVERFLOW)
            return err_set(e, rc, ERR_INPUT, name, "--reuse: sizes add up to more than 2^63 bytes");
        if (rc < 0)
            return err_nomem(e, "reuse distances");
    }
    return rc;
}

int reuse_file(struct reuse **out, const char *path, bool skip_bad_rows, struct err *e)
{
    const struct trace_read_opts read = {
        .want = TRACE_BIT(TRACE_COL_TIMESTAMP) | TRACE_BIT(TRACE_COL_OPERATION) |
                TRACE_BIT(TRACE_COL_SIZE) | TRACE_BIT(TRACE_COL_TIER) | TRACE_BIT(TRACE_COL_KEY) |
                TRACE_BIT(TRACE_COL_PHASE) | TRACE_BIT(TRACE_COL_START) |
                TRACE_BIT(TRACE_COL_STATUS),
        .skip_bad_rows = skip_bad_rows};
    struct trace_reader *reader = NULL;
    struct trace_cursor *cursor = NULL;
    struct reuse *r = calloc(1, sizeof(*r));
    struct pass p = {.r = r, .bytes = lru_stack_create(), .objects = lru_stack_create()};
    int rc = -ENOMEM;

    if (r) {
        r->objects_hist = hist_create();
        r->bytes_hist = hist_create();
        r->time_ns = hist_create();
    }
    if (!p.bytes || !p.objects || !r || !r->objects_hist || !r->bytes_hist || !r->time_ns) {
        err_nomem(e, "reuse distances");
        goto out;
    }
    rc = scan_open_trace(&reader, path, &read, "--reuse", e);
    if (rc < 0)
        goto out;
    p.result = agg_is_result(trace_columns(reader));
    rc = trace_cursor_open(&cursor, reader, e);
    if (rc == 0)
        rc = read_rows(&p, cursor, trace_name(reader), e);
    r->keys = lru_stack_objects(p.bytes);
    r->bytes = lru_stack_bytes(p.bytes);
out:
    trace_cursor_close(cursor);
    trace_close(reader);
    lru_stack_free(p.bytes);
    lru_stack_free(p.objects);
    free(p.last_ns);
    if (rc == 0 || rc == -EBADMSG)
        *out = r;
    else
        reuse_free(r);
    return rc;
}

void reuse_free(struct reuse *r)
{
    if (!r)
        return;
    hist_free(r->objects_hist);
    hist_free(r->bytes_hist);
    hist_free(r->time_ns);
    free(r);
}
