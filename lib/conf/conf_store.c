/* Holds what conf.c read from the file beside the defaults of the table, and answers the programs'
 * questions by path. */
#include "lib/conf/conf_store.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/conf/conf_table.h"

/* A key or a section that stands in the file. */
struct conf_entry {
    size_t parent;
    char *path;
    const char *name; /* the tail of path */
    unsigned line;
    const struct conf_key *row; /* NULL for a section, or before its value was read */
    struct conf_value value;
};

struct conf {
    char *path;
    struct conf_entry *entries;
    size_t count, room;
    struct conf_value *defaults; /* by index in conf_keys */
    char **warnings;
    size_t warning_count;
};

/* ---- filling ---- */

struct conf *conf_store_create(const char *path)
{
    struct conf *c = calloc(1, sizeof(*c));
    size_t n = conf_table_count();
    int rc = 0;

    if (!c)
        return NULL;
    c->path = strdup(path);
    c->defaults = calloc(n, sizeof(*c->defaults));
    if (!c->path || !c->defaults)
        rc = -ENOMEM;
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = conf_value_default(&c->defaults[i], &conf_keys[i]);
    if (rc == 0)
        return c;
    conf_free(c);
    return NULL;
}

void conf_free(struct conf *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->count; i++) {
        free(c->entries[i].path);
        conf_value_clear(&c->entries[i].value);
    }
    for (size_t i = 0; c->defaults && conf_keys[i].path; i++)
        conf_value_clear(&c->defaults[i]);
    for (size_t i = 0; i < c->warning_count; i++)
        free(c->warnings[i]);
    free(c->warnings);
    free(c->defaults);
    free(c->entries);
    free(c->path);
    free(c);
}

static int find_child(const struct conf *c, size_t parent, const char *name, size_t *index)
{
    for (size_t i = 0; i < c->count; i++) {
        if (c->entries[i].parent == parent && strcmp(c->entries[i].name, name) == 0) {
            *index = i;
            return 0;
        }
    }
    return -ENOENT;
}

static int grow(struct conf *c)
{
    size_t room = c->room ? c->room * 2 : 64;
    struct conf_entry *grown;

    if (c->count == CONF_STORE_MAX)
        return -E2BIG;
    if (c->count < c->room)
        return 0;
    grown = realloc(c->entries, room * sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    c->entries = grown;
    c->room = room;
    return 0;
}

int conf_store_add(struct conf *c, size_t parent, const char *name, unsigned line, size_t *i)
{
    const char *section = parent == CONF_STORE_ROOT ? "" : c->entries[parent].path;
    char *path = NULL;
    int rc;

    if (find_child(c, parent, name, i) == 0)
        return -EEXIST;
    rc = grow(c);
    if (rc < 0)
        return rc;
    if (asprintf(&path, "%s%s%s", section, *section ? "." : "", name) < 0)
        return -ENOMEM;
    *i = c->count++;
    c->entries[*i] = (struct conf_entry){
        .parent = parent, .path = path, .name = path + strlen(path) - strlen(name), .line = line};
    return 0;
}

void conf_store_set(struct conf *c, size_t i, const struct conf_key *row,
                    const struct conf_value *v)
{
    c->entries[i].row = row;
    c->entries[i].value = *v;
}

int conf_store_warn(struct conf *c, size_t i, const char *what)
{
    char **grown = realloc(c->warnings, (c->warning_count + 1) * sizeof(*grown));

    if (!grown)
        return -ENOMEM;
    c->warnings = grown;
    if (asprintf(&grown[c->warning_count], "%s:%u: key %s %s", c->path, c->entries[i].line,
                 c->entries[i].path, what) < 0)
        return -ENOMEM;
    c->warning_count++;
    return 0;
}

const char *conf_store_path(const struct conf *c, size_t i)
{
    return c->entries[i].path;
}

unsigned conf_store_line(const struct conf *c, size_t i)
{
    return c->entries[i].line;
}

/* ---- answers ---- */

/* The file's value or the default; NULL when there is neither. */
static const struct conf_value *find_value(const struct conf *c, const char *path,
                                           enum conf_type type)
{
    const struct conf_key *row = conf_table_row(path);
    const struct conf_value *v;

    assert(row && row->help && row->type == type && "a path that conf_keys lacks");
    (void)type;
    for (size_t i = 0; i < c->count; i++)
        if (c->entries[i].row == row && strcmp(c->entries[i].path, path) == 0)
            return &c->entries[i].value;
    v = &c->defaults[row - conf_keys];
    return v->count > 0 ? v : NULL;
}

static const struct conf_value *need_value(const struct conf *c, const char *path,
                                           enum conf_type type)
{
    const struct conf_value *v = find_value(c, path, type);

    assert(v && "a key without a default: conf_get_* is for those");
    return v;
}

int64_t conf_i64(const struct conf *c, const char *path)
{
    return need_value(c, path, CONF_I64)->i64[0];
}

double conf_f64(const struct conf *c, const char *path)
{
    return need_value(c, path, CONF_F64)->f64[0];
}

const char *conf_text(const struct conf *c, const char *path)
{
    return need_value(c, path, CONF_TEXT)->text;
}

void conf_i64_pair(const struct conf *c, const char *path, int64_t out[2])
{
    memcpy(out, need_value(c, path, CONF_I64_PAIR)->i64, 2 * sizeof(*out));
}

void conf_f64_pair(const struct conf *c, const char *path, double out[2])
{
    memcpy(out, need_value(c, path, CONF_F64_PAIR)->f64, 2 * sizeof(*out));
}

int conf_get_i64(const struct conf *c, const char *path, int64_t *out)
{
    const struct conf_value *v = find_value(c, path, CONF_I64);

    if (!v)
        return -ENOENT;
    *out = v->i64[0];
    return 0;
}

int conf_get_f64(const struct conf *c, const char *path, double *out)
{
    const struct conf_value *v = find_value(c, path, CONF_F64);

    if (!v)
        return -ENOENT;
    *out = v->f64[0];
    return 0;
}

int conf_get_text(const struct conf *c, const char *path, const char **out)
{
    const struct conf_value *v = find_value(c, path, CONF_TEXT);

    if (!v)
        return -ENOENT;
    *out = v->text;
    return 0;
}

const int64_t *conf_i64_list(const struct conf *c, const char *path, size_t *n)
{
    const struct conf_value *v = find_value(c, path, CONF_I64_LIST);

    *n = v ? v->count : 0;
    return v ? v->i64 : NULL;
}

const char *conf_name(const struct conf *c, const char *section, size_t i)
{
    for (size_t k = 0; k < c->count; k++) {
        size_t parent = c->entries[k].parent;
        if (parent != CONF_STORE_ROOT && strcmp(c->entries[parent].path, section) == 0 && i-- == 0)
            return c->entries[k].name;
    }
    return NULL;
}

unsigned conf_line(const struct conf *c, const char *path)
{
    for (size_t i = 0; i < c->count; i++)
        if (strcmp(c->entries[i].path, path) == 0)
            return c->entries[i].line;
    return 0;
}

const char *conf_warning(const struct conf *c, size_t i)
{
    return i < c->warning_count ? c->warnings[i] : NULL;
}

const char *conf_path(const struct conf *c)
{
    return c->path;
}
