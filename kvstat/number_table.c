/* What --plot draws besides reports: a file that is small by its nature is read whole into a table
 * of numbers. */
#include "kvstat/number_table.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/units.h"
#include "lib/trace/csv.h"
#include "lib/trace/frame.h"

#define BYTES_MAX ((size_t)64 << 20)

struct columns {
    char *file, *text;
    size_t len, room; /* of text */
    char **name;
    size_t names, rows;
    double *value; /* by row */
};

/* Columns that tell a kind. */
static const struct {
    enum columns_kind kind;
    const char *first, *other;
} kinds[] = {{COLUMNS_CURVE, "Capacity_Bytes", "Object_Hit_Rate"},
             {COLUMNS_ROUNDS, "Round", "Bandwidth_GiB_s"}};

void columns_free(struct columns *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->names; i++)
        free(c->name[i]);
    free(c->name);
    free(c->value);
    free(c->text);
    free(c->file);
    free(c);
}

static int read_text(struct columns *c, struct frame_in *in, struct err *e)
{
    for (;;) {
        if (c->len == c->room) {
            size_t room = c->room ? 2 * c->room : 65536;
            char *grown = realloc(c->text, room);
            if (!grown)
                return err_nomem(e, "columns");
            c->text = grown;
            c->room = room;
        }
        int64_t n = frame_in_read(in, c->text + c->len, c->room - c->len, e);
        if (n <= 0)
            return (int)n;
        c->len += (size_t)n;
        if (c->len > BYTES_MAX)
            return err_set(e, -EFBIG, ERR_INPUT, c->file, "more than 64 MiB");
    }
}

static int take_names(struct columns *c, const struct csv_row *row, struct err *e)
{
    c->name = calloc(row->count, sizeof(*c->name));
    for (; c->name && c->names < row->count; c->names++) {
        c->name[c->names] = strndup(row->field[c->names].p, row->field[c->names].len);
        if (!c->name[c->names])
            break;
    }
    return c->names == row->count && c->name ? 0 : err_nomem(e, "columns");
}

static double number(const struct csv_field *f)
{
    char text[64];
    double v;
    if (f->len == 0 || f->len >= sizeof(text))
        return NAN;
    snprintf(text, sizeof(text), "%.*s", (int)f->len, f->p);
    return units_parse_f64(text, &v) == 0 ? v : NAN;
}

static int take_row(struct columns *c, const struct csv_row *row, struct err *e)
{
    if (row->count != c->names) {
        char where[384];
        snprintf(where, sizeof(where), "%s:%llu", c->file, (unsigned long long)row->number + 1);
        return err_set(e, -EINVAL, ERR_INPUT, where, "%zu fields, the header has %zu", row->count,
                       c->names);
    }
    double *grown = realloc(c->value, (c->rows + 1) * c->names * sizeof(*grown));
    if (!grown)
        return err_nomem(e, "columns");
    c->value = grown;
    for (size_t i = 0; i < c->names; i++)
        c->value[c->rows * c->names + i] = number(&row->field[i]);
    c->rows++;
    return 0;
}

static int split(struct columns *c, struct err *e)
{
    struct csv *csv = csv_create();
    struct csv_row row;
    if (!csv)
        return err_nomem(e, "columns");
    csv_set(csv, c->text, c->len);
    int rc = csv_next(csv, &row, e);
    if (rc == 1)
        rc = take_names(c, &row, e);
    while (rc == 0 && (rc = csv_next(csv, &row, e)) == 1)
        rc = take_row(c, &row, e);
    csv_close(csv);
    return rc;
}

int columns_load(struct columns **out, const char *path, struct err *e)
{
    struct frame_in *in = NULL;
    struct columns *c = calloc(1, sizeof(*c));
    if (c)
        c->file = strdup(path);
    int rc = c && c->file ? frame_in_open(&in, path, NULL, e) : err_nomem(e, "columns");
    if (rc == 0)
        rc = read_text(c, in, e);
    if (rc == 0)
        rc = split(c, e);
    frame_in_close(in);
    if (rc < 0)
        columns_free(c);
    else
        *out = c;
    return rc;
}

static bool has_name(const char *line, const char *name)
{
    size_t len = strlen(name);
    for (const char *p = line; (p = strstr(p, name)) != NULL; p++)
        if ((p == line || p[-1] == ',') && strchr(",\r\n", p[len]))
            return true;
    return false;
}

enum columns_kind columns_kind_of(const char *path)
{
    char line[1024] = "";
    struct stat st;
    /* What is looked at here is read again: a pipe would have lost its first rows. */
    FILE *f = stat(path, &st) == 0 && S_ISREG(st.st_mode) ? fopen(path, "re") : NULL;
    if (!f)
        return COLUMNS_NONE;
    char *got = fgets(line, sizeof(line), f);
    fclose(f);
    for (size_t i = 0; got && i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (has_name(line, kinds[i].first) && has_name(line, kinds[i].other))
            return kinds[i].kind;
    return COLUMNS_NONE;
}

const char *columns_file(const struct columns *c)
{
    return c->file;
}

size_t columns_rows(const struct columns *c)
{
    return c->rows;
}

double columns_at(const struct columns *c, size_t row, const char *name)
{
    for (size_t i = 0; i < c->names; i++)
        if (strcmp(c->name[i], name) == 0)
            return c->value[row * c->names + i];
    return NAN;
}
