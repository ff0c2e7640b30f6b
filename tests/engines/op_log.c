/* op_log.c - operations of a cache as texts, and the recorded ones. */
#include "tests/engines/op_log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/cache/id_table.h"
#include "lib/base/memory.h"

enum {
    NAME_BYTES = 32,
    KINDS = 32,
    LINE_BYTES = 1 << 26
};

/* One operation. */
struct op {
    char kind[NAME_BYTES], name[NAME_BYTES];
};

struct ops {
    struct op *op;
    uint64_t count, cap;
};

struct kind_count {
    char kind[NAME_BYTES];
    uint64_t count;
};

struct op_log {
    const struct scenario *s;
    struct frame_in *file;
    struct jsonin_stream *in;
    const struct jsonin_v *line; /* lent until the next is read */
    FILE *written;               /* in place of a comparison: what came */
    uint64_t lines;
    struct op_log_opts opts;
    bool failed; /* no memory */
    struct id_table ids;
    char (*name)[NAME_BYTES]; /* by number of ids */
    uint32_t names;
    struct ops came, recorded, moved;
    struct kind_count kind[KINDS]; /* of all that came */
    int kinds;
};

int op_log_open(struct op_log **out, const struct scenario *s, const struct op_log_opts *opts,
                struct err *e)
{
    struct op_log *l = calloc(1, sizeof(*l));
    if (!l)
        return err_nomem(e, "operations");
    *l = (struct op_log){.s = s, .opts = *opts};
    int rc = s->writes ? scenario_create(s, "ops.jsonl", &l->written, e)
                       : scenario_file(s, "ops.jsonl", &l->file, e);
    if (!rc && l->file)
        rc = jsonin_stream_open(&l->in, l->file, LINE_BYTES, e);
    if (rc)
        op_log_close(l);
    else
        *out = l;
    return rc;
}

void op_log_close(struct op_log *l)
{
    if (!l)
        return;
    if (l->written && l->lines)
        fputs("}\n", l->written);
    if (l->written)
        fclose(l->written);
    jsonin_stream_close(l->in);
    frame_in_close(l->file);
    id_table_free(&l->ids);
    free(l->name);
    free(l->came.op);
    free(l->recorded.op);
    free(l->moved.op);
    free(l);
}

void op_log_name(struct op_log *l, uint64_t id, const char *fmt, ...)
{
    if (id_table_find(&l->ids, id) != ID_NONE)
        return;
    void *name = id_table_reserve_item(&l->ids, l->name, &l->names, sizeof(*l->name));
    if (!name) {
        l->failed = true;
        return;
    }
    l->name = name;
    va_list args;
    va_start(args, fmt);
    vsnprintf(l->name[id_table_add(&l->ids, id)], NAME_BYTES, fmt, args);
    va_end(args);
}

static const char *name_of(const struct op_log *l, uint64_t id)
{
    uint32_t number = id_table_find(&l->ids, id);
    return number == ID_NONE ? "?" : l->name[number];
}

/* The next operation of a list, to be filled; NULL: no memory. */
static struct op *next_op(struct op_log *l, struct ops *ops)
{
    if (ops->count == ops->cap) {
        uint64_t cap = ops->cap ? 2 * ops->cap : 1024;
        if (memory_resize(&ops->op, cap, sizeof(*ops->op)) < 0) {
            l->failed = true;
            return NULL;
        }
        ops->cap = cap;
    }
    return &ops->op[ops->count++];
}

static void add(struct op_log *l, struct ops *ops, const char *kind, const char *name)
{
    struct op *op = next_op(l, ops);
    if (!op)
        return;
    snprintf(op->kind, NAME_BYTES, "%s", kind);
    snprintf(op->name, NAME_BYTES, "%s",
             l->opts.unnamed && !strcmp(kind, l->opts.unnamed) ? "" : name);
}

static void count_kind(struct op_log *l, const char *kind)
{
    int i = 0;
    while (i < l->kinds && strcmp(l->kind[i].kind, kind) != 0)
        i++;
    if (i == KINDS)
        return;
    if (i == l->kinds)
        snprintf(l->kind[l->kinds++].kind, NAME_BYTES, "%s", kind);
    l->kind[i].count++;
}

void op_log_add(struct op_log *l, const char *op, uint64_t id)
{
    count_kind(l, op);
    add(l, &l->came, op, name_of(l, id));
}

void op_log_mark(struct op_log *l, const char *op, const char *fmt, ...)
{
    char name[NAME_BYTES];
    va_list args;
    count_kind(l, op);
    va_start(args, fmt);
    vsnprintf(name, sizeof(name), fmt, args);
    va_end(args);
    add(l, &l->came, op, name);
}

