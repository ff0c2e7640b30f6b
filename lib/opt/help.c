/* Turns a table of options into the texts that people and scripts read: --help (the common
 * options), --help all, both wrapped at 80 columns, and --list-options. opt.c parses. */
#include "lib/opt/help.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/base/units.h"

enum {
    HELP_WIDTH = 80,
    HELP_COLUMN = 28, /* where the sentences begin, at most */
    HELP_TEXT_MAX = 2048,
    CHOICES_MAX = 100 /* characters of a list of choices in the short text, at most */
};

#define NS_PER_DAY 86400e9

/* Which options a text shows. */
enum part {
    COMMON,
    USUAL, /* all that are not OPT_EXPERT */
    EXPERT
};

/* Options that every program has besides those of its table. */
static const struct opt own[] = {
    {.name = "help",
     .letter = 'h',
     .type = OPT_FLAG,
     .help = "Print this text; --help all: every option."},
    {.name = "version",
     .type = OPT_FLAG,
     .help = "Print name, version, and what this build lacks."},
    {0},
};

static const struct {
    const char *word, *arg;
} types[] = {
    [OPT_HEADING] = {"heading", ""},
    [OPT_EXAMPLE] = {"example", ""},
    [OPT_FLAG] = {"flag", ""},
    [OPT_TEXT] = {"text", "TEXT"},
    [OPT_U64] = {"u64", "N"},
    [OPT_F64] = {"f64", "X"},
    [OPT_SHARE] = {"share", "SHARE"},
    [OPT_SIZE] = {"size", "SIZE"},
    [OPT_GIB] = {"size", "SIZE"},
    [OPT_DURATION] = {"duration", "TIME"},
    [OPT_BANDWIDTH] = {"bandwidth", "RATE"},
    [OPT_ENUM] = {"enum", "WORD"},
    [OPT_LIST] = {"list", "TEXT"},
};

const char *opt_help_arg(const struct opt *o)
{
    bool none = o->type == OPT_FLAG || !opt_is_option(o);

    return o->arg && !none ? o->arg : types[o->type].arg;
}

/* As it can be given: "30000d", "36h", "1000s". */
static char *put_duration(char *buf, size_t n, double ns)
{
    static const struct {
        double ns;
        const char *name;
    } unit[] = {{NS_PER_DAY, "d"}, {NS_PER_DAY / 24, "h"}, {NS_PER_DAY / 1440, "m"}, {1e9, "s"}};

    for (size_t i = 0; i < sizeof(unit) / sizeof(unit[0]); i++) {
        if (ns >= 2 * unit[i].ns && fmod(ns, unit[i].ns) == 0) {
            snprintf(buf, n, "%.15g%s", ns / unit[i].ns, unit[i].name);
            return buf;
        }
    }
    return units_format_duration(buf, n, ns);
}

char *opt_help_number(double x, char *buf, size_t n)
{
    double power = x >= 1e6 ? log2(x) : 0;

    if (power >= 20 && power == floor(power))
        snprintf(buf, n, "2^%.0f", power);
    else if (x > 0 && x < 1e-3)
        snprintf(buf, n, "%.6f", x);
    else
        snprintf(buf, n, "%.15g", x);
    return buf;
}

char *opt_help_bound(const struct opt *o, double bound, char *buf, size_t n)
{
    if (o->type == OPT_SIZE)
        return units_format_bytes(buf, n, bound);
    if (o->type == OPT_GIB)
        return units_format_bytes(buf, n, bound * (double)UNITS_GIB);
    if (o->type == OPT_DURATION && bound == 0)
        snprintf(buf, n, "0");
    else if (o->type == OPT_DURATION)
        return put_duration(buf, n, bound);
    else if (o->type == OPT_BANDWIDTH)
        return units_format_rate(buf, n, bound);
    else if (o->flags & OPT_CONFIG)
        return opt_help_number(bound, buf, n);
    else
        snprintf(buf, n, "%.15g", bound);
    return buf;
}

/* Writes "  -o, --output FILE" to buf; returns its width. */
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

