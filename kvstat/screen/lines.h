/* lines.h - a text that fits one screen: at most 25 lines of 80 columns. Collects lines and
 * paragraphs; what has no room is counted, and the reader is told where it is. */
#ifndef KVSTAT_SCREEN_LINES_H
#define KVSTAT_SCREEN_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum {
    LINES_COLUMNS = 80,
    LINES_MOST = 25,
    LINES_INDENT = 11, /* columns of a title, and indent of the lines that follow */
    LINES_ROOM = 64,   /* lines kept; more than a screen, to be told that it is too much */
    LINES_BYTES = 4 * LINES_COLUMNS + 1,
    LINES_PARTS = 24,
    LINES_PART_BYTES = 700
};

/* Zero it before the first line. */
struct lines {
    size_t count;
    int indent; /* 0: LINES_INDENT */
    char line[LINES_ROOM][LINES_BYTES];
};

/* Adds one line; what is beyond the last column is cut off. */
void lines_add(struct lines *l, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds an empty line, unless the last one is empty. */
void lines_gap(struct lines *l);
void lines_put(FILE *out, const struct lines *l);

/* The parts of a paragraph, the most important first. Zero it before the first part. */
struct lines_parts {
    size_t count; /* of those added; the text of the first LINES_PARTS is kept */
    char text[LINES_PARTS][LINES_PART_BYTES];
};
void lines_part(struct lines_parts *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Adds the title and the parts, with a separator between them, in lines of whole words. Parts
 * without room in so many lines are left out from the end: "; 3 more: --full". Nothing is added
 * when there are no parts. Returns whether all of it had room. */
bool lines_paragraph(struct lines *l, const char *title, const struct lines_parts *p,
                     const char *separator, size_t most);

/* Adds a text without a title in lines of whole words. */
void lines_text(struct lines *l, const char *text);

/* Copies text; one of more columns loses its middle: "a-long...name.csv". The end keeps a little
 * more than the start. buf has LINES_BYTES, columns is at least 8. Returns buf. */
const char *lines_shorten(char *buf, const char *text, int columns);

#endif
