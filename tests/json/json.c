/* json FILE FILTER...: prints for each filter what it finds in a JSON file, in one line, as json of
 * tests/lib.sh does by jq. That one takes 20 ms to start, and the tests ask thousands of times.
 * This knows the part of jq's language that most of them use: paths, pipes, lists, arithmetic,
 * comparisons, texts with \(...), if, as, and the functions in the table below.
 *
 * Exit status 3, without output: jq must answer. So it is for all that is wrong or not known here,
 * for numbers that are not printed as they stand in the file, and for files that are not one JSON
 * value. Nothing is freed: it ends in a moment. */
#include "tests/json/json.h"

#include <ctype.h>
#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Noreturn void jq_must(void)
{
    exit(3);
}

void *room(size_t bytes)
{
    void *p = calloc(1, bytes);

    if (!p)
        jq_must();
    return p;
}

struct json_object *number(double v)
{
    char buf[40];

    if (!isfinite(v) || fabs(v) >= 1e15 || (v == 0 && signbit(v)) || (v != 0 && fabs(v) < 1e-4))
        jq_must();
    if (v == floor(v))
        return json_object_new_int64((int64_t)v);
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(buf, sizeof(buf), "%.*g", digits, v);
        if (strtod(buf, NULL) == v)
            break;
    }
    return json_object_new_double_s(v, buf);
}

/* ---- values ---- */

struct values {
    struct json_object **of;
    size_t count, cap;
};

struct variable {
    const char *name;
    struct json_object *value;
    const struct variable *outer;
};

static void add(struct values *v, struct json_object *o)
{
    if (v->count == v->cap) {
        v->cap = v->cap ? v->cap * 2 : 16;
        v->of = realloc(v->of, v->cap * sizeof(*v->of));
        if (!v->of)
            jq_must();
    }
    v->of[v->count++] = o;
}

static bool is_number(struct json_object *o)
{
    return json_object_is_type(o, json_type_int) || json_object_is_type(o, json_type_double);
}

static bool is_true(struct json_object *o)
{
    return o && !(json_object_is_type(o, json_type_boolean) && !json_object_get_boolean(o));
}

static const char *text_of(struct json_object *o)
{
    if (!json_object_is_type(o, json_type_string) ||
        strlen(json_object_get_string(o)) != (size_t)json_object_get_string_len(o))
        jq_must();
    return json_object_get_string(o);
}

/* The order of jq's types. */
static int rank(struct json_object *o)
{
    switch (json_object_get_type(o)) {
    case json_type_null:
        return 0;
    case json_type_boolean:
        return json_object_get_boolean(o) ? 2 : 1;
    case json_type_int:
    case json_type_double:
        return 3;
    case json_type_string:
        return 4;
    case json_type_array:
        return 5;
    default:
        return 6;
    }
}

static int compare(struct json_object *a, struct json_object *b)
{
    int order = rank(a) - rank(b);

    if (order != 0 || rank(a) < 3)
        return order;
    if (rank(a) == 3) {
        double x = json_object_get_double(a), y = json_object_get_double(b);
        return (x > y) - (x < y);
    }
    if (rank(a) == 4)
        return strcmp(text_of(a), text_of(b));
    if (rank(a) == 6) { /* only whether they are the same */
        if (!json_object_equal(a, b))
            jq_must();
        return 0;
    }
    size_t n = json_object_array_length(a), m = json_object_array_length(b);
    for (size_t i = 0; i < n && i < m; i++) {
        order = compare(json_object_array_get_idx(a, i), json_object_array_get_idx(b, i));
        if (order != 0)
            return order;
    }
    return (n > m) - (n < m);
}

static int compare_places(const void *a, const void *b)
{
    return compare(*(struct json_object *const *)a, *(struct json_object *const *)b);
}

/* ---- text of values ---- */

static void put_number(FILE *out, const char *p)
{
    size_t len = strlen(p), digits = 0;

    for (const char *q = p; *q; q++) {
        if (isdigit((unsigned char)*q))
            digits += digits > 0 || *q != '0';
        else if (*q != '.' && (*q != '-' || q != p))
            jq_must(); /* an exponent */
    }
    const char *begin = p + (*p == '-');
    if (digits > 17 || strncmp(begin, "0.0000", 6) == 0 || strcmp(p, "-0") == 0)
        jq_must();
    if (digits > 15) { /* the fewest digits that say the same */
        struct json_object *o = number(strtod(p, NULL));
        p = json_object_to_json_string(o);
        len = strlen(p);
    }
    if (strchr(p, '.')) {
        while (p[len - 1] == '0')
            len--;
        len -= p[len - 1] == '.';
    }
    if (len == 2 && strncmp(p, "-0", 2) == 0)
        jq_must();
    fprintf(out, "%.*s", (int)len, p);
}

