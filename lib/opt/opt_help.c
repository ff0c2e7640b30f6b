/* Turns a table of options into the texts that people and scripts read: --help, wrapped at 80
 * columns, and --list-options. Parsing is opt.c's. */
#include "lib/opt/opt_help.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/units.h"

enum {
    HELP_WIDTH = 80,
    HELP_COLUMN = 28, /* where the sentences begin, at most */
    HELP_TEXT_MAX = 2048
};

static const struct opt help_own[] = {
    {.name = "help", .letter = 'h', .type = OPT_FLAG, .help = "Print this text."},
    {.name = "version", .type = OPT_FLAG, .help = "Print the name and version."},
    {0},
};

static const char *type_word(enum opt_type type)
{
    static const char *const words[] = {"heading", "flag",     "text",      "u64",  "f64",
                                        "size",    "duration", "bandwidth", "enum", "list"};
    return words[type];
}

const char *opt_help_arg(const struct opt *o)
{
    static const char *const args[] = {"",     "",     "TEXT", "N",    "X",
                                       "SIZE", "TIME", "RATE", "WORD", "TEXT"};

    if (o->type == OPT_FLAG || o->type == OPT_HEADING)
        return "";
    return o->arg ? o->arg : args[o->type];
}

char *opt_help_bound(const struct opt *o, double bound, char *buf, size_t n)
{
    if (o->type == OPT_SIZE)
        return units_format_bytes(buf, n, bound);
    if (o->type == OPT_DURATION && bound == 0)
        snprintf(buf, n, "0");
    else if (o->type == OPT_DURATION)
        return units_format_duration(buf, n, bound);
    else if (o->type == OPT_BANDWIDTH)
        return units_format_rate(buf, n, bound);
    else
        snprintf(buf, n, "%.15g", bound);
    return buf;
}

/* "  -o, --output FILE" into buf; returns its width. */
static size_t put_name(char *buf, size_t n, const struct opt *o)
{
    bool negatable = o->type == OPT_FLAG && o->def && strcmp(o->def, "on") == 0;
    const char *arg = opt_help_arg(o);
    char letter[8] = "    ";

    if (o->letter)
        snprintf(letter, sizeof(letter), "-%c, ", o->letter);
    snprintf(buf, n, "  %s--%s%s%s%s", letter, negatable ? "[no-]" : "", o->name, *arg ? " " : "",
             arg);
    return strlen(buf);
}

static void add(char *text, size_t n, const char *more)
{
    size_t len = strlen(text);
    snprintf(text + len, n - len, "%s", more);
}

static bool is_number(enum opt_type type)
{
    return type == OPT_U64 || type == OPT_F64 || type == OPT_SIZE || type == OPT_DURATION ||
           type == OPT_BANDWIDTH;
}

static void add_range(char *note, size_t n, const struct opt *o)
{
    char low[48], high[48], range[128];

    if (!is_number(o->type) || (o->min == 0 && o->max == 0))
        return;
    opt_help_bound(o, o->min, low, sizeof(low));
    opt_help_bound(o, o->max, high, sizeof(high));
    if (o->max < o->min)
        snprintf(range, sizeof(range), "at least %s", low);
    else
        snprintf(range, sizeof(range), "%s to %s", low, high);
    add(note, n, *note ? "; " : "");
    add(note, n, range);
}

static void add_choices(char *note, size_t n, const struct opt *o)
{
    if (o->type != OPT_ENUM || strcmp(o->choices, opt_help_arg(o)) == 0)
        return;
    add(note, n, *note ? "; " : "");
    add(note, n, "one of ");
    for (const char *c = o->choices; *c; c++) {
        char one[2] = {*c, '\0'};
        add(note, n, *c == '|' ? ", " : one);
    }
}

/* The help sentence and, in parentheses, what the table knows besides. */
static void put_sentence(char *text, size_t n, const struct opt *o)
{
    char note[HELP_TEXT_MAX / 2] = "";

    if (o->def) {
        add(note, sizeof(note), "default: ");
        add(note, sizeof(note), o->def);
    }
    add_range(note, sizeof(note), o);
    add_choices(note, sizeof(note), o);
    if (o->alias) {
        add(note, sizeof(note), *note ? "; also --" : "also --");
        add(note, sizeof(note), o->alias);
    }
    snprintf(text, n, "%s", o->help);
    if (*note) {
        add(text, n, " (");
        add(text, n, note);
        add(text, n, ")");
    }
}

/* Writes text in words from column at; breaks lines before HELP_WIDTH, indented to column. */
static void put_wrapped(FILE *f, const char *text, size_t at, size_t column)
{
    bool first = true;

    while (*text) {
        size_t len = strcspn(text, " ");
        if (!first && at + 1 + len > HELP_WIDTH - 1) {
            fprintf(f, "\n%*s", (int)column, "");
            at = column;
        } else if (!first) {
            fputc(' ', f);
            at++;
        }
        fwrite(text, 1, len, f);
        at += len;
        first = false;
        text += len;
        text += strspn(text, " ");
    }
    fputc('\n', f);
}

static void put_option(FILE *f, const struct opt *o, size_t column)
{
    char name[128], text[HELP_TEXT_MAX];
    size_t width;

    if (o->type == OPT_HEADING) {
        fprintf(f, "\n%s:\n", o->help);
        return;
    }
    width = put_name(name, sizeof(name), o);
    put_sentence(text, sizeof(text), o);
    fputs(name, f);
    if (width + 2 > column)
        fprintf(f, "\n%*s", (int)column, "");
    else
        fprintf(f, "%*s", (int)(column - width), "");
    put_wrapped(f, text, column, column);
}

static size_t help_column(const struct opt *table)
{
    size_t column = 0;
    char name[128];

    for (const struct opt *o = table; o->name || o->help; o++) {
        size_t width = o->type == OPT_HEADING ? 0 : put_name(name, sizeof(name), o) + 2;
        if (width > column && width <= HELP_COLUMN)
            column = width;
    }
    return column ? column : HELP_COLUMN;
}

/* Closes a memory stream; NULL (and frees) when a write into it failed. */
static char *stream_text(FILE *f, char **text)
{
    bool failed = ferror(f) != 0;

    if (fclose(f) != 0 || failed) {
        free(*text);
        return NULL;
    }
    return *text;
}

char *opt_help_text(const char *program, const char *usage, const struct opt *table)
{
    size_t column = help_column(table), indent = strlen("Usage: ") + strlen(program) + 1;
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);

    if (!f)
        return NULL;
    fprintf(f, "Usage: %s ", program);
    put_wrapped(f, usage, indent, indent);
    if (table->type != OPT_HEADING)
        fputs("\n", f);
    for (const struct opt *o = table; o->name || o->help; o++)
        put_option(f, o, column);
    fputs("\nHelp:\n", f);
    for (const struct opt *o = help_own; o->name; o++)
        put_option(f, o, column);
    return stream_text(f, &text);
}

static void put_listing(FILE *f, const struct opt *table)
{
    for (const struct opt *o = table; o->name || o->help; o++) {
        char letter[2] = {o->letter, '\0'};
        const char *arg = o->type == OPT_ENUM ? o->choices : opt_help_arg(o);
        if (o->type != OPT_HEADING)
            fprintf(f, "%s\t%s\t%s\t%s\t%s\t%s\n", o->name, letter, type_word(o->type), arg,
                    o->def ? o->def : "", o->help);
    }
}

char *opt_help_listing(const struct opt *table)
{
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);

    if (!f)
        return NULL;
    put_listing(f, table);
    put_listing(f, help_own);
    return stream_text(f, &text);
}
