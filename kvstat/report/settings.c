/* Beside compare.c, which puts the answer before any percentage: takes the commands of two runs
 * apart into options and values, and tells those that differ. */
#include "kvstat/report/settings.h"

#include <stdio.h>
#include <string.h>

#include "kvstat/report/figures.h"
#include "lib/conf/texts.h"
#include "lib/opt/opt.h"
#include "lib/opt/tables.h"
#include "lib/text/text.h"

enum {
    SETTINGS_MAX = 64,    /* options of a command; more are left out */
    SETTINGS_VALUE = 256, /* of a name or a value; a longer one is cut */
    SETTINGS_WORD = 5120  /* of a command: a target has a path, and settings behind it */
};

struct setting {
    bool key; /* of --config, over which an option wins */
    char name[SETTINGS_VALUE], value[SETTINGS_VALUE];
};

/* The keys of the configuration that had another value in force than their default. */
struct keys {
    bool known;
    size_t count;
    struct setting setting[SETTINGS_MAX];
};

struct settings {
    size_t count;
    struct setting setting[SETTINGS_MAX];
    const struct opt *table; /* of its program; NULL: not known */
    struct keys keys;
    unsigned targets;
    char target[SETTINGS_VALUE]; /* the kind of the last one, without its place */
};

static void keep(char value[SETTINGS_VALUE], const char *text)
{
    snprintf(value, SETTINGS_VALUE, "%.*s", SETTINGS_VALUE - 1, text);
}

/* The next word of a command as a shell takes it; longer ones are cut. NULL: there is none. */
static const char *next_word(const char *at, char word[SETTINGS_WORD])
{
    size_t len = 0;
    bool quoted = false;

    while (*at == ' ')
        at++;
    if (!*at)
        return NULL;
    for (; *at && (quoted || *at != ' '); at++) {
        if (*at == '\'') {
            quoted = !quoted;
            continue;
        }
        if (*at == '\\' && !quoted && at[1])
            at++;
        if (len + 1 < SETTINGS_WORD)
            word[len++] = *at;
    }
    word[len] = '\0';
    return at;
}

/* A trace, a result, standard input: no value of a setting. */
static bool is_file(const char *word)
{
    static const char *const end[] = {".csv", ".zst", ".gz", ".json", ".jsonl", ".yaml"};

    for (size_t i = 0; i < sizeof(end) / sizeof(end[0]); i++)
        if (text_ends_with(word, end[i]))
            return true;
    return strcmp(word, "-") == 0 || (strchr(word, '/') && !strchr(word, ':'));
}

/* Options that say where something lies, how it is written or judged, or how much is shown; and
 * those of timing. */
static bool is_setting(const char *name)
{
    static const char *const others[] = {
        "o",           "output",   "output-file", "summary",         "ceiling",
        "full",        "progress", "no-notes",    "notes",           "z",
        "zstd",        "level",    "frames",      "skip-bad-rows",   "config",
        "c",           "keep",     "timing",      "speed",           "workers",
        "force",       "quiet",    "cpus",        "data-seed",       "seed",
        "kvtrace-dir", "long",     "lag-limit",   "lateness-budget", NULL};

    return !text_is_listed(name, others);
}

static bool is_target(const char *name)
{
    static const char *const names[] = {"target", "nvme", NULL};

    return text_is_listed(name, names);
}

static bool is_config(const char *name)
{
    static const char *const names[] = {"config", "c", NULL};

    return text_is_listed(name, names);
}

/* Writes the value of a key that is true or false as the option of the same name has it: none, or
 * no. */
static void keep_key(char value[SETTINGS_VALUE], const char *key, const char *text)
{
    bool flag = false;

    for (size_t i = 0; i < OPT_PROGRAMS; i++) {
        const struct opt *o = opt_key_named(opt_programs[i].table, key);
        flag |= o && o->type == OPT_FLAG;
    }
    keep(value, !flag ? text : opt_truth(text) > 0 ? "" : "no");
}

/* Takes the kind of target "2=s3://BUCKET/PREFIX?part=8MiB", without its place: "s3?part=8MiB"; of
 * a path, "file". */
static void take_target(struct settings *s, const char *value)
{
    const char *query = strchr(value, '?'), *colon = strchr(value, ':'), *from = value;

    if (value[0] >= '0' && value[0] <= '9' && value[1] == '=')
        from += 2;
    bool scheme = colon && (!query || colon < query) && strcspn(from, "/") > (size_t)(colon - from);
    snprintf(s->target, sizeof(s->target), "%.*s%s", scheme ? (int)(colon - from) : 4,
             scheme ? from : "file", query ? query : "");
    s->targets++;
}

/* Takes a key, "kvreplay.rings=4", as the option that it was once: rings. False: it is the name of
 * a file, or no setting. */
static bool take_key(struct setting *to, const char *text)
{
    const char *equals = strchr(text, '='), *name = text;

    if (!conf_is_setting(text))
        return false;
    for (const char *c = text; c < equals; c++)
        if (*c == '.')
            name = c + 1;
    to->key = true;
    snprintf(to->name, sizeof(to->name), "%.*s", (int)(equals - name), name);
    keep_key(to->value, to->name, equals + 1);
    for (char *c = to->name; *c; c++)
        if (*c == '_')
            *c = '-';
    return is_setting(to->name);
}

