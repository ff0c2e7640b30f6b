/* The command line of every program: puts texts from argv into the fields of an options struct, as
 * the program's table says. help.c makes texts from the table. Checks of options against each
 * other are the program's, apart from modes. */
#include "lib/opt/opt.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/base/nearest.h"
#include "lib/base/notes.h"
#include "lib/base/units.h"
#include "lib/opt/help.h"
#include "lib/opt/tables.h"

struct opt_parser {
    const char *program;
    const char *usage;
    const struct opt *table;
    char *fields;
    size_t count;                  /* rows of table */
    bool *given;                   /* by index in table, as the next */
    bool *configured;              /* the value is that of a file */
    char (*places)[OPT_PLACE_MAX]; /* of these values: "FILE:LINE" */
    char **texts;                  /* of configurations, which values point into */
    size_t text_count;
    const char **operands;
    size_t operand_count;
    char *answer;            /* to --help and the like; once set, nothing further is parsed */
    struct notes lacks;      /* parts that the build does not have */
    struct opt_moved *moved; /* in the order of the command line */
    size_t moved_count;
    char **next; /* the argument after the one being parsed; NULL ends */
};

static void *field_of(const struct opt_parser *p, const struct opt *o)
{
    return p->fields + o->offset;
}

/* Sets "--NAME: BEFORE TEXT AFTER". */
static int fail(struct err *e, const struct opt *o, const char *before, const char *text,
                const char *after)
{
    char where[96], own[OPT_KEY_MAX];

    if (o->flags & OPT_CONFIG)
        snprintf(where, sizeof(where), "--config %s", opt_key(o, own));
    else
        snprintf(where, sizeof(where), "--%s", o->name);
    return err_set(e, -EINVAL, ERR_INPUT, where, "%s%s%s", before, text, after);
}

/* ---- values ---- */

/* Parses text into the 8 bytes at field; *value is the number for the range check. */
static int parse_number(const struct opt *o, const char *text, void *field, double *value)
{
    uint64_t u = 0;
    int64_t ns = 0;
    int rc;

    *value = 0;
    switch (o->type) {
    case OPT_F64:
        rc = units_parse_f64(text, value);
        memcpy(field, value, sizeof(*value));
        return rc;
    case OPT_SHARE:
        rc = units_parse_share(text, value);
        memcpy(field, value, sizeof(*value));
        return rc;
    case OPT_GIB:
        rc = units_parse_f64(text, value);
        if (rc < 0) {
            rc = units_parse_size(text, &u);
            *value = (double)u / (double)UNITS_GIB;
        }
        memcpy(field, value, sizeof(*value));
        return rc;
    case OPT_DURATION:
        rc = units_parse_duration(text, &ns);
        *value = (double)ns;
        memcpy(field, &ns, sizeof(ns));
        return rc;
    case OPT_U64:
        rc = units_parse_u64(text, &u);
        break;
    case OPT_SIZE:
        rc = units_parse_size(text, &u);
        break;
    default:
        rc = units_parse_bandwidth(text, &u);
        break;
    }
    *value = (double)u;
    memcpy(field, &u, sizeof(u));
    return rc;
}

int opt_number(const struct opt *o, const char *text, double *value)
{
    uint64_t field;

    return parse_number(o, text, &field, value);
}

static int fail_range(struct err *e, const struct opt *o, const char *text, bool below)
{
    char bound[48], after[160];
    double percent;

    opt_help_bound(o, below ? o->min : o->max, bound, sizeof(bound));
    snprintf(after, sizeof(after), " is %s %s", below ? "below" : "above", bound);
    if (o->type == OPT_SHARE && !below && units_parse_f64(text, &percent) == 0 && percent <= 100)
        snprintf(after, sizeof(after), " is above %s; for %.20s percent write %.20s%% or %g", bound,
                 text, text, percent / 100);
    return fail(e, o, "", text, after);
}

