/* left_files.c - follows the rows of Tier-2 and keeps the copies that are there at the end, from
 * the one that was used longest ago. What an engine finds of them is its cache's business. */
#include "kvgen/format/left_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/cache/id_table.h"
#include "kvgen/source/ident.h"
#include "lib/json/jsonin.h"
#include "lib/trace/read.h"

/* A copy, by the number of its key. */
struct left {
    struct kv_file file;
    uint64_t used; /* the row that used it last */
};

struct reading {
    struct trace_reader *reader;
    struct trace_cursor *cursor;
    struct id_table keys;
    struct left *left;
    uint32_t room;
    uint64_t row, bytes;
};

static int bad(const struct reading *r, struct err *e, const char *why)
{
    return err_set(e, -EINVAL, ERR_INPUT, trace_name(r->reader),
                   "row %llu %s: --files-from takes the trace of a run with an engine's cache",
                   (unsigned long long)r->row, why);
}

static int take_row(struct reading *r, const struct trace_row *row, struct err *e)
{
    struct kv_file file;
    if (row->tier != TRACE_STORAGE || row->op == TRACE_MISS || row->op == TRACE_GENERATE)
        return 0;
    if (!ident_read_chain(row->key, &file.key, &file.in_group, &file.engine))
        return bad(r, e, "is of an object that is no copy of an engine");
    /* Not id_table_find, which may take the number of a free place for an id that nobody mixed. */
    uint32_t n = id_table_search(&r->keys, file.key);
    if (row->op == TRACE_DELETE) {
        if (n != ID_NONE)
            id_table_remove(&r->keys, n);
        return 0;
    }
    if (r->bytes && row->size != r->bytes)
        return bad(r, e, "has another size than the copies before it");
    r->bytes = row->size;
    if (n != ID_NONE && row->op == TRACE_WRITE && r->left[n].file.engine != file.engine)
        return bad(r, e, "is a second copy: its engines did not share their files (shared=yes)");
    if (n == ID_NONE && row->op == TRACE_WRITE) {
        struct left *grown = id_table_reserve_item(&r->keys, r->left, &r->room, sizeof(*grown));
        if (!grown)
            return err_nomem(e, "files");
        r->left = grown;
        n = id_table_add(&r->keys, file.key);
        r->left[n].file = file;
    }
    if (n != ID_NONE)
        r->left[n].used = r->row;
    return 0;
}

/* Whether the trace is one of that cache, as far as it says. */
static int check_maker(const struct reading *r, const char *cache, struct err *e)
{
    const char *text = trace_provenance(r->reader), *name = NULL;
    struct jsonin *d = NULL;
    if (text && jsonin_parse(&d, text, strlen(text), "", NULL) == 0)
        name = jsonin_text(jsonin_get(jsonin_root(d), "cache.name"), NULL);
    const int rc = !name || strcmp(name, cache) == 0
                       ? 0
                       : err_set(e, -EINVAL, ERR_INPUT, "--files-from",
                                 "%s is of --cache %s, whose files %s does not read",
                                 trace_name(r->reader), name, cache);
    jsonin_free(d);
    return rc;
}

static int by_use(const void *a, const void *b)
{
    const struct left *x = a, *y = b;
    return (x->used > y->used) - (x->used < y->used);
}

/* Hands out what is left. */
static int list(struct reading *r, struct kv_files *out, struct err *e)
{
    size_t n = 0;
    if (r->keys.count == 0)
        return err_set(e, -EINVAL, ERR_INPUT, "--files-from",
                       "%s leaves no copy in Tier-2: its run needs --storage-capacity",
                       trace_name(r->reader));
    for (uint32_t i = 0; i < r->keys.made; i++)
        if (id_table_search(&r->keys, r->left[i].file.key) == i)
            r->left[n++] = r->left[i];
    qsort(r->left, n, sizeof(*r->left), by_use);
    out->file = malloc(n * sizeof(*out->file));
    if (!out->file)
        return err_nomem(e, "files");
    for (size_t i = 0; i < n; i++)
        out->file[i] = r->left[i].file;
    out->count = n;
    out->bytes = r->bytes;
    return 0;
}

static int read_rows(struct reading *r, struct err *e)
{
    const struct trace_row *rows;
    size_t n;
    int rc;
    while ((rc = trace_cursor_next(r->cursor, &rows, &n, e)) > 0)
        for (size_t i = 0; i < n; i++) {
            r->row++;
            if ((rc = take_row(r, &rows[i], e)) < 0)
                return rc;
        }
    return rc;
}

int left_files_read(struct kv_files *out, const char *path, const char *cache, struct err *e)
{
    struct reading r = {0};
    *out = (struct kv_files){0};
    int rc = trace_open(&r.reader, path, NULL, e);
    if (rc == 0)
        rc = trace_cursor_open(&r.cursor, r.reader, e);
    if (rc == 0)
        rc = read_rows(&r, e);
    if (rc == 0)
        rc = check_maker(&r, cache, e);
    if (rc == 0)
        rc = list(&r, out, e);
    trace_cursor_close(r.cursor);
    trace_close(r.reader);
    id_table_free(&r.keys);
    free(r.left);
    return rc;
}

void left_files_free(struct kv_files *f)
{
    free(f->file);
    *f = (struct kv_files){0};
}
