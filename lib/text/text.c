/* Used by readers of files, by options that name files, and where a line is put together. */
#include "lib/text/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

size_t text_mark(const char *text, size_t len)
{
    return len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

bool text_ends_with(const char *text, const char *end)
{
    size_t len = strlen(text), tail = strlen(end);

    return len > tail && strcmp(text + len - tail, end) == 0;
}

bool text_is_listed(const char *text, const char *const *list)
{
    while (*list && strcmp(*list, text) != 0)
        list++;
    return *list != NULL;
}

void text_append(char *buf, size_t cap, const char *format, ...)
{
    size_t len = strlen(buf);
    va_list args;

    va_start(args, format);
    vsnprintf(buf + len, cap - len, format, args);
    va_end(args);
}
