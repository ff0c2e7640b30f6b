/* Reads single fields of a config.json for the files that give them a meaning (hf.c, hf_layers.c,
 * hf_state.c), and says which field is wrong. */
#include "lib/model/hf_fields.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int fail_with(const struct hf_reader *r, const char *field, const char *why, va_list args,
                     const char *hint) __attribute__((format(printf, 3, 0)));

static int fail_with(const struct hf_reader *r, const char *field, const char *why, va_list args,
                     const char *hint)
{
    char text[600];

    vsnprintf(text, sizeof(text), why, args);
    return err_set(r->e, -EINVAL, ERR_INPUT, r->where, "%s%s: %s%s", r->nested, field, text, hint);
}

int hf_fail(const struct hf_reader *r, const char *field, const char *why, ...)
{
    va_list args;

    va_start(args, why);
    int rc = fail_with(r, field, why, args, "");
    va_end(args);
    return rc;
}

int hf_assume(const struct hf_reader *r, const char *field, const char *assumed, const char *why,
              ...)
{
    char text[NOTES_CAP];
    va_list args;
    int rc = 0;

    va_start(args, why);
    if (!r->assumed) {
        rc = fail_with(r, field, why, args, " (--force-model goes on)");
    } else {
        vsnprintf(text, sizeof(text), why, args);
        struct notes one = {0};
        notes_add(&one, "%s%s: %.200s; assumed: %s", r->nested, field, text, assumed);
        notes_merge(r->assumed, &one);
    }
    va_end(args);
    return rc;
}

const char *hf_key(const struct jsonin_v *object, size_t i)
{
    const char *key = NULL;

    jsonin_member(object, i, &key);
    return key;
}

const struct jsonin_v *hf_get(const struct hf_reader *r, const char *field)
{
    return jsonin_get(r->text, field);
}

bool hf_has(const struct hf_reader *r, const char *field)
{
    const char *key;

    for (size_t i = 0; (key = hf_key(r->text, i)); i++)
        if (strcmp(key, field) == 0)
            return true;
    return false;
}

bool hf_is(const struct hf_reader *r, const char *type)
{
    return strcmp(r->type, type) == 0;
}

static int get_number(const struct hf_reader *r, const char *field, uint32_t min, uint32_t max,
                      uint32_t *out)
{
    const struct jsonin_v *v = hf_get(r, field);
    uint64_t n;

    if (!v)
        return 0;
    if (jsonin_u64(v, &n) < 0 || n < min || n > max)
        return hf_fail(r, field, "expected a whole number from %u to %u", (unsigned)min,
                       (unsigned)max);
    *out = (uint32_t)n;
    return 0;
}

int hf_u32(const struct hf_reader *r, const char *field, uint32_t max, uint32_t *out)
{
    return get_number(r, field, 1, max, out);
}

int hf_u32_from_0(const struct hf_reader *r, const char *field, uint32_t max, uint32_t *out)
{
    return get_number(r, field, 0, max, out);
}

int hf_bool(const struct hf_reader *r, const char *field, bool *out)
{
    const struct jsonin_v *v = hf_get(r, field);
    uint64_t bit;

    if (!v || jsonin_bool(v, out) == 0)
        return 0;
    if (jsonin_u64(v, &bit) < 0 || bit > 1)
        return hf_fail(r, field, "expected true or false");
    *out = bit == 1;
    return 0;
}

int hf_u32_any(const struct hf_reader *r, const char *const *fields, uint32_t max, uint32_t *out)
{
    for (; *fields; fields++)
        if (hf_get(r, *fields))
            return hf_u32(r, *fields, max, out);
    return 0;
}