/* The table of the program that a command names, "/usr/bin/kvreplay-mpi"; NULL: of none. */
static const struct opt *table_of(const char *command)
{
    char word[SETTINGS_WORD] = "";

    next_word(command, word);
    const char *slash = strrchr(word, '/'), *name = slash ? slash + 1 : word;
    const struct opt_program *program = opt_program_named(name, strcspn(name, "-"));
    return program ? program->table : NULL;
}

/* Takes the text of --config of a command. */
static void take_config(struct settings *s, const char *text)
{
    s->count += take_key(&s->setting[s->count], text);
}

static void parse_keys(struct keys *k, const char *configuration)
{
    char word[SETTINGS_WORD];

    k->known = configuration[0] != '\0';
    for (const char *at = configuration; k->count < SETTINGS_MAX && (at = next_word(at, word));)
        k->count += take_key(&k->setting[k->count], word);
}

static void parse_command(struct settings *s, const char *command, const char *configuration)
{
    char word[SETTINGS_WORD];
    struct setting *open = NULL; /* an option whose value may come next */

    *s = (struct settings){0};
    s->table = table_of(command);
    parse_keys(&s->keys, s->table ? configuration : "");
    for (const char *at = command; (at = next_word(at, word));) {
        if (word[0] != '-' || !word[1]) {
            if (open && is_target(open->name))
                take_target(s, word);
            else if (open && is_config(open->name))
                take_config(s, word);
            else if (open && !is_file(word))
                keep(open->value, word);
            open = NULL;
            continue;
        }
        if (s->count == SETTINGS_MAX)
            return;
        if (word[1] == 'c' && word[2]) { /* -cKEY=VALUE */
            take_config(s, word + 2);
            open = NULL;
            continue;
        }
        open = &s->setting[s->count];
        open->key = false;
        char *equals = strchr(word, '=');
        if (equals)
            *equals = '\0';
        keep(open->name, word + (word[1] == '-' ? 2 : 1));
        keep(open->value, equals ? equals + 1 : "");
        if (is_target(open->name) && equals)
            take_target(s, equals + 1);
        if (is_config(open->name) && equals) {
            memmove(word, equals + 1, strlen(equals + 1) + 1);
            take_config(s, word);
            open = NULL;
            continue;
        }
        s->count += is_setting(open->name) && !is_target(open->name);
        open = equals ? NULL : open;
    }
}

/* A value; "yes" of an option that has none; "default" of one that is not there. The last counts,
 * and an option more than a key. */
static const char *value_of(const struct settings *s, const char *name)
{
    const struct setting *last = NULL;

    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->setting[i].name, name) == 0 && (!last || last->key || !s->setting[i].key))
            last = &s->setting[i];
    return !last ? "default" : last->value[0] ? last->value : "yes";
}

/* The row that is the key of this name, "on-lag"; NULL: it is none of the program's section. */
static const struct opt *key_named(const struct opt *table, const char *name)
{
    char key[SETTINGS_VALUE];

    keep(key, name);
    for (char *c = key; *c; c++)
        if (*c == '-')
            *c = '_';
    return table ? opt_key_named(table, key) : NULL;
}

/* Whether the command has it as an option, and not as a key. */
static bool has_option(const struct settings *s, const char *name)
{
    for (size_t i = 0; i < s->count; i++)
        if (!s->setting[i].key && strcmp(s->setting[i].name, name) == 0)
            return true;
    return false;
}

/* The value of a key in force. */
static const char *key_of(const struct settings *s, const char *name)
{
    const struct keys *k = &s->keys;
    bool said = strcmp(value_of(s, name), "default") != 0;

    for (size_t i = 0; i < k->count; i++)
        if (strcmp(k->setting[i].name, name) == 0)
            return k->setting[i].value[0] ? k->setting[i].value : "yes";
    const struct opt *o = key_named(s->table, name);
    return said && o && o->def ? o->def : "default";
}

/* The value of an option or key of s, which is compared with other. */
static const char *setting_of(const struct settings *s, const struct settings *other,
                              const char *name)
{
    const struct opt *o = key_named(s->table, name);
    /* One that is none of the program's section is of a shared section. */
    bool key = o ? !(o->flags & OPT_NO_EFFECT) : !has_option(s, name) && !has_option(other, name);

    return key && s->keys.known && other->keys.known ? key_of(s, name) : value_of(s, name);
}

static void tell(char *buf, size_t n, const char *name, const char *a, const char *b)
{
    if (strcmp(a, b) != 0)
        text_append(buf, n, "%s%s %s, %s", buf[0] ? "; " : "", name, a, b);
}

static bool has(const struct setting *s, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(s[i].name, name) == 0)
            return true;
    return false;
}

