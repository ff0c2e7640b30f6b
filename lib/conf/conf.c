/* Reads the YAML configuration file of all four programs: walks libyaml's events, holds every key
 * against the table in keys.c, and answers questions by path with the file's value or the table's
 * default. */
#include "lib/conf/conf.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yaml.h>

#include "lib/base/descriptors.h"
#include "lib/base/memory.h"
#include "lib/conf/keys.h"
#include "lib/conf/value.h"

enum {
    FILE_MAX = 16 << 20,
    PARTS_MAX = 4,    /* names from the root to a key; the table has 3 */
    NESTING_MAX = 64, /* of values that are skipped */
    ENTRIES_MAX = 4096
};
#define ROOT SIZE_MAX /* the parent of top-level sections */

/* A key or a section in the file. */
struct entry {
    size_t parent; /* index of its section, or ROOT */
    char *path;
    const char *name; /* the tail of path */
    unsigned line;
    const struct conf_key *row; /* NULL for a section, or before its value was read */
    struct conf_value value;
};

struct conf {
    char *path;
    struct entry *entries;
    size_t count, room;
    struct conf_value *defaults; /* by index in conf_keys */
    char **warnings;
    size_t warning_count;
};

/* A walk through the file's events. */
struct walk {
    struct conf *c;
    struct err *e;
    yaml_parser_t yaml;
    const char *names[PARTS_MAX]; /* from the root to the key being read */
    size_t depth;
};

static int fail(const struct walk *w, size_t line, const char *key, const char *why)
{
    char where[300];

    snprintf(where, sizeof(where), "%.250s:%zu", w->c->path, line);
    return err_set(w->e, -EINVAL, ERR_INPUT, where, "%s%s%s", key, *key ? ": " : "", why);
}

static int fail_memory(const struct walk *w)
{
    return err_nomem(w->e, "configuration");
}

/* ---- events ---- */

static size_t line_of(const yaml_event_t *ev)
{
    return ev->start_mark.line + 1;
}

static int fail_yaml(const struct walk *w)
{
    const yaml_parser_t *y = &w->yaml;
    size_t line = y->problem_mark.line + 1;
    char why[200];

    if (y->error == YAML_MEMORY_ERROR)
        return fail_memory(w);
    if (y->error == YAML_READER_ERROR) { /* it has an offset in bytes, but no line */
        const unsigned char *text = y->input.string.start;
        size_t size = (size_t)(y->input.string.end - text);
        line = 1;
        for (size_t i = 0; i < y->problem_offset && i < size; i++)
            line += text[i] == '\n';
    }
    snprintf(why, sizeof(why), "not YAML: %s%s%s", y->context ? y->context : "",
             y->context ? ", " : "", y->problem ? y->problem : "unreadable");
    return fail(w, line, "", why);
}

/* Gets the next event; the caller deletes it. On failure there is nothing to delete. */
static int next_event(struct walk *w, yaml_event_t *ev)
{
    bool anchor = false, tag = false, nul = false;
    const char *why;
    size_t line;

    if (!yaml_parser_parse(&w->yaml, ev))
        return fail_yaml(w);
    switch (ev->type) {
    case YAML_ALIAS_EVENT:
        anchor = true;
        break;
    case YAML_SCALAR_EVENT:
        anchor = ev->data.scalar.anchor != NULL;
        tag = ev->data.scalar.tag != NULL;
        nul = strlen((const char *)ev->data.scalar.value) != ev->data.scalar.length;
        break;
    case YAML_SEQUENCE_START_EVENT:
        anchor = ev->data.sequence_start.anchor != NULL;
        tag = ev->data.sequence_start.tag != NULL;
        break;
    case YAML_MAPPING_START_EVENT:
        anchor = ev->data.mapping_start.anchor != NULL;
        tag = ev->data.mapping_start.tag != NULL;
        break;
    default:
        break;
    }
    if (!anchor && !tag && !nul)
        return 0;
    why = anchor ? "anchors and aliases are not supported"
          : tag  ? "tags are not supported"
                 : "a text with a NUL byte";
    line = line_of(ev);
    yaml_event_delete(ev);
    return fail(w, line, "", why);
}