static void put_quoted(FILE *out, const char *p)
{
    fputc('"', out);
    for (; *p; p++) {
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            jq_must();
        if (*p == '"' || *p == '\\')
            fputc('\\', out);
        fputc(*p, out);
    }
    fputc('"', out);
}

/* As JSON, without blanks. */
static void put(FILE *out, struct json_object *o)
{
    bool first = true;

    switch (json_object_get_type(o)) {
    case json_type_null:
        fputs("null", out);
        break;
    case json_type_boolean:
        fputs(json_object_get_boolean(o) ? "true" : "false", out);
        break;
    case json_type_int:
    case json_type_double:
        put_number(out, json_object_to_json_string(o));
        break;
    case json_type_string:
        put_quoted(out, text_of(o));
        break;
    case json_type_array:
        fputc('[', out);
        for (size_t i = 0; i < json_object_array_length(o); i++) {
            if (i > 0)
                fputc(',', out);
            put(out, json_object_array_get_idx(o, i));
        }
        fputc(']', out);
        break;
    default:
        fputc('{', out);
        json_object_object_foreach(o, name, member)
        {
            if (!first)
                fputc(',', out);
            first = false;
            put_quoted(out, name);
            fputc(':', out);
            put(out, member);
        }
        fputc('}', out);
    }
}

/* A text stays as it is. */
static const char *told(struct json_object *o, bool as_json)
{
    char *line = NULL;
    size_t len;

    if (!as_json && json_object_is_type(o, json_type_string))
        return text_of(o);
    FILE *out = open_memstream(&line, &len);
    if (!out)
        jq_must();
    put(out, o);
    fclose(out);
    return line;
}

/* ---- functions of a value ---- */

static struct json_object *list_of(const struct values *v)
{
    struct json_object *list = json_object_new_array();

    for (size_t i = 0; i < v->count; i++)
        json_object_array_add(list, json_object_get(v->of[i]));
    return list;
}

static void each(struct json_object *o, struct values *v)
{
    if (json_object_is_type(o, json_type_array)) {
        for (size_t i = 0; i < json_object_array_length(o); i++)
            add(v, json_object_array_get_idx(o, i));
    } else if (json_object_is_type(o, json_type_object)) {
        json_object_object_foreach(o, name, member)
        {
            (void)name;
            add(v, member);
        }
    } else {
        jq_must();
    }
}

static void elements(struct json_object *o, struct values *v)
{
    if (!json_object_is_type(o, json_type_array))
        jq_must();
    each(o, v);
}

static struct json_object *length(struct json_object *o)
{
    size_t n = 0;

    switch (json_object_get_type(o)) {
    case json_type_null:
        break;
    case json_type_string:
        for (const char *p = text_of(o); *p; p++)
            n += (*p & 0xc0) != 0x80;
        break;
    case json_type_array:
        n = json_object_array_length(o);
        break;
    case json_type_object:
        n = (size_t)json_object_object_length(o);
        break;
    default:
        jq_must();
    }
    return json_object_new_int64((int64_t)n);
}

static struct json_object *sum(struct json_object *a, struct json_object *b)
{
    struct values v = {0};

    if (!a || !b)
        return a ? a : b;
    if (is_number(a) && is_number(b))
        return number(json_object_get_double(a) + json_object_get_double(b));
    if (json_object_is_type(a, json_type_string)) {
        const char *x = text_of(a), *y = text_of(b);
        char *both = room(strlen(x) + strlen(y) + 1);
        strcpy(both, x);
        strcat(both, y);
        return json_object_new_string(both);
    }
    elements(a, &v);
    elements(b, &v);
    return list_of(&v);
}

static struct json_object *all_summed(struct json_object *o)
{
    struct values v = {0};
    struct json_object *all = NULL;
    double numbers = 0;

