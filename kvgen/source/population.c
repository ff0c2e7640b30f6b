/* The synthetic users: drawn with the seed, or read from a CSV (--users-file), which --dump-users
 * writes. users.c asks here for lengths, think time, service class and name of each user, and
 * decides itself when they ask for something. */
#include "kvgen/source/population.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/rng.h"
#include "kvgen/source/csv_rows.h"
#include "kvgen/source/ident.h"
#include "kvgen/source/request.h"
#include "lib/base/memory.h"
#include "lib/base/save.h"
#include "lib/base/units.h"
#include "lib/trace/trace.h"

/* Streams of the seed: the behaviour of user i is stream i, its properties are stream 2^32 + i. */
#define DRAW_STREAM ((uint64_t)1 << 32)

enum {
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
#define HEADER "User,Context_Tokens,Generation_Tokens,Think_s,QoS\n"
static const struct csv_column columns[COLUMNS] = {
    [USER] = {.name = "User", .wants = "1 to 64 bytes"},
    [CONTEXT] = {.name = "Context_Tokens", .wants = "tokens from 1 to 2^31"},
    [GENERATION] = {.name = "Generation_Tokens", .wants = "tokens from 1 to 2^31"},
    [THINK] = {.name = "Think_s", .wants = "seconds up to a day"},
    [QOS] = {.name = "QoS", .wants = "interactive, responsive or batch"},
};

struct population {
    struct person *person;
    uint64_t count, cap;
    char *names; /* in a row, each NUL-terminated */
    size_t names_len, names_cap;
};

static struct population *create(uint64_t cap)
{
    struct population *p = calloc(1, sizeof(*p));
    if (!p)
        return NULL;
    p->person = calloc(cap, sizeof(*p->person));
    p->cap = cap;
    if (!p->person) {
        free(p);
        return NULL;
    }
    return p;
}

void population_free(struct population *p)
{
    if (!p)
        return;
    free(p->person);
    free(p->names);
    free(p);
}

uint64_t population_count(const struct population *p)
{
    return p->count;
}

const struct person *population_person(const struct population *p, uint32_t i)
{
    return &p->person[i];
}

const char *population_name(const struct population *p, uint32_t i, size_t *len)
{
    *len = p->person[i].name_len;
    return p->names + p->person[i].name_at;
}

/* Adds a user; the name is copied. There must be room for one more. 0 or -ENOMEM. */
static int add(struct population *p, const struct person *person, const char *name, size_t len)
{
    if (p->names_cap - p->names_len < len) {
        size_t cap = (p->names_cap + len) * 2;
        if (memory_resize(&p->names, cap, 1) < 0)
            return -ENOMEM;
        p->names_cap = cap;
    }
    memcpy(p->names + p->names_len, name, len);
    p->person[p->count] = *person;
    p->person[p->count].name_at = (uint32_t)p->names_len;
    p->person[p->count].name_len = (uint8_t)len;
    p->count++;
    p->names_len += len;
    return 0;
}

/* ---- drawn ---- */

int population_draw(struct population **out, const struct workload *w, uint64_t count,
                    uint64_t seed, struct err *e)
{
    struct population *p = create(count);
    *out = NULL;
    if (!p)
        return err_nomem(e, "users");
    for (uint64_t i = 0; i < count; i++) {
        struct rng r;
        rng_seed(&r, seed, DRAW_STREAM + i);
        /* The order of the draws decides the numbers. */
        const struct workload_persona *kind = &w->persona[rng_below(&r, WORKLOAD_PERSONAS)];
        struct person person = {0};
        person.context_tokens = rng_range(&r, kind->context[0], kind->context[1]);
        person.generated_tokens = rng_range(&r, kind->generation[0], kind->generation[1]);
        double think_s = rng_uniform(&r, kind->think_s[0], kind->think_s[1]);
        person.think_ns = (int64_t)(think_s * (double)UNITS_NS_PER_S + 0.5);
        person.qos = (uint8_t)workload_draw_qos(w, &r);
        char name[32];
        int len = snprintf(name, sizeof(name), "user_%04llu", (unsigned long long)i);
        if (add(p, &person, name, (size_t)len) < 0) {
            population_free(p);
            return err_nomem(e, "users");
        }
    }
    *out = p;
    return 0;
}

/* ---- from a file ---- */

static int parse_tokens(const struct csv_field *f, int64_t *tokens)
{
    uint64_t v;
    if (units_parse_digits(f->p, f->len, &v) < 0 || v < 1 || v > (uint64_t)REQUEST_MAX_TOKENS)
        return -EINVAL;
    *tokens = (int64_t)v;
    return 0;
}

/* The column that is missing or wrong, or COLUMNS. */
static enum column parse_person(struct person *p, const struct csv_row *row,
                                const struct csv_column column[COLUMNS])
{
    const struct csv_field *f[COLUMNS];
    *p = (struct person){0};
    for (int c = 0; c < COLUMNS; c++)
        if (!(f[c] = csv_rows_field(&column[c], row)))
            return (enum column)c;
    if (f[USER]->len < 1 || f[USER]->len > IDENT_MAX_USER_NAME)
        return USER;
    if (parse_tokens(f[CONTEXT], &p->context_tokens) < 0)
        return CONTEXT;
    if (parse_tokens(f[GENERATION], &p->generated_tokens) < 0)
        return GENERATION;
    if (units_parse_decimal(f[THINK]->p, f[THINK]->len, 9, &p->think_ns) < 0 || p->think_ns < 0 ||
        p->think_ns > MAX_THINK_S * UNITS_NS_PER_S)
        return THINK;
    for (int q = 0; q < TRACE_QOSES; q++)
        if (csv_rows_field_is(f[QOS], trace_qos_text((enum trace_qos)q))) {
            p->qos = (uint8_t)q;
            return COLUMNS;
        }
    return QOS;
}

/* Adds the rows until p is full or the file ends. */
static int read_rows(struct population *p, struct csv_rows *rows, const char *path, struct err *e)
{
    struct csv_row row;
    struct err why = {0};
    struct csv_column column[COLUMNS];
    memcpy(column, columns, sizeof(column));

    int rc = csv_rows_next(rows, &row, &why);
    if (rc == CSV_ROWS_END)
        return err_set(e, -EINVAL, ERR_INPUT, path, "the file is empty");
    for (int c = 0; rc == CSV_ROWS_ROW && c < COLUMNS; c++)
        if (!csv_rows_find(&column[c], &row))
            return err_set(e, -EINVAL, ERR_INPUT, path, "the header has no column %s",
                           column[c].name);

    while (rc == CSV_ROWS_ROW && p->count < p->cap) {
        rc = csv_rows_next(rows, &row, &why);
        if (rc != CSV_ROWS_ROW)
            break;
        struct person person;
        enum column bad = parse_person(&person, &row, column);
        if (bad != COLUMNS)
            return csv_rows_bad_field(rows, &row, &column[bad], e);
        const struct csv_field *name = csv_rows_field(&column[USER], &row);
        if (add(p, &person, name->p, name->len) < 0)
            return err_nomem(e, "users");
    }
    if (rc == CSV_ROWS_BAD)
        return err_set(e, why.code, ERR_INPUT, path, "line %llu: %s",
                       (unsigned long long)csv_rows_line(rows), why.what);
    if (rc < 0)
        *e = why;
    return rc < 0 ? rc : 0;
}

struct name_ref {
    const char *p;
    size_t len;
};

static int compare_names(const void *va, const void *vb)
{
    const struct name_ref *a = va, *b = vb;
    int order = memcmp(a->p, b->p, a->len < b->len ? a->len : b->len);
    return order != 0 ? order : (a->len > b->len) - (a->len < b->len);
}

/* Two users of one name would share keys. */
static int check_names(const struct population *p, const char *path, struct err *e)
{
    struct name_ref *name = calloc(p->count ? p->count : 1, sizeof(*name));
    if (!name)
        return err_nomem(e, "users");
    for (uint64_t i = 0; i < p->count; i++)
        name[i].p = population_name(p, (uint32_t)i, &name[i].len);
    qsort(name, p->count, sizeof(*name), compare_names);
    int rc = 0;
    for (uint64_t i = 1; i < p->count && rc == 0; i++)
        if (compare_names(&name[i - 1], &name[i]) == 0)
            rc = err_set(e, -EINVAL, ERR_INPUT, path, "user \"%.*s\" is listed twice",
                         (int)name[i].len, name[i].p);
    free(name);
    return rc;
}

int population_load(struct population **out, const char *path, uint64_t count, struct err *e)
{
    struct frame_in *file = NULL;
    struct csv_rows *rows = csv_rows_create();
    struct population *p = create(count);
    int rc;
    *out = NULL;
    if (!rows || !p) {
        rc = err_nomem(e, "users");
        goto out;
    }
    rc = frame_in_open(&file, path, NULL, e);
    if (rc < 0)
        goto out;
    csv_rows_set(rows, file, path);
    rc = read_rows(p, rows, path, e);
    if (rc == 0)
        rc = check_names(p, path, e);
    if (rc == 0 && p->count < count)
        rc = err_set(e, -EINVAL, ERR_INPUT, path, "has %llu user%s, but --users asks for %llu",
                     (unsigned long long)p->count, units_plural(p->count),
                     (unsigned long long)count);
    if (rc == 0) {
        *out = p;
        p = NULL;
    }
out:
    population_free(p);
    csv_rows_free(rows);
    frame_in_close(file);
    return rc;
}

/* ---- to a file ---- */

int population_save(const struct population *p, const char *path, struct err *e)
{
    char *text = NULL;
    size_t text_len = 0;
    FILE *f = memory_stream(&text, &text_len);
    if (!f)
        return err_nomem(e, "users file");
    fputs(HEADER, f);
    for (uint64_t i = 0; i < p->count; i++) {
        const struct person *u = &p->person[i];
        size_t len;
        const char *name = population_name(p, (uint32_t)i, &len);
        char field[2 * IDENT_MAX_USER_NAME + 2], think[25];
        len = csv_put_field(field, name, len);
        fwrite(field, 1, len, f);
        size_t think_len = units_put_decimal(think, u->think_ns, 9, 6);
        fprintf(f, ",%lld,%lld,%.*s,%s\n", (long long)u->context_tokens,
                (long long)u->generated_tokens, (int)think_len, think,
                trace_qos_text((enum trace_qos)u->qos));
    }
    bool bad = ferror(f) != 0;
    bad |= fclose(f) != 0;
    int rc = bad ? err_nomem(e, "users file") : save_text(path, text, text_len, e);
    free(text);
    return rc;
}