static bool is_plain(const yaml_event_t *ev)
{
    return ev->type == YAML_SCALAR_EVENT && ev->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
}

static bool is_null(const yaml_event_t *ev)
{
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL"};

    for (size_t i = 0; i < sizeof(nulls) / sizeof(nulls[0]); i++)
        if (is_plain(ev) && strcmp((const char *)ev->data.scalar.value, nulls[i]) == 0)
            return true;
    return false;
}

/* Skips the rest of the value that began with first. */
static int skip_value(struct walk *w, const yaml_event_t *first)
{
    size_t nesting =
        first->type == YAML_MAPPING_START_EVENT || first->type == YAML_SEQUENCE_START_EVENT;

    while (nesting > 0) {
        yaml_event_t ev;
        size_t line;
        int rc = next_event(w, &ev);
        if (rc < 0)
            return rc;
        line = line_of(&ev);
        if (ev.type == YAML_MAPPING_START_EVENT || ev.type == YAML_SEQUENCE_START_EVENT)
            nesting++;
        else if (ev.type == YAML_MAPPING_END_EVENT || ev.type == YAML_SEQUENCE_END_EVENT)
            nesting--;
        yaml_event_delete(&ev);
        if (nesting > NESTING_MAX)
            return fail(w, line, "", "nested too deep");
    }
    return 0;
}

/* ---- values ---- */

static int fail_type(const struct walk *w, const struct entry *key, const struct conf_key *row,
                     size_t line)
{
    char why[96];

    snprintf(why, sizeof(why), "expected %s", conf_value_noun(row->type));
    return fail(w, line, key->path, why);
}

/* The texts of a value while they are collected. */
struct texts {
    char *item[CONF_LIST_MAX];
    size_t count;
};

static int add_text(struct walk *w, const struct entry *key, const struct conf_key *row,
                    const yaml_event_t *ev, struct texts *texts)
{
    bool number = row->type != CONF_TEXT;

    if (ev->type != YAML_SCALAR_EVENT || is_null(ev) || (number && !is_plain(ev)))
        return fail_type(w, key, row, line_of(ev));
    if (texts->count == CONF_LIST_MAX)
        return fail(w, line_of(ev), key->path, "too many values (at most 1024)");
    texts->item[texts->count] = strdup((const char *)ev->data.scalar.value);
    if (!texts->item[texts->count])
        return fail_memory(w);
    texts->count++;
    return 0;
}

static int warn_ignored(struct walk *w, const struct entry *key)
{
    struct conf *c = w->c;
    char **grown = realloc(c->warnings, (c->warning_count + 1) * sizeof(*grown));

    if (!grown)
        return fail_memory(w);
    c->warnings = grown;
    if (asprintf(&grown[c->warning_count], "%s:%u: key %s has no effect in kvtrace (ignored)",
                 c->path, key->line, key->path) < 0)
        return fail_memory(w);
    err_make_harmless(grown[c->warning_count++]);
    return 0;
}

/* Reads the value of a key, which began with first. */
static int read_value(struct walk *w, struct entry *key, const struct conf_key *row,
                      const yaml_event_t *first)
{
    char why[CONF_WHY_MAX];
    struct texts *texts;
    int rc;

    if (!row->help) {
        rc = warn_ignored(w, key);
        return rc < 0 ? rc : skip_value(w, first);
    }
    texts = calloc(1, sizeof(*texts));
    if (!texts)
        return fail_memory(w);
    if (!conf_value_is_list(row->type)) {
        rc = add_text(w, key, row, first, texts);
    } else if (first->type != YAML_SEQUENCE_START_EVENT) {
        rc = fail_type(w, key, row, line_of(first));
    } else {
        for (bool end = false; !end;) {
            yaml_event_t ev;
            rc = next_event(w, &ev);
            if (rc < 0)
                goto out;
            end = ev.type == YAML_SEQUENCE_END_EVENT;
            if (!end)
                rc = add_text(w, key, row, &ev, texts);
            yaml_event_delete(&ev);
            if (rc < 0)
                goto out;
        }
    }
    if (rc < 0)
        goto out;
    rc = conf_value_parse(&key->value, row, (const char *const *)texts->item, texts->count, why);
    if (rc == -EINVAL)
        rc = fail(w, line_of(first), key->path, why);
    else if (rc < 0)
        rc = fail_memory(w);
    else
        key->row = row;
out:
    for (size_t i = 0; i < texts->count; i++)
        free(texts->item[i]);
    free(texts);
    return rc;
}