    each(o, &v);
    for (size_t i = 0; i < v.count && is_number(v.of[i]); i++) {
        numbers += json_object_get_double(v.of[i]);
        if (i + 1 == v.count)
            return number(numbers);
    }
    for (size_t i = 0; i < v.count; i++)
        all = sum(all, v.of[i]);
    return all;
}

static struct json_object *sorted(struct json_object *o, bool once)
{
    struct values v = {0};
    size_t kept = 0;

    elements(o, &v);
    if (v.count > 0)
        qsort(v.of, v.count, sizeof(*v.of), compare_places);
    for (size_t i = 0; i < v.count; i++)
        if (!once || kept == 0 || compare(v.of[kept - 1], v.of[i]) != 0)
            v.of[kept++] = v.of[i];
    v.count = kept;
    return list_of(&v);
}

/* sign -1: the least, 1: the greatest, of equals the last. */
static struct json_object *extreme(struct json_object *o, int sign)
{
    struct values v = {0};
    struct json_object *found = NULL;

    elements(o, &v);
    for (size_t i = 0; i < v.count; i++)
        if (i == 0 || compare(v.of[i], found) * sign > 0)
            found = v.of[i];
    return found;
}

static struct json_object *entries(struct json_object *o)
{
    struct json_object *list = json_object_new_array();

    if (!json_object_is_type(o, json_type_object))
        jq_must();
    json_object_object_foreach(o, name, member)
    {
        struct json_object *entry = json_object_new_object();
        json_object_object_add(entry, "key", json_object_new_string(name));
        json_object_object_add(entry, "value", json_object_get(member));
        json_object_array_add(list, entry);
    }
    return list;
}

static struct json_object *names(struct json_object *o)
{
    struct values v = {0};

    if (!json_object_is_type(o, json_type_object))
        jq_must();
    json_object_object_foreach(o, name, member)
    {
        (void)member;
        add(&v, json_object_new_string(name));
    }
    return sorted(list_of(&v), false);
}

static struct json_object *joined(struct json_object *o, const char *between)
{
    struct values v = {0};
    char *line = NULL;
    size_t len;
    FILE *out = open_memstream(&line, &len);

    elements(o, &v);
    if (!out)
        jq_must();
    for (size_t i = 0; i < v.count; i++) {
        if (rank(v.of[i]) > 4)
            jq_must();
        fprintf(out, "%s%s", i ? between : "", v.of[i] ? told(v.of[i], false) : "");
    }
    fclose(out);
    return json_object_new_string(line);
}

static struct json_object *split(const char *p, const char *at)
{
    struct values v = {0};
    const char *end;

    if (!*p || !*at)
        jq_must();
    for (; (end = strstr(p, at)); p = end + strlen(at))
        add(&v, json_object_new_string_len(p, (int)(end - p)));
    add(&v, json_object_new_string(p));
    return list_of(&v);
}

/* Expressions that mean the same to jq's library. */
static bool matches(const char *p, const char *expression)
{
    regex_t r;

    if (strpbrk(expression, "\\?{") || strchr(p, '\n') ||
        regcomp(&r, expression, REG_EXTENDED | REG_NOSUB) != 0)
        jq_must();
    return regexec(&r, p, 0, NULL, 0) == 0;
}

static bool any_of(struct json_object *o, bool all)
{
    struct values v = {0};

    elements(o, &v);
    for (size_t i = 0; i < v.count; i++)
        if (is_true(v.of[i]) != all)
            return !all;
    return all;
}

static const char *type_of(struct json_object *o)
{
    static const char *const names_of[] = {"null",   "boolean", "boolean", "number",
                                           "string", "array",   "object"};

    return names_of[rank(o)];
}

/* Calls without arguments that give one value. */
static bool plain_call(const char *name, struct json_object *o, struct json_object **to)
{
#define IS(text) (strcmp(name, text) == 0)
    if (IS("length"))
        *to = length(o);
    else if (IS("add"))
        *to = all_summed(o);
    else if (IS("tostring"))
        *to = json_object_new_string(told(o, false));
    else if (IS("tojson"))
        *to = json_object_new_string(told(o, true));
    else if (IS("not"))
        *to = json_object_new_boolean(!is_true(o));
    else if (IS("any") || IS("all"))
        *to = json_object_new_boolean(any_of(o, IS("all")));
    else if (IS("sort") || IS("unique"))
        *to = sorted(o, IS("unique"));
    else if (IS("min") || IS("max"))
        *to = extreme(o, IS("min") ? -1 : 1);
    else if (IS("type"))
        *to = json_object_new_string(type_of(o));
    else if (IS("to_entries"))
        *to = entries(o);
    else if (IS("keys"))
        *to = names(o);
    else if (is_number(o) && (IS("floor") || IS("round") || IS("fabs")))
        *to = number(IS("floor")   ? floor(json_object_get_double(o))
                     : IS("round") ? round(json_object_get_double(o))
                                   : fabs(json_object_get_double(o)));
    else
        return false;
    return true;
}

