/* Cuts a stream of JSON into lines or array elements before anything is parsed. The content of an
 * element is left to its reader: json-c in jsonin.c, or a faster reader of one kind of line. */
#include "lib/json/jsoncut.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/text/text.h"
#include "lib/trace/frame.h"

enum {
    FIRST_ROOM = 64 << 10
};

enum stream_kind {
    STREAM_UNKNOWN,
    STREAM_LINES,
    STREAM_ARRAY
};

struct jsoncut {
    struct frame_in *in;
    char *buf;
    size_t pos, len, room; /* buf[pos..len) is unread */
    size_t max;            /* most bytes of an element */
    uint64_t line;         /* of buf[pos] */
    uint64_t element_line; /* of the element last returned */
    enum stream_kind kind;
    bool ended;   /* the input ended */
    bool done;    /* the array ended, or an error was returned */
    bool started; /* an element of the array was returned */
};

size_t jsoncut_space(const char *text, size_t len)
{
    size_t n = 0;

    while (n < len && (text[n] == ' ' || text[n] == '\t' || text[n] == '\r' || text[n] == '\n'))
        n++;
    return n;
}

uint64_t jsoncut_lines(const char *text, size_t len)
{
    uint64_t n = 0;

    for (const char *end = text + len; text < end; n++) {
        text = memchr(text, '\n', (size_t)(end - text));
        if (!text)
            break;
        text++;
    }
    return n;
}

int jsoncut_fail(struct err *e, const char *name, uint64_t line, const char *why)
{
    char where[320];

    snprintf(where, sizeof(where), "%.280s:%llu", name, (unsigned long long)line);
    return err_set(e, -EINVAL, ERR_INPUT, where, "not JSON: %s", why);
}

int jsoncut_open(struct jsoncut **out, struct frame_in *in, size_t max_element_bytes, struct err *e)
{
    struct jsoncut *s = calloc(1, sizeof(*s));

    if (!s)
        return err_nomem(e, "JSON stream");
    s->in = in;
    s->line = 1;
    s->max = max_element_bytes < INT_MAX / 2 ? max_element_bytes : INT_MAX / 2;
    s->buf = malloc(FIRST_ROOM);
    s->room = FIRST_ROOM;
    if (!s->buf) {
        jsoncut_close(s);
        return err_nomem(e, "JSON stream");
    }
    *out = s;
    return 0;
}

void jsoncut_close(struct jsoncut *s)
{
    if (!s)
        return;
    free(s->buf);
    free(s);
}

uint64_t jsoncut_line(const struct jsoncut *s)
{
    return s->element_line;
}

/* Reads more behind len; moves unread bytes to the front. 1, 0 at the end, negative errno. */
static int refill(struct jsoncut *s, struct err *e)
{
    int64_t n;

    if (s->ended)
        return 0;
    memmove(s->buf, s->buf + s->pos, s->len - s->pos);
    s->len -= s->pos;
    s->pos = 0;
    if (memory_room(&s->buf, &s->room, s->len, 1, 0) < 0)
        return err_nomem(e, "JSON stream");
    n = frame_in_read(s->in, s->buf + s->len, s->room - s->len, e);
    if (n < 0)
        return (int)n;
    s->ended = n == 0;
    s->len += (size_t)n;
    return n > 0;
}

/* Skips white space and counts lines. 1 with the next byte in *c, 0 at the end. */
static int skip_space(struct jsoncut *s, char *c, struct err *e)
{
    for (;;) {
        size_t n = jsoncut_space(s->buf + s->pos, s->len - s->pos);
        int rc;
        s->line += jsoncut_lines(s->buf + s->pos, n);
        s->pos += n;
        if (s->pos < s->len) {
            *c = s->buf[s->pos];
            return 1;
        }
        rc = refill(s, e);
        if (rc <= 0)
            return rc;
    }
}

static int fail_stream(struct jsoncut *s, const char *why, struct err *e)
{
    s->done = true;
    return jsoncut_fail(e, frame_in_name(s->in), s->line, why);
}

/* How far the scan of an element has come. */
struct cut {
    size_t scanned; /* bytes from s->pos on */
    unsigned depth;
    bool quoted, escaped;
};

