/* Cuts a stream into lines, for the imports of logs that are not CSV. */
#include "lib/log/lines.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/text/text.h"

enum {
    READ = 64 << 10
};

struct lines {
    struct frame_in *file;
    char *buf; /* LINES_MAX + READ + 1 bytes, of which [at, len) are unread */
    size_t at, len;
    uint64_t line;
    bool ended;
};

struct lines *lines_create(struct frame_in *file)
{
    struct lines *l = calloc(1, sizeof(*l));
    char *buf = malloc(LINES_MAX + READ + 1);
    if (!l || !buf) {
        free(l);
        free(buf);
        frame_in_close(file);
        return NULL;
    }
    l->file = file;
    l->buf = buf;
    return l;
}

void lines_free(struct lines *l)
{
    if (!l)
        return;
    frame_in_close(l->file);
    free(l->buf);
    free(l);
}

const char *lines_name(const struct lines *l)
{
    return frame_in_name(l->file);
}

int lines_bad(const struct lines *l, struct err *e, const char *fmt, ...)
{
    char where[320], what[320];
    va_list args;
    snprintf(where, sizeof(where), "%.280s:%llu", lines_name(l), (unsigned long long)l->line);
    va_start(args, fmt);
    vsnprintf(what, sizeof(what), fmt, args);
    va_end(args);
    return err_set(e, -EINVAL, ERR_INPUT, where, "%s", what);
}

int lines_next(struct lines *l, char **text, size_t *len, struct err *e)
{
    char *line = l->buf + l->at, *end = NULL;
    size_t have = l->len - l->at, seen = 0; /* line[0..seen) has no LF */
    l->line++;
    while (!(end = memchr(line + seen, '\n', have - seen))) {
        if (have > LINES_MAX - 1)
            return lines_bad(l, e, "a line of more than 1 MiB");
        seen = have;
        if (l->ended)
            break;
        memmove(l->buf, line, have);
        line = l->buf;
        l->at = 0;
        l->len = have;
        int64_t n = frame_in_read(l->file, l->buf + have, LINES_MAX + READ - have, e);
        if (n < 0)
            return (int)n;
        l->ended = n == 0;
        l->len = have += (size_t)n;
    }
    *len = end ? (size_t)(end - line) : have;
    if (!end && have == 0)
        return 0;
    if (*len > LINES_MAX - 1)
        return lines_bad(l, e, "a line of more than 1 MiB");
    l->at += *len + (end != NULL);

    line[*len] = '\0';
    if (*len > 0 && line[*len - 1] == '\r')
        line[--*len] = '\0';
    size_t mark = l->line == 1 ? text_mark(line, *len) : 0;
    line += mark;
    *len -= mark;
    if (memchr(line, '\0', *len))
        return lines_bad(l, e, "a NUL byte: no text");
    *text = line;
    return 1;
}