/* Calls that give the value itself or nothing: those of its type. */
static bool type_call(const char *name, struct json_object *o, bool *passes)
{
    static const char *const of[] = {"nulls",   "booleans", "booleans", "numbers",
                                     "strings", "arrays",   "objects"};

    for (unsigned i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
        if (!IS(of[i]))
            continue;
        *passes = strcmp(of[rank(o)], name) == 0;
        return true;
    }
    return false;
}

/* ---- evaluation ---- */

static void eval(const struct node *n, struct json_object *o, const struct variable *with,
                 struct values *to);

static struct json_object *one(const struct node *n, struct json_object *o,
                               const struct variable *with)
{
    struct values v = {0};

    eval(n, o, with, &v);
    if (v.count != 1)
        jq_must();
    return v.of[0];
}

static void eval_name(const struct node *n, struct json_object *o, struct json_object *name,
                      struct values *to)
{
    if (json_object_is_type(name, json_type_string)) {
        if (!o || json_object_is_type(o, json_type_object))
            add(to, o ? json_object_object_get(o, text_of(name)) : NULL);
        else if (!n->may)
            jq_must();
    } else if (is_number(name)) {
        double at = json_object_get_double(name);
        if (o && !json_object_is_type(o, json_type_array))
            jq_must();
        if (o && at < 0)
            at += (double)json_object_array_length(o);
        if (at != floor(at))
            jq_must();
        add(to, o && at >= 0 ? json_object_array_get_idx(o, (size_t)at) : NULL);
    } else {
        jq_must();
    }
}

static void eval_slice(const struct node *n, struct json_object *o, struct values *to)
{
    struct values v = {0}, part = {0};

    elements(o, &v);
    long len = (long)v.count, from = n->open_from ? 0 : n->from, end = n->open_to ? len : n->to;
    from = from < 0 ? from + len : from;
    end = end < 0 ? end + len : end;
    for (long i = from < 0 ? 0 : from; i < end && i < len; i++)
        add(&part, v.of[i]);
    add(to, list_of(&part));
}

static void eval_all(struct json_object *o, struct values *to)
{
    struct values v = {0};

    add(to, o);
    if (rank(o) < 5)
        return;
    each(o, &v);
    for (size_t i = 0; i < v.count; i++)
        eval_all(v.of[i], to);
}

static struct json_object *binary(const char *name, struct json_object *a, struct json_object *b)
{
    if (IS("=="))
        return json_object_new_boolean(rank(a) == rank(b) && compare(a, b) == 0);
    if (IS("!="))
        return json_object_new_boolean(rank(a) != rank(b) || compare(a, b) != 0);
    if (IS("<="))
        return json_object_new_boolean(compare(a, b) <= 0);
    if (IS(">="))
        return json_object_new_boolean(compare(a, b) >= 0);
    if (IS("<"))
        return json_object_new_boolean(compare(a, b) < 0);
    if (IS(">"))
        return json_object_new_boolean(compare(a, b) > 0);
    if (IS("+"))
        return sum(a, b);
    if (!is_number(a) || !is_number(b))
        jq_must();
    double x = json_object_get_double(a), y = json_object_get_double(b);
    if (IS("/") && y == 0)
        jq_must();
    return number(IS("-") ? x - y : IS("*") ? x * y : x / y);
}

static void eval_binary(const struct node *n, struct json_object *o, const struct variable *with,
                        struct values *to)
{
    struct values left = {0}, right = {0};
    const char *name = n->name;