/* Tells options of a that differ in b, each name once. */
static void tell_options(char *buf, size_t n, const struct settings *a, const struct settings *b,
                         bool swapped)
{
    for (size_t i = 0; i < a->count; i++) {
        const char *name = a->setting[i].name;
        bool told = has(a->setting, i, name) || (swapped && has(b->setting, b->count, name));

        if (!told)
            tell(buf, n, name, setting_of(swapped ? b : a, swapped ? a : b, name),
                 setting_of(swapped ? a : b, swapped ? b : a, name));
    }
}

/* Tells keys that differ and stand in neither command. */
static void tell_keys(char *buf, size_t n, const struct settings *a, const struct settings *b)
{
    const struct keys *of[] = {&a->keys, &b->keys};

    for (size_t i = 0; a->keys.known && b->keys.known && i < 2; i++) {
        for (size_t k = 0; k < of[i]->count; k++) {
            const char *name = of[i]->setting[k].name;
            bool told = has(a->setting, a->count, name) || has(b->setting, b->count, name) ||
                        (i == 1 && has(a->keys.setting, a->keys.count, name));

            if (!told)
                tell(buf, n, name, key_of(a, name), key_of(b, name));
        }
    }
}

/* Places are none of it: a comparison of two drives has them. */
static void tell_targets(char *buf, size_t n, const struct settings *a, const struct settings *b)
{
    char first[16], second[16];

    snprintf(first, sizeof(first), "%u", a->targets);
    snprintf(second, sizeof(second), "%u", b->targets);
    if (a->targets && b->targets) {
        tell(buf, n, "targets", first, second);
        tell(buf, n, "target", a->target, b->target);
    }
}

/* Adds the parts of a list "a; b; c" that the other list lacks; "none" where there are none. */
static void add_parts(char *buf, size_t n, const char *list, const char *other)
{
    size_t begin = strlen(buf);

    for (const char *at = list; *at;) {
        size_t len = strcspn(at, ";"), end = strlen(buf);
        char part[SETTINGS_VALUE];

        snprintf(part, sizeof(part), "%.*s", (int)len, at);
        if (!strstr(other, part))
            snprintf(buf + end, n - end, "%s%s", end > begin ? " and " : "", part);
        at += len + strspn(at + len, "; ");
    }
    if (strlen(buf) == begin)
        snprintf(buf + begin, n - begin, "none");
}

/* Tells settings in force that differ where the options are alike: a host may refuse one. */
static void tell_in_force(char *buf, size_t n, const char *a, const char *b)
{
    char first[2 * SETTINGS_VALUE] = "", second[2 * SETTINGS_VALUE] = "";

    if (buf[0] || !a[0] || !b[0])
        return;
    add_parts(first, sizeof(first), a, b);
    add_parts(second, sizeof(second), b, a);
    tell(buf, n, "in force", first, second);
}

static const char *text_of(struct settings_of s, struct figure_id id)
{
    return run_table_text(s.table, s.run, id);
}

bool settings_differ(char *buf, size_t n, struct settings_of base, struct settings_of new)
{
    static const enum figure_what in_force[] = {FIGURE_ENGINE, FIGURE_FLAGS};
    static const struct {
        const char *name;
        struct figure_id id;
    } text[] = {
        {"host", {.scope = FIGURE_OF_PROVENANCE, .what = FIGURE_HOST}},
        {"kernel", {.scope = FIGURE_OF_PROVENANCE, .what = FIGURE_HOST_KERNEL}},
    };
    static const struct {
        const char *name;
        enum fact_id id;
    } fact[] = {{"file system", FACT_FILE_SYSTEM}, {"layers", FACT_LAYERS}};
    const struct figure_id command = figure_id(FIGURE_OF_PROVENANCE, FIGURE_COMMAND);
    const struct figure_id keys = figure_id(FIGURE_OF_PROVENANCE, FIGURE_CONFIGURATION);
    const char *a = text_of(base, command);
    const char *b = text_of(new, command);
    struct settings of_base, of_new;
    char first[2][SETTINGS_WORD] = {"", ""};

    buf[0] = '\0';
    if (next_word(a, first[0]) && next_word(b, first[1]) && strcmp(first[0], first[1]) == 0) {
        parse_command(&of_base, a, text_of(base, keys));
        parse_command(&of_new, b, text_of(new, keys));
        tell_options(buf, n, &of_base, &of_new, false);
        tell_options(buf, n, &of_new, &of_base, true);
        tell_keys(buf, n, &of_base, &of_new);
        tell_targets(buf, n, &of_base, &of_new);
    }
    for (size_t i = 0; i < sizeof(in_force) / sizeof(in_force[0]); i++) {
        const struct figure_id id = figure_id(FIGURE_OF_PROVENANCE, in_force[i]);
        tell_in_force(buf, n, text_of(base, id), text_of(new, id));
    }
    for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
        a = text_of(base, text[i].id);
        b = text_of(new, text[i].id);
        if (a[0] && b[0])
            tell(buf, n, text[i].name, a, b);
    }
    for (size_t i = 0; i < sizeof(fact) / sizeof(fact[0]); i++) {
        a = text_of(base, figure_id_fact(fact[i].id));
        b = text_of(new, figure_id_fact(fact[i].id));
        if (a[0] && b[0])
            tell(buf, n, fact[i].name, a, b);
    }
    return buf[0] != '\0';
}