/* Appends one more note, behind "; " unless it is the first. */
static void add_note(char *notes, size_t n, const char *before, const char *text)
{
    size_t len = strlen(notes);

    snprintf(notes + len, n - len, "%s%s%s", len ? "; " : "", before, text);
}

/* Returns how long the first sentence of the text is, with its full stop. */
static size_t first_sentence(const char *text)
{
    size_t len = strcspn(text, ".");

    while (text[len] && text[len + 1] && text[len + 1] != ' ')
        len += 1 + strcspn(text + len + 1, ".");
    return len + (text[len] == '.');
}

/* Writes what the table knows besides the sentences: default, range, choices. In the short text
 * without the range, and without many choices. */
static void put_notes(char *notes, size_t n, const struct opt *o, enum part part)
{
    char low[48], high[48], words[512];
    bool number = o->type == OPT_U64 || o->type == OPT_F64 || o->type == OPT_SHARE ||
                  o->type == OPT_SIZE || o->type == OPT_DURATION || o->type == OPT_BANDWIDTH ||
                  o->type == OPT_GIB;

    if (o->def)
        add_note(notes, n, "default: ", o->def);
    else if (o->flags & OPT_CONFIG && o->type == OPT_FLAG)
        add_note(notes, n, "default: ", "false");
    else if (o->flags & OPT_CONFIG && number && (o->min <= 0 || o->max < o->min))
        add_note(notes, n, "default: ", "0");
    if (part != COMMON && number && (o->min != 0 || o->max != 0)) {
        opt_help_bound(o, o->min, low, sizeof(low));
        opt_help_bound(o, o->max, high, sizeof(high));
        if (o->max < o->min) {
            add_note(notes, n, "at least ", low);
        } else {
            snprintf(words, sizeof(words), "%s to %s", low, high);
            add_note(notes, n, "", words);
        }
    }
    bool many = part == COMMON && o->type == OPT_ENUM && strlen(o->choices) > CHOICES_MAX;
    if (o->type == OPT_ENUM && !many && strcmp(o->choices, opt_help_arg(o)) != 0) {
        size_t used = 0;
        for (const char *c = o->choices; *c && used + 3 < sizeof(words); c++) {
            words[used++] = *c == '|' ? ',' : *c;
            if (*c == '|')
                words[used++] = ' ';
        }
        words[used] = '\0';
        add_note(notes, n, "one of ", words);
    }
}

/* Writes the help sentences, in the short text the first, and the notes in parentheses. */
static void put_sentence(char *text, size_t n, const struct opt *o, enum part part)
{
    char notes[HELP_TEXT_MAX / 2] = "";
    size_t len = part == COMMON ? first_sentence(o->help) : strlen(o->help);

    put_notes(notes, sizeof(notes), o, part);
    snprintf(text, n, "%.*s%s%s%s", (int)len, o->help, *notes ? " (" : "", notes,
             *notes ? ")" : "");
}

/* Writes text in words from column `at`; breaks lines before HELP_WIDTH and indents them to
 * column. */
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

char *opt_help_value(const struct opt *o, char *buf, size_t n)
{
    const char *word = o->type == OPT_U64    ? "whole number"
                       : o->type == OPT_F64  ? "number"
                       : o->type == OPT_FLAG ? "true or false"
                       : o->type == OPT_ENUM ? "word"
                                             : types[o->type].word;

    snprintf(buf, n, "%s", word);
    put_notes(buf, n, o, EXPERT);
    return buf;
}

static void put_option(FILE *f, const struct opt *o, enum part part, size_t column)
{
    char name[128], text[HELP_TEXT_MAX];
    size_t width;

    width = put_name(name, sizeof(name), o);
    put_sentence(text, sizeof(text), o, part);
    fputs(name, f);
    if (width + 2 > column)
        fprintf(f, "\n%*s", (int)column, "");
    else
        fprintf(f, "%*s", (int)(column - width), "");
    put_wrapped(f, text, column, column);
}

