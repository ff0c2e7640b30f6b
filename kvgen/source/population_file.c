/* population_file.c - users as a CSV file, both ways: --users-file gives the population instead of
 * drawing it, --dump-users writes the one that was drawn, exactly. */
#include "kvgen/source/population_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/source/ident.h"
#include "kvgen/source/request.h"
#include "lib/base/save.h"
#include "lib/base/units.h"
#include "lib/trace/csv.h"
#include "lib/trace/frame.h"
#include "lib/trace/trace.h"

enum {
    MAX_FILE = 256 << 20,
    MAX_THINK_S = 86400
};
enum column {
    USER,
    CONTEXT,
    GENERATION,
    THINK,
    QOS,
    COLUMNS
};
static const char *const column_names[COLUMNS] = {"User", "Context_Tokens", "Generation_Tokens",
                                                  "Think_s", "QoS"};

/* A bounded file in memory: users are few, and libcsv's side of csv.h wants whole rows. */
static int read_all(const char *path, char **out, size_t *len, struct err *e)
{
    struct frame_in *in;
    int rc = frame_in_open(&in, path, NULL, e);
    if (rc < 0)
        return rc;
    size_t cap = 1 << 16, used = 0;
    char *text = malloc(cap);
    int64_t n = 0;
    while (text && (n = frame_in_read(in, text + used, cap - used, e)) > 0) {
        used += (size_t)n;
        if (used < cap)
            continue;
        cap *= 2;
        char *grown = cap <= MAX_FILE ? realloc(text, cap) : NULL;
        if (!grown)
            free(text);
        text = grown;
    }
    rc = !text ? err_set(e, -EFBIG, ERR_INPUT, path, "too large for a users file") : (int)n;
    frame_in_close(in);
    if (rc < 0)
        free(text);
    *out = rc < 0 ? NULL : text;
    *len = used;
    return rc;
}

static bool field_is(const struct csv_field *f, const char *text)
{
    return f->len == strlen(text) && memcmp(f->p, text, f->len) == 0;
}

static int find_columns(const struct csv_row *head, size_t at[COLUMNS], const char *path,
                        struct err *e)
{
    for (int c = 0; c < COLUMNS; c++) {
        at[c] = head->count;
        for (size_t i = 0; i < head->count; i++)
            if (field_is(&head->field[i], column_names[c]))
                at[c] = i;
        if (at[c] == head->count)
            return err_set(e, -EINVAL, ERR_INPUT, path, "the header has no column %s",
                           column_names[c]);
    }
    return 0;
}

static int parse_qos(const struct csv_field *f, uint8_t *qos)
{
    for (int q = 0; q < TRACE_QOSES; q++)
        if (field_is(f, trace_qos_text((enum trace_qos)q))) {
            *qos = (uint8_t)q;
            return 0;
        }
    return -EINVAL;
}

static int parse_tokens(const struct csv_field *f, int64_t *tokens)
{
    uint64_t v;
    if (units_parse_digits(f->p, f->len, &v) < 0 || v < 1 || v > (uint64_t)REQUEST_MAX_TOKENS)
        return -EINVAL;
    *tokens = (int64_t)v;
    return 0;
}

/* The column that is wrong, or COLUMNS. */
static enum column parse_person(struct person *p, const struct csv_row *row,
                                const size_t at[COLUMNS])
{
    const struct csv_field *f = row->field;
    *p = (struct person){0};
    for (int c = 0; c < COLUMNS; c++)
        if (at[c] >= row->count)
            return (enum column)c;
    if (f[at[USER]].len < 1 || f[at[USER]].len > IDENT_MAX_USER_NAME)
        return USER;
    if (parse_tokens(&f[at[CONTEXT]], &p->context_tokens) < 0)
        return CONTEXT;
    if (parse_tokens(&f[at[GENERATION]], &p->generated_tokens) < 0)
        return GENERATION;
    if (units_parse_decimal(f[at[THINK]].p, f[at[THINK]].len, 9, &p->think_ns) < 0 ||
        p->think_ns < 0 || p->think_ns > MAX_THINK_S * UNITS_NS_PER_S)
        return THINK;
    return parse_qos(&f[at[QOS]], &p->qos) < 0 ? QOS : COLUMNS;
}

