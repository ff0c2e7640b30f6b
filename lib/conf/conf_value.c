/* Checks the texts that conf.c cut out of a YAML file, and the defaults of the table, against the
 * rows of conf_keys. */
#include "lib/conf/conf_value.h"

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
    static const char *const nouns[] = {"a whole number",
                                        "a number",
                                        "a text",
                                        "two whole numbers [low, high]",
                                        "two numbers [low, high]",
                                        "a list of whole numbers"};
    return nouns[type];
}

void conf_value_clear(struct conf_value *v)
{
    free(v->i64);
    free(v->f64);
    free(v->text);
    *v = (struct conf_value){0};
}

static int say_bad(char *why, const char *text, const char *noun)
{
    snprintf(why, CONF_WHY_MAX, "'%.100s' is not %s", text, noun);
    return -EINVAL;
}

static int check_range(const struct conf_key *key, const char *text, double v, char *why)
{
    if (v >= key->min && v <= key->max)
        return 0;
    snprintf(why, CONF_WHY_MAX, "%.100s is %s %.15g", text, v < key->min ? "below" : "above",
             v < key->min ? key->min : key->max);
    return -EINVAL;
}

static int parse_i64s(struct conf_value *out, const struct conf_key *key, const char *const *texts,
                      size_t n, char *why)
{
    int rc = 0;

    out->i64 = calloc(n, sizeof(*out->i64));
    if (!out->i64)
        return -ENOMEM;
    for (size_t i = 0; i < n && rc == 0; i++) {
        if (units_parse_i64(texts[i], &out->i64[i]) < 0)
            return say_bad(why, texts[i], "a whole number");
        rc = check_range(key, texts[i], (double)out->i64[i], why);
    }
    return rc;
}

static int parse_f64s(struct conf_value *out, const struct conf_key *key, const char *const *texts,
                      size_t n, char *why)
{
    int rc = 0;

    out->f64 = calloc(n, sizeof(*out->f64));
    if (!out->f64)
        return -ENOMEM;
    for (size_t i = 0; i < n && rc == 0; i++) {
        if (units_parse_f64(texts[i], &out->f64[i]) < 0)
            return say_bad(why, texts[i], "a number");
        rc = check_range(key, texts[i], out->f64[i], why);
    }
    return rc;
}

static bool is_choice(const char *choices, const char *text)
{
    size_t len = strlen(text);

    for (const char *c = choices;; c++) {
        size_t width = strcspn(c, "|");
        if (width == len && memcmp(c, text, len) == 0)
            return true;
        c += width;
        if (*c == '\0')
            return false;
    }
}

static int parse_text(struct conf_value *out, const struct conf_key *key, const char *text,
                      char *why)
{
    if (key->choices && !is_choice(key->choices, text)) {
        snprintf(why, CONF_WHY_MAX, "'%.64s' is not one of %.150s", text, key->choices);
        return -EINVAL;
    }
    out->text = strdup(text);
    return out->text ? 0 : -ENOMEM;
}

static int parse_numbers(struct conf_value *out, const struct conf_key *key,
                         const char *const *texts, size_t n, char *why)
{
    if (key->type == CONF_F64 || key->type == CONF_F64_PAIR)
        return parse_f64s(out, key, texts, n, why);
    return parse_i64s(out, key, texts, n, why);
}

static int check_pair(const struct conf_value *v, char *why)
{
    if (v->i64 ? v->i64[0] <= v->i64[1] : v->f64[0] <= v->f64[1])
        return 0;
    snprintf(why, CONF_WHY_MAX, "the first number is above the second");
    return -EINVAL;
}

int conf_value_parse(struct conf_value *out, const struct conf_key *key, const char *const *texts,
                     size_t n, char *why)
{
    bool pair = key->type == CONF_I64_PAIR || key->type == CONF_F64_PAIR;
    int rc;

    *out = (struct conf_value){.count = n};
    if (n == 0 || (pair && n != 2)) {
        snprintf(why, CONF_WHY_MAX, "%zu values where %s are wanted", n,
                 conf_value_noun(key->type));
        return -EINVAL;
    }
    if (key->type == CONF_TEXT)
        rc = parse_text(out, key, texts[0], why);
    else
        rc = parse_numbers(out, key, texts, n, why);
    if (rc == 0 && pair)
        rc = check_pair(out, why);
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
    char copy[TEXT_MAX], why[CONF_WHY_MAX];
    const char *items[ITEMS_MAX];
    size_t n = 0;
    int rc;

    *out = (struct conf_value){0};
    if (!key->def || !key->help)
        return 0;
    assert(strlen(key->def) < sizeof(copy));
    snprintf(copy, sizeof(copy), "%s", key->def);
    char *rest = NULL;
    for (char *t = strtok_r(copy, "[], ", &rest); t && n < ITEMS_MAX;
         t = strtok_r(NULL, "[], ", &rest))
        items[n++] = t;
    rc = conf_value_parse(out, key, items, n, why);
    assert(rc != -EINVAL && "a default that its own row refuses");
    return rc;
}
