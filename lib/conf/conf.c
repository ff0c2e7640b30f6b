/* The YAML configuration file of all four programs: walks libyaml's events, holds every key against
 * the table in conf_keys.c, and answers by path with the file's value or the table's default. */
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

#include "lib/conf/conf_store.h"
#include "lib/conf/conf_table.h"
#include "lib/conf/conf_value.h"

enum {
    CONF_FILE_MAX = 16 << 20,
    CONF_PARTS_MAX = 4,   /* names from the root to a key; the table has 3 */
    CONF_NESTING_MAX = 64 /* of values that are skipped */
};

/* A walk through the file's events. */
struct conf_walk {
    struct conf *c;
    struct err *e;
    yaml_parser_t yaml;
    const char *names[CONF_PARTS_MAX]; /* from the root to the key being read */
    size_t depth;
};

/* The key being read. */
struct conf_member {
    size_t index; /* in the store */
    const char *path;
    const struct conf_key *row; /* NULL for a section */
};

static int fail(const struct conf_walk *w, size_t line, const char *key, const char *why)
{
    char where[300];

    snprintf(where, sizeof(where), "%.250s:%zu", conf_path(w->c), line);
    return err_set(w->e, -EINVAL, ERR_INPUT, where, "%s%s%s", key, *key ? ": " : "", why);
}

/* Adds the key name of section parent to the store. */
static int add_member(struct conf_walk *w, size_t parent, const char *name, size_t line,
                      struct conf_member *m)
{
    char why[64];
    int rc = conf_store_add(w->c, parent, name, (unsigned)line, &m->index);

    if (rc == -EEXIST) {
        snprintf(why, sizeof(why), "given twice (first on line %u)",
                 conf_store_line(w->c, m->index));
        return fail(w, line, conf_store_path(w->c, m->index), why);
    }
    if (rc == -E2BIG)
        return fail(w, line, "", "too many keys (at most 4096)");
    if (rc < 0)
        return err_nomem(w->e, "configuration");
    m->path = conf_store_path(w->c, m->index);
    return 0;
}

static int fail_unknown(const struct conf_walk *w, const struct conf_member *m, size_t line)
{
    char guess[CONF_NAME_MAX], why[CONF_NAME_MAX + 64] = "unknown key";

    if (conf_table_guess(w->names, w->depth, guess))
        snprintf(why, sizeof(why), "unknown key; did you mean %s?", guess);
    return fail(w, line, m->path, why);
}

/* ---- events ---- */

/* Line of the error that libyaml met; its reader only gives an offset in bytes. */
static size_t problem_line(const yaml_parser_t *y)
{
    const unsigned char *text = y->input.string.start;
    size_t line = 1, size = (size_t)(y->input.string.end - text);

    if (y->error != YAML_READER_ERROR)
        return y->problem_mark.line + 1;
    for (size_t i = 0; i < y->problem_offset && i < size; i++)
        line += text[i] == '\n';
    return line;
}

static int fail_yaml(const struct conf_walk *w)
{
    char why[200];

    if (w->yaml.error == YAML_MEMORY_ERROR)
        return err_nomem(w->e, "configuration");
    snprintf(why, sizeof(why), "not YAML: %s%s%s", w->yaml.context ? w->yaml.context : "",
             w->yaml.context ? ", " : "", w->yaml.problem ? w->yaml.problem : "unreadable");
    return fail(w, problem_line(&w->yaml), "", why);
}

static bool has_anchor(const yaml_event_t *ev)
{
    return ev->type == YAML_ALIAS_EVENT ||
           (ev->type == YAML_SCALAR_EVENT && ev->data.scalar.anchor) ||
           (ev->type == YAML_SEQUENCE_START_EVENT && ev->data.sequence_start.anchor) ||
           (ev->type == YAML_MAPPING_START_EVENT && ev->data.mapping_start.anchor);
}

static bool has_tag(const yaml_event_t *ev)
{
    return (ev->type == YAML_SCALAR_EVENT && ev->data.scalar.tag) ||
           (ev->type == YAML_SEQUENCE_START_EVENT && ev->data.sequence_start.tag) ||
           (ev->type == YAML_MAPPING_START_EVENT && ev->data.mapping_start.tag);
}

static bool has_nul(const yaml_event_t *ev)
{
    return ev->type == YAML_SCALAR_EVENT &&
           strlen((const char *)ev->data.scalar.value) != ev->data.scalar.length;
}

static size_t line_of(const yaml_event_t *ev)
{
    return ev->start_mark.line + 1;
}