/* One recorded name: "7", "7.1", "o3.5u12", or a range "7.0-5", "o3.12-140". */
static void add_recorded(struct op_log *l, const char *kind, const char *name)
{
    unsigned long long first, last;
    char before[NAME_BYTES];
    const char *dot = strchr(name, '.');
    if (!dot || sscanf(dot + 1, "%llu-%llu", &first, &last) != 2) {
        add(l, &l->recorded, kind, name);
        return;
    }
    snprintf(before, sizeof(before), "%.*s", (int)(dot - name), name);
    uint64_t step = name[0] == 'o' ? l->opts.page_tokens : 1;
    for (uint64_t i = first; i <= last; i += step) {
        char one[NAME_BYTES + 24];
        snprintf(one, sizeof(one), "%s.%llu", before, (unsigned long long)i);
        add(l, &l->recorded, kind, one);
    }
}

static void add_names(struct op_log *l, const char *kind, const char *names)
{
    while (*names) {
        size_t len = strcspn(names, " ");
        char one[NAME_BYTES];
        snprintf(one, sizeof(one), "%.*s", (int)len, names);
        add_recorded(l, kind, one);
        names += len + (names[len] == ' ');
    }
}

static int by_text(const void *a, const void *b)
{
    const struct op *x = a, *y = b;
    int order = strcmp(x->kind, y->kind);
    return order ? order : strcmp(x->name, y->name);
}

/* Operations whose kind begins so go behind the others, each in order. */
static void move_apart(struct op_log *l, struct ops *ops)
{
    uint64_t kept = 0;
    l->moved.count = 0;
    for (uint64_t i = 0; i < ops->count; i++) {
        if (strncmp(ops->op[i].kind, l->opts.apart, strlen(l->opts.apart)) != 0)
            ops->op[kept++] = ops->op[i];
        else
            add(l, &l->moved, ops->op[i].kind, ops->op[i].name);
    }
    for (uint64_t i = 0; i < l->moved.count && kept < ops->count; i++)
        ops->op[kept++] = l->moved.op[i];
}

static void compare(struct op_log *l, struct scenario_outcome *o, const char *where)
{
    const struct ops *a = &l->recorded, *b = &l->came;
    if (l->opts.apart) {
        move_apart(l, &l->recorded);
        move_apart(l, &l->came);
    }
    for (uint64_t i = 0; i < a->count || i < b->count; i++) {
        const struct op none = {"nothing", ""};
        const struct op *x = i < a->count ? &a->op[i] : &none;
        const struct op *y = i < b->count ? &b->op[i] : &none;
        if (!by_text(x, y))
            scenario_equal(o);
        else
            scenario_differs(o, "%s, operation %llu: recorded %s %s, here %s %s", where,
                             (unsigned long long)i, x->kind, x->name, y->kind, y->name);
    }
    l->recorded.count = l->came.count = 0;
}

/* Whether b is the page after a, so that a range of names goes on. */
static bool goes_on(const struct op_log *l, const char *a, const char *b)
{
    const char *x = strchr(a, '.'), *y = strchr(b, '.');
    if (!l->opts.page_tokens || !x || !y || x - a != y - b || strncmp(a, b, (size_t)(x - a)) != 0)
        return false;
    return strtoull(x + 1, NULL, 10) + (a[0] == 'o' ? l->opts.page_tokens : 1) ==
           strtoull(y + 1, NULL, 10);
}

/* The operations that came, as a line that is still open: equal ones in a row are one. */
static void write_ops(struct op_log *l)
{
    const struct op *op = l->came.op;
    const uint64_t n = l->came.count;
    fprintf(l->written, "%s{\"r\":%llu,\"ops\":[", l->lines ? "}\n" : "",
            (unsigned long long)l->lines);
    l->lines++;
    for (uint64_t i = 0, first, last; i < n; i = last + 1) {
        const bool same = i > 0 && !strcmp(op[i].kind, op[i - 1].kind);
        for (first = last = i; last + 1 < n && !strcmp(op[last + 1].kind, op[i].kind) &&
                               goes_on(l, op[last].name, op[last + 1].name);
             last++)
            ;
        if (same)
            fprintf(l->written, " %s", op[first].name);
        else
            fprintf(l->written, "%s[\"%s\",\"%s", i ? "\"]," : "", op[i].kind, op[first].name);
        if (last > first)
            fprintf(l->written, "-%s", strchr(op[last].name, '.') + 1);
    }
    fputs(n ? "\"]]" : "]", l->written);
    l->came.count = 0;
}