static int fail_number(struct err *e, const struct opt *o, const char *text, int rc)
{
    uint64_t ignored;
    double value;

    if (rc == -ERANGE)
        return fail(e, o, "'", text, "' is too large");
    if (text[0] == '-' && parse_number(o, text + 1, &ignored, &value) == 0)
        return fail_range(e, o, text, true);
    switch (o->type) {
    case OPT_U64:
        return fail(e, o, "'", text, "' is not a whole number");
    case OPT_SIZE:
        return fail(e, o, "'", text, "' is not a size (such as 4096, 64K, 1.5GiB, 2GB)");
    case OPT_DURATION:
        return fail(e, o, "'", text, "' is not a duration (such as 2, 100ms, 1.5m, 1h, 7d)");
    case OPT_BANDWIDTH:
        return fail(e, o, "'", text, "' is not a bandwidth (such as 800MiB/s, 2GB/s)");
    case OPT_SHARE:
        return fail(e, o, "'", text, "' is not a share (such as 0.1 or 10%)");
    case OPT_GIB:
        return fail(e, o, "'", text,
                    o->flags & OPT_AUTO
                        ? "' is not a size (such as 16GiB, 512MiB; without a unit: GiB) or auto"
                        : "' is not a size (such as 16GiB, 512MiB; without a unit: GiB)");
    default:
        return fail(e, o, "'", text, "' is not a number");
    }
}

static int set_number(const struct opt *o, void *field, const char *text, struct err *e)
{
    bool any = o->min == 0 && o->max == 0;
    uint64_t bits;
    double value = OPT_AUTO_GIB;
    if ((o->flags & OPT_AUTO) && strcmp(text, "auto") == 0) {
        memcpy(field, &value, sizeof(value));
        return 0;
    }
    int rc = parse_number(o, text, &bits, &value);

    if (rc < 0)
        return fail_number(e, o, text, rc);
    if (value < o->min)
        return fail_range(e, o, text, true);
    if (!any && o->max >= o->min && value > o->max)
        return fail_range(e, o, text, false);
    memcpy(field, &bits, sizeof(bits));
    return 0;
}

static int set_choice(const struct opt *o, int *field, const char *text, struct err *e)
{
    char after[600] = "' is not one of: ";
    struct nearest near = {.typed = text};
    char nearest[64] = "";
    size_t n = strlen(after);
    int i = 0;

    for (const char *c = o->choices;; i++) {
        size_t len = strcspn(c, "|");
        if (len == strlen(text) && memcmp(c, text, len) == 0) {
            *field = i;
            return 0;
        }
        char word[64];
        snprintf(word, sizeof(word), "%.*s", (int)len, c);
        near.best = NULL;
        nearest_offer(&near, word);
        if (near.best)
            strcpy(nearest, word);
        if (c[len] == '\0')
            break;
        c += len + 1;
    }
    if (o->absent && strcmp(text, o->absent) == 0)
        return fail(e, o, "there is no '", text, o->absent_why);
    for (const char *c = o->choices; *c && n + 3 < sizeof(after); c++) {
        after[n++] = *c == '|' ? ',' : *c;
        if (*c == '|')
            after[n++] = ' ';
    }
    after[n] = '\0';
    if (*nearest)
        snprintf(after + n, sizeof(after) - n, "; did you mean %s?", nearest);
    return fail(e, o, "'", text, after);
}

/* "on" and "off" are of the command line; the others, in the forms of YAML, of people who write a
 * configuration. */
int opt_truth(const char *text)
{
    static const char *const yes[] = {"on",   "On",  "ON",  "true", "True",
                                      "TRUE", "yes", "Yes", "YES"};
    static const char *const no[] = {"off",   "Off", "OFF", "false", "False",
                                     "FALSE", "no",  "No",  "NO"};

    for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
        if (strcmp(text, yes[i]) == 0 || strcmp(text, no[i]) == 0)
            return strcmp(text, yes[i]) == 0;
    return -1;
}

