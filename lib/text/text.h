/* text.h - small questions about texts that many readers and writers ask. */
#ifndef KVTRACE_TEXT_TEXT_H
#define KVTRACE_TEXT_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the byte-order mark of UTF-8 that the text begins with: 3 or 0. */
size_t text_mark(const char *text, size_t len);
/* Whether it ends so, and has more before that. */
bool text_ends_with(const char *text, const char *end);
/* Whether the list, which NULL ends, has the text. */
bool text_is_listed(const char *text, const char *const *list);
/* Writes behind what the buffer of cap bytes holds, as far as it fits. */
void text_append(char *buf, size_t cap, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
