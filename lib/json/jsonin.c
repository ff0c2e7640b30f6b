/* Reads JSON of models, summaries and datasets of any length. jsontree.c builds a tree of whatever
 * it is given, so a stream is cut into elements by jsoncut.c, which it gets one at a time. json-c,
 * which writes our JSON, reads none of it: it takes 64 to 800 bytes a value, and where memory ends
 * it crashes or takes half a text for a whole one. */
#include "lib/json/jsonin.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/base/units.h"
#include "lib/json/jsoncut.h"
#include "lib/json/jsontree.h"
#include "lib/trace/frame.h"

enum {
    JSONIN_NAME_MAX = 256,  /* of one part of a path */
    JSONIN_BLOCK = 64 << 10 /* first size of a document's buffer */
};
/* For documents without a limit of their own. */
#define JSONIN_BYTES ((size_t)1 << 30)

/* Doubles hold all whole numbers up to here exactly. */
#define JSONIN_EXACT 9007199254740992.0

struct jsonin {
    struct jsontree tree;
    const struct jsonin_v *root;
};

/* ---- parsing ---- */

static const struct jsonin_limit default_limit = {.bytes = JSONIN_BYTES};

/* A text to be parsed, and where it begins. */
struct place {
    const char *text, *name;
    uint64_t line;
};

/* The error for what jsontree_parse returned about the text. */
static int parse_error(const struct jsontree *t, const struct jsonin_limit *limit, int rc,
                       const struct place *of, struct err *e)
{
    char where[320], most[32];

    if (rc == -EINVAL)
        return jsoncut_fail(e, of->name,
                            of->line + jsoncut_lines(of->text, (size_t)(t->at - of->text)), t->why);
    if (rc != -EFBIG)
        return err_nomem(e, "JSON document");
    snprintf(where, sizeof(where), "%.280s:%llu", of->name, (unsigned long long)of->line);
    return err_set(e, rc, ERR_INPUT, where, "its values take more than %s of memory%s%s%s",
                   units_format_bytes(most, sizeof(most), (double)limit->bytes),
                   limit->option ? " (" : "", limit->option ? limit->option : "",
                   limit->option ? " allows more)" : "");
}

int jsonin_parse_within(struct jsonin **out, const char *text, size_t len,
                        const struct jsonin_limit *limit, const char *where, struct err *e)
{
    struct jsonin *d = calloc(1, sizeof(*d));

    if (!d)
        return err_nomem(e, "JSON document");
    int rc = jsontree_parse(&d->tree, text, len, limit->bytes, &d->root);
    if (rc == 0) {
        *out = d;
        return 0;
    }
    rc = parse_error(&d->tree, limit, rc, &(struct place){text, where, 1}, e);
    jsonin_free(d);
    return rc;
}