/* The next event; the caller deletes it. On failure there is nothing to delete. */
static int next_event(struct conf_walk *w, yaml_event_t *ev)
{
    const char *why = NULL;
    size_t line;

    if (!yaml_parser_parse(&w->yaml, ev))
        return fail_yaml(w);
    if (has_anchor(ev))
        why = "anchors and aliases are not supported";
    else if (has_tag(ev))
        why = "tags are not supported";
    else if (has_nul(ev))
        why = "a text with a NUL byte";
    if (!why)
        return 0;
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

/* Skips the value that began with first (which stays the caller's). */
static int skip_value(struct conf_walk *w, const yaml_event_t *first)
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
        if (nesting > CONF_NESTING_MAX)
            return fail(w, line, "", "nested too deep");
    }
    return 0;
}

/* ---- values ---- */

static int fail_type(const struct conf_walk *w, const struct conf_member *m, size_t line)
{
    char why[96];

    snprintf(why, sizeof(why), "%s is wanted here", conf_value_noun(m->row->type));
    return fail(w, line, m->path, why);
}

/* Texts of a value as they are collected. */
struct conf_texts {
    char *item[CONF_LIST_MAX];
    size_t count;
};

static void free_texts(struct conf_texts *texts)
{
    for (size_t i = 0; texts && i < texts->count; i++)
        free(texts->item[i]);
    free(texts);
}

static int add_text(struct conf_walk *w, const struct conf_member *m, const yaml_event_t *ev,
                    struct conf_texts *texts)
{
    bool number = m->row->type != CONF_TEXT;

    if (ev->type != YAML_SCALAR_EVENT || is_null(ev) || (number && !is_plain(ev)))
        return fail_type(w, m, line_of(ev));
    if (texts->count == CONF_LIST_MAX)
        return fail(w, line_of(ev), m->path, "too many values (at most 1024)");
    texts->item[texts->count] = strdup((const char *)ev->data.scalar.value);
    if (!texts->item[texts->count])
        return err_nomem(w->e, "configuration");
    texts->count++;
    return 0;
}

/* The rest of a sequence, after its start. */
static int read_texts(struct conf_walk *w, const struct conf_member *m, struct conf_texts *texts)
{
    for (;;) {
        yaml_event_t ev;
        int rc = next_event(w, &ev);
        bool end = rc == 0 && ev.type == YAML_SEQUENCE_END_EVENT;
        if (rc < 0)
            return rc;
        if (!end)
            rc = add_text(w, m, &ev, texts);
        yaml_event_delete(&ev);
        if (rc < 0 || end)
            return rc;
    }
}

static int read_key_texts(struct conf_walk *w, const struct conf_member *m,
                          const yaml_event_t *first, struct conf_texts *texts)
{
    struct conf_value value;
    char why[CONF_WHY_MAX];
    int rc;

    if (!conf_value_is_list(m->row->type))
        rc = add_text(w, m, first, texts);
    else if (first->type == YAML_SEQUENCE_START_EVENT)
        rc = read_texts(w, m, texts);
    else
        rc = fail_type(w, m, line_of(first));
    if (rc < 0)
        return rc;
    rc = conf_value_parse(&value, m->row, (const char *const *)texts->item, texts->count, why);
    if (rc == -EINVAL)
        return fail(w, line_of(first), m->path, why);
    if (rc < 0)
        return err_nomem(w->e, "configuration");
    conf_store_set(w->c, m->index, m->row, &value);
    return 0;
}

/* The value of m, which has a row and began with first. */
static int read_key(struct conf_walk *w, const struct conf_member *m, const yaml_event_t *first)
{
    struct conf_texts *texts;
    int rc = 0;

    if (!m->row->help) {
        rc = conf_store_warn(w->c, m->index, "means nothing here (ignored)");
        return rc < 0 ? err_nomem(w->e, "configuration") : skip_value(w, first);
    }
    texts = calloc(1, sizeof(*texts));
    if (!texts)
        return err_nomem(w->e, "configuration");
    rc = read_key_texts(w, m, first, texts);
    free_texts(texts);
    return rc;
}

static int read_mapping(struct conf_walk *w, size_t parent);

/* The value of m (a key, a section, or unknown), which began with first. */
static int read_member(struct conf_walk *w, struct conf_member *m, size_t line,
                       const yaml_event_t *first)
{
    switch (conf_table_find(w->names, w->depth, &m->row)) {
    case CONF_TABLE_KEY:
        return read_key(w, m, first);
    case CONF_TABLE_SECTION:
        if (first->type == YAML_MAPPING_START_EVENT)
            return read_mapping(w, m->index);
        if (is_null(first))
            return 0;
        return fail(w, line_of(first), m->path, "a section: keys are wanted below it");
    default:
        return fail_unknown(w, m, line);
    }
}

