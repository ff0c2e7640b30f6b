/* Builds the JSON that the programs write: summaries, reports, provenance. The tree is json-c's;
 * this file decides how numbers look and which members all programs share. */
#include "lib/json/jsonout.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "lib/base/save.h"

enum {
    JSONOUT_DEPTH = 32,
    JSONOUT_TOKENS_DEPTH = 64
};

struct jsonout {
    struct json_object *root;
    struct json_object *open[JSONOUT_DEPTH]; /* containers, the innermost last */
    size_t depth;
    bool failed; /* memory ran out */
    char *text;  /* lent by jsonout_text */
};

struct jsonout *jsonout_create(void)
{
    struct jsonout *j = calloc(1, sizeof(*j));

    if (!j)
        return NULL;
    j->root = json_object_new_object();
    if (!j->root) {
        free(j);
        return NULL;
    }
    j->open[0] = j->root;
    j->depth = 1;
    return j;
}

void jsonout_free(struct jsonout *j)
{
    if (!j)
        return;
    json_object_put(j->root);
    free(j->text);
    free(j);
}

/* ---- adding ---- */

/* Length of the UTF-8 sequence at s (RFC 3629: no surrogates, nothing overlong), 0 if there is
 * none. */
static size_t utf8_length(const unsigned char *s)
{
    static const struct {
        unsigned char first_low, first_high, second_low, second_high, len;
    } forms[] = {
        {0xC2, 0xDF, 0x80, 0xBF, 2}, {0xE0, 0xE0, 0xA0, 0xBF, 3}, {0xE1, 0xEC, 0x80, 0xBF, 3},
        {0xED, 0xED, 0x80, 0x9F, 3}, {0xEE, 0xEF, 0x80, 0xBF, 3}, {0xF0, 0xF0, 0x90, 0xBF, 4},
        {0xF1, 0xF3, 0x80, 0xBF, 4}, {0xF4, 0xF4, 0x80, 0x8F, 4},
    };

    if (s[0] < 0x80)
        return 1;
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        size_t k = 2;
        if (s[0] < forms[i].first_low || s[0] > forms[i].first_high)
            continue;
        if (s[1] < forms[i].second_low || s[1] > forms[i].second_high)
            return 0;
        while (k < forms[i].len && (s[k] & 0xC0) == 0x80)
            k++;
        return k == forms[i].len ? k : 0;
    }
    return 0;
}

/* Adds v to the open container. A NULL v is a JSON null if null is set; else memory ran out. */
static void add(struct jsonout *j, const char *key, struct json_object *v, bool null)
{
    struct json_object *in = j->open[j->depth - 1];
    int rc;

    if (!v && !null) {
        j->failed = true;
        return;
    }
    assert((key != NULL) == json_object_is_type(in, json_type_object) && "key only in objects");
    rc = key ? json_object_object_add(in, key, v) : json_object_array_add(in, v);
    if (rc != 0) {
        json_object_put(v);
        j->failed = true;
    }
}

static void open_container(struct jsonout *j, const char *key, struct json_object *v)
{
    assert(j->depth < JSONOUT_DEPTH && "containers nested too deeply");
    add(j, key, v, false);
    if (!j->failed)
        j->open[j->depth++] = v;
}

void jsonout_object(struct jsonout *j, const char *key)
{
    if (!j->failed)
        open_container(j, key, json_object_new_object());
}

void jsonout_array(struct jsonout *j, const char *key)
{
    if (!j->failed)
        open_container(j, key, json_object_new_array());
}

void jsonout_end(struct jsonout *j)
{
    if (j->failed)
        return;
    assert(j->depth > 1 && "nothing is open");
    j->depth--;
}

void jsonout_u64(struct jsonout *j, const char *key, uint64_t v)
{
    if (!j->failed)
        add(j, key, json_object_new_uint64(v), false);
}

void jsonout_i64(struct jsonout *j, const char *key, int64_t v)
{
    if (!j->failed)
        add(j, key, json_object_new_int64(v), false);
}

void jsonout_f64(struct jsonout *j, const char *key, double v)
{
    char digits[40];

    if (!isfinite(v)) {
        jsonout_null(j, key);
        return;
    }
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(digits, sizeof(digits), "%.*g", precision, v);
        if (strtod(digits, NULL) == v)
            break;
    }
    if (!j->failed)
        add(j, key, json_object_new_double_s(v, digits), false);
}

void jsonout_bool(struct jsonout *j, const char *key, bool v)
{
    if (!j->failed)
        add(j, key, json_object_new_boolean(v), false);
}

void jsonout_clean(char *text)
{
    for (char *c = text; *c;) {
        size_t len = utf8_length((const unsigned char *)c);
        if (len == 0)
            *c = '?';
        c += len ? len : 1;
    }
}

void jsonout_text_value(struct jsonout *j, const char *key, const char *text)
{
    char *copy;

    if (!text) {
        jsonout_null(j, key);
        return;
    }
    if (j->failed)
        return;
    copy = strdup(text);
    if (copy)
        jsonout_clean(copy);
    add(j, key, copy ? json_object_new_string(copy) : NULL, false);
    free(copy);
}

