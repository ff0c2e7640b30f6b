/* Reads the YAML configuration of all four programs, of files and of the command line: walks
 * libyaml's events, holds every key against the table in keys.c or, in a program's own section,
 * against the rows of its table of options, and answers questions by path with the value that was
 * given or the table's default. */
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
#include "lib/conf/texts.h"
#include "lib/conf/value.h"
#include "lib/conf/wrong.h"
#include "lib/opt/tables.h"

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
    bool inlined;               /* the value is one of the command line */
    unsigned source;            /* which of the files and settings */
    const struct conf_key *row; /* NULL for a section, or before its value was read */
    const struct opt *setting;  /* in the place of row: a row of a program's table of options */
    struct conf_value value;    /* of a setting: texts, one behind the other, each with its NUL */
};

/* A text of --config, or a setting that an old option gave. */
struct source {
    char *text; /* KEY=VALUE, or the name of a file */
    bool setting;
};

struct conf {
    struct source *sources;
    unsigned source_count;
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
    unsigned source; /* what is read */
};

/* Whether KEY=VALUE of the command line is read, and no file. */
static bool is_inline(const struct walk *w)
{
    return w->c->sources[w->source].setting;
}

/* Writes "FILE:LINE" or "--config KEY"; returns buf. */
static char *write_place(const struct source *s, size_t line, char *buf, size_t n)
{
    if (s->setting)
        snprintf(buf, n, "--config %.*s", (int)strcspn(s->text, "="), s->text);
    else
        snprintf(buf, n, "%.250s:%zu", s->text, line);
    return buf;
}