static int set_flag(const struct opt *o, bool *field, const char *text, struct err *e)
{
    int truth = opt_truth(text);

    if (truth < 0)
        return fail(e, o, "'", text, "' is not true or false");
    *field = truth;
    return 0;
}

static int set_value(const struct opt *o, void *field, const char *text, struct err *e)
{
    struct opt_list *list = field;

    switch (o->type) {
    case OPT_HEADING:
    case OPT_EXAMPLE:
        return 0;
    case OPT_FLAG:
        return set_flag(o, field, text, e);
    case OPT_TEXT:
        *(const char **)field = text;
        return 0;
    case OPT_ENUM:
        return set_choice(o, field, text, e);
    case OPT_LIST:
        if (list->count == OPT_LIST_MAX)
            return fail(e, o, "'", text, "' is one too many (at most 64 times)");
        list->item[list->count++] = text;
        return 0;
    default:
        return set_number(o, field, text, e);
    }
}

static void set_default(const struct opt_parser *p, const struct opt *o)
{
    static const size_t sizes[] = {
        [OPT_HEADING] = 0,
        [OPT_EXAMPLE] = 0,
        [OPT_FLAG] = sizeof(bool),
        [OPT_TEXT] = sizeof(const char *),
        [OPT_U64] = sizeof(uint64_t),
        [OPT_F64] = sizeof(double),
        [OPT_SHARE] = sizeof(double),
        [OPT_SIZE] = sizeof(uint64_t),
        [OPT_GIB] = sizeof(double),
        [OPT_DURATION] = sizeof(int64_t),
        [OPT_BANDWIDTH] = sizeof(uint64_t),
        [OPT_ENUM] = sizeof(int),
        [OPT_LIST] = sizeof(struct opt_list),
    };

    memset(field_of(p, o), 0, sizes[o->type]);
    if (o->def) {
        int rc = set_value(o, field_of(p, o), o->def, NULL);
        assert(rc == 0 && "a default that its own option refuses");
        (void)rc;
    }
}

/* ---- open, close ---- */

struct opt_parser *opt_open(const char *program, const char *usage, const struct opt *table,
                            void *fields)
{
    struct opt_parser *p = calloc(1, sizeof(*p));

    if (!p)
        return NULL;
    p->program = program;
    p->usage = usage;
    p->table = table;
    p->fields = fields;
    while (table[p->count].name || table[p->count].help)
        p->count++;
    p->given = calloc(p->count + 1, sizeof(*p->given));
    p->configured = calloc(p->count + 1, sizeof(*p->configured));
    p->places = calloc(p->count + 1, sizeof(*p->places));
    if (!p->given || !p->configured || !p->places) {
        opt_close(p);
        return NULL;
    }
    for (size_t i = 0; i < p->count; i++)
        set_default(p, &table[i]);
    return p;
}

void opt_close(struct opt_parser *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->text_count; i++)
        free(p->texts[i]);
    free(p->texts);
    free(p->moved);
    free(p->places);
    free(p->configured);
    free(p->given);
    free(p->operands);
    free(p->answer);
    free(p);
}

/* ---- finding an option ---- */

static bool named(const char *name, const char *text, size_t len)
{
    return name && strlen(name) == len && memcmp(name, text, len) == 0;
}

/* Returns whether text[0..len) is one of the names in the list "a|b". */
static bool in_list(const char *list, const char *text, size_t len)
{
    while (list) {
        size_t n = strcspn(list, "|");
        if (n == len && memcmp(list, text, len) == 0)
            return true;
        list = list[n] ? list + n + 1 : NULL;
    }
    return false;
}

