/* Reading JSON: configuration of models, summaries, and datasets of any length. json-c builds a
 * tree of whatever it is given, so streams are cut into elements here and handed to it one at a
 * time. */
#include "lib/jsonin.h"

#include <errno.h>
#include <json-c/json.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    JSONIN_DEPTH = 64,
    JSONIN_NAME_MAX = 256,  /* of one part of a path */
    JSONIN_BLOCK = 64 << 10 /* first size of a stream's buffer */
};

/* Whole numbers up to here are exact as doubles. */
#define JSONIN_EXACT 9007199254740992.0

struct jsonin {
    struct json_object *root;
};

/* The lent values are json-c's. */
static struct json_object *object_of(const struct jsonin_v *v)
{
    return (struct json_object *)(uintptr_t)v;
}

static const struct jsonin_v *value_of(struct json_object *o)
{
    return (const struct jsonin_v *)o;
}

/* ---- parsing ---- */

static size_t space_length(const char *text, size_t len)
{
    size_t n = 0;

    while (n < len && (text[n] == ' ' || text[n] == '\t' || text[n] == '\r' || text[n] == '\n'))
        n++;
    return n;
}

static struct json_tokener *new_tokener(void)
{
    struct json_tokener *t = json_tokener_new_ex(JSONIN_DEPTH);

    if (t)
        json_tokener_set_flags(t, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8 |
                                      JSON_TOKENER_ALLOW_TRAILING_CHARS);
    return t;
}

/* Exactly one value in text[0..len), len at most INT_MAX. NULL: fine; else what is wrong at *at. */
static const char *parse_text(struct json_tokener *t, const char *text, size_t len,
                              struct json_object **out, size_t *at)
{
    enum json_tokener_error error;

    json_tokener_reset(t);
    *out = json_tokener_parse_ex(t, text, (int)len);
    *at = json_tokener_get_parse_end(t);
    if (json_tokener_get_error(t) == json_tokener_continue) {
        *out = json_tokener_parse_ex(t, "\n", 1); /* a bare number ends when something follows */
        *at = len;
    }
    error = json_tokener_get_error(t);
    if (error == json_tokener_continue)
        return "it ends too early";
    if (error != json_tokener_success)
        return json_tokener_error_desc(error);
    *at += space_length(text + *at, len - *at);
    if (*at == len)
        return NULL;
    json_object_put(*out);
    *out = NULL;
    return "text follows its end";
}

static uint64_t count_lines(const char *text, size_t len)
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

static int fail_line(struct err *e, const char *name, uint64_t line, const char *why)
{
    char where[320];

    snprintf(where, sizeof(where), "%.280s:%llu", name, (unsigned long long)line);
    return err_set(e, -EINVAL, ERR_INPUT, where, "not JSON: %s", why);
}

int jsonin_parse(struct jsonin **out, const char *text, size_t len, const char *where,
                 struct err *e)
{
    struct jsonin *d = calloc(1, sizeof(*d));
    struct json_tokener *t = new_tokener();
    const char *why = "it is too large";
    size_t at = 0;

    if (!d || !t) {
        json_tokener_free(t);
        free(d);
        return err_nomem(e, "JSON document");
    }
    if (len <= INT_MAX)
        why = parse_text(t, text, len, &d->root, &at);
    json_tokener_free(t);
    if (!why) {
        *out = d;
        return 0;
    }
    free(d);
    return fail_line(e, where, 1 + count_lines(text, at < len ? at : len), why);
}

static int fail_size(struct err *e, const char *where, const char *what, size_t max)
{
    return err_set(e, -EFBIG, ERR_INPUT, where, "%s is larger than %zu bytes", what, max);
}

/* Reads on into *buf from *len, until the end or one byte more than max. */
static int read_rest(struct frame_in *in, size_t max, char **buf, size_t *len, struct err *e)
{
    size_t room = 0;

    for (;;) {
        int64_t n;
        if (*len == room) {
            size_t grown_room = room ? room * 2 : JSONIN_BLOCK;
            char *grown = realloc(*buf, grown_room);
            if (!grown)
                return err_nomem(e, "JSON document");
            *buf = grown;
            room = grown_room;
        }
        n = frame_in_read(in, *buf + *len, room - *len, e);
        if (n <= 0)
            return (int)n;
        *len += (size_t)n;
        if (*len > max)
            return fail_size(e, frame_in_name(in), "the document", max);
    }
}