static int add_row(struct population *p, const struct csv_row *row, const size_t at[COLUMNS],
                   const char *path, struct err *e)
{
    static const char *const wants[COLUMNS] = {"1 to 64 bytes", "tokens from 1 to 2^31",
                                               "tokens from 1 to 2^31", "seconds up to a day",
                                               "interactive, responsive or batch"};
    struct person person;
    enum column bad = parse_person(&person, row, at);
    if (bad != COLUMNS) {
        char where[320];
        snprintf(where, sizeof(where), "%s:%llu", path, (unsigned long long)row->number + 1);
        if (at[bad] >= row->count)
            return err_set(e, -EINVAL, ERR_INPUT, where, "no field for %s", column_names[bad]);
        const struct csv_field *f = &row->field[at[bad]];
        return err_set(e, -EINVAL, ERR_INPUT, where, "%s is \"%.*s\", wanted: %s",
                       column_names[bad], (int)(f->len < 80 ? f->len : 80), f->p, wants[bad]);
    }
    const struct csv_field *name = &row->field[at[USER]];
    return population_add(p, &person, name->p, name->len) < 0 ? err_nomem(e, "users") : 0;
}

static int add_rows(struct population *p, struct csv *csv, const char *path, struct err *e)
{
    struct csv_row row = {0};
    size_t at[COLUMNS];
    int rc = csv_next(csv, &row, e);
    if (rc == 0)
        return err_set(e, -EINVAL, ERR_INPUT, path, "the file is empty");
    if (rc > 0)
        rc = find_columns(&row, at, path, e);
    while (rc >= 0 && !population_full(p)) {
        rc = csv_next(csv, &row, e);
        if (rc <= 0)
            break;
        rc = add_row(p, &row, at, path, e);
    }
    if (rc < 0 && e->where[0] == '\0')
        return err_set(e, rc, ERR_INPUT, path, "line %llu: %s", (unsigned long long)row.number + 1,
                       e->what);
    return rc < 0 ? rc : 0;
}

struct name_ref {
    const char *p;
    size_t len;
};

static int name_compare(const void *va, const void *vb)
{
    const struct name_ref *a = va, *b = vb;
    int order = memcmp(a->p, b->p, a->len < b->len ? a->len : b->len);
    return order != 0 ? order : (a->len > b->len) - (a->len < b->len);
}

/* Two users of one name would share keys. */
static int check_names(const struct population *p, const char *path, struct err *e)
{
    uint64_t n = population_count(p);
    struct name_ref *name = calloc(n ? n : 1, sizeof(*name));
    if (!name)
        return err_nomem(e, "users");
    for (uint64_t i = 0; i < n; i++)
        name[i].p = population_name(p, (uint32_t)i, &name[i].len);
    qsort(name, n, sizeof(*name), name_compare);
    int rc = 0;
    for (uint64_t i = 1; i < n && rc == 0; i++)
        if (name_compare(&name[i - 1], &name[i]) == 0)
            rc = err_set(e, -EINVAL, ERR_INPUT, path, "user \"%.*s\" stands twice",
                         (int)name[i].len, name[i].p);
    free(name);
    return rc;
}

int population_read(struct population *p, const char *path, struct err *e)
{
    char *text;
    size_t len;
    int rc = read_all(path, &text, &len, e);
    if (rc < 0)
        return rc;
    struct csv *csv = csv_create();
    if (!csv) {
        rc = err_nomem(e, "CSV reader");
        goto out;
    }
    csv_set(csv, text, len);
    rc = add_rows(p, csv, path, e);
    if (rc == 0)
        rc = check_names(p, path, e);
out:
    csv_close(csv);
    free(text);
    return rc;
}

static int write_rows(FILE *f, const struct population *p)
{
    fprintf(f, "User,Context_Tokens,Generation_Tokens,Think_s,QoS\n");
    for (uint64_t i = 0; i < population_count(p); i++) {
        const struct person *u = population_person(p, (uint32_t)i);
        size_t len;
        const char *name = population_name(p, (uint32_t)i, &len);
        char field[2 * IDENT_MAX_USER_NAME + 2], think[25];
        len = csv_put_field(field, name, len);
        size_t think_len = units_put_decimal(think, u->think_ns, 9, 6);
        fwrite(field, 1, len, f);
        fprintf(f, ",%lld,%lld,%.*s,%s\n", (long long)u->context_tokens,
                (long long)u->generated_tokens, (int)think_len, think,
                trace_qos_text((enum trace_qos)u->qos));
    }
    return ferror(f) ? -ENOMEM : 0;
}

int population_save(const struct population *p, const char *path, struct err *e)
{
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);
    if (!f)
        return err_nomem(e, "users file");
    bool bad = write_rows(f, p) < 0;
    bad |= fclose(f) != 0;
    int rc = bad ? err_nomem(e, "users file") : save_text(path, text, len, e);
    free(text);
    return rc;
}
