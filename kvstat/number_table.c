/* Reads what --plot draws besides reports: a file that is small by its nature becomes a table of
 * numbers in memory. */
#include "kvstat/number_table.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/memory.h"
#include "lib/base/units.h"
#include "lib/trace/csv.h"
#include "lib/trace/frame.h"

#define BYTES_MAX ((size_t)64 << 20)
#define ROWS_MAX  100000 /* gnuplot takes seconds for as many */

struct number_table {
    char *file, *text;
    size_t len, room; /* of text */
    char **name;
    size_t names, rows;
    double *value; /* by row */
};

/* The columns that tell a kind. */
static const struct {
    enum number_table_kind kind;
    const char *first, *other;
} kinds[] = {{NUMBER_TABLE_CURVE, "Capacity_Bytes", "Object_Hit_Rate"},
             {NUMBER_TABLE_ROUNDS, "Round", "Bandwidth_GiB_s"},
             {NUMBER_TABLE_KNEE, "In_Flight", "Bytes_Per_s"}};

void number_table_free(struct number_table *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->names; i++)
        free(t->name[i]);
    free(t->name);
    free(t->value);
    free(t->text);
    free(t->file);
    free(t);
}

static int read_text(struct number_table *t, struct frame_in *in, struct err *e)
{
    for (;;) {
        if (memory_room(&t->text, &t->room, t->len, sizeof(*t->text), 65536) < 0)
            return err_nomem(e, "columns");
        int64_t n = frame_in_read(in, t->text + t->len, t->room - t->len, e);
        if (n <= 0)
            return (int)n;
        t->len += (size_t)n;
        if (t->len > BYTES_MAX)
            return err_set(e, -EFBIG, ERR_INPUT, t->file, "more than 64 MiB");
    }
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

static int take_row(struct number_table *t, const struct csv_row *row, struct err *e)
{
    if (row->count != t->names) {
        char where[384];
        snprintf(where, sizeof(where), "%s:%llu", t->file, (unsigned long long)row->number + 1);
        return err_set(e, -EINVAL, ERR_INPUT, where, "%zu fields, the header has %zu", row->count,
                       t->names);
    }
    if (t->rows == ROWS_MAX)
        return err_set(e, -EFBIG, ERR_INPUT, t->file,
                       "more than %d rows: not a hit-rate curve, rounds of kvprecond or a ladder "
                       "of kvtrace knee",
                       ROWS_MAX);
    if (memory_resize(&t->value, (t->rows + 1) * t->names, sizeof(*t->value)) < 0)
        return err_nomem(e, "columns");
    for (size_t i = 0; i < t->names; i++)
        t->value[t->rows * t->names + i] = number(&row->field[i]);
    t->rows++;
    return 0;
}

/* Makes names of the first row and numbers of the others. */
static int take_text(struct number_table *t, struct err *e)
{
    struct csv *csv = csv_create();
    struct csv_row row;
    if (!csv)
        return err_nomem(e, "columns");
    csv_set(csv, t->text, t->len);
    int rc = csv_next(csv, &row, e);
    if (rc == 1) {
        t->name = calloc(row.count, sizeof(*t->name));
        rc = t->name ? 0 : err_nomem(e, "columns");
        for (; rc == 0 && t->names < row.count; t->names++) {
            t->name[t->names] = strndup(row.field[t->names].p, row.field[t->names].len);
            if (!t->name[t->names]) {
                rc = err_nomem(e, "columns");
                break;
            }
        }
    }
    while (rc == 0 && (rc = csv_next(csv, &row, e)) == 1)
        rc = take_row(t, &row, e);
    csv_close(csv);
    return rc;
}

int number_table_load(struct number_table **out, const char *path, struct err *e)
{
    struct frame_in *in = NULL;
    struct number_table *t = calloc(1, sizeof(*t));
    if (t)
        t->file = strdup(path);
    int rc = t && t->file ? frame_in_open(&in, path, NULL, e) : err_nomem(e, "columns");
    if (rc == 0)
        rc = read_text(t, in, e);
    if (rc == 0)
        rc = take_text(t, e);
    frame_in_close(in);
    if (rc < 0)
        number_table_free(t);
    else
        *out = t;
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

enum number_table_kind number_table_kind_of(const char *path)
{
    char line[1024] = "";
    struct stat st;
    /* The file is read again later: a pipe would have lost its first rows. */
    FILE *f = stat(path, &st) == 0 && S_ISREG(st.st_mode) ? fopen(path, "re") : NULL;
    if (!f)
        return NUMBER_TABLE_NONE;
    char *got = fgets(line, sizeof(line), f);
    fclose(f);
    for (size_t i = 0; got && i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (has_name(line, kinds[i].first) && has_name(line, kinds[i].other))
            return kinds[i].kind;
    return NUMBER_TABLE_NONE;
}

const char *number_table_file(const struct number_table *t)
{
    return t->file;
}

size_t number_table_rows(const struct number_table *t)
{
    return t->rows;
}

double number_table_at(const struct number_table *t, size_t row, const char *column)
{
    for (size_t i = 0; i < t->names; i++)
        if (strcmp(t->name[i], column) == 0)
            return t->value[row * t->names + i];
    return NAN;
}
