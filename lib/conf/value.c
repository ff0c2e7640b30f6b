/* Checks texts from the YAML file, and the defaults of the table, against the rows of conf_keys and
 * turns them into numbers and texts. */
#include "lib/conf/value.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/units.h"

bool conf_value_is_list(enum conf_type type)
{
    return type == CONF_I64_PAIR || type == CONF_F64_PAIR || type == CONF_I64_LIST;
}

const char *conf_value_noun(enum conf_type type)
{
    static const char *const nouns[] = {
        [CONF_I64] = "a whole number",
        [CONF_F64] = "a number",
        [CONF_TEXT] = "a text",
        [CONF_I64_PAIR] = "two whole numbers [low, high]",
        [CONF_F64_PAIR] = "two numbers [low, high]",
        [CONF_I64_LIST] = "a list of whole numbers",
    };
    return nouns[type];
}

bool conf_value_equal(const struct conf_value *a, const struct conf_value *b)
{
    if (a->count != b->count || !a->i64 != !b->i64 || !a->f64 != !b->f64 || !a->text != !b->text)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if ((a->i64 && a->i64[i] != b->i64[i]) || (a->f64 && a->f64[i] != b->f64[i]))
            return false;
    return !a->text || strcmp(a->text, b->text) == 0;
}

void conf_value_clear(struct conf_value *v)
{
    free(v->i64);
    free(v->f64);
    free(v->text);
    *v = (struct conf_value){0};
}

static int parse_text(struct conf_value *out, const struct conf_key *key, const char *text,
                      char *why)
{
    const char *c = key->choices;
    size_t len = strlen(text);

    while (c) {
        size_t width = strcspn(c, "|");
        if (width == len && memcmp(c, text, len) == 0)
            break;
        if (c[width] == '\0') {
            snprintf(why, CONF_WHY_MAX, "'%.64s' is not one of %.150s", text, key->choices);
            return -EINVAL;
        }
        c += width + 1;
    }
    out->text = strdup(text);
    return out->text ? 0 : -ENOMEM;
}

static int parse_numbers(struct conf_value *out, const struct conf_key *key,
                         const char *const *texts, size_t n, char *why)
{
    bool whole = key->type == CONF_I64 || key->type == CONF_I64_PAIR || key->type == CONF_I64_LIST;

    if (whole)
        out->i64 = calloc(n, sizeof(*out->i64));
    else
        out->f64 = calloc(n, sizeof(*out->f64));
    if (!out->i64 && !out->f64)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        int rc = whole ? units_parse_i64(texts[i], &out->i64[i])
                       : units_parse_f64(texts[i], &out->f64[i]);
        if (rc < 0) {
            snprintf(why, CONF_WHY_MAX, "'%.100s' is not %s", texts[i],
                     whole ? "a whole number" : "a number");
            return -EINVAL;
        }
        double v = whole ? (double)out->i64[i] : out->f64[i];
        if (v < key->min || v > key->max) {
            snprintf(why, CONF_WHY_MAX, "%.100s is %s %.15g", texts[i],
                     v < key->min ? "below" : "above", v < key->min ? key->min : key->max);
            return -EINVAL;
        }
    }
    return 0;
}

int conf_value_parse(struct conf_value *out, const struct conf_key *key, const char *const *texts,
                     size_t n, char *why)
{
    bool pair = key->type == CONF_I64_PAIR || key->type == CONF_F64_PAIR;
    int rc;

    *out = (struct conf_value){.count = n};
    if (n == 0 || (pair && n != 2)) {
        snprintf(why, CONF_WHY_MAX, "%zu values, expected %s", n, conf_value_noun(key->type));
        return -EINVAL;
    }
    if (key->type == CONF_TEXT)
        rc = parse_text(out, key, texts[0], why);
    else
        rc = parse_numbers(out, key, texts, n, why);
    if (rc == 0 && pair && (out->i64 ? out->i64[0] > out->i64[1] : out->f64[0] > out->f64[1])) {
        snprintf(why, CONF_WHY_MAX, "the first number is above the second");
        rc = -EINVAL;
    }
    if (rc < 0)
        conf_value_clear(out);
    return rc;
}

/* The table's defaults are short: "5", "zipfian", "[512, 4096]". */
int conf_value_default(struct conf_value *out, const struct conf_key *key)
{
    enum {
        ITEMS_MAX = 16,
        TEXT_MAX = 128
    };
    char copy[TEXT_MAX], why[CONF_WHY_MAX], *rest = NULL;
    const char *items[ITEMS_MAX];
    size_t n = 0;
    int rc;

    *out = (struct conf_value){0};
    if (!key->def || !key->help)
        return 0;
    assert(strlen(key->def) < sizeof(copy));
    snprintf(copy, sizeof(copy), "%s", key->def);
    for (char *t = strtok_r(copy, "[], ", &rest); t && n < ITEMS_MAX;
         t = strtok_r(NULL, "[], ", &rest))
        items[n++] = t;
    rc = conf_value_parse(out, key, items, n, why);
    assert(rc != -EINVAL && "a default that its own row refuses");
    return rc;
}