/* A key and its value; key_event is the key's. */
static int read_pair(struct conf_walk *w, size_t parent, const yaml_event_t *key_event)
{
    const char *name = (const char *)key_event->data.scalar.value;
    size_t line = line_of(key_event);
    struct conf_member m = {0};
    yaml_event_t first;
    int rc;

    if (key_event->type != YAML_SCALAR_EVENT)
        return fail(w, line, "", "a key must be a name");
    if (*name == '\0' || strlen(name) >= CONF_NAME_MAX)
        return fail(w, line, "", "a key must have 1 to 127 characters");
    rc = add_member(w, parent, name, line, &m);
    if (rc < 0)
        return rc;
    rc = next_event(w, &first);
    if (rc < 0)
        return rc;
    assert(w->depth < CONF_PARTS_MAX); /* only sections of the table are entered */
    w->names[w->depth++] = name;
    rc = read_member(w, &m, line, &first);
    w->depth--;
    yaml_event_delete(&first);
    return rc;
}

/* The keys of a mapping, after its start. */
static int read_mapping(struct conf_walk *w, size_t parent)
{
    for (;;) {
        yaml_event_t ev;
        int rc = next_event(w, &ev);
        bool end = rc == 0 && ev.type == YAML_MAPPING_END_EVENT;
        if (rc < 0)
            return rc;
        if (!end)
            rc = read_pair(w, parent, &ev);
        yaml_event_delete(&ev);
        if (rc < 0 || end)
            return rc;
    }
}

static int read_root(struct conf_walk *w, const yaml_event_t *ev)
{
    if (ev->type == YAML_MAPPING_START_EVENT)
        return read_mapping(w, CONF_STORE_ROOT);
    if (is_null(ev))
        return 0;
    return fail(w, line_of(ev), "", "sections are wanted at the top (such as \"model_configs:\")");
}

/* The whole stream: nothing, or one document. */
static int read_stream(struct conf_walk *w)
{
    size_t documents = 0;

    for (;;) {
        yaml_event_t ev;
        int rc = next_event(w, &ev);
        bool end = rc == 0 && ev.type == YAML_STREAM_END_EVENT;
        if (rc < 0)
            return rc;
        if (ev.type == YAML_DOCUMENT_START_EVENT && documents++ > 0)
            rc = fail(w, line_of(&ev), "", "a second document: one is allowed");
        else if (ev.type == YAML_MAPPING_START_EVENT || ev.type == YAML_SEQUENCE_START_EVENT ||
                 ev.type == YAML_SCALAR_EVENT)
            rc = read_root(w, &ev);
        yaml_event_delete(&ev);
        if (rc < 0 || end)
            return rc;
    }
}

/* ---- the file ---- */

static int fail_read(const char *path, int rc, struct err *e)
{
    if (rc == -EFBIG)
        return err_set(e, rc, ERR_INPUT, path, "larger than 16 MiB: no configuration file");
    return err_errno(e, rc, ERR_INPUT, path, "cannot read the configuration");
}

/* At most CONF_FILE_MAX bytes of fd into *text (malloc'ed). */
static int read_all(int fd, unsigned char **text, size_t *len)
{
    size_t room = 0;

    for (;;) {
        ssize_t n;
        if (*len == room) {
            unsigned char *grown = realloc(*text, room += 64 << 10);
            if (!grown)
                return -ENOMEM;
            *text = grown;
        }
        n = read(fd, *text + *len, room - *len);
        if (n < 0 && errno != EINTR)
            return -errno;
        if (n == 0)
            return 0;
        *len += n > 0 ? (size_t)n : 0;
        if (*len > CONF_FILE_MAX)
            return -EFBIG;
    }
}

static bool is_input(const char *path)
{
    return strcmp(path, "-") == 0;
}

static int load_file(const char *path, unsigned char **text, size_t *len, struct err *e)
{
    bool input = is_input(path);
    int fd = input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    int rc;

    if (fd < 0)
        return fail_read(path, -errno, e);
    rc = read_all(fd, text, len);
    if (!input)
        close(fd);
    return rc < 0 ? fail_read(path, rc, e) : 0;
}

static int read_file(struct conf *c, const char *path, struct err *e)
{
    struct conf_walk w = {.c = c, .e = e};
    unsigned char *text = NULL;
    size_t len = 0;
    int rc = load_file(path, &text, &len, e);

    if (rc == 0 && !yaml_parser_initialize(&w.yaml))
        rc = err_nomem(e, "configuration");
    else if (rc == 0) {
        yaml_parser_set_input_string(&w.yaml, text, len);
        rc = read_stream(&w);
        yaml_parser_delete(&w.yaml);
    }
    free(text);
    return rc;
}

int conf_open(struct conf **out, const char *path, struct err *e)
{
    struct conf *c = conf_store_create(!path ? "" : is_input(path) ? "standard input" : path);
    int rc;

    if (!c)
        return err_nomem(e, "configuration");
    rc = path ? read_file(c, path, e) : 0;
    if (rc < 0)
        conf_free(c);
    else
        *out = c;
    return rc;
}
