/* The command line of every program: texts from argv into the fields of an options struct, as the
 * program's table says. Texts made from the table (--help) are opt_help.c's; what options mean
 * together is the program's own matter. */
#include "lib/opt/opt.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/nearest.h"
#include "lib/base/units.h"
#include "lib/opt/opt_help.h"
#include "lib/opt/opt_owners.h"

struct opt_parser {
    const char *program;
    const char *usage;
    const struct opt *table;
    char *fields;
    size_t count; /* entries of table */
    bool *given;  /* by index in table */
    const char **operands;
    size_t operand_count;
    char *answer;  /* for --help and the like */
    char *listing; /* for opt_listing */
};

/* What a walk over argv needs to know. */
struct opt_walk {
    char **next; /* argument after the one being parsed; NULL ends */
    bool done;   /* --help and the like was met: nothing further is parsed */
};

static void *field_of(const struct opt_parser *p, const struct opt *o)
{
    return p->fields + o->offset;
}

static bool default_on(const struct opt *o)
{
    return o->type == OPT_FLAG && o->def && strcmp(o->def, "on") == 0;
}

/* ---- values ---- */

static int fail(struct err *e, const struct opt *o, const char *before, const char *text,
                const char *after)
{
    char where[96];

    snprintf(where, sizeof(where), "--%s", o->name);
    return err_set(e, -EINVAL, ERR_INPUT, where, "%s%s%s", before, text, after);
}

/* Parses text into the 8 bytes at field; *value the number for the range check. */
static int parse_number(const struct opt *o, const char *text, void *field, double *value)
{
    uint64_t u = 0;
    int64_t ns = 0;
    int rc;

    *value = 0;
    if (o->type == OPT_F64) {
        rc = units_parse_f64(text, value);
        memcpy(field, value, sizeof(*value));
        return rc;
    }
    if (o->type == OPT_DURATION) {
        rc = units_parse_duration(text, &ns);
        *value = (double)ns;
        memcpy(field, &ns, sizeof(ns));
        return rc;
    }
    if (o->type == OPT_U64)
        rc = units_parse_u64(text, &u);
    else if (o->type == OPT_SIZE)
        rc = units_parse_size(text, &u);
    else
        rc = units_parse_bandwidth(text, &u);
    *value = (double)u;
    memcpy(field, &u, sizeof(u));
    return rc;
}

static const char *number_noun(const struct opt *o)
{
    switch (o->type) {
    case OPT_U64:
        return "' is not a whole number";
    case OPT_SIZE:
        return "' is not a size (such as 4096, 64K, 1.5GiB, 2GB)";
    case OPT_DURATION:
        return "' is not a duration (such as 2, 100ms, 1.5m, 1h)";
    case OPT_BANDWIDTH:
        return "' is not a bandwidth (such as 800MiB/s, 2GB/s)";
    default:
        return o->arg && strcmp(o->arg, "GiB") == 0 ? "' is not a number of GiB (such as 16, 0.5)"
                                                    : "' is not a number";
    }
}

static int fail_range(struct err *e, const struct opt *o, const char *text, bool below)
{
    char bound[48], after[80];

    opt_help_bound(o, below ? o->min : o->max, bound, sizeof(bound));
    snprintf(after, sizeof(after), " is %s %s", below ? "below" : "above", bound);
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
    return fail(e, o, "'", text, number_noun(o));
}

