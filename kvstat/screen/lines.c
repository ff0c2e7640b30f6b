/* The paper of the one-screen reports, which write on it: line breaks, cuts and shortened names.
 * Columns are those of a terminal, so that names in any script keep the tables straight. */
#include "kvstat/screen/lines.h"

#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include "kvstat/report/cells.h"
#include "lib/base/err.h"
#include "lib/text/text.h"

enum {
    TEXT = LINES_PARTS * LINES_PART_BYTES,
    UNTITLED_INDENT = 2 /* of the lines that follow a first without a title */
};

/* The bytes at the start of text that take at most so many columns. */
static size_t bytes_of_columns(const char *text, int columns)
{
    char piece[8];
    size_t at = 0;
    while (text[at]) {
        size_t len = 1;
        while (((unsigned char)text[at + len] & 0xc0) == 0x80 && len < 4)
            len++;
        memcpy(piece, text + at, len);
        piece[len] = '\0';
        columns -= cell_columns(piece);
        if (columns < 0)
            break;
        at += len;
    }
    return at;
}

const char *lines_shorten(char *buf, const char *text, int columns)
{
    int all = cell_columns(text);
    if (all <= columns) {
        snprintf(buf, LINES_BYTES, "%s", text);
        return buf;
    }
    size_t head = bytes_of_columns(text, (columns - 3) / 2);
    /* The tail: skip characters until what follows is narrow enough. */
    const char *tail = text + head;
    while (*tail && cell_columns(tail) > columns - 3 - (columns - 3) / 2) {
        do
            tail++;
        while (((unsigned char)*tail & 0xc0) == 0x80);
    }
    snprintf(buf, LINES_BYTES, "%.*s...%s", (int)head, text, tail);
    return buf;
}

void lines_add(struct lines *l, const char *format, ...)
{
    char text[TEXT];
    va_list args;
    if (l->count == LINES_ROOM)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    err_make_harmless(text);
    size_t len = bytes_of_columns(text, LINES_COLUMNS);
    while (len > 0 && (text[len - 1] == ' ' || len >= LINES_BYTES))
        len--;
    memcpy(l->line[l->count], text, len);
    l->line[l->count++][len] = '\0';
}

void lines_gap(struct lines *l)
{
    if (l->count > 0 && l->count < LINES_ROOM && l->line[l->count - 1][0])
        l->line[l->count++][0] = '\0';
}

void lines_put(FILE *out, const struct lines *l)
{
    for (size_t i = 0; i < l->count; i++)
        fprintf(out, "%s\n", l->line[i]);
}

void lines_part(struct lines_parts *p, const char *format, ...)
{
    va_list args;
    if (p->count < LINES_PARTS) {
        va_start(args, format);
        vsnprintf(p->text[p->count], LINES_PART_BYTES, format, args);
        va_end(args);
    }
    p->count++;
}

/* Whether the blank at the end of a word is one within a value: "41 ms", "< 200". */
static bool is_glued(const char *word, size_t len)
{
    static const char *const units[] = {"%",   "ns",  "us",  "ms",  "s",   "min", "h",   "B",
                                        "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "rows"};
    const char *next = word + len + strspn(word + len, " ");
    char last = len > 0 ? word[len - 1] : ' ';
    if (!*next)
        return false;
    if (len == 1 && (last == '<' || last == '>'))
        return true;
    size_t n = strcspn(next, " ,;:)/");
    for (size_t i = 0; last >= '0' && last <= '9' && i < sizeof(units) / sizeof(units[0]); i++)
        if (strlen(units[i]) == n && strncmp(next, units[i], n) == 0)
            return true;
    return false;
}

/* The bytes of the first word of text, with the blanks in it that no line breaks at. */
static size_t word_length(const char *text)
{
    size_t len = strcspn(text, " "), from = 0;
    while (text[len] && is_glued(text + from, len - from)) {
        from = len + 1;
        len = from + strcspn(text + from, " ");
    }
    return len;
}

/* Writes the words of text into lines behind the title (NULL: none). Returns how many lines they
 * need. */
static size_t break_lines(struct lines *l, const char *title, const char *text)
{
    char line[TEXT], word[LINES_BYTES], whole[TEXT];
    size_t count = 0;
    int indent = !title ? UNTITLED_INDENT : l->indent > 0 ? l->indent : LINES_INDENT;
    int titled = !title ? 0 : cell_columns(title) < indent ? indent : cell_columns(title) + 1;
    int column = titled, begin = titled;
    title = title ? title : "";
    snprintf(line, sizeof(line), "%-*s", cell_pad(title, titled), title);
    while (*text) {
        size_t len = word_length(text);
        snprintf(whole, sizeof(whole), "%.*s", (int)len, text);
        lines_shorten(word, whole, LINES_COLUMNS - indent);
        int columns = cell_columns(word);
        if (column > begin && column + 1 + columns > LINES_COLUMNS) {
            lines_add(l, "%s", line);
            count++;
            snprintf(line, sizeof(line), "%*s", indent, "");
            column = begin = indent;
        }
        size_t end = strlen(line);
        snprintf(line + end, sizeof(line) - end, "%s%s", column > begin ? " " : "", word);
        column += columns + (column > begin);
        text += len + strspn(text + len, " ");
    }
    lines_add(l, "%s", line);
    return count + 1;
}

void lines_text(struct lines *l, const char *text)
{
    break_lines(l, NULL, text);
}

/* The first parts as one text, with a word on the others. */
static void join(char text[TEXT], const struct lines_parts *p, size_t shown, const char *separator)
{
    text[0] = '\0';
    for (size_t i = 0; i < shown; i++)
        text_append(text, TEXT, "%s%s", i ? separator : "", p->text[i]);
    if (shown < p->count)
        text_append(text, TEXT, "; %zu more: --full", p->count - shown);
}

bool lines_paragraph(struct lines *l, const char *title, const struct lines_parts *p,
                     const char *separator, size_t most)
{
    size_t begin = l->count, shown = p->count < LINES_PARTS ? p->count : LINES_PARTS;
    char text[TEXT];
    if (p->count == 0)
        return true;
    for (; shown > 0; shown--) {
        join(text, p, shown, separator);
        if (break_lines(l, title, text) <= most)
            return shown == p->count;
        l->count = begin;
    }
    /* Even one part is too long: as many of its words as have room. */
    const char *rest = p->count > 1 ? " ...; more: --full" : " ... (--full)";
    snprintf(text, sizeof(text), "%s", p->text[0]);
    for (;;) {
        char cut[TEXT], *blank = strrchr(text, ' ');
        if (blank)
            *blank = '\0';
        snprintf(cut, sizeof(cut), "%.*s%s", LINES_PART_BYTES, text, rest);
        if (break_lines(l, title, cut) <= most || !blank)
            return false;
        l->count = begin;
    }
}