/* Both scan on through the buffer and return whether the end of the element was found. */
static bool scan_line(const struct jsoncut *s, struct cut *c)
{
    size_t have = s->len - s->pos;
    const char *at = s->buf + s->pos + c->scanned, *end = memchr(at, '\n', have - c->scanned);

    c->scanned = end ? (size_t)(end - s->buf) - s->pos : have;
    return end != NULL;
}

static bool scan_element(const struct jsoncut *s, struct cut *c)
{
    size_t have = s->len - s->pos;

    for (; c->scanned < have; c->scanned++) {
        char byte = s->buf[s->pos + c->scanned];
        if (c->escaped) {
            c->escaped = false;
        } else if (c->quoted) {
            c->escaped = byte == '\\';
            c->quoted = byte != '"';
        } else if (byte == '"') {
            c->quoted = true;
        } else if (byte == '{' || byte == '[') {
            c->depth++;
        } else if (byte == '}' || byte == ']') {
            if (c->depth == 0)
                return true; /* it closes the array */
            if (--c->depth == 0) {
                c->scanned++;
                return true;
            }
        } else if (byte == ',' && c->depth == 0) {
            return true;
        }
    }
    return false;
}

/* Cuts out the element at pos. */
static int take_element(struct jsoncut *s, const char **text, size_t *len, struct err *e)
{
    struct cut c = {0};

    for (;;) {
        bool found = s->kind == STREAM_LINES ? scan_line(s, &c) : scan_element(s, &c);
        if (c.scanned > s->max) {
            char where[320];
            s->done = true;
            snprintf(where, sizeof(where), "%.280s:%llu", frame_in_name(s->in),
                     (unsigned long long)s->line);
            return err_set(e, -EFBIG, ERR_INPUT, where, "an element is larger than %zu bytes",
                           s->max);
        }
        int rc = found ? 0 : refill(s, e);
        if (rc < 0)
            return rc;
        if (!found && rc == 0 && s->kind == STREAM_ARRAY)
            return fail_stream(s, "input ends inside the array", e);
        if (rc == 0)
            break;
    }
    *text = s->buf + s->pos;
    *len = c.scanned;
    s->element_line = s->line;
    if (s->kind == STREAM_ARRAY)
        s->line += jsoncut_lines(*text, *len);
    s->pos += *len;
    return 1;
}

/* Looks at the first byte, behind a byte-order mark, which tells the kind. */
static int begin(struct jsoncut *s, struct err *e)
{
    char c = 0;
    int rc = 1;

    while (rc > 0 && s->len < 3)
        rc = refill(s, e);
    if (rc < 0)
        return rc;
    s->pos = text_mark(s->buf, s->len);
    rc = skip_space(s, &c, e);
    if (rc <= 0)
        return rc;
    s->kind = c == '[' ? STREAM_ARRAY : STREAM_LINES;
    s->pos += s->kind == STREAM_ARRAY;
    return 1;
}

static int next_in_array(struct jsoncut *s, const char **text, size_t *len, struct err *e)
{
    static const char cut_off[] = "input ends inside the array";
    char c;
    int rc = skip_space(s, &c, e);

    if (rc <= 0)
        return rc < 0 ? rc : fail_stream(s, cut_off, e);
    if (c == ']') {
        s->pos++;
        rc = skip_space(s, &c, e);
        if (rc > 0)
            return fail_stream(s, "unexpected text after the end of the array", e);
        s->done = true;
        return rc;
    }
    if (s->started) {
        if (c != ',')
            return fail_stream(s, "missing comma between elements", e);
        s->pos++;
        rc = skip_space(s, &c, e);
        if (rc <= 0)
            return rc < 0 ? rc : fail_stream(s, cut_off, e);
    }
    s->started = true;
    return take_element(s, text, len, e);
}

int jsoncut_next(struct jsoncut *s, const char **text, size_t *len, struct err *e)
{
    char c;
    int rc = 1;

    if (s->done)
        return 0;
    if (s->kind == STREAM_UNKNOWN)
        rc = begin(s, e);
    if (rc > 0 && s->kind == STREAM_ARRAY)
        return next_in_array(s, text, len, e);
    if (rc > 0)
        rc = skip_space(s, &c, e);
    return rc > 0 ? take_element(s, text, len, e) : rc;
}