/* ---- keys and sections ---- */

/* Adds the key or section name of section parent; *index is its place in entries. */
static int add_entry(struct walk *w, size_t parent, const char *name, size_t line, size_t *index)
{
    struct conf *c = w->c;
    const char *section = parent == ROOT ? "" : c->entries[parent].path;
    char *path = NULL, why[64];

    for (size_t i = 0; i < c->count; i++) {
        const struct entry *old = &c->entries[i];
        if (old->parent != parent || strcmp(old->name, name) != 0)
            continue;
        snprintf(why, sizeof(why), "given twice (first on line %u)", old->line);
        return fail(w, line, old->path, why);
    }
    if (c->count == ENTRIES_MAX)
        return fail(w, line, "", "too many keys (at most 4096)");
    struct entry *grown = memory_grow(c->entries, &c->room, c->count, sizeof(*grown), 64);
    if (!grown)
        return fail_memory(w);
    c->entries = grown;
    if (asprintf(&path, "%s%s%s", section, *section ? "." : "", name) < 0)
        return fail_memory(w);
    *index = c->count++;
    c->entries[*index] = (struct entry){.parent = parent,
                                        .path = path,
                                        .name = path + strlen(path) - strlen(name),
                                        .line = (unsigned)line};
    return 0;
}

static int read_mapping(struct walk *w, size_t parent);

/* Reads what stands behind the name of an entry: a value, a section, or something unknown. */
static int read_entry(struct walk *w, size_t index, const yaml_event_t *first)
{
    struct entry *entry = &w->c->entries[index];
    const struct conf_key *row;
    char guess[CONF_NAME_MAX], why[CONF_NAME_MAX + 64] = "unknown key";

    switch (conf_keys_find(w->names, w->depth, &row)) {
    case CONF_KEYS_KEY:
        return read_value(w, entry, row, first);
    case CONF_KEYS_SECTION:
        if (first->type == YAML_MAPPING_START_EVENT)
            return read_mapping(w, index);
        if (is_null(first))
            return 0;
        return fail(w, line_of(first), entry->path, "a section: expected keys below it");
    case CONF_KEYS_NONE:
        break;
    }
    if (conf_keys_guess(w->names, w->depth, guess))
        snprintf(why, sizeof(why), "unknown key; did you mean %s?", guess);
    return fail(w, entry->line, entry->path, why);
}

/* Reads a name (the event key) and what follows it. */
static int read_pair(struct walk *w, size_t parent, const yaml_event_t *key)
{
    const char *name = (const char *)key->data.scalar.value;
    yaml_event_t first;
    size_t index = 0;
    int rc;

    if (key->type != YAML_SCALAR_EVENT)
        return fail(w, line_of(key), "", "a key must be a name");
    if (*name == '\0' || strlen(name) >= CONF_NAME_MAX)
        return fail(w, line_of(key), "", "a key must have 1 to 127 characters");
    rc = add_entry(w, parent, name, line_of(key), &index);
    if (rc == 0)
        rc = next_event(w, &first);
    if (rc < 0)
        return rc;
    assert(w->depth < PARTS_MAX); /* only sections of the table are entered */
    w->names[w->depth++] = name;
    rc = read_entry(w, index, &first);
    w->depth--;
    yaml_event_delete(&first);
    return rc;
}

/* Reads the pairs of a mapping, after its start. */
static int read_mapping(struct walk *w, size_t parent)
{
    for (;;) {
        yaml_event_t ev;
        int rc = next_event(w, &ev);
        if (rc < 0)
            return rc;
        bool end = ev.type == YAML_MAPPING_END_EVENT;
        if (!end)
            rc = read_pair(w, parent, &ev);
        yaml_event_delete(&ev);
        if (rc < 0 || end)
            return rc;
    }
}