    eval(n->a, o, with, &left);
    if (IS("and") || IS("or")) {
        for (size_t i = 0; i < left.count; i++) {
            right.count = 0;
            if (is_true(left.of[i]) == IS("or"))
                add(to, json_object_new_boolean(IS("or")));
            else
                eval(n->b, o, with, &right);
            for (size_t k = 0; k < right.count; k++)
                add(to, json_object_new_boolean(is_true(right.of[k])));
        }
        return;
    }
    eval(n->b, o, with, &right);
    for (size_t k = 0; k < right.count; k++)
        for (size_t i = 0; i < left.count; i++)
            add(to, binary(name, left.of[i], right.of[k]));
}

static void eval_text(const struct node *n, struct json_object *o, const struct variable *with,
                      struct values *to)
{
    char *line = NULL;
    size_t len;
    FILE *out = open_memstream(&line, &len);

    if (!out)
        jq_must();
    for (const struct node *part = n->next; part; part = part->next)
        fputs(told(one(part, o, with), false), out);
    fclose(out);
    add(to, json_object_new_string(line));
}

/* select(f), map(f), any(f), all(f), any(of; f), all(of; f), tier("Tier-2"). */
static bool eval_condition(const struct node *n, struct json_object *o, const struct variable *with,
                           struct values *to)
{
    struct values v = {0}, found = {0};
    const char *name = n->name;

    if (IS("select")) {
        eval(n->a, o, with, &v);
        for (size_t i = 0; i < v.count; i++)
            if (is_true(v.of[i]))
                add(to, o);
    } else if (IS("map")) {
        each(o, &v);
        for (size_t i = 0; i < v.count; i++)
            eval(n->a, v.of[i], with, &found);
        add(to, list_of(&found));
    } else if (IS("any") || IS("all")) {
        if (n->b)
            eval(n->a, o, with, &v);
        else
            each(o, &v);
        for (size_t i = 0; i < v.count; i++)
            eval(n->b ? n->b : n->a, v.of[i], with, &found);
        add(to, json_object_new_boolean(any_of(list_of(&found), IS("all"))));
    } else if (IS("tier")) {
        struct json_object *wanted = one(n->a, o, with), *tiers = NULL;
        if (!json_object_is_type(o, json_type_object) ||
            !json_object_object_get_ex(o, "tiers", &tiers))
            jq_must();
        each(tiers, &v);
        for (size_t i = 0; i < v.count; i++)
            if (compare(json_object_object_get(v.of[i], "tier"), wanted) == 0)
                add(to, v.of[i]);
    } else {
        return false;
    }
    return true;
}

static void eval_call(const struct node *n, struct json_object *o, const struct variable *with,
                      struct values *to)
{
    struct json_object *found;
    const char *name = n->name;
    bool passes;

    if (n->a && eval_condition(n, o, with, to))
        return;
    if (!n->a) {
        if (IS("empty"))
            return;
        if (plain_call(name, o, &found))
            add(to, found);
        else if (!type_call(name, o, &passes))
            jq_must();
        else if (passes)
            add(to, o);
        return;
    }
    if (n->b)
        jq_must();
    const char *argument = text_of(one(n->a, o, with));
    if (IS("join"))
        add(to, joined(o, argument));
    else if (IS("split"))
        add(to, split(text_of(o), argument));
    else if (IS("test"))
        add(to, json_object_new_boolean(matches(text_of(o), argument)));
    else if (IS("startswith"))
        add(to, json_object_new_boolean(strncmp(text_of(o), argument, strlen(argument)) == 0));
    else if (IS("contains"))
        add(to, json_object_new_boolean(strstr(text_of(o), argument) != NULL));
    else if (IS("has") && json_object_is_type(o, json_type_object))
        add(to, json_object_new_boolean(json_object_object_get_ex(o, argument, &found)));
    else
        jq_must();
}

/* What n finds in o goes to the end of to. */
static void eval(const struct node *n, struct json_object *o, const struct variable *with,
                 struct values *to)
{
    struct values v = {0}, w = {0};