void jsonout_null(struct jsonout *j, const char *key)
{
    if (!j->failed)
        add(j, key, NULL, true);
}

void jsonout_u64_if(struct jsonout *j, const char *key, bool known, uint64_t v)
{
    if (known)
        jsonout_u64(j, key, v);
    else
        jsonout_null(j, key);
}

void jsonout_bool_if(struct jsonout *j, const char *key, bool known, bool v)
{
    if (known)
        jsonout_bool(j, key, v);
    else
        jsonout_null(j, key);
}

void jsonout_f64_known(struct jsonout *j, const char *key, double v)
{
    jsonout_f64(j, key, v >= 0 ? v : NAN);
}

void jsonout_text_known(struct jsonout *j, const char *key, const char *text)
{
    jsonout_text_value(j, key, text && text[0] ? text : NULL);
}

void jsonout_fail(struct jsonout *j)
{
    j->failed = true;
}

int jsonout_raw(struct jsonout *j, const char *key, const char *json, size_t len)
{
    struct json_tokener *t = len <= INT_MAX ? json_tokener_new_ex(JSONOUT_TOKENS_DEPTH) : NULL;
    struct json_object *v;
    bool good;

    if (!t)
        return len <= INT_MAX ? -ENOMEM : -EINVAL;
    json_tokener_set_flags(t, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8 |
                                  JSON_TOKENER_ALLOW_TRAILING_CHARS);
    v = json_tokener_parse_ex(t, json, (int)len);
    if (json_tokener_get_error(t) == json_tokener_continue) {
        v = json_tokener_parse_ex(t, "\n", 1); /* a bare number ends only when something follows */
        good = json_tokener_get_error(t) == json_tokener_success;
    } else {
        good = json_tokener_get_error(t) == json_tokener_success;
        for (size_t i = json_tokener_get_parse_end(t); good && i < len; i++)
            good = memchr(" \t\r\n", json[i], 4) != NULL; /* only space may follow */
    }
    json_tokener_free(t);
    if (!good || j->failed) {
        json_object_put(v);
        return good ? -ENOMEM : -EINVAL;
    }
    add(j, key, v, true);
    return j->failed ? -ENOMEM : 0;
}

void jsonout_notes(struct jsonout *j, const char *key, const struct notes *notes)
{
    jsonout_array(j, key);
    for (unsigned i = 0; i < notes->count; i++)
        jsonout_text_value(j, NULL, notes->text[i]);
    jsonout_end(j);
}

/* ---- members that all programs share ---- */

void jsonout_hist_members(struct jsonout *j, const struct hist *h, double unit)
{
    jsonout_u64(j, hist_statistic_name(HIST_COUNT), hist_count(h));
    for (unsigned i = HIST_COUNT + 1; i < HIST_STATISTICS; i++)
        jsonout_f64(j, hist_statistic_name(i), hist_statistic(h, i) / unit);
}

void jsonout_hist(struct jsonout *j, const char *key, const struct hist *h, double unit)
{
    if (!h || hist_count(h) == 0) {
        jsonout_null(j, key);
        return;
    }
    jsonout_object(j, key);
    jsonout_hist_members(j, h, unit);
    jsonout_end(j);
}

void jsonout_identity(struct jsonout *j, const char *program, int argc, char *const *argv,
                      int64_t started_wall_ns)
{
    struct utsname u = {0};
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    char utc[32];

    jsonout_text_value(j, "program", program);
    jsonout_text_value(j, "version", KVTRACE_VERSION);
    jsonout_array(j, "command");
    for (int i = 0; i < argc; i++)
        jsonout_text_value(j, NULL, argv[i]);
    jsonout_end(j);
    jsonout_object(j, "host");
    jsonout_text_value(j, "name", uname(&u) == 0 ? u.nodename : NULL);
    jsonout_text_known(j, "kernel", u.release);
    if (cpus > 0)
        jsonout_i64(j, "cpus", cpus);
    else
        jsonout_null(j, "cpus");
    if (pages > 0 && page_bytes > 0)
        jsonout_u64(j, "memory_bytes", (uint64_t)pages * (uint64_t)page_bytes);
    else
        jsonout_null(j, "memory_bytes");
    jsonout_end(j);
    jsonout_text_value(j, "started", clock_format_utc(utc, started_wall_ns));
}

static void put_choice(struct jsonout *j, const struct opt *o, int index)
{
    const char *c = o->choices;
    char word[64];

    while (index-- > 0)
        c += strcspn(c, "|") + 1;
    snprintf(word, sizeof(word), "%.*s", (int)strcspn(c, "|"), c);
    jsonout_text_value(j, o->name, word);
}