/* Finds the option whose name or alias is text[0..len), NULL if none; *off if it is "no-NAME". */
static const struct opt *find_long(const struct opt_parser *p, const char *text, size_t len,
                                   bool *off)
{
    *off = false;
    for (size_t i = 0; i < p->count; i++) {
        const struct opt *o = &p->table[i];
        if (named(o->name, text, len) || in_list(o->alias, text, len))
            return o;
    }
    if (len < 4 || memcmp(text, "no-", 3) != 0)
        return NULL;
    *off = true;
    for (size_t i = 0; i < p->count; i++) {
        const struct opt *o = &p->table[i];
        bool negatable = o->type == OPT_FLAG && o->def && strcmp(o->def, "on") == 0;
        if (negatable && named(o->name, text + 3, len - 3))
            return o;
    }
    return NULL;
}

/* Finds an option of the table that ends in "-NAME", as max-users does in "users"; NULL: none. */
static const char *find_longer(const struct opt_parser *p, const char *name)
{
    size_t len = strlen(name);

    for (size_t i = 0; i < p->count; i++) {
        const char *own = p->table[i].name;
        size_t own_len = own ? strlen(own) : 0;
        if (p->table[i].flags & (OPT_OLD | OPT_CONFIG))
            continue;
        if (own_len > len + 1 && own[own_len - len - 1] == '-' &&
            strcmp(own + own_len - len, name) == 0)
            return own;
    }
    return NULL;
}

/* Returns the name of the option that near->typed most likely stands for; of an option that was
 * called something like it once, today's name. NULL: none is close. */
static const char *find_nearest(const struct opt_parser *p, struct nearest *near)
{
    for (size_t i = 0; i < p->count; i++) {
        const struct opt *o = &p->table[i];
        if (!opt_is_option(o) || o->flags & (OPT_OLD | OPT_CONFIG))
            continue;
        nearest_offer(near, o->name);
        for (const char *a = o->alias; a; a = strchr(a, '|') ? strchr(a, '|') + 1 : NULL) {
            char alias[96];
            snprintf(alias, sizeof(alias), "%.*s", (int)strcspn(a, "|"), a);
            nearest_offer(near, alias);
            if (near->best == alias)
                near->best = o->name;
        }
    }
    nearest_offer(near, "help");
    nearest_offer(near, "version");
    return near->best;
}

/* Returns whether the program has an option with this name: on its command line, or with config as
 * a key of its configuration. */
static bool owns(const struct opt_program *program, const char *name, bool config)
{
    for (const struct opt *o = program->table; o->name || o->help; o++)
        if (opt_is_option(o) && !!(o->flags & OPT_CONFIG) == config &&
            (strcmp(o->name, name) == 0 || in_list(o->alias, name, strlen(name))))
            return true;
    return false;
}

/* Writes the programs that have the option: "kvgen", "kvgen and kvstat", "kvgen, kvreplay and
 * kvstat". False: none has it. */
static bool name_owners(const char *name, bool config, char *buf, size_t n)
{
    const char *before = NULL;
    size_t at = 0;

    for (size_t i = 0; i < OPT_PROGRAMS; i++) {
        if (!owns(&opt_programs[i], name, config))
            continue;
        if (before)
            at += (size_t)snprintf(buf + at, n - at, "%s%s", at ? ", " : "", before);
        before = opt_programs[i].name;
    }
    if (before)
        snprintf(buf + at, n - at, "%s%s", at ? " and " : "", before);
    return before;
}

static int fail_unknown(const struct opt_parser *p, const char *text, size_t len, struct err *e)
{
    char name[96], where[100], owners[96];
    struct nearest near = {.typed = name};
    const char *best;

    snprintf(name, sizeof(name), "%.*s", (int)(len < sizeof(name) ? len : sizeof(name)), text);
    snprintf(where, sizeof(where), "--%s", name);
    if (name_owners(name, false, owners, sizeof(owners))) {
        const char *longer = find_longer(p, name);

        return err_set(e, -EINVAL, ERR_INPUT, where, "an option of %s%s%s%s", owners,
                       longer ? "; did you mean --" : "", longer ? longer : "", longer ? "?" : "");
    }
    if (name_owners(name, true, owners, sizeof(owners)))
        return err_set(e, -EINVAL, ERR_INPUT, where, "a key of the configuration of %s", owners);
    best = find_nearest(p, &near);
    if (best)
        return err_set(e, -EINVAL, ERR_INPUT, where, "unknown option; did you mean --%s?", best);
    return err_set(e, -EINVAL, ERR_INPUT, where, "unknown option; see %s --help", p->program);
}