    switch (n->kind) {
    case NODE_SELF:
        add(to, o);
        break;
    case NODE_ALL:
        eval_all(o, to);
        break;
    case NODE_VALUE:
        add(to, n->value);
        break;
    case NODE_TEXT:
        eval_text(n, o, with, to);
        break;
    case NODE_LIST:
        if (n->a)
            eval(n->a, o, with, &v);
        add(to, list_of(&v));
        break;
    case NODE_NAME:
        eval(n->a, o, with, &v);
        eval(n->b, o, with, &w);
        for (size_t i = 0; i < v.count; i++)
            for (size_t k = 0; k < w.count; k++)
                eval_name(n, v.of[i], w.of[k], to);
        break;
    case NODE_EACH:
        eval(n->a, o, with, &v);
        for (size_t i = 0; i < v.count; i++)
            if (!n->may || rank(v.of[i]) >= 5)
                each(v.of[i], to);
        break;
    case NODE_SLICE:
        eval(n->a, o, with, &v);
        for (size_t i = 0; i < v.count; i++)
            eval_slice(n, v.of[i], to);
        break;
    case NODE_PIPE:
        eval(n->a, o, with, &v);
        for (size_t i = 0; i < v.count; i++) {
            if (n->b)
                eval(n->b, v.of[i], with, to);
            else
                add(to, v.of[i]);
        }
        break;
    case NODE_COMMA:
        eval(n->a, o, with, to);
        eval(n->b, o, with, to);
        break;
    case NODE_AS:
        eval(n->a, o, with, &v);
        for (size_t i = 0; i < v.count; i++) {
            struct variable inner = {n->name, v.of[i], with};
            eval(n->b, o, &inner, to);
        }
        break;
    case NODE_VARIABLE:
        while (with && strcmp(with->name, n->name) != 0)
            with = with->outer;
        if (!with)
            jq_must();
        add(to, with->value);
        break;
    case NODE_ELSE:
        eval(n->a, o, with, &v);
        for (size_t i = 0; i < v.count; i++)
            if (is_true(v.of[i]))
                add(&w, v.of[i]);
        for (size_t i = 0; i < w.count; i++)
            add(to, w.of[i]);
        if (w.count == 0)
            eval(n->b, o, with, to);
        break;
    case NODE_BINARY:
        eval_binary(n, o, with, to);
        break;
    case NODE_IF:
        eval(n->a, o, with, &v);
        for (size_t i = 0; i < v.count; i++)
            eval(is_true(v.of[i]) ? n->b : n->c, o, with, to);
        break;
    case NODE_CALL:
        eval_call(n, o, with, to);
        break;
    }
}

/* ---- the file ---- */

/* The whole file as text. */
static char *file_text(const char *name)
{
    FILE *f = fopen(name, "r");
    size_t cap = 1 << 16, len = 0;
    char *all = malloc(cap);

    if (!f || !all)
        jq_must();
    while (!feof(f) && !ferror(f)) {
        if (cap - len < 4096 && !(all = realloc(all, cap *= 2)))
            jq_must();
        len += fread(all + len, 1, cap - len - 1, f);
    }
    if (ferror(f) || memchr(all, '\0', len))
        jq_must();
    fclose(f);
    all[len] = '\0';
    return all;
}

/* json-c takes more than JSON: NaN, texts in single quotes, comments. */
static bool is_plain(const char *p)
{
    bool within = false;

    for (; *p; p++) {
        if (*p == '"')
            within = !within;
        else if (within && *p == '\\' && p[1])
            p++;
        else if (!within && !strchr("{}[]:,+-.0123456789eE \t\r\ntrufalsn", *p))
            return false;
    }
    return true;
}

/* The file's one value. */
static struct json_object *value_of(const char *name)
{
    char *all = file_text(name);
    struct json_tokener *t = json_tokener_new();

    if (!t || !is_plain(all))
        jq_must();
    json_tokener_set_flags(t, JSON_TOKENER_STRICT);
    struct json_object *o = json_tokener_parse_ex(t, all, -1);
    if (json_tokener_get_error(t) != json_tokener_success)
        jq_must();
    size_t end = json_tokener_get_parse_end(t);
    if (all[end + strspn(all + end, " \t\r\n")])
        jq_must();
    return o;
}

int main(int argc, char **argv)
{
    char *lines = NULL;
    size_t len;
    FILE *out = open_memstream(&lines, &len);

    if (argc < 3 || !out)
        jq_must();
    struct json_object *root = value_of(argv[1]);
    for (int i = 2; i < argc; i++) {
        struct values v = {0};
        eval(parse(argv[i]), root, NULL, &v);
        for (size_t k = 0; k < v.count; k++)
            fprintf(out, "%s%s", k ? " " : "", told(v.of[k], false));
        fputc('\n', out);
    }
    fclose(out);
    fputs(lines, stdout);
    return 0;
}