int op_log_compare(struct op_log *l, struct scenario_outcome *o, struct err *e)
{
    if (l->written) {
        write_ops(l);
        o->steps++;
        return l->failed ? err_nomem(e, "operations") : 1;
    }
    int rc = jsonin_stream_next(l->in, &l->line, e);
    if (rc <= 0)
        return rc;
    const struct jsonin_v *ops = jsonin_get(l->line, "ops");
    for (size_t i = 0; i < jsonin_count(ops); i++) {
        const struct jsonin_v *op = jsonin_at(ops, i);
        const char *kind = jsonin_text(jsonin_at(op, 0), NULL);
        const char *names = jsonin_text(jsonin_at(op, 1), NULL);
        if (!kind || !names)
            return err_set(e, 0, ERR_INPUT, l->s->folder, "bad operation in ops.jsonl");
        add_names(l, kind, names);
    }
    if (l->failed)
        return err_nomem(e, "operations");
    int64_t r = 0;
    jsonin_i64(jsonin_get(l->line, "r"), &r);
    char where[64];
    snprintf(where, sizeof(where), "request %lld", (long long)r);
    compare(l, o, where);
    o->steps++;
    return 1;
}

int op_log_skip(struct op_log *l, struct err *e)
{
    if (l->written)
        write_ops(l);
    l->came.count = 0;
    return l->written ? 1 : jsonin_stream_next(l->in, &l->line, e);
}

int op_log_totals(const struct op_log *l, struct scenario_outcome *o, struct err *e)
{
    char path[4096];
    struct jsonin *totals;
    if (l->written)
        return 0;
    snprintf(path, sizeof(path), "%s/totals.json", l->s->folder);
    int rc = jsonin_load(&totals, path, LINE_BYTES, e);
    if (rc)
        return rc;
    const struct jsonin_v *ops = jsonin_get(jsonin_root(totals), "ops");
    for (size_t i = 0; i < jsonin_members(ops); i++) {
        const char *kind;
        uint64_t recorded = 0, here = 0;
        jsonin_u64(jsonin_member(ops, i, &kind), &recorded);
        for (int k = 0; k < l->kinds; k++)
            here += strcmp(l->kind[k].kind, kind) == 0 ? l->kind[k].count : 0;
        if (recorded == here)
            scenario_equal(o);
        else
            scenario_differs(o, "%s in all: recorded %llu, here %llu", kind,
                             (unsigned long long)recorded, (unsigned long long)here);
    }
    jsonin_free(totals);
    return 0;
}

void op_log_number(const struct op_log *l, struct scenario_outcome *o, const char *name,
                   uint64_t value)
{
    uint64_t recorded;
    if (l->written)
        fprintf(l->written, ",\"%s\":%llu", name, (unsigned long long)value);
    if (l->written || jsonin_u64(jsonin_get(l->line, name), &recorded))
        return;
    if (recorded == value)
        scenario_equal(o);
    else
        scenario_differs(o, "request %llu: %s recorded %llu, here %llu",
                         (unsigned long long)(o->steps - 1), name, (unsigned long long)recorded,
                         (unsigned long long)value);
}

/* Reads the chunks of a tier in final_order.json. 1; 0: there is no such file; or a negative errno
 * with *e. */
static int read_final(struct op_log *l, const char *tier, struct err *e)
{
    struct frame_in *file = NULL;
    struct jsonin_stream *in = NULL;
    const struct jsonin_v *v;
    int rc = l->written ? -ENOENT : scenario_file(l->s, "final_order.json", &file, e);
    if (rc == -ENOENT) {
        l->came.count = 0;
        return 0;
    }
    if (!rc)
        rc = jsonin_stream_open(&in, file, LINE_BYTES, e);
    if (!rc)
        rc = jsonin_stream_next(in, &v, e);
    const char *names = rc == 1 ? jsonin_text(jsonin_get(v, tier), NULL) : NULL;
    if (names)
        add_names(l, tier, names);
    jsonin_stream_close(in);
    frame_in_close(file);
    if (rc >= 0 && l->failed)
        return err_nomem(e, "operations");
    return rc < 0 ? rc : 1;
}

int op_log_order(struct op_log *l, struct scenario_outcome *o, const char *tier,
                 const uint64_t *ids, uint64_t count, struct err *e)
{
    for (uint64_t i = 0; i < count; i++)
        add(l, &l->came, tier, name_of(l, ids[i]));
    int rc = read_final(l, tier, e);
    if (rc == 1)
        compare(l, o, "at the end");
    return rc < 0 ? rc : 0;
}

int op_log_contents(struct op_log *l, struct scenario_outcome *o, const char *tier,
                    op_log_holds holds, const void *arg, struct err *e)
{
    for (uint32_t i = 0; i < l->ids.made; i++)
        if (holds(arg, tier, l->ids.id[i]))
            add(l, &l->came, tier, l->name[i]);
    int rc = read_final(l, tier, e);
    if (rc < 1)
        return rc;
    qsort(l->recorded.op, l->recorded.count, sizeof(*l->recorded.op), by_text);
    qsort(l->came.op, l->came.count, sizeof(*l->came.op), by_text);
    compare(l, o, "at the end");
    return 0;
}