/* ---- walking argv ---- */

/* Whether an argument that begins with "-" is a number, which can be a value. */
static bool is_negative(const char *text)
{
    return text[1] && strchr("0123456789.", text[1]);
}

/* Keeps text, from malloc, until opt_close; frees it when there is no memory, as when text is NULL.
 */
static int keep_text(struct opt_parser *p, char *text)
{
    if (!text || memory_resize(&p->texts, p->text_count + 1, sizeof(*p->texts)) < 0) {
        free(text);
        return -ENOMEM;
    }
    p->texts[p->text_count++] = text;
    return 0;
}

static int take_value(struct opt_parser *p, const struct opt *o, const char *text, struct err *e)
{
    size_t i = (size_t)(o - p->table);

    if (o->type == OPT_LIST && !p->given[i])
        memset(field_of(p, o), 0, sizeof(struct opt_list)); /* replaces the default */
    p->given[i] = true;
    return set_value(o, field_of(p, o), text, e);
}

/* Writes how an option that left the command line is said now: "use --config KEY=TEXT (PROGRAM.KEY
 * in a file)"; text that a shell would take apart is not repeated. Returns buf. */
static const char *successor(const struct opt_parser *p, const struct opt *o, const char *text,
                             char *buf, size_t n)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_.,:/@%+=-";
    char own[OPT_KEY_MAX], section[OPT_KEY_MAX + 32] = "";
    const struct opt_program *program = opt_program_of(p->table);
    const char *key = o->key ? o->key : opt_key(o, own);

    if (!text || text[0] == '\0' || text[0] == '-' || text[strspn(text, plain)])
        text = opt_help_arg(o);
    if (o->key) /* it may have another unit */
        text = "N";
    if (!o->key && program)
        snprintf(section, sizeof(section), " (%s.%s in a file)", program->name, key);
    snprintf(buf, n, "use --config %s=%s%s", key, text, section);
    return buf;
}

/* Keeps SETTING, from malloc, of an option that left the command line, and the line that tells it:
 * one for each option, which a later value of it changes. */
static int keep_moved(struct opt_parser *p, const struct opt *o, char *setting, const char *text)
{
    const char **line = NULL;
    char use[NOTES_CAP], *note = NULL;

    if (keep_text(p, setting) < 0 ||
        memory_resize(&p->moved, p->moved_count + 1, sizeof(*p->moved)) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < p->moved_count && !line; i++)
        if (p->moved[i].option == o)
            line = &p->moved[i].note;
    successor(p, o, line && o->type == OPT_LIST ? NULL : text, use, sizeof(use));
    if (asprintf(&note, "--%s: taken, but %s", o->name, use) < 0 || keep_text(p, note) < 0)
        return -ENOMEM;
    err_make_harmless(note);
    p->moved[p->moved_count] = (struct opt_moved){.option = o, .setting = setting};
    *(line ? line : &p->moved[p->moved_count].note) = note;
    p->moved_count++;
    return 0;
}

/* An option that left the command line. text: its value, NULL: none was given with it. It is taken
 * as --config KEY=TEXT, which is noted. */
static int take_moved(struct opt_parser *p, const struct opt *o, const char *text, struct err *e)
{
    bool off, words = o->type == OPT_TEXT || o->type == OPT_LIST;
    char where[96], own[OPT_KEY_MAX], use[NOTES_CAP];
    const char *next = *p->next;
    char *setting = NULL;

    if (!text && next && (*next != '-' || is_negative(next) || (words && !next[1])))
        text = *p->next++;
    snprintf(where, sizeof(where), "--%s", o->name);
    successor(p, o, text, use, sizeof(use));
    if (!text || o->key || !find_long(p, "config", strlen("config"), &off))
        return err_set(e, -EINVAL, ERR_INPUT, where, "%s; %s",
                       text ? "no option any more" : "needs a value", use);
    if (asprintf(&setting, "%s=%s", opt_key(o, own), text) < 0 ||
        keep_moved(p, o, setting, text) < 0)
        return err_nomem(e, "configuration");
    return 0;
}

