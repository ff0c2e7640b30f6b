/* Walks a report's JSON and names what it finds there, so that CSV, trials and comparisons carry
 * the numbers of the JSON under its names, whatever it comes to hold. */
#include "kvstat/report/json_leaves.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json/jsonin.h"

enum {
    PATH_LEN = 2048,
    TEXT_LEN = 4096
};

struct walk {
    json_leaf_fn fn;
    void *arg;
    char path[PATH_LEN], text[TEXT_LEN];
};

static void append(char *buf, size_t n, const char *separator, const char *text)
{
    size_t len = strlen(buf);
    snprintf(buf + len, n - len, "%s%s", len ? separator : "", text);
}

void json_leaf_format_number(char text[JSON_LEAF_NUMBER_LEN], double number)
{
    if (number == trunc(number) && fabs(number) < 9007199254740992.0) {
        snprintf(text, JSON_LEAF_NUMBER_LEN, "%.0f", number);
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, JSON_LEAF_NUMBER_LEN, "%.*g", digits, number);
        if (strtod(text, NULL) == number)
            break;
    }
}

/* Integers beyond a double's 53 bits keep their digits. */
static void format_number(char *buf, size_t n, const struct jsonin_v *v, double number)
{
    int64_t i;
    uint64_t u;
    if (jsonin_i64(v, &i) == 0)
        snprintf(buf, n, "%lld", (long long)i);
    else if (jsonin_u64(v, &u) == 0)
        snprintf(buf, n, "%llu", (unsigned long long)u);
    else {
        char text[JSON_LEAF_NUMBER_LEN];
        json_leaf_format_number(text, number);
        snprintf(buf, n, "%s", text);
    }
}

/* Text and kind of a scalar; anything else is unknown. */
static enum json_leaf_kind scalar(char *buf, size_t n, const struct jsonin_v *v, double *number)
{
    const char *text = jsonin_text(v, NULL);
    bool truth;
    *number = NAN;
    buf[0] = '\0';
    if (text) {
        snprintf(buf, n, "%s", text);
        return JSON_LEAF_TEXT;
    }
    if (jsonin_bool(v, &truth) == 0) {
        snprintf(buf, n, "%s", truth ? "true" : "false");
        return JSON_LEAF_TEXT;
    }
    if (jsonin_f64(v, number) < 0)
        return JSON_LEAF_UNKNOWN;
    format_number(buf, n, v, *number);
    return JSON_LEAF_NUMBER;
}

static bool is_object(const struct jsonin_v *v)
{
    const char *key = NULL;
    jsonin_member(v, 0, &key);
    return key != NULL;
}

/* What names an element of an array; false when nothing does. */
static bool label_of(const struct jsonin_v *element, char *buf, size_t n)
{
    const char *key = NULL;
    const struct jsonin_v *first = jsonin_member(element, 0, &key);
    double number;
    buf[0] = '\0';
    if (!is_object(first))
        return first && scalar(buf, n, first, &number) == JSON_LEAF_TEXT;
    for (size_t i = 0;; i++) {
        char part[512];
        key = NULL;
        const struct jsonin_v *v = jsonin_member(first, i, &key);
        if (!key)
            return true;
        scalar(part, sizeof(part), v, &number);
        append(buf, n, "/", part[0] ? part : "-");
    }
}

static int visit(struct walk *w, const struct jsonin_v *v);

static int visit_members(struct walk *w, const struct jsonin_v *object, size_t from)
{
    size_t len = strlen(w->path);
    int rc = 0;
    for (size_t i = from; rc == 0; i++) {
        const char *key = NULL;
        const struct jsonin_v *v = jsonin_member(object, i, &key);
        if (!key)
            break;
        append(w->path, PATH_LEN, ".", key);
        rc = visit(w, v);
        w->path[len] = '\0';
    }
    return rc;
}

static int visit_elements(struct walk *w, const struct jsonin_v *array)
{
    size_t len = strlen(w->path);
    int rc = 0;
    for (size_t i = 0; i < jsonin_count(array) && rc == 0; i++) {
        const struct jsonin_v *element = jsonin_at(array, i);
        char label[PATH_LEN];
        bool named = label_of(element, label, sizeof(label));
        if (!named)
            snprintf(label, sizeof(label), "%zu", i);
        append(w->path, PATH_LEN, ".", label);
        rc = visit_members(w, element, named);
        w->path[len] = '\0';
    }
    return rc;
}

static int emit(struct walk *w, enum json_leaf_kind kind, double number)
{
    const struct json_leaf leaf = {w->path, w->text, kind, number};
    return w->fn(w->arg, &leaf);
}

static int visit_texts(struct walk *w, const struct jsonin_v *array)
{
    char part[512];
    double number;
    w->text[0] = '\0';
    for (size_t i = 0; i < jsonin_count(array); i++) {
        scalar(part, sizeof(part), jsonin_at(array, i), &number);
        append(w->text, TEXT_LEN, "; ", part);
    }
    return emit(w, JSON_LEAF_TEXT, NAN);
}

static int visit(struct walk *w, const struct jsonin_v *v)
{
    double number;
    if (jsonin_count(v) > 0)
        return is_object(jsonin_at(v, 0)) ? visit_elements(w, v) : visit_texts(w, v);
    if (is_object(v))
        return visit_members(w, v, 0);
    enum json_leaf_kind kind = scalar(w->text, TEXT_LEN, v, &number);
    return emit(w, kind, number);
}

int json_leaves_walk(const struct jsonin_v *root, json_leaf_fn fn, void *arg)
{
    struct walk w = {.fn = fn, .arg = arg};
    return visit_members(&w, root, 0);
}