/* Closes a memory stream. Frees the text and returns NULL if a write failed. */
static char *stream_text(FILE *f, char **text)
{
    bool failed = ferror(f) != 0;

    if (fclose(f) != 0 || failed) {
        free(*text);
        return NULL;
    }
    return *text;
}

static bool is_shown(const struct opt *o, enum part part)
{
    if (!opt_is_option(o) || o->flags & (OPT_OLD | OPT_CONFIG))
        return false;
    switch (part) {
    case COMMON:
        return o->flags & OPT_COMMON;
    case USUAL:
        return !(o->flags & OPT_EXPERT);
    default:
        return o->flags & OPT_EXPERT;
    }
}

static bool any_shown(const struct opt *table, enum part part)
{
    for (const struct opt *o = table; o->name || o->help; o++)
        if (is_shown(o, part))
            return true;
    return false;
}

/* The column of the sentences: behind the widest name that is not too wide. */
static size_t sentences_at(const struct opt *table)
{
    size_t column = 0;
    char name[128];

    for (const struct opt *o = table; o->name || o->help; o++) {
        size_t width =
            opt_is_option(o) && !(o->flags & OPT_CONFIG) ? put_name(name, sizeof(name), o) + 2 : 0;
        if (width > column && width <= HELP_COLUMN)
            column = width;
    }
    return column ? column : HELP_COLUMN;
}

/* Writes the options of a part. A heading without one of them is left out. */
static void put_part(FILE *f, const struct opt *table, enum part part, size_t column)
{
    const struct opt *heading = NULL;

    for (const struct opt *o = table; o->name || o->help; o++) {
        if (o->type == OPT_HEADING)
            heading = o;
        if (!is_shown(o, part))
            continue;
        if (heading && part != EXPERT)
            fprintf(f, "\n%s:\n", heading->help);
        heading = NULL;
        put_option(f, o, part, column);
    }
}

static void put_examples(FILE *f, const struct opt *table)
{
    bool first = true;

    for (const struct opt *o = table; o->name || o->help; o++) {
        if (o->type != OPT_EXAMPLE)
            continue;
        fprintf(f, "%s  %s\n", first ? "\nExamples:\n" : "", o->help);
        first = false;
    }
}

char *opt_help_text(const char *program, const char *usage, const struct opt *table, bool all)
{
    size_t indent = strlen("Usage: ") + strlen(program) + 1, len = 0, column = sentences_at(table);
    bool brief = !all && any_shown(table, COMMON);
    char *text = NULL;
    FILE *f = memory_stream(&text, &len);

    if (!f)
        return NULL;
    fprintf(f, "Usage: %s ", program);
    put_wrapped(f, usage, indent, indent);
    if (table->type != OPT_HEADING)
        fputs("\n", f);
    put_part(f, table, brief ? COMMON : USUAL, column);
    if (!brief && any_shown(table, EXPERT)) {
        fputs("\nRarely needed:\n", f);
        put_part(f, table, EXPERT, column);
    }
    fputs("\nHelp:\n", f);
    for (const struct opt *o = own; o->name; o++)
        put_option(f, o, USUAL, column);
    put_examples(f, table);
    return stream_text(f, &text);
}

static void put_listing(FILE *f, const struct opt *table)
{
    for (const struct opt *o = table; o->name || o->help; o++) {
        char letter[2] = {o->letter, '\0'};
        const char *arg = o->type == OPT_ENUM ? o->choices : opt_help_arg(o);
        if (opt_is_option(o) && !(o->flags & (OPT_OLD | OPT_CONFIG)))
            fprintf(f, "%s\t%s\t%s\t%s\t%s\t%s\n", o->name, letter, types[o->type].word, arg,
                    o->def ? o->def : "", o->help);
    }
}

char *opt_help_listing(const struct opt *table)
{
    char *text = NULL;
    size_t len = 0;
    FILE *f = memory_stream(&text, &len);

    if (!f)
        return NULL;
    put_listing(f, table);
    put_listing(f, own);
    return stream_text(f, &text);
}