static int set_number(const struct opt *o, void *field, const char *text, struct err *e)
{
    bool any = o->min == 0 && o->max == 0;
    uint64_t bits;
    double value;
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

static int fail_choice(struct err *e, const struct opt *o, const char *text)
{
    char where[96], list[512];
    size_t len = 0;

    for (const char *c = o->choices; *c && len + 3 < sizeof(list); c++) {
        list[len++] = *c == '|' ? ',' : *c;
        if (*c == '|')
            list[len++] = ' ';
    }
    list[len] = '\0';
    snprintf(where, sizeof(where), "--%s", o->name);
    return err_set(e, -EINVAL, ERR_INPUT, where, "'%s' is not one of: %s", text, list);
}

static int set_choice(const struct opt *o, int *field, const char *text, struct err *e)
{
    const char *c = o->choices;

    for (int i = 0;; i++) {
        size_t len = strcspn(c, "|");
        if (len == strlen(text) && memcmp(c, text, len) == 0) {
            *field = i;
            return 0;
        }
        if (c[len] == '\0')
            return fail_choice(e, o, text);
        c += len + 1;
    }
}

static int add_item(const struct opt *o, struct opt_list *list, const char *text, struct err *e)
{
    if (list->count == OPT_LIST_MAX)
        return fail(e, o, "'", text, "' is one too many (at most 64 times)");
    list->item[list->count++] = text;
    return 0;
}

static int set_value(const struct opt_parser *p, const struct opt *o, const char *text,
                     struct err *e)
{
    void *field = field_of(p, o);

    switch (o->type) {
    case OPT_HEADING:
        return 0;
    case OPT_FLAG:
        *(bool *)field = strcmp(text, "on") == 0;
        return 0;
    case OPT_TEXT:
        *(const char **)field = text;
        return 0;
    case OPT_ENUM:
        return set_choice(o, field, text, e);
    case OPT_LIST:
        return add_item(o, field, text, e);
    default:
        return set_number(o, field, text, e);
    }
}

/* Sizes of the fields, for clearing those without a default. */
static size_t field_size(enum opt_type type)
{
    switch (type) {
    case OPT_HEADING:
        return 0;
    case OPT_FLAG:
        return sizeof(bool);
    case OPT_TEXT:
        return sizeof(const char *);
    case OPT_ENUM:
        return sizeof(int);
    case OPT_LIST:
        return sizeof(struct opt_list);
    default:
        return sizeof(uint64_t);
    }
}

static void set_default(const struct opt_parser *p, const struct opt *o)
{
    memset(field_of(p, o), 0, field_size(o->type));
    if (o->def) {
        int rc = set_value(p, o, o->def, NULL);
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
    if (!p->given) {
        free(p);
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
    free(p->given);
    free(p->operands);
    free(p->answer);
    free(p->listing);
    free(p);
}

/* ---- finding an option ---- */

static bool named(const char *name, const char *text, size_t len)
{
    return name && strlen(name) == len && memcmp(name, text, len) == 0;
}

/* Option whose name or alias is text[0..len), NULL if none; *off when it is "no-NAME". */
static const struct opt *find_long(const struct opt_parser *p, const char *text, size_t len,
                                   bool *off)
{
    *off = false;
    for (size_t i = 0; i < p->count; i++) {
        const struct opt *o = &p->table[i];
        if (o->type == OPT_HEADING)
            continue;
        if (named(o->name, text, len) || named(o->alias, text, len))
            return o;
    }
    if (len < 4 || memcmp(text, "no-", 3) != 0)
        return NULL;
    *off = true;
    for (size_t i = 0; i < p->count; i++)
        if (default_on(&p->table[i]) && named(p->table[i].name, text + 3, len - 3))
            return &p->table[i];
    return NULL;
}

static const struct opt *find_letter(const struct opt_parser *p, char letter)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->table[i].type != OPT_HEADING && p->table[i].letter == letter)
            return &p->table[i];
    return NULL;
}

/* "kvgen", "kvgen and kvstat", "kvgen, kvreplay and kvstat": whose option name is; false: nobody's.
 */
static bool find_owners(const char *name, char *buf, size_t n)
{
    const char *owner[8];
    size_t count = 0, at = 0;

    for (const struct opt_owner *o = opt_owners; o->name; o++)
        if (strcmp(o->name, name) == 0 && count < sizeof(owner) / sizeof(*owner))
            owner[count++] = o->program;
    for (size_t i = 0; i < count && at < n; i++)
        at += (size_t)snprintf(buf + at, n - at, "%s%s",
                               i == 0           ? ""
                               : i + 1 == count ? " and "
                                                : ", ",
                               owner[i]);
    return count > 0;
}

/* An option of this table of which name is the end, as "users" is of "num-users"; NULL: none. */
static const char *find_longer(const struct opt_parser *p, const char *name)
{
    size_t len = strlen(name);

    for (size_t i = 0; i < p->count; i++) {
        const char *own = p->table[i].name;
        size_t longer = p->table[i].type == OPT_HEADING ? 0 : strlen(own);

        if (longer > len + 1 && own[longer - len - 1] == '-' &&
            strcmp(own + longer - len, name) == 0)
            return own;
    }
    return NULL;
}

static int fail_unknown(const struct opt_parser *p, const char *text, size_t len, struct err *e)
{
    char name[96], where[100], owners[96];
    struct nearest near = {.typed = name};

    snprintf(name, sizeof(name), "%.*s", (int)(len < sizeof(name) ? len : sizeof(name)), text);
    snprintf(where, sizeof(where), "--%s", name);
    if (find_owners(name, owners, sizeof(owners))) {
        const char *longer = find_longer(p, name);

        return err_set(e, -EINVAL, ERR_INPUT, where, "an option of %s%s%s%s", owners,
                       longer ? "; did you mean --" : "", longer ? longer : "", longer ? "?" : "");
    }
    for (size_t i = 0; i < p->count; i++) {
        if (p->table[i].type == OPT_HEADING)
            continue;
        nearest_offer(&near, p->table[i].name);
        if (p->table[i].alias)
            nearest_offer(&near, p->table[i].alias);
    }
    nearest_offer(&near, "help");
    nearest_offer(&near, "version");
    if (near.best)
        return err_set(e, -EINVAL, ERR_INPUT, where, "unknown option; did you mean --%s?",
                       near.best);
    return err_set(e, -EINVAL, ERR_INPUT, where, "unknown option; see %s --help", p->program);
}

/* ---- walking argv ---- */

/* Could the next argument be the value of o? "-1" is one, "--seed" after "--gpu-mem-gb" is not;
 * texts take anything, as with getopt_long. */
static bool is_value(const struct opt *o, const char *text)
{
    if (!text)
        return false;
    if (o->type == OPT_TEXT || o->type == OPT_LIST || text[0] != '-')
        return true;
    return text[1] != '\0' && strchr("0123456789.", text[1]) != NULL;
}

static int take_value(struct opt_parser *p, const struct opt *o, const char *text, struct err *e)
{
    size_t i = (size_t)(o - p->table);

    if (o->type == OPT_LIST && !p->given[i])
        memset(field_of(p, o), 0, sizeof(struct opt_list)); /* replaces the default */
    p->given[i] = true;
    return set_value(p, o, text, e);
}

/* Takes the value at text, or the next argument when text is NULL. */
static int take_argument(struct opt_parser *p, struct opt_walk *w, const struct opt *o,
                         const char *text, struct err *e)
{
    if (!text) {
        if (!is_value(o, *w->next))
            return fail(e, o, "needs a value (", opt_help_arg(o), ")");
        text = *w->next++;
    }
    return take_value(p, o, text, e);
}

/* Keeps text (NULL: no memory) as the answer and ends the walk. */
static int set_answer(struct opt_parser *p, struct opt_walk *w, char *text, struct err *e)
{
    if (!text)
        return err_nomem(e, "help text");
    free(p->answer);
    p->answer = text;
    w->done = true;
    return 0;
}

static char *version_text(const struct opt_parser *p)
{
    char *text = NULL;

    return asprintf(&text, "%s %s\n", p->program, KVTRACE_VERSION) < 0 ? NULL : text;
}

/* Answers the options that every program has; false when name is none of them. */
static bool take_own(struct opt_parser *p, struct opt_walk *w, const char *name, int *rc,
                     struct err *e)
{
    char *text;

    if (strcmp(name, "help") == 0)
        text = opt_help_text(p->program, p->usage, p->table);
    else if (strcmp(name, "version") == 0)
        text = version_text(p);
    else if (strcmp(name, "list-options") == 0)
        text = opt_help_listing(p->table);
    else
        return false;
    *rc = set_answer(p, w, text, e);
    return true;
}

/* text: what follows "--". */
static int take_long(struct opt_parser *p, struct opt_walk *w, const char *text, struct err *e)
{
    size_t len = strcspn(text, "=");
    const char *value = text[len] == '=' ? text + len + 1 : NULL;
    const struct opt *o;
    bool off;
    int rc;

    if (take_own(p, w, text, &rc, e))
        return rc;
    o = find_long(p, text, len, &off);
    if (!o)
        return fail_unknown(p, text, len, e);
    if (o->type != OPT_FLAG)
        return take_argument(p, w, o, value, e);
    if (value)
        return fail(e, o, "takes no value, '", value, "' was given");
    return take_value(p, o, off ? "off" : "on", e);
}

/* text: what follows "-": flags in a row, the last may have a value. */
static int take_letters(struct opt_parser *p, struct opt_walk *w, const char *text, struct err *e)
{
    for (; *text && !w->done; text++) {
        const struct opt *o = find_letter(p, *text);
        char where[3] = {'-', *text, '\0'};
        int rc = 0;

        if (!o && *text == 'h')
            take_own(p, w, "help", &rc, e);
        else if (!o)
            return err_set(e, -EINVAL, ERR_INPUT, where, "unknown option; see %s --help",
                           p->program);
        else if (o->type != OPT_FLAG)
            return take_argument(p, w, o, text[1] ? text + 1 : NULL, e);
        else
            rc = take_value(p, o, "on", e);
        if (rc < 0)
            return rc;
    }
    return 0;
}

int opt_parse(struct opt_parser *p, int argc, char **argv, struct err *e)
{
    struct opt_walk w = {.next = argv + (argc > 0)};
    bool only_operands = false;
    int rc = 0;

    free(p->operands);
    p->operand_count = 0;
    p->operands = calloc((size_t)argc + 1, sizeof(*p->operands));
    if (!p->operands)
        return err_nomem(e, "operands");
    while (rc == 0 && !w.done && *w.next) {
        const char *text = *w.next++;
        if (only_operands || text[0] != '-' || text[1] == '\0')
            p->operands[p->operand_count++] = text;
        else if (strcmp(text, "--") == 0)
            only_operands = true;
        else if (text[1] == '-')
            rc = take_long(p, &w, text + 2, e);
        else
            rc = take_letters(p, &w, text + 1, e);
    }
    return rc < 0 ? rc : w.done;
}

/* ---- what the program asks ---- */

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
    return o && p->given[o - p->table];
}

size_t opt_operands(const struct opt_parser *p, const char *const **items)
{
    *items = p->operands;
    return p->operand_count;
}

int opt_refuse(const struct opt_parser *p, struct err *e, const char *why, ...)
{
    const char *name;
    va_list names;
    int rc = 0;

    va_start(names, why);
    while (rc == 0 && (name = va_arg(names, const char *)) != NULL) {
        char where[96];
        snprintf(where, sizeof(where), "--%s", name);
        if (opt_given(p, name))
            rc = err_set(e, -EINVAL, ERR_INPUT, where, "%s", why);
    }
    va_end(names);
    return rc;
}

const struct opt *opt_effective(const struct opt_parser *p, size_t i, const void **value)
{
    for (size_t k = 0; k < p->count; k++) {
        const struct opt *o = &p->table[k];
        if (o->type == OPT_HEADING || (o->flags & OPT_NO_EFFECT) || i-- > 0)
            continue;
        *value = field_of(p, o);
        return o;
    }
    return NULL;
}

const char *opt_listing(struct opt_parser *p)
{
    if (!p->listing)
        p->listing = opt_help_listing(p->table);
    return p->listing ? p->listing : "";
}