/* Reads the whole stream: nothing, or one document. */
static int read_stream(struct walk *w)
{
    size_t documents = 0;

    for (;;) {
        yaml_event_t ev;
        int rc = next_event(w, &ev);
        if (rc < 0)
            return rc;
        bool end = ev.type == YAML_STREAM_END_EVENT;
        if (ev.type == YAML_DOCUMENT_START_EVENT && documents++ > 0)
            rc = fail(w, line_of(&ev), "", "second document: only one is allowed");
        else if (ev.type == YAML_MAPPING_START_EVENT)
            rc = read_mapping(w, ROOT);
        else if (ev.type == YAML_SEQUENCE_START_EVENT ||
                 (ev.type == YAML_SCALAR_EVENT && !is_null(&ev)))
            rc = fail(w, line_of(&ev), "",
                      "expected sections at the top level (such as \"model_configs:\")");
        yaml_event_delete(&ev);
        if (rc < 0 || end)
            return rc;
    }
}

/* ---- the file ---- */

/* Reads the whole file into *text (malloc'ed, also on failure). */
static int load_file(const char *path, unsigned char **text, size_t *len)
{
    bool is_stdin = strcmp(path, "-") == 0;
    int fd = is_stdin ? STDIN_FILENO : descriptors_open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    size_t room = 0;
    int rc = 0;

    if (fd < 0)
        return fd;
    for (ssize_t n = -1; n != 0 && rc == 0;) {
        unsigned char *grown = memory_grow(*text, &room, *len, 1, 64 << 10);
        if (!grown) {
            rc = -ENOMEM;
            break;
        }
        *text = grown;
        n = descriptors_read(fd, *text + *len, room - *len);
        if (n < 0)
            rc = (int)n;
        *len += n > 0 ? (size_t)n : 0;
        if (*len > FILE_MAX)
            rc = -EFBIG;
    }
    if (!is_stdin)
        close(fd);
    return rc;
}

static int read_file(struct conf *c, const char *path, struct err *e)
{
    struct walk w = {.c = c, .e = e};
    unsigned char *text = NULL;
    size_t len = 0;
    int rc = load_file(path, &text, &len);

    if (rc == -EFBIG)
        rc = err_set(e, rc, ERR_INPUT, path, "larger than 16 MiB: not a configuration file");
    else if (rc < 0)
        rc = err_errno(e, rc, ERR_INPUT, path, "cannot read the configuration");
    else if (!yaml_parser_initialize(&w.yaml))
        rc = err_nomem(e, "configuration");
    else {
        yaml_parser_set_input_string(&w.yaml, text, len);
        rc = read_stream(&w);
        yaml_parser_delete(&w.yaml);
    }
    free(text);
    return rc;
}

int conf_open(struct conf **out, const char *path, struct err *e)
{
    struct conf *c = calloc(1, sizeof(*c));
    size_t n = conf_keys_count();
    int rc = 0;

    if (!c)
        return err_nomem(e, "configuration");
    c->path = strdup(!path ? "" : strcmp(path, "-") == 0 ? "standard input" : path);
    c->defaults = calloc(n, sizeof(*c->defaults));
    if (!c->path || !c->defaults)
        rc = -ENOMEM;
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = conf_value_default(&c->defaults[i], &conf_keys[i]);
    if (rc < 0)
        rc = err_nomem(e, "configuration");
    else if (path)
        rc = read_file(c, path, e);
    if (rc < 0)
        conf_free(c);
    else
        *out = c;
    return rc;
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

/* ---- answers ---- */

/* Finds the value of path in the file or among the defaults; NULL: there is none. */
static const struct conf_value *find_value(const struct conf *c, const char *path,
                                           enum conf_type type)
{
    const struct conf_key *row = conf_keys_row(path);
    const struct conf_value *v;

    assert(row && row->type == type && row->help && "a path that conf_keys lacks");
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
        if (parent != ROOT && strcmp(c->entries[parent].path, section) == 0 && i-- == 0)
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
