/* The tree of a JSON text against json-c's: what json-c takes is taken, and every value is the
 * same. Where the two are meant to differ the case is left out: json-c clamps whole numbers that do
 * not fit, and takes control characters within texts. */
#include <errno.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json/jsontree.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void same(const struct jsonin_v *v, struct json_object *o)
{
    size_t i = 0;

    switch (json_object_get_type(o)) {
    case json_type_null:
        if (v->type != JSONTREE_NULL)
            abort();
        return;
    case json_type_boolean:
        if (v->type != JSONTREE_BOOL || v->i64 != json_object_get_boolean(o))
            abort();
        return;
    case json_type_int: {
        int64_t want = json_object_get_int64(o);
        bool clamped = want == INT64_MAX || want == INT64_MIN;
        if (v->type == JSONTREE_I64 ? v->i64 != want : !clamped)
            abort();
        if (v->type == JSONTREE_U64 && v->u64 != json_object_get_uint64(o))
            abort();
        return;
    }
    case json_type_double: {
        double want = json_object_get_double(o);
        double is = v->type == JSONTREE_F64 ? jsontree_f64(v) : 0;
        if (v->type != JSONTREE_F64 || (is != want && (is == is || want == want)))
            abort();
        return;
    }
    case json_type_string:
        if (v->type != JSONTREE_TEXT || v->count != (size_t)json_object_get_string_len(o) ||
            memcmp(v->text, json_object_get_string(o), v->count + 1) != 0)
            abort();
        return;
    case json_type_array:
        if (v->type != JSONTREE_ARRAY || v->count != json_object_array_length(o))
            abort();
        for (; i < v->count; i++)
            same(&v->in[i], json_object_array_get_idx(o, i));
        return;
    case json_type_object:
        if (v->type != JSONTREE_OBJECT || v->count < (size_t)json_object_object_length(o))
            abort();
        for (; i < v->count; i++) { /* of equal names json-c has the last one */
            struct json_object *member = NULL;
            const struct jsonin_v *name = &v->in[2 * i];
            bool last = true;
            for (size_t k = i + 1; k < v->count; k++)
                last &= strcmp(v->in[2 * k].text, name->text) != 0;
            if (!json_object_object_get_ex(o, name->text, &member))
                abort();
            if (last)
                same(name + 1, member);
        }
        return;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct jsontree t = {0};
    const struct jsonin_v *v;
    char *text = malloc(size + 1);

    if (!text || size > 4096) /* names are compared with each other */
        goto out;
    memcpy(text, data, size);
    text[size] = '\n'; /* a bare number ends only when something follows */
    int rc = jsontree_parse(&t, text, size, (size_t)1 << 30, &v);
    if (rc != 0 && rc != -EINVAL)
        abort();
    if (rc == -EINVAL && (!t.why || t.at < text || t.at > text + size))
        abort();

    struct json_tokener *k = json_tokener_new_ex(JSONTREE_DEPTH);
    json_tokener_set_flags(k, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8 |
                                  JSON_TOKENER_ALLOW_TRAILING_CHARS);
    struct json_object *o = json_tokener_parse_ex(k, text, (int)size + 1);
    size_t at = json_tokener_get_parse_end(k);
    bool taken = json_tokener_get_error(k) == json_tokener_success;
    for (; at < size; at++)
        taken &= strchr(" \t\r\n", text[at]) && text[at];
    for (size_t i = 0; i < size; i++) /* control characters: of white space it knows more, too */
        taken &= (unsigned char)text[i] >= 0x20;
    if (rc == 0 && taken)
        same(v, o);
    else if (taken && !strstr(t.why, "number") && !strchr(".-+eE", t.at[-(t.at > text)]))
        /* json-c takes "1.", "1e" and "-" */
        abort();
    json_object_put(o);
    json_tokener_free(k);
out:
    jsontree_release(&t);
    free(text);
    return 0;
}
