/* Notes of engines about themselves, on their way into reports. Each note stays a text of its own
 * until a report is written; how notes look there is the report's business. */
#include "lib/base/notes.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/err.h"

void notes_add(struct notes *n, const char *format, ...)
{
    va_list args;

    if (n->count == NOTES_MAX)
        return;
    va_start(args, format);
    vsnprintf(n->text[n->count], NOTES_CAP, format, args);
    va_end(args);
    err_make_harmless(n->text[n->count++]); /* names and words of files are in it */
}

void notes_merge(struct notes *n, const struct notes *more)
{
    for (unsigned i = 0; i < more->count; i++)
        if (!notes_has(n, more->text[i]))
            notes_add(n, "%s", more->text[i]);
}

bool notes_has(const struct notes *n, const char *text)
{
    for (unsigned i = 0; i < n->count; i++)
        if (strcmp(n->text[i], text) == 0)
            return true;
    return false;
}

const char *notes_join(const struct notes *n, const char *separator, char *buf, size_t cap)
{
    size_t len = 0;

    buf[0] = '\0';
    for (unsigned i = 0; i < n->count && len < cap; i++)
        len += (size_t)snprintf(buf + len, cap - len, "%s%s", i > 0 ? separator : "", n->text[i]);
    return buf;
}