int jsonin_parse(struct jsonin **out, const char *text, size_t len, const char *where,
                 struct err *e)
{
    return jsonin_parse_within(out, text, len, &default_limit, where, e);
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
        if (memory_room(&text, &room, len, 1, JSONIN_BLOCK) < 0) {
            rc = err_nomem(e, "JSON document");
            goto out;
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
    jsontree_release(&d->tree);
    free(d);
}

/* A null is no value. */
static const struct jsonin_v *value_of(const struct jsonin_v *v)
{
    return v->type == JSONTREE_NULL ? NULL : v;
}

const struct jsonin_v *jsonin_root(const struct jsonin *d)
{
    return value_of(d->root);
}

/* ---- values ---- */

static bool is(const struct jsonin_v *v, enum jsontree_type type)
{
    return v && v->type == type;
}

/* The last of several members with the same name counts. */
static const struct jsonin_v *find_member(const struct jsonin_v *object, const char *name,
                                          size_t len)
{
    for (size_t i = object->count; i-- > 0;) {
        const struct jsonin_v *key = &object->in[2 * i];
        if (key->count == len && memcmp(key->text, name, len) == 0)
            return value_of(key + 1);
    }
    return NULL;
}

const struct jsonin_v *jsonin_get(const struct jsonin_v *v, const char *path)
{
    while (v && *path) {
        size_t len = strcspn(path, ".");

        if (!is(v, JSONTREE_OBJECT) || len >= JSONIN_NAME_MAX)
            return NULL;
        v = find_member(v, path, len);
        path += len + (path[len] == '.');
    }
    return v;
}

bool jsonin_is_array(const struct jsonin_v *v)
{
    return is(v, JSONTREE_ARRAY);
}

size_t jsonin_count(const struct jsonin_v *array)
{
    return is(array, JSONTREE_ARRAY) ? array->count : 0;
}

const struct jsonin_v *jsonin_at(const struct jsonin_v *array, size_t i)
{
    return i < jsonin_count(array) ? value_of(&array->in[i]) : NULL;
}

double jsonin_number(const struct jsonin_v *v, const char *path)
{
    double n = NAN;

    jsonin_f64(jsonin_get(v, path), &n);
    return n;
}

const struct jsonin_v *jsonin_find(const struct jsonin_v *array, const char *path, const char *text)
{
    for (size_t i = 0; i < jsonin_count(array); i++) {
        const char *its = jsonin_text(jsonin_get(jsonin_at(array, i), path), NULL);
        if (its && strcmp(its, text) == 0)
            return jsonin_at(array, i);
    }
    return NULL;
}

size_t jsonin_members(const struct jsonin_v *object)
{
    return is(object, JSONTREE_OBJECT) ? object->count : 0;
}

const struct jsonin_v *jsonin_member(const struct jsonin_v *object, size_t i, const char **key)
{
    if (i >= jsonin_members(object))
        return NULL;
    *key = object->in[2 * i].text;
    return value_of(&object->in[2 * i + 1]);
}

/* Returns whether v is a double with a whole value that doubles hold exactly. */
static bool is_whole(const struct jsonin_v *v, double *out)
{
    if (!is(v, JSONTREE_F64))
        return false;
    *out = jsontree_f64(v);
    return *out >= -JSONIN_EXACT && *out <= JSONIN_EXACT && trunc(*out) == *out;
}

int jsonin_i64(const struct jsonin_v *v, int64_t *out)
{
    double whole;
    if (is(v, JSONTREE_I64))
        *out = v->i64;
    else if (is_whole(v, &whole))
        *out = (int64_t)whole;
    else
        return -EINVAL;
    return 0;
}

int jsonin_u64(const struct jsonin_v *v, uint64_t *out)
{
    double whole;
    if (is(v, JSONTREE_U64) || (is(v, JSONTREE_I64) && v->i64 >= 0))
        *out = v->u64;
    else if (is_whole(v, &whole) && whole >= 0)
        *out = (uint64_t)whole;
    else
        return -EINVAL;
    return 0;
}

int jsonin_f64(const struct jsonin_v *v, double *out)
{
    double number;
    if (is(v, JSONTREE_I64))
        *out = (double)v->i64;
    else if (is(v, JSONTREE_U64))
        *out = (double)v->u64;
    else if (is(v, JSONTREE_F64) && isfinite(number = jsontree_f64(v)))
        *out = number;
    else
        return -EINVAL;
    return 0;
}

int jsonin_bool(const struct jsonin_v *v, bool *out)
{
    if (!is(v, JSONTREE_BOOL))
        return -EINVAL;
    *out = v->i64 != 0;
    return 0;
}

const char *jsonin_text(const struct jsonin_v *v, size_t *len)
{
    if (!is(v, JSONTREE_TEXT))
        return NULL;
    if (len)
        *len = v->count;
    return v->text;
}

/* ---- streams ---- */

struct jsonin_stream {
    struct jsoncut *cut;
    struct frame_in *in;
    struct jsontree tree; /* of the element last parsed, lent */
    struct jsonin_limit limit;
    const char *text; /* the element last cut out */
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
    s->limit = default_limit;
    rc = jsoncut_open(&s->cut, in, max_element_bytes, e);
    if (rc < 0) {
        jsonin_stream_close(s);
        return rc;
    }
    *out = s;
    return 0;
}

void jsonin_stream_limit(struct jsonin_stream *s, const struct jsonin_limit *limit)
{
    s->limit = *limit;
}

void jsonin_stream_close(struct jsonin_stream *s)
{
    if (!s)
        return;
    jsontree_release(&s->tree);
    jsoncut_close(s->cut);
    free(s);
}

uint64_t jsonin_stream_line(const struct jsonin_stream *s)
{
    return jsoncut_line(s->cut);
}

int jsonin_stream_cut(struct jsonin_stream *s, const char **text, size_t *len, struct err *e)
{
    int rc = s->failed ? 0 : jsoncut_next(s->cut, &s->text, &s->len, e);
    *text = s->text;
    *len = s->len;
    return rc;
}

int jsonin_stream_parse(struct jsonin_stream *s, const struct jsonin_v **v, struct err *e)
{
    int rc = jsontree_parse(&s->tree, s->text, s->len, s->limit.bytes, v);

    if (rc < 0) {
        s->failed = true;
        const struct place of = {s->text, frame_in_name(s->in), jsoncut_line(s->cut)};
        return parse_error(&s->tree, &s->limit, rc, &of, e);
    }
    *v = value_of(*v);
    return 0;
}

int jsonin_stream_next(struct jsonin_stream *s, const struct jsonin_v **v, struct err *e)
{
    const char *text;
    size_t len;
    int rc = jsonin_stream_cut(s, &text, &len, e);
    int parsed = rc > 0 ? jsonin_stream_parse(s, v, e) : 0;

    return parsed < 0 ? parsed : rc;
}