/* Takes the value at text, or the next argument if text is NULL. "-1" can be a value, "--seed"
 * behind "--gpu-mem-gb" cannot; texts take anything, as with getopt_long. */
static int take_argument(struct opt_parser *p, const struct opt *o, const char *text, struct err *e)
{
    if (!text) {
        bool any = o->type == OPT_TEXT || o->type == OPT_LIST;
        text = *p->next;
        if (text && !any && text[0] == '-' && !is_negative(text))
            text = NULL;
        if (!text)
            return fail(e, o, "needs a value (", opt_help_arg(o), ")");
        p->next++;
    }
    return take_value(p, o, text, e);
}

/* "all", or the beginning of it. */
static bool says_all(const char *text)
{
    return text && text[0] && strncmp("all", text, strlen(text)) == 0;
}

void opt_part(struct opt_parser *p, const char *name, bool built)
{
    if (p && !built)
        notes_add(&p->lacks, "%s", name);
}

/* "kvgen 0.1.0", and what this build lacks. NULL: no memory. */
static char *version_text(const struct opt_parser *p)
{
    char lacks[NOTES_JOINED_CAP], *text;
    bool all = p->lacks.count == 0;

    if (asprintf(&text, "%s %s\n%s%s%s", p->program, KVTRACE_VERSION, all ? "" : "built without: ",
                 all ? "" : notes_join(&p->lacks, ", ", lacks, sizeof(lacks)), all ? "" : "\n") < 0)
        return NULL;
    return text;
}

/* Answers an option that every program has; false if name is none of them. */
static bool take_common(struct opt_parser *p, const char *name, int *rc, struct err *e)
{
    const char *value = strncmp(name, "help=", 5) == 0 ? name + 5 : NULL;
    char *text = NULL;

    if (value && !says_all(value)) {
        *rc = err_set(e, -EINVAL, ERR_INPUT, "--help", "takes nothing or all");
        return true;
    }
    if (value || (strcmp(name, "help") == 0 && says_all(*p->next)))
        text = opt_help_text(p->program, p->usage, p->table, true);
    else if (strcmp(name, "help") == 0)
        text = opt_help_text(p->program, p->usage, p->table, false);
    else if (strcmp(name, "list-options") == 0)
        text = opt_help_listing(p->table);
    else if (strcmp(name, "version") != 0)
        return false;
    else
        text = version_text(p);
    free(p->answer);
    p->answer = text;
    *rc = text ? 0 : err_nomem(e, "help text");
    return true;
}

/* Takes what follows "--". */
static int take_long(struct opt_parser *p, const char *text, struct err *e)
{
    size_t len = strcspn(text, "=");
    const char *value = text[len] == '=' ? text + len + 1 : NULL;
    const struct opt *o;
    bool off;
    int rc;

    if (take_common(p, text, &rc, e))
        return rc;
    o = find_long(p, text, len, &off);
    if (!o)
        return fail_unknown(p, text, len, e);
    if (o->flags & OPT_CONFIG && o->type == OPT_FLAG && !value)
        return take_moved(p, o, off ? "false" : "true", e);
    if (o->flags & OPT_CONFIG)
        return take_moved(p, o, value, e);
    if (o->type != OPT_FLAG)
        return take_argument(p, o, value, e);
    if (value)
        return fail(e, o, "takes no value, '", value, "' was given");
    return take_value(p, o, off ? "off" : "on", e);
}