int jsonin_load(struct jsonin **out, const char *path, size_t max_bytes, struct err *e)
{
    struct frame_in *in;
    char *text = NULL;
    size_t len = 0;
    int rc = frame_in_open(&in, path, NULL, e);

    if (rc < 0)
        return rc;
    rc = read_rest(in, max_bytes, &text, &len, e);
    if (rc == 0)
        rc = jsonin_parse(out, text, len, frame_in_name(in), e);
    free(text);
    frame_in_close(in);
    return rc;
}

void jsonin_free(struct jsonin *d)
{
    if (!d)
        return;
    json_object_put(d->root);
    free(d);
}

const struct jsonin_v *jsonin_root(const struct jsonin *d)
{
    return value_of(d->root);
}

/* ---- values ---- */

static const struct jsonin_v *get_one(const struct jsonin_v *v, const char *name, size_t len)
{
    struct json_object *found = NULL;
    char key[JSONIN_NAME_MAX];

    if (!v || !json_object_is_type(object_of(v), json_type_object) || len >= sizeof(key))
        return NULL;
    memcpy(key, name, len);
    key[len] = '\0';
    return json_object_object_get_ex(object_of(v), key, &found) ? value_of(found) : NULL;
}

const struct jsonin_v *jsonin_get(const struct jsonin_v *v, const char *path)
{
    while (v && *path) {
        size_t len = strcspn(path, ".");
        v = get_one(v, path, len);
        path += len + (path[len] == '.');
    }
    return v;
}

size_t jsonin_count(const struct jsonin_v *array)
{
    if (!array || !json_object_is_type(object_of(array), json_type_array))
        return 0;
    return json_object_array_length(object_of(array));
}

const struct jsonin_v *jsonin_at(const struct jsonin_v *array, size_t i)
{
    if (i >= jsonin_count(array))
        return NULL;
    return value_of(json_object_array_get_idx(object_of(array), i));
}

const struct jsonin_v *jsonin_member(const struct jsonin_v *object, size_t i, const char **key)
{
    struct json_object_iterator at, end;

    if (!object || !json_object_is_type(object_of(object), json_type_object))
        return NULL;
    at = json_object_iter_begin(object_of(object));
    end = json_object_iter_end(object_of(object));
    for (; !json_object_iter_equal(&at, &end); json_object_iter_next(&at)) {
        if (i-- > 0)
            continue;
        *key = json_object_iter_peek_name(&at);
        return value_of(json_object_iter_peek_value(&at));
    }
    return NULL;
}

/* A double that is a whole number which doubles hold exactly. */
static bool is_whole(struct json_object *o, double *v)
{
    *v = json_object_get_double(o);
    return json_object_is_type(o, json_type_double) && *v >= -JSONIN_EXACT && *v <= JSONIN_EXACT &&
           trunc(*v) == *v;
}

/* json-c clamps integers that do not fit, so the ends of its ranges count as not fitting. */
int jsonin_i64(const struct jsonin_v *v, int64_t *out)
{
    struct json_object *o = object_of(v);
    int64_t n;
    double d;

    if (is_whole(o, &d)) {
        *out = (int64_t)d;
        return 0;
    }
    if (!json_object_is_type(o, json_type_int))
        return -EINVAL;
    n = json_object_get_int64(o);
    if (n == INT64_MAX || n == INT64_MIN)
        return -EINVAL;
    *out = n;
    return 0;
}

int jsonin_u64(const struct jsonin_v *v, uint64_t *out)
{
    struct json_object *o = object_of(v);
    uint64_t n;
    double d;

    if (is_whole(o, &d) && d >= 0) {
        *out = (uint64_t)d;
        return 0;
    }
    if (!json_object_is_type(o, json_type_int) || json_object_get_int64(o) < 0)
        return -EINVAL;
    n = json_object_get_uint64(o);
    if (n == UINT64_MAX)
        return -EINVAL;
    *out = n;
    return 0;
}

int jsonin_f64(const struct jsonin_v *v, double *out)
{
    struct json_object *o = object_of(v);
    double d;

    if (!json_object_is_type(o, json_type_double) && !json_object_is_type(o, json_type_int))
        return -EINVAL;
    d = json_object_get_double(o);
    if (!isfinite(d))
        return -EINVAL;
    *out = d;
    return 0;
}