static int fail(const struct walk *w, size_t line, const char *key, const char *why)
{
    char where[CONF_PLACE_MAX];
    bool twice = is_inline(w) || !*key; /* the place names the key */

    write_place(&w->c->sources[w->source], line, where, sizeof(where));
    return err_set(w->e, -EINVAL, ERR_INPUT, where, "%s%s%s", twice ? "" : key, twice ? "" : ": ",
                   why);
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

/* The values that a key takes. */
struct wanted {
    bool list, number;
    const char *noun;
};

static int fail_type(const struct walk *w, const struct entry *key, const struct wanted *want,
                     size_t line)
{
    char why[96];

    snprintf(why, sizeof(why), "expected %s", want->noun);
    return fail(w, line, key->path, why);
}

/* The texts of a value while they are collected. */
struct texts {
    char *item[CONF_LIST_MAX];
    size_t count;
};

static int add_plain(struct walk *w, const struct entry *key, size_t line, const char *text,
                     struct texts *texts)
{
    if (texts->count == CONF_LIST_MAX)
        return fail(w, line, key->path, "too many values (at most 1024)");
    texts->item[texts->count] = strdup(text);
    if (!texts->item[texts->count])
        return fail_memory(w);
    texts->count++;
    return 0;
}

static int add_text(struct walk *w, const struct entry *key, const struct wanted *want,
                    const yaml_event_t *ev, struct texts *texts)
{
    if (ev->type != YAML_SCALAR_EVENT || is_null(ev) || (want->number && !is_plain(ev)))
        return fail_type(w, key, want, line_of(ev));
    return add_plain(w, key, line_of(ev), (const char *)ev->data.scalar.value, texts);
}

static void free_texts(struct texts *texts)
{
    for (size_t i = 0; texts && i < texts->count; i++)
        free(texts->item[i]);
    free(texts);
}

/* Reads the texts of a value, which began with first. */
static int read_texts(struct walk *w, const struct entry *key, const struct wanted *want,
                      const yaml_event_t *first, struct texts *texts)
{
    if (!want->list)
        return add_text(w, key, want, first, texts);
    if (first->type != YAML_SEQUENCE_START_EVENT)
        return fail_type(w, key, want, line_of(first));
    for (;;) {
        yaml_event_t ev;
        int rc = next_event(w, &ev);
        if (rc < 0)
            return rc;
        bool end = ev.type == YAML_SEQUENCE_END_EVENT;
        if (!end)
            rc = add_text(w, key, want, &ev, texts);
        yaml_event_delete(&ev);
        if (rc < 0 || end)
            return rc;
    }
}

/* Adds a text from malloc, which is freed when there is no memory. NULL: there was none. */
static int add_warning(struct conf *c, char *text)
{
    if (!text || memory_resize(&c->warnings, c->warning_count + 1, sizeof(*c->warnings)) < 0) {
        free(text);
        return -ENOMEM;
    }
    err_make_harmless(text);
    c->warnings[c->warning_count++] = text;
    return 0;
}

static int warn_ignored(struct walk *w, const struct entry *key)
{
    char where[CONF_PLACE_MAX], *text = NULL;

    write_place(&w->c->sources[w->source], key->line, where, sizeof(where));
    if (asprintf(&text, "%s: key %s has no effect in kvtrace (ignored)",
                 is_inline(w) ? "--config" : where, key->path) < 0)
        text = NULL;
    return add_warning(w->c, text) < 0 ? fail_memory(w) : 0;
}

/* Takes the texts as the value of a key of conf_keys. */
static int take_texts(struct walk *w, struct entry *key, const struct conf_key *row, size_t line,
                      const struct texts *texts)
{
    char why[CONF_WHY_MAX];
    struct conf_value value;
    int rc = conf_value_parse(&value, row, (const char *const *)texts->item, texts->count, why);

    if (rc == -EINVAL)
        return fail(w, line, key->path, why);
    if (rc < 0)
        return fail_memory(w);
    conf_value_clear(&key->value);
    key->value = value;
    key->row = row;
    return 0;
}

/* Adds them to the values of a row of a program's table of options. */
static int take_setting(struct walk *w, struct entry *key, const struct opt *row, size_t line,
                        const struct texts *texts)
{
    size_t len = 0, more = 0, count = key->value.count;
    char *before = key->value.text, *all;

    for (size_t i = 0; i < count; i++)
        len += strlen(before + len) + 1;
    for (size_t i = 0; i < texts->count; i++) {
        struct err e = {0};
        if (opt_check_text(row, texts->item[i], &e) < 0)
            return fail(w, line, key->path, e.what);
        more += strlen(texts->item[i]) + 1;
    }
    all = malloc(len + more + 1);
    if (!all)
        return fail_memory(w);
    if (len > 0)
        memcpy(all, before, len);
    for (size_t i = 0; i < texts->count; i++)
        len = (size_t)(stpcpy(all + len, texts->item[i]) - all) + 1;
    conf_value_clear(&key->value);
    key->value = (struct conf_value){.count = count + texts->count, .text = all};
    key->setting = row;
    return 0;
}

/* Reads the value of a key, which began with first. */
static int read_value(struct walk *w, struct entry *key, const struct conf_key *row,
                      const yaml_event_t *first)
{
    struct wanted want = {.list = conf_value_is_list(row->type),
                          .number = row->type != CONF_TEXT,
                          .noun = conf_value_noun(row->type)};
    struct texts *texts;
    int rc;

    if (!row->help) {
        rc = warn_ignored(w, key);
        return rc < 0 ? rc : skip_value(w, first);
    }
    texts = calloc(1, sizeof(*texts));
    if (!texts)
        return fail_memory(w);
    rc = read_texts(w, key, &want, first, texts);
    if (rc == 0)
        rc = take_texts(w, key, row, line_of(first), texts);
    free_texts(texts);
    return rc;
}

/* Likewise in a program's section. */
static int read_setting(struct walk *w, struct entry *key, const struct opt *row,
                        const yaml_event_t *first)
{
    struct wanted want = {.list = row->type == OPT_LIST && first->type != YAML_SCALAR_EVENT,
                          .noun =
                              row->type == OPT_LIST ? "a text or a list of texts" : "one value"};
    struct texts *texts = calloc(1, sizeof(*texts));

    if (!texts)
        return fail_memory(w);
    int rc = read_texts(w, key, &want, first, texts);
    conf_value_clear(&key->value);
    if (rc == 0)
        rc = take_setting(w, key, row, line_of(first), texts);
    free_texts(texts);
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
        if (old->source != w->source) { /* a later one wins */
            *index = i;
            c->entries[i].source = w->source;
            c->entries[i].inlined &= is_inline(w);
            c->entries[i].line = (unsigned)line;
            return 0;
        }
        snprintf(why, sizeof(why), "given twice (first on line %u)", old->line);
        return fail(w, line, old->path, why);
    }
    if (c->count == ENTRIES_MAX)
        return fail(w, line, "", "too many keys (at most 4096)");
    if (memory_room(&c->entries, &c->room, c->count, sizeof(*c->entries), 64) < 0)
        return fail_memory(w);
    if (asprintf(&path, "%s%s%s", section, *section ? "." : "", name) < 0)
        return fail_memory(w);
    *index = c->count++;
    c->entries[*index] = (struct entry){.parent = parent,
                                        .path = path,
                                        .name = path + strlen(path) - strlen(name),
                                        .line = (unsigned)line,
                                        .source = w->source};
    return 0;
}