static void put_option(struct jsonout *j, const struct opt *o, const void *value)
{
    const struct opt_list *list = value;

    switch (o->type) {
    case OPT_HEADING:
    case OPT_EXAMPLE:
        break;
    case OPT_FLAG:
        jsonout_bool(j, o->name, *(const bool *)value);
        break;
    case OPT_TEXT:
        jsonout_text_value(j, o->name, *(const char *const *)value);
        break;
    case OPT_F64:
    case OPT_SHARE:
        jsonout_f64(j, o->name, *(const double *)value);
        break;
    case OPT_GIB:
        jsonout_u64(j, o->name, (uint64_t)(*(const double *)value * 0x1p30 + 0.5));
        break;
    case OPT_DURATION:
        jsonout_f64(j, o->name, (double)*(const int64_t *)value / 1e9);
        break;
    case OPT_ENUM:
        put_choice(j, o, *(const int *)value);
        break;
    case OPT_LIST:
        if (o->flags & OPT_ONE && list->count < 2) {
            jsonout_text_value(j, o->name, list->count > 0 ? list->item[0] : NULL);
            break;
        }
        jsonout_array(j, o->name);
        for (size_t i = 0; i < list->count; i++)
            jsonout_text_value(j, NULL, list->item[i]);
        jsonout_end(j);
        break;
    case OPT_U64:
    case OPT_SIZE:
    case OPT_BANDWIDTH:
        jsonout_u64(j, o->name, *(const uint64_t *)value);
        break;
    }
}

void jsonout_options(struct jsonout *j, const struct opt_parser *p)
{
    const struct opt *o;
    const void *value;

    for (size_t i = 0; (o = opt_effective(p, i, &value)) != NULL; i++)
        put_option(j, o, value);
}

/* ---- the document ---- */

/* json-c's own text lacks what it found no memory for and does not say so, so it is made here. */
static void put_string(FILE *out, const char *s, size_t len)
{
    static const char named[] = "\bb\tt\nn\ff\rr\"\"\\\\"; /* a character, and its letter */

    fputc('"', out);
    for (size_t i = 0; i < len; i++) {
        const char *name = NULL;

        for (const char *n = named; *n && !name; n += 2)
            name = *n == s[i] ? n + 1 : NULL;
        if (name)
            fprintf(out, "\\%c", *name);
        else if ((unsigned char)s[i] < 0x20)
            fprintf(out, "\\u%04x", (unsigned char)s[i]);
        else
            fputc(s[i], out);
    }
    fputc('"', out);
}

/* A new line within depth containers, if lines are wanted. */
static void put_line(FILE *out, bool pretty, int depth)
{
    if (pretty)
        fprintf(out, "\n%*s", 2 * depth, "");
}

static void put_scalar(FILE *out, struct json_object *v)
{
    switch (json_object_get_type(v)) {
    case json_type_null:
        fputs("null", out);
        break;
    case json_type_boolean:
        fputs(json_object_get_boolean(v) ? "true" : "false", out);
        break;
    case json_type_int:
        if (json_object_get_int64(v) < 0)
            fprintf(out, "%" PRIi64, json_object_get_int64(v));
        else
            fprintf(out, "%" PRIu64, json_object_get_uint64(v));
        break;
    case json_type_double: /* made with its digits, by the parser, too */
        fputs(json_object_get_userdata(v), out);
        break;
    default:
        put_string(out, json_object_get_string(v), (size_t)json_object_get_string_len(v));
    }
}

static void put_value(FILE *out, struct json_object *v, bool pretty, int depth)
{
    bool is_object = json_object_is_type(v, json_type_object);
    bool is_array = json_object_is_type(v, json_type_array), first = true;

    if (!is_object && !is_array) {
        put_scalar(out, v);
        return;
    }
    fputc(is_object ? '{' : '[', out);
    if (is_object) {
        json_object_object_foreach(v, key, member)
        {
            fputs(first ? "" : ",", out);
            put_line(out, pretty, depth + 1);
            put_string(out, key, strlen(key));
            fputs(pretty ? ": " : ":", out);
            put_value(out, member, pretty, depth + 1);
            first = false;
        }
    }
    for (size_t i = 0; is_array && i < json_object_array_length(v); i++) {
        fputs(first ? "" : ",", out);
        put_line(out, pretty, depth + 1);
        put_value(out, json_object_array_get_idx(v, i), pretty, depth + 1);
        first = false;
    }
    if (!first)
        put_line(out, pretty, depth);
    fputc(is_object ? '}' : ']', out);
}

const char *jsonout_text(struct jsonout *j, bool pretty)
{
    size_t len;

    free(j->text);
    j->text = NULL;
    FILE *out = j->failed ? NULL : memory_stream(&j->text, &len);
    if (!out)
        return NULL;
    put_value(out, j->root, pretty, 0);
    fputs(pretty ? "\n" : "", out);
    if (fclose(out) != 0) {
        free(j->text);
        j->text = NULL;
    }
    return j->text;
}

int jsonout_save(struct jsonout *j, const char *path, struct err *e)
{
    const char *text = jsonout_text(j, true);

    return text ? save_text(path, text, strlen(text), e) : err_nomem(e, "JSON document");
}
