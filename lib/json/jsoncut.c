/* Streams of JSON before they are parsed: cuts lines of JSONL, or the elements of a top-level
 * array, out of a file. What is within an element is the business of whoever reads it: json-c in
 * jsonin.c, or a faster reader of one kind of line. */
#include "lib/json/jsoncut.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    size_t max;            /* bytes of an element */
    uint64_t line;         /* of buf[pos] */
    uint64_t element_line; /* of the element returned last */
    enum stream_kind kind;
    bool ended;   /* the input */
    bool done;    /* the array was closed, or an error was returned */
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

/* Reads more behind len, moving what is unread to the front. 1, 0 at the end, negative errno. */
static int refill(struct jsoncut *s, struct err *e)
{
    int64_t n;

    if (s->ended)
        return 0;
    memmove(s->buf, s->buf + s->pos, s->len - s->pos);
    s->len -= s->pos;
    s->pos = 0;
    if (s->len == s->room) {
        char *grown = realloc(s->buf, s->room * 2);
        if (!grown)
            return err_nomem(e, "JSON stream");
        s->buf = grown;
        s->room *= 2;
    }
    n = frame_in_read(s->in, s->buf + s->len, s->room - s->len, e);
    if (n < 0)
        return (int)n;
    s->ended = n == 0;
    s->len += (size_t)n;
    return n > 0;
}

/* Moves over white space, counting lines. 1: *c is what follows; 0 at the end. */
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

static int fail_stream(struct jsoncut *s, uint64_t line, const char *why, struct err *e)
{
    s->done = true;
    return jsoncut_fail(e, frame_in_name(s->in), line, why);
}

/* How far a cut has come within an element of an array. */
struct cut {
    size_t scanned; /* bytes from pos on */
    unsigned depth;
    bool quoted, escaped;
    bool whole; /* its closing bracket was met */
};

/* Takes one byte; true when it lies behind the element. */
static bool cut_byte(struct cut *c, char byte)
{
    if (c->escaped) {
        c->escaped = false;
    } else if (c->quoted) {
        c->escaped = byte == '\\';
        c->quoted = byte != '"';
    } else if (byte == '"') {
        c->quoted = true;
    } else if (byte == '{' || byte == '[') {
        c->depth++;
    } else if (c->depth == 0) {
        return byte == ',' || byte == ']' || byte == '}';
    } else if (byte == '}' || byte == ']') {
        c->whole = --c->depth == 0;
    }
    return false;
}

/* Scans what is in the buffer: true when the element's end was found. */
static bool cut_element(const struct jsoncut *s, struct cut *c)
{
    size_t have = s->len - s->pos;

    if (s->kind == STREAM_LINES) {
        const char *at = s->buf + s->pos + c->scanned;
        const char *end = memchr(at, '\n', have - c->scanned);
        c->scanned = end ? (size_t)(end - s->buf) - s->pos : have;
        return end != NULL;
    }
    for (; c->scanned < have && !c->whole; c->scanned++)
        if (cut_byte(c, s->buf[s->pos + c->scanned]))
            return true;
    return c->whole;
}

/* Finds the end of the element at pos: *len its bytes. 0 or negative errno. */
static int find_element(struct jsoncut *s, size_t *len, struct err *e)
{
    struct cut c = {0};
    char where[320];

    for (;;) {
        bool found = cut_element(s, &c);
        int rc;
        if (c.scanned > s->max) {
            s->done = true;
            snprintf(where, sizeof(where), "%.280s:%llu", frame_in_name(s->in),
                     (unsigned long long)s->line);
            return err_set(e, -EFBIG, ERR_INPUT, where, "an element is larger than %zu bytes",
                           s->max);
        }
        *len = c.scanned;
        if (found)
            return 0;
        rc = refill(s, e);
        if (rc < 0)
            return rc;
        if (rc == 0 && s->kind == STREAM_ARRAY)
            return fail_stream(s, s->line, "the input ends within the array", e);
        if (rc == 0)
            return 0;
    }
}

/* Cuts out the element at pos. */
static int take_element(struct jsoncut *s, const char **text, size_t *len, struct err *e)
{
    int rc = find_element(s, len, e);

    if (rc < 0)
        return rc;
    *text = s->buf + s->pos;
    s->element_line = s->line;
    s->line += jsoncut_lines(*text, *len);
    s->pos += *len;
    return 1;
}

/* The first byte tells the kind; a byte-order mark before it is skipped. */
static int begin(struct jsoncut *s, struct err *e)
{
    char c = 0;
    int rc = 1;

    while (rc > 0 && s->len < 3)
        rc = refill(s, e);
    if (rc < 0)
        return rc;
    if (s->len >= 3 && memcmp(s->buf, "\xEF\xBB\xBF", 3) == 0)
        s->pos = 3;
    rc = skip_space(s, &c, e);
    if (rc <= 0)
        return rc;
    s->kind = c == '[' ? STREAM_ARRAY : STREAM_LINES;
    s->pos += s->kind == STREAM_ARRAY;
    return 1;
}

static int end_array(struct jsoncut *s, struct err *e)
{
    char c;
    int rc;

    s->pos++;
    rc = skip_space(s, &c, e);
    if (rc > 0)
        return fail_stream(s, s->line, "text follows the end of the array", e);
    s->done = true;
    return rc;
}

static int next_in_array(struct jsoncut *s, const char **text, size_t *len, struct err *e)
{
    static const char cut_off[] = "the input ends within the array";
    char c;
    int rc = skip_space(s, &c, e);

    if (rc <= 0)
        return rc < 0 ? rc : fail_stream(s, s->line, cut_off, e);
    if (c == ']')
        return end_array(s, e);
    if (s->started) {
        if (c != ',')
            return fail_stream(s, s->line, "a comma is missing between elements", e);
        s->pos++;
        rc = skip_space(s, &c, e);
        if (rc <= 0)
            return rc < 0 ? rc : fail_stream(s, s->line, cut_off, e);
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