/* Takes what follows "-": flags in a row, of which the last may have a value. */
static int take_letters(struct opt_parser *p, const char *text, struct err *e)
{
    int rc = 0;

    for (; *text && !p->answer && rc == 0; text++) {
        char where[3] = {'-', *text, '\0'};
        const struct opt *o = NULL;
        for (size_t i = 0; i < p->count && !o; i++)
            if (p->table[i].letter && p->table[i].letter == *text)
                o = &p->table[i];
        if (!o && *text == 'h')
            take_common(p, "help", &rc, e);
        else if (!o)
            return err_set(e, -EINVAL, ERR_INPUT, where, "unknown option; see %s --help",
                           p->program);
        else if (o->type != OPT_FLAG)
            return take_argument(p, o, text[1] ? text + 1 : NULL, e);
        else
            rc = take_value(p, o, "on", e);
    }
    return rc;
}

int opt_parse(struct opt_parser *p, int argc, char **argv, struct err *e)
{
    bool only_operands = false;
    int rc = 0;

    p->next = argv + (argc > 0);
    free(p->operands);
    p->operand_count = 0;
    p->operands = calloc((size_t)argc + 1, sizeof(*p->operands));
    if (!p->operands)
        return err_nomem(e, "operands");
    while (rc == 0 && !p->answer && *p->next) {
        const char *text = *p->next++;
        if (only_operands || text[0] != '-' || text[1] == '\0')
            p->operands[p->operand_count++] = text;
        else if (strcmp(text, "--") == 0)
            only_operands = true;
        else if (text[1] == '-')
            rc = take_long(p, text + 2, e);
        else
            rc = take_letters(p, text + 1, e);
    }
    return rc < 0 ? rc : p->answer != NULL;
}

/* ---- answers to the program ---- */

int opt_print_answer(const struct opt_parser *p, struct err *e)
{
    if (fputs(opt_answer(p), stdout) >= 0 && fflush(stdout) == 0)
        return 0;
    return err_errno(e, -errno, ERR_OUTPUT, "", "standard output");
}

const char *opt_answer(const struct opt_parser *p)
{
    return p->answer ? p->answer : "";
}

bool opt_given(const struct opt_parser *p, const char *name)
{
    bool off;
    const struct opt *o = find_long(p, name, strlen(name), &off);

    assert(o && "an option that the table lacks");
    return o && (p->given[o - p->table] || p->configured[o - p->table]);
}

int opt_preset(struct opt_parser *p, const char *name, const char *value, struct err *e)
{
    bool off;
    const struct opt *o = find_long(p, name, strlen(name), &off);

    assert(o && "an option that the table lacks");
    return opt_given(p, name) ? 0 : set_value(o, field_of(p, o), value, e);
}

const struct opt *opt_table(const struct opt_parser *p)
{
    return p->table;
}

const struct opt_moved *opt_moved(const struct opt_parser *p, size_t i)
{
    return i < p->moved_count ? &p->moved[i] : NULL;
}

int opt_configure(struct opt_parser *p, const struct opt *o, const char *text, const char *file,
                  struct err *e)
{
    size_t i = (size_t)(o - p->table);

    if (keep_text(p, strdup(text)) < 0)
        return err_nomem(e, "configuration");
    if (o->type == OPT_LIST && !p->configured[i] && !p->given[i])
        memset(field_of(p, o), 0, sizeof(struct opt_list));
    p->configured[i] = file != NULL;
    p->given[i] = !file;
    snprintf(p->places[i], OPT_PLACE_MAX, "%s", file ? file : "");
    return set_value(o, field_of(p, o), p->texts[p->text_count - 1], e);
}

void opt_tell_place(const struct opt_parser *p, struct err *e)
{
    static const char setting[] = "--config ";
    const struct opt_program *program = opt_program_of(p->table);
    char key[OPT_KEY_MAX];

    if (!program || strncmp(e->where, setting, strlen(setting)) != 0)
        return;
    snprintf(key, sizeof(key), "%s", e->where + strlen(setting));
    key[strcspn(key, "=")] = '\0';
    const struct opt *o = opt_key_named(p->table, key);
    if (!o || !p->configured[o - p->table])
        return;
    const struct err said = *e;
    err_set(e, said.code, said.class, p->places[o - p->table], "%s.%s: %s", program->name, key,
            said.what);
}