int jsonin_bool(const struct jsonin_v *v, bool *out)
{
    if (!json_object_is_type(object_of(v), json_type_boolean))
        return -EINVAL;
    *out = json_object_get_boolean(object_of(v)) != 0;
    return 0;
}

const char *jsonin_text(const struct jsonin_v *v, size_t *len)
{
    if (!json_object_is_type(object_of(v), json_type_string))
        return NULL;
    if (len)
        *len = (size_t)json_object_get_string_len(object_of(v));
    return json_object_get_string(object_of(v));
}

/* ---- streams ---- */

enum stream_kind {
    STREAM_UNKNOWN,
    STREAM_LINES,
    STREAM_ARRAY
};

struct jsonin_stream {
    struct frame_in *in;
    struct json_tokener *tokener;
    struct json_object *current; /* what the last call lent */
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

int jsonin_stream_open(struct jsonin_stream **out, struct frame_in *in, size_t max_element_bytes,
                       struct err *e)
{
    struct jsonin_stream *s = calloc(1, sizeof(*s));

    if (!s)
        return err_nomem(e, "JSON stream");
    s->in = in;
    s->line = 1;
    s->max = max_element_bytes < INT_MAX / 2 ? max_element_bytes : INT_MAX / 2;
    s->tokener = new_tokener();
    s->buf = malloc(JSONIN_BLOCK);
    s->room = JSONIN_BLOCK;
    if (!s->tokener || !s->buf) {
        jsonin_stream_close(s);
        return err_nomem(e, "JSON stream");
    }
    *out = s;
    return 0;
}

void jsonin_stream_close(struct jsonin_stream *s)
{
    if (!s)
        return;
    json_object_put(s->current);
    json_tokener_free(s->tokener);
    free(s->buf);
    free(s);
}

uint64_t jsonin_stream_line(const struct jsonin_stream *s)
{
    return s->element_line;
}

/* Reads more behind len, moving what is unread to the front. 1, 0 at the end, negative errno. */
static int refill(struct jsonin_stream *s, struct err *e)
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
static int skip_space(struct jsonin_stream *s, char *c, struct err *e)
{
    for (;;) {
        size_t n = space_length(s->buf + s->pos, s->len - s->pos);
        int rc;
        s->line += count_lines(s->buf + s->pos, n);
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

static int fail_stream(struct jsonin_stream *s, uint64_t line, const char *why, struct err *e)
{
    s->done = true;
    return fail_line(e, frame_in_name(s->in), line, why);
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
static bool cut_element(const struct jsonin_stream *s, struct cut *c)
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
static int find_element(struct jsonin_stream *s, size_t *len, struct err *e)
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
            return fail_size(e, where, "an element", s->max);
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

/* Cuts out and parses the element at pos. */
static int take_element(struct jsonin_stream *s, const struct jsonin_v **v, struct err *e)
{
    const char *why;
    size_t len, at;
    int rc = find_element(s, &len, e);

    if (rc < 0)
        return rc;
    why = parse_text(s->tokener, s->buf + s->pos, len, &s->current, &at);
    if (why)
        return fail_stream(s, s->line + count_lines(s->buf + s->pos, at < len ? at : len), why, e);
    s->element_line = s->line;
    s->line += count_lines(s->buf + s->pos, len);
    s->pos += len;
    *v = value_of(s->current);
    return 1;
}

/* The first byte tells the kind; a byte-order mark before it is skipped. */
static int begin(struct jsonin_stream *s, struct err *e)
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

static int end_array(struct jsonin_stream *s, struct err *e)
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

static int next_in_array(struct jsonin_stream *s, const struct jsonin_v **v, struct err *e)
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
    return take_element(s, v, e);
}

int jsonin_stream_next(struct jsonin_stream *s, const struct jsonin_v **v, struct err *e)
{
    char c;
    int rc = 1;

    json_object_put(s->current);
    s->current = NULL;
    if (s->done)
        return 0;
    if (s->kind == STREAM_UNKNOWN)
        rc = begin(s, e);
    if (rc > 0 && s->kind == STREAM_ARRAY)
        return next_in_array(s, v, e);
    if (rc > 0)
        rc = skip_space(s, &c, e);
    return rc > 0 ? take_element(s, v, e) : rc;
}