static int read_mapping(struct walk *w, size_t parent);

/* Says what is wrong with a key that is unknown. */
static int fail_key(const struct walk *w, const struct entry *entry)
{
    char why[CONF_WRONG_MAX];

    conf_wrong_key(w->names, w->depth, why);
    return fail(w, entry->line, entry->path, why);
}

/* A section that has a value. */
static int fail_section(const struct walk *w, size_t line, const struct entry *entry)
{
    char sections[96], why[CONF_NAME_MAX + 160] = "";

    if (w->depth == 1 && conf_wrong_sections(w->names[0], sections, sizeof(sections)))
        snprintf(why, sizeof(why), "; the key %s is one of %s", w->names[0], sections);
    char text[sizeof(why) + 64];
    snprintf(text, sizeof(text), "a section: expected keys below it%s", why);
    return fail(w, line, entry->path, text);
}

/* Reads what stands behind the name of an entry: a value, a section, or something unknown. */
static int read_entry(struct walk *w, size_t index, const yaml_event_t *first)
{
    struct entry *entry = &w->c->entries[index];
    const struct opt_program *program = opt_program_named(w->names[0], strlen(w->names[0]));
    const struct opt *setting =
        program && w->depth == 2 ? opt_key_named(program->table, w->names[1]) : NULL;
    const struct conf_key *row = NULL;
    enum conf_keys_match match = program ? w->depth == 1 ? CONF_KEYS_SECTION : CONF_KEYS_NONE
                                         : conf_keys_find(w->names, w->depth, &row);

    if (setting)
        return read_setting(w, entry, setting, first);
    switch (match) {
    case CONF_KEYS_KEY:
        return read_value(w, entry, row, first);
    case CONF_KEYS_SECTION:
        if (first->type == YAML_MAPPING_START_EVENT)
            return read_mapping(w, index);
        if (is_null(first))
            return 0;
        return fail_section(w, line_of(first), entry);
    case CONF_KEYS_NONE:
        break;
    }
    return fail_key(w, entry);
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
        rc = memory_room(text, &room, *len, 1, 64 << 10);
        if (rc < 0)
            break;
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

static int read_file(struct conf *c, const char *path, unsigned source, struct err *e)
{
    struct walk w = {.c = c, .e = e, .source = source};
    unsigned char *text = NULL;
    size_t len = 0;
    int rc = load_file(path, &text, &len);

    if (rc == -EFBIG)
        rc = err_set(e, rc, ERR_INPUT, path, "larger than 16 MiB: not a configuration file");
    else if (rc == -ENOENT && conf_wrong_is_key(path))
        rc = err_set(e, -EINVAL, ERR_INPUT, "--config",
                     "%s is a key, which needs a value (%s=...), and no file", path, path);
    else if (rc < 0)
        rc = err_errno(e, rc, ERR_INPUT, *path ? path : "\"\"", "cannot read the configuration");
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

/* ---- settings of the command line ---- */

/* Splits the path of a key at the dots that part its names; the middle one of a row with '*' may
 * have dots itself. */
static void split_path(struct walk *w, char *path, const struct conf_key *row)
{
    const char *star = row ? strchr(row->path, '*') : NULL;
    char *rest = path;

    if (star) {
        w->names[w->depth++] = rest;
        rest[star - row->path - 1] = '\0';
        rest += star - row->path;
        w->names[w->depth++] = rest;
        if (!star[1])
            return;
        rest += strlen(rest) - strlen(star + 1);
        *rest++ = '\0';
    }
    for (char *name = strtok_r(rest, ".", &rest); name && w->depth < PARTS_MAX;
         name = strtok_r(NULL, ".", &rest))
        w->names[w->depth++] = name;
}

/* Whether there is a name before, between and behind the dots of a key. */
static bool has_names(const char *path)
{
    return *path && path[0] != '.' && path[strlen(path) - 1] != '.' && !strstr(path, "..");
}

/* Splits the value of a setting into texts: "8", "[512, 4096]". */
static int split_value(struct walk *w, const struct entry *key, bool list, char *text,
                       struct texts *texts)
{
    char *rest = NULL;
    int rc = 0;

    if (!list)
        return add_plain(w, key, 0, text, texts);
    for (char *t = strtok_r(text, "[], ", &rest); t && rc == 0; t = strtok_r(NULL, "[], ", &rest))
        rc = add_plain(w, key, 0, t, texts);
    return rc;
}

static bool is_bracketed(const char *text)
{
    size_t n = strlen(text);

    return n > 1 && text[0] == '[' && text[n - 1] == ']';
}

/* Takes the value of the key whose names w has. */
static int take_inline(struct walk *w, const struct conf_key *row, char *text)
{
    struct conf *c = w->c;
    size_t index = ROOT;
    int rc = 0;

    for (size_t i = 0; i < w->depth && rc == 0; i++)
        rc = add_entry(w, index, w->names[i], 0, &index);
    if (rc < 0)
        return rc;
    struct entry *key = &c->entries[index];
    const struct opt_program *program = opt_program_named(w->names[0], strlen(w->names[0]));
    const struct opt *setting =
        program && w->depth == 2 ? opt_key_named(program->table, w->names[1]) : NULL;
    if (!setting && !row)
        return fail_key(w, key);
    if (row && !row->help)
        return warn_ignored(w, key);
    struct texts *texts = calloc(1, sizeof(*texts));
    if (!texts)
        return fail_memory(w);
    bool list =
        setting ? setting->type == OPT_LIST && is_bracketed(text) : conf_value_is_list(row->type);
    rc = split_value(w, key, list, text, texts);
    if (setting && !(setting->type == OPT_LIST && key->inlined))
        conf_value_clear(&key->value);
    if (rc == 0 && setting)
        rc = take_setting(w, key, setting, 0, texts);
    else if (rc == 0)
        rc = take_texts(w, key, row, 0, texts);
    key->inlined = true;
    free_texts(texts);
    return rc;
}

/* KEY=VALUE; a KEY without a dot is one of the program's own section. */
static int read_setting_text(struct conf *c, const char *program, unsigned source, struct err *e)
{
    struct walk w = {.c = c, .e = e, .source = source};
    const char *setting = c->sources[source].text;
    size_t len = strcspn(setting, "=");
    bool own = memchr(setting, '.', len) == NULL;
    char *path = NULL, *text = NULL;
    int rc = 0;

    if (asprintf(&path, "%s%s%.*s", own ? program : "", own ? "." : "", (int)len, setting) < 0)
        return fail_memory(&w);
    text = strdup(setting + len + 1);
    const struct conf_key *row = conf_keys_row(path);
    if (!text)
        rc = fail_memory(&w);
    else {
        bool whole = row || has_names(path);
        split_path(&w, path, row);
        rc = whole ? take_inline(&w, row, text)
                   : fail(&w, 0, setting, "no key: a name is missing beside a dot");
    }
    free(text);
    free(path);
    return rc;
}

static int open_defaults(struct conf **out, struct err *e)
{
    struct conf *c = calloc(1, sizeof(*c));
    size_t n = conf_keys_count();
    int rc = 0;

    if (!c)
        return err_nomem(e, "configuration");
    c->defaults = calloc(n, sizeof(*c->defaults));
    if (!c->defaults)
        rc = -ENOMEM;
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = conf_value_default(&c->defaults[i], &conf_keys[i]);
    if (rc < 0) {
        conf_free(c);
        return err_nomem(e, "configuration");
    }
    *out = c;
    return 0;
}

/* Reads a text of --config on top of what was read before. */
static int read_source(struct conf *c, const char *text, const char *program, struct err *e)
{
    bool setting = conf_is_setting(text);
    const char *name = !setting && strcmp(text, "-") == 0 ? "standard input" : text;
    unsigned source = c->source_count;
    char *copy = NULL;

    if (memory_resize(&c->sources, source + 1, sizeof(*c->sources)) < 0 || !(copy = strdup(name)))
        return err_nomem(e, "configuration");
    c->sources[c->source_count++] = (struct source){.text = copy, .setting = setting};
    return setting ? read_setting_text(c, program, source, e) : read_file(c, text, source, e);
}

/* from: texts of --config; moved (may be NULL): has settings that win over them. */
static int open_all(struct conf **out, const struct opt_list *from, const struct opt_parser *moved,
                    const char *program, struct err *e)
{
    const struct opt_moved *m;
    struct conf *c = NULL;
    bool standard = false;
    int rc = open_defaults(&c, e);

    for (size_t i = 0; i < from->count && rc == 0; i++) {
        bool dash = strcmp(from->item[i], "-") == 0;
        rc = standard && dash ? err_set(e, -EINVAL, ERR_INPUT, "standard input",
                                        "only one --config can come from it")
                              : read_source(c, from->item[i], program, e);
        standard |= dash;
    }
    for (size_t i = 0; moved && rc == 0 && (m = opt_moved(moved, i)); i++)
        rc = read_source(c, m->setting, program, e);
    if (rc < 0)
        conf_free(c);
    else
        *out = c;
    return rc;
}

int conf_open(struct conf **out, const char *path, struct err *e)
{
    struct opt_list from = {.item = {path}, .count = path != NULL};

    return open_all(out, &from, NULL, "", e);
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
    for (unsigned i = 0; i < c->source_count; i++)
        free(c->sources[i].text);
    free(c->sources);
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

const char *conf_model_name(const struct conf *c, size_t i)
{
    for (size_t k = 0; k < c->count; k++) {
        size_t parent = c->entries[k].parent;
        if (parent != ROOT && strcmp(c->entries[parent].path, "model_configs") == 0 && i-- == 0)
            return c->entries[k].name;
    }
    return NULL;
}

bool conf_given(const struct conf *c, size_t i, struct conf_given *out)
{
    for (size_t k = 0; k < c->count; k++) {
        const struct entry *key = &c->entries[k];
        if (!key->row || conf_value_equal(&key->value, &c->defaults[key->row - conf_keys]) ||
            i-- > 0)
            continue;
        *out = (struct conf_given){.path = key->path, .row = key->row, .value = &key->value};
        return true;
    }
    return false;
}

bool conf_place(const struct conf *c, const char *path, char buf[CONF_PLACE_MAX])
{
    for (size_t i = 0; i < c->count; i++) {
        const struct entry *key = &c->entries[i];
        if (strcmp(key->path, path) != 0)
            continue;
        write_place(&c->sources[key->source], key->line, buf, CONF_PLACE_MAX);
        return true;
    }
    return false;
}

/* Sets the rows of p's table that its section gives. */
static int configure(const struct conf *c, struct opt_parser *p, struct err *e)
{
    const struct opt *table = opt_table(p);

    for (size_t i = 0; i < c->count; i++) {
        const struct entry *key = &c->entries[i];
        const char *text = key->value.text;
        char place[CONF_PLACE_MAX];
        if (!key->setting || opt_key_named(table, key->name) != key->setting)
            continue;
        write_place(&c->sources[key->source], key->line, place, sizeof(place));
        for (size_t k = 0; k < key->value.count; k++) {
            int rc = opt_configure(p, key->setting, text, key->inlined ? NULL : place, e);
            if (rc < 0)
                return rc;
            text += strlen(text) + 1;
        }
    }
    return 0;
}

int conf_read(struct conf **out, struct opt_list *from, struct opt_parser *p, struct err *e)
{
    const struct opt_program *program = opt_program_of(opt_table(p));
    const struct opt_moved *m;
    int rc = open_all(out, from, p, program ? program->name : "", e);

    for (size_t i = 0; rc == 0 && (m = opt_moved(p, i)); i++)
        if (m->note && add_warning(*out, strdup(m->note)) < 0)
            rc = err_nomem(e, "configuration");
    if (rc == 0)
        rc = configure(*out, p, e);
    conf_texts_forget(from);
    return rc;
}

const char *conf_warning(const struct conf *c, size_t i)
{
    return i < c->warning_count ? c->warnings[i] : NULL;
}
