/* Turns a table of options into the texts that people and scripts read: --help, wrapped at 80
 * columns, and --list-options. opt.c parses. */
#include "lib/opt/help.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/units.h"

enum {
    HELP_WIDTH = 80,
    HELP_COLUMN = 28, /* where the sentences begin, at most */
    HELP_TEXT_MAX = 2048
};

/* Options that every program has besides those of its table. */
static const struct opt own[] = {
    {.name = "help", .letter = 'h', .type = OPT_FLAG, .help = "Print this text."},
    {.name = "version", .type = OPT_FLAG, .help = "Print the name and version."},
    {0},
};

static const struct {
    const char *word, *arg;
} types[] = {
    [OPT_HEADING] = {"heading", ""},
    [OPT_FLAG] = {"flag", ""},
    [OPT_TEXT] = {"text", "TEXT"},
    [OPT_U64] = {"u64", "N"},
    [OPT_F64] = {"f64", "X"},
    [OPT_SIZE] = {"size", "SIZE"},
    [OPT_DURATION] = {"duration", "TIME"},
    [OPT_BANDWIDTH] = {"bandwidth", "RATE"},
    [OPT_ENUM] = {"enum", "WORD"},
    [OPT_LIST] = {"list", "TEXT"},
};

const char *opt_help_arg(const struct opt *o)
{
    bool none = o->type == OPT_FLAG || o->type == OPT_HEADING;

    return o->arg && !none ? o->arg : types[o->type].arg;
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

/* Writes the help sentence and, in parentheses, what else the table knows: default, range, choices,
 * alias. */
static void put_sentence(char *text, size_t n, const struct opt *o)
{
    char notes[HELP_TEXT_MAX / 2] = "", low[48], high[48], part[512];
    bool number = o->type == OPT_U64 || o->type == OPT_F64 || o->type == OPT_SIZE ||
                  o->type == OPT_DURATION || o->type == OPT_BANDWIDTH;

    if (o->def)
        add_note(notes, sizeof(notes), "default: ", o->def);
    if (number && (o->min != 0 || o->max != 0)) {
        opt_help_bound(o, o->min, low, sizeof(low));
        opt_help_bound(o, o->max, high, sizeof(high));
        if (o->max < o->min) {
            add_note(notes, sizeof(notes), "at least ", low);
        } else {
            snprintf(part, sizeof(part), "%s to %s", low, high);
            add_note(notes, sizeof(notes), "", part);
        }
    }
    if (o->type == OPT_ENUM && strcmp(o->choices, opt_help_arg(o)) != 0) {
        size_t len = 0;
        for (const char *c = o->choices; *c && len + 3 < sizeof(part); c++) {
            part[len++] = *c == '|' ? ',' : *c;
            if (*c == '|')
                part[len++] = ' ';
        }
        part[len] = '\0';
        add_note(notes, sizeof(notes), "one of ", part);
    }
    if (o->alias)
        add_note(notes, sizeof(notes), "also --", o->alias);
    snprintf(text, n, "%s%s%s%s", o->help, *notes ? " (" : "", notes, *notes ? ")" : "");
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

char *opt_help_text(const char *program, const char *usage, const struct opt *table)
{
    size_t indent = strlen("Usage: ") + strlen(program) + 1, column = 0, len = 0;
    char *text = NULL, name[128];
    FILE *f = open_memstream(&text, &len);

    if (!f)
        return NULL;
    /* The column of the sentences: behind the widest name that is not too wide. */
    for (const struct opt *o = table; o->name || o->help; o++) {
        size_t width = o->type == OPT_HEADING ? 0 : put_name(name, sizeof(name), o) + 2;
        if (width > column && width <= HELP_COLUMN)
            column = width;
    }
    if (column == 0)
        column = HELP_COLUMN;

    fprintf(f, "Usage: %s ", program);
    put_wrapped(f, usage, indent, indent);
    if (table->type != OPT_HEADING)
        fputs("\n", f);
    for (const struct opt *o = table; o->name || o->help; o++)
        put_option(f, o, column);
    fputs("\nHelp:\n", f);
    for (const struct opt *o = own; o->name; o++)
        put_option(f, o, column);
    return stream_text(f, &text);
}

static void put_listing(FILE *f, const struct opt *table)
{
    for (const struct opt *o = table; o->name || o->help; o++) {
        char letter[2] = {o->letter, '\0'};
        const char *arg = o->type == OPT_ENUM ? o->choices : opt_help_arg(o);
        if (o->type != OPT_HEADING)
            fprintf(f, "%s\t%s\t%s\t%s\t%s\t%s\n", o->name, letter, types[o->type].word, arg,
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
    put_listing(f, own);
    return stream_text(f, &text);
}