int opt_check_text(const struct opt *o, const char *text, struct err *e)
{
    union {
        uint64_t number;
        const char *text;
        struct opt_list list;
    } any = {.list = {.count = 0}};

    return set_value(o, &any, text, e);
}

size_t opt_operands(const struct opt_parser *p, const char *const **items)
{
    *items = p->operands;
    return p->operand_count;
}

/* An option without meaning: refused when it was given; what a file says, which is for many runs,
 * becomes the default. */
static int refuse_option(const struct opt_parser *p, size_t i, const char *why, struct err *e)
{
    if (p->given[i])
        return fail(e, &p->table[i], why, "", "");
    if (p->configured[i])
        set_default(p, &p->table[i]);
    p->configured[i] = false;
    return 0;
}

int opt_refuse(const struct opt_parser *p, const char *name, const char *why, struct err *e)
{
    bool off;
    const struct opt *o = find_long(p, name, strlen(name), &off);

    assert(o && "an option that the table lacks");
    return refuse_option(p, (size_t)(o - p->table), why, e);
}

int opt_check_modes(const struct opt_parser *p, const struct opt_mode *modes, size_t n,
                    struct err *e)
{
    int rc = 0;

    for (const struct opt_mode *m = modes; m < modes + n; m++) {
        for (size_t i = 0; m->on && rc == 0 && i < p->count; i++) {
            uint64_t marks = p->table[i].marks;
            if ((marks & m->refuses) || (m->takes && !(marks & m->takes)))
                rc = refuse_option(p, i, m->why, e);
        }
    }
    return rc;
}

int opt_check_sources(const struct opt_parser *p, uint32_t source,
                      const char *(*why)(uint32_t takes, uint32_t source), struct err *e)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < p->count; i++) {
        uint32_t takes = p->table[i].sources;
        if (takes != 0 && !(takes & source) && (p->given[i] || p->configured[i]))
            rc = refuse_option(p, i, why(takes, source), e);
    }
    return rc;
}

const struct opt *opt_effective(const struct opt_parser *p, size_t i, const void **value)
{
    for (size_t k = 0; k < p->count; k++) {
        const struct opt *o = &p->table[k];
        if (!opt_is_option(o) || (o->flags & (OPT_NO_EFFECT | OPT_OLD)) || i-- > 0)
            continue;
        *value = field_of(p, o);
        return o;
    }
    return NULL;
}

/* The bytes of a value, which has a type of fixed width. */
static size_t width_of(enum opt_type type)
{
    return type == OPT_FLAG ? sizeof(bool) : type == OPT_ENUM ? sizeof(int) : sizeof(uint64_t);
}

static void add_text(struct hash_stream *h, const char *text)
{
    hash_stream_add(h, text ? text : "", text ? strlen(text) + 1 : 1);
}

struct hash128 opt_fingerprint(const struct opt_parser *p, const char *without)
{
    struct hash_stream *h = hash_stream_create();
    struct hash128 sum = {0};
    const struct opt *o;
    const void *value;

    for (size_t i = 0; h && (o = opt_effective(p, i, &value)); i++) {
        if (strcmp(o->name, without) == 0)
            continue;
        add_text(h, o->name);
        if (o->type == OPT_TEXT) {
            add_text(h, *(const char *const *)value);
        } else if (o->type == OPT_LIST) {
            const struct opt_list *list = value;
            for (size_t k = 0; k < list->count; k++)
                add_text(h, list->item[k]);
        } else {
            hash_stream_add(h, value, width_of(o->type));
        }
    }
    if (h)
        sum = hash_stream_digest(h);
    hash_stream_free(h);
    return sum;
}
