/* Reads JSON of models, summaries and datasets of any length. json-c builds a tree of whatever it
 * is given, so a stream is cut into elements by jsoncut.c, which it gets one at a time. */
#include "lib/json/jsonin.h"

#include <errno.h>
#include <json-c/json.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json/jsoncut.h"
#include "lib/trace/frame.h"

enum {
    JSONIN_DEPTH = 64,
    JSONIN_NAME_MAX = 256,  /* of one part of a path */
    JSONIN_BLOCK = 64 << 10 /* first size of a document's buffer */
};

/* Doubles hold all whole numbers up to here exactly. */
#define JSONIN_EXACT 9007199254740992.0

struct jsonin {
    struct json_object *root;
};

/* A lent value is a json_object under another name. */
static struct json_object *object_of(const struct jsonin_v *v)
{
    return (struct json_object *)(uintptr_t)v;
}

static const struct jsonin_v *value_of(struct json_object *o)
{
    return (const struct jsonin_v *)o;
}

/* ---- parsing ---- */

static struct json_tokener *new_tokener(void)
{
    struct json_tokener *t = json_tokener_new_ex(JSONIN_DEPTH);

    if (t)
        json_tokener_set_flags(t, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8 |
                                      JSON_TOKENER_ALLOW_TRAILING_CHARS);
    return t;
}

/* Parses exactly one value in text[0..len), len at most INT_MAX. Returns NULL, or what is wrong at
 * *at. */
static const char *parse_text(struct json_tokener *t, const char *text, size_t len,
                              struct json_object **out, size_t *at)
{
    enum json_tokener_error error;

    json_tokener_reset(t);
    *out = json_tokener_parse_ex(t, text, (int)len);
    *at = json_tokener_get_parse_end(t);
    if (json_tokener_get_error(t) == json_tokener_continue) {
        *out =
            json_tokener_parse_ex(t, "\n", 1); /* a bare number ends only when something follows */
        *at = len;
    }
    error = json_tokener_get_error(t);
    if (error == json_tokener_continue)
        return "it ends too early";
    if (error != json_tokener_success)
        return json_tokener_error_desc(error);
    *at += jsoncut_space(text + *at, len - *at);
    if (*at == len)
        return NULL;
    json_object_put(*out);
    *out = NULL;
    return "text follows its end";
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
    return jsoncut_fail(e, where, 1 + jsoncut_lines(text, at < len ? at : len), why);
}

int jsonin_load(struct jsonin **out, const char *path, size_t max_bytes, struct err *e)
{
    struct frame_in *in;
    char *text = NULL;
    size_t len = 0, room = 0;
    int64_t n;
    int rc = frame_in_open(&in, path, NULL, e);

    if (rc < 0)
        return rc;
    do {
        if (len == room) {
            char *grown = realloc(text, room ? room * 2 : JSONIN_BLOCK);
            if (!grown) {
                rc = err_nomem(e, "JSON document");
                goto out;
            }
            text = grown;
            room = room ? room * 2 : JSONIN_BLOCK;
        }
        n = frame_in_read(in, text + len, room - len, e);
        if (n < 0) {
            rc = (int)n;
            goto out;
        }
        len += (size_t)n;
        if (len > max_bytes) {
            rc = err_set(e, -EFBIG, ERR_INPUT, frame_in_name(in),
                         "the document is larger than %zu bytes", max_bytes);
            goto out;
        }
    } while (n > 0);
    rc = jsonin_parse(out, text, len, frame_in_name(in), e);
out:
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

const struct jsonin_v *jsonin_get(const struct jsonin_v *v, const char *path)
{
    while (v && *path) {
        size_t len = strcspn(path, ".");
        struct json_object *found = NULL;
        char key[JSONIN_NAME_MAX];

        if (!json_object_is_type(object_of(v), json_type_object) || len >= sizeof(key))
            return NULL;
        memcpy(key, path, len);
        key[len] = '\0';
        v = json_object_object_get_ex(object_of(v), key, &found) ? value_of(found) : NULL;
        path += len + (path[len] == '.');
    }
    return v;
}

bool jsonin_is_array(const struct jsonin_v *v)
{
    return v && json_object_is_type(object_of(v), json_type_array);
}

size_t jsonin_count(const struct jsonin_v *array)
{
    return jsonin_is_array(array) ? json_object_array_length(object_of(array)) : 0;
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

/* Returns whether o is a double with a whole value that doubles hold exactly. */
static bool is_whole(struct json_object *o, double *v)
{
    *v = json_object_get_double(o);
    return json_object_is_type(o, json_type_double) && *v >= -JSONIN_EXACT && *v <= JSONIN_EXACT &&
           trunc(*v) == *v;
}

/* json-c clamps integers that do not fit, so both ends of its range count as not fitting. */
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

struct jsonin_stream {
    struct jsoncut *cut;
    struct frame_in *in;
    struct json_tokener *tokener;
    struct json_object *current; /* lent by the last call */
    const char *text;            /* the element last cut out */
    size_t len;
    bool failed;
};

int jsonin_stream_open(struct jsonin_stream **out, struct frame_in *in, size_t max_element_bytes,
                       struct err *e)
{
    struct jsonin_stream *s = calloc(1, sizeof(*s));
    int rc;

    if (!s)
        return err_nomem(e, "JSON stream");
    s->in = in;
    s->tokener = new_tokener();
    rc = s->tokener ? jsoncut_open(&s->cut, in, max_element_bytes, e) : err_nomem(e, "JSON stream");
    if (rc < 0) {
        jsonin_stream_close(s);
        return rc;
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
    jsoncut_close(s->cut);
    free(s);
}

uint64_t jsonin_stream_line(const struct jsonin_stream *s)
{
    return jsoncut_line(s->cut);
}

int jsonin_stream_cut(struct jsonin_stream *s, const char **text, size_t *len, struct err *e)
{
    int rc;

    json_object_put(s->current);
    s->current = NULL;
    rc = s->failed ? 0 : jsoncut_next(s->cut, &s->text, &s->len, e);
    *text = s->text;
    *len = s->len;
    return rc;
}

int jsonin_stream_parse(struct jsonin_stream *s, const struct jsonin_v **v, struct err *e)
{
    size_t at;
    const char *why = parse_text(s->tokener, s->text, s->len, &s->current, &at);

    if (why) {
        s->failed = true;
        return jsoncut_fail(
            e, frame_in_name(s->in),
            jsoncut_line(s->cut) + jsoncut_lines(s->text, at < s->len ? at : s->len), why);
    }
    *v = value_of(s->current);
    return 0;
}

int jsonin_stream_next(struct jsonin_stream *s, const struct jsonin_v **v, struct err *e)
{
    const char *text;
    size_t len;
    int rc = jsonin_stream_cut(s, &text, &len, e);

    if (rc > 0 && jsonin_stream_parse(s, v, e) < 0)
        rc = -EINVAL;
    return rc;
}
