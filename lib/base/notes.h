/* A short list of short texts for people: what an engine had to do without, what is in force.
 * Reports print the texts one by one or joined; nothing ever splits a joined text again. */
#ifndef KVTRACE_BASE_NOTES_H
#define KVTRACE_BASE_NOTES_H

#include <stdbool.h>
#include <stddef.h>

enum {
    NOTES_MAX = 16,                                /* texts */
    NOTES_CAP = 320,                               /* bytes of one, with its final NUL */
    NOTES_JOINED_CAP = NOTES_MAX * (NOTES_CAP + 2) /* all, with a separator of two characters */
};

/* Plain values; zero it before first use. The order is the order of adding. */
struct notes {
    unsigned count;
    char text[NOTES_MAX][NOTES_CAP];
};

/* Adds a text. One that is too long is cut; a full list does not change. */
void notes_add(struct notes *n, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds each text of more that n does not have yet. */
void notes_merge(struct notes *n, const struct notes *more);
bool notes_has(const struct notes *n, const char *text);
/* All texts with separator between them, in buf of cap bytes; "" for an empty list; what
 * has no room is cut. Returns buf. */
const char *notes_join(const struct notes *n, const char *separator, char *buf, size_t cap);

#endif
