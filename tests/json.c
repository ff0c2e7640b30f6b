/* json FILE FILTER...: prints what each filter finds in a JSON file, in a line, as json and
 * json_like of tests/lib.sh do by jq. That one takes 20 ms to start, and the tests ask thousands of
 * times; most of them for a member by its path. This knows these alone:
 *
 *   [BASE | [select(PATH == "text") |]...] PATH, PATH...   a path is of .name, ."name", .[], [],
 * [2]; or begins with tier("Tier-2"). In the place of a PATH, length
 *
 * Exit status 3, without output: jq must answer. So it is for all that is wrong, for values that
 * are not printed as they stand in the file, and for files that are not one JSON value. */
#include <ctype.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    VALUES_MAX = 10000,
    NAME_MAX_BYTES = 200
};

/* The values that a path has found so far. */
struct values {
    struct json_object *of[VALUES_MAX];
    size_t count;
};

static FILE *out; /* into memory: nothing is printed before all is known */

static _Noreturn void jq_must(void)
{
    exit(3);
}

static void add(struct values *v, struct json_object *o)
{
    if (v->count == VALUES_MAX)
        jq_must();
    v->of[v->count++] = o;
}

static void add_all_in(struct values *v, struct json_object *o)
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

/* A member that is not there is null, and so is one of null. */
static void add_member(struct values *v, struct json_object *o, const char *name)
{
    if (o && !json_object_is_type(o, json_type_object))
        jq_must();
    add(v, o ? json_object_object_get(o, name) : NULL);
}

static void add_element(struct values *v, struct json_object *o, size_t i)
{
    if (o && !json_object_is_type(o, json_type_array))
        jq_must();
    add(v, o && i < json_object_array_length(o) ? json_object_array_get_idx(o, i) : NULL);
}

static void add_tier(struct values *v, struct json_object *o, const char *tier)
{
    static struct values tiers;

    tiers.count = 0;
    add_member(&tiers, o, "tiers");
    struct json_object *list = tiers.of[0];
    tiers.count = 0;
    add_all_in(&tiers, list);
    for (size_t i = 0; i < tiers.count; i++) {
        struct json_object *name = NULL;

        json_object_object_get_ex(tiers.of[i], "tier", &name);
        if (name && strcmp(json_object_get_string(name), tier) == 0)
            add(v, tiers.of[i]);
    }
}

static const char *blanks(const char *p)
{
    while (*p == ' ' || *p == '\n')
        p++;
    return p;
}

/* A name in quotes from p on, without escapes. Returns what is behind it. */
static const char *quoted(const char *p, char name[NAME_MAX_BYTES])
{
    const char *end = *p == '"' ? strchr(p + 1, '"') : NULL;

    if (!end || end - p > NAME_MAX_BYTES || memchr(p, '\\', (size_t)(end - p)))
        jq_must();
    memcpy(name, p + 1, (size_t)(end - p - 1));
    name[end - p - 1] = '\0';
    return end + 1;
}

static const char *bare(const char *p, char name[NAME_MAX_BYTES])
{
    size_t n = 0;

    while (n < NAME_MAX_BYTES - 1 && (isalnum((unsigned char)p[n]) || p[n] == '_'))
        n++;
    if (n == 0 || isdigit((unsigned char)*p))
        jq_must();
    memcpy(name, p, n);
    name[n] = '\0';
    return p + n;
}

/* One step of a path, from *v on. Returns what is behind it; p itself: there is none. */
static const char *step(const char *p, struct values *v)
{
    static struct values from;
    char name[NAME_MAX_BYTES];
    const char *begin = p;

    memcpy(&from, v, sizeof(from.of[0]) * v->count);
    from.count = v->count;
    if (*p == '.' && p[1] != '[') {
        p = p[1] == '"' ? quoted(p + 1, name) : bare(p + 1, name);
        v->count = 0;
        for (size_t i = 0; i < from.count; i++)
            add_member(v, from.of[i], name);
    } else if (strncmp(p, "[", 1) == 0 || strncmp(p, ".[", 2) == 0) {
        char *end;

        p = strchr(p, '[') + 1;
        size_t at = strtoul(p, &end, 10);
        bool all = end == p;
        if (*end != ']' || (!all && !isdigit((unsigned char)*p)))
            jq_must();
        v->count = 0;
        for (size_t i = 0; i < from.count; i++) {
            if (all)
                add_all_in(v, from.of[i]);
            else
                add_element(v, from.of[i], at);
        }
        p = end + 1;
    }
    return p == begin ? begin : p;
}

/* A path from *v on. Returns what is behind it. */
static const char *path(const char *p, struct values *v)
{
    const char *next;

    if (strncmp(p, "tier(", 5) == 0) {
        char tier[NAME_MAX_BYTES];
        struct json_object *root = v->of[0];

        p = quoted(p + 5, tier);
        if (*p++ != ')' || v->count != 1)
            jq_must();
        v->count = 0;
        add_tier(v, root, tier);
    } else if (*p != '.') {
        jq_must();
    } else if (p[1] == '\0' || p[1] == ' ' || p[1] == ',') {
        return p + 1;
    }
    while ((next = step(p, v)) != p)
        p = next;
    return p;
}

/* Is there no number of fewer digits that is read as the same one, and has the text no zeros to
 * spare? Integers above 10^15 are none of these. */
static bool is_shortest(const char *text)
{
    double value = strtod(text, NULL);
    char as[40];

    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(as, sizeof(as), "%.*g", digits, value);
        if (strtod(as, NULL) == value)
            return strchr(text, '.') && strcmp(as, text) == 0;
    }
    return false;
}

/* Decimals as jq writes them: without zeros at the end. Others are its own task. */
static void print_number(const char *text)
{
    size_t len = strlen(text), digits = 0;

    for (const char *p = text; *p; p++) {
        if (isdigit((unsigned char)*p))
            digits += digits > 0 || *p != '0';
        else if (*p != '.' && (*p != '-' || p != text))
            jq_must(); /* an exponent */
    }
    const char *begin = text + (*text == '-');
    if (digits > 17 || strncmp(begin, "0.0000", 6) == 0 || strcmp(text, "-0") == 0)
        jq_must();
    if (digits > 15 && !is_shortest(text))
        jq_must();
    if (strchr(text, '.')) {
        while (text[len - 1] == '0')
            len--;
        len -= text[len - 1] == '.';
    }
    if (len == 2 && strncmp(text, "-0", 2) == 0)
        jq_must();
    fprintf(out, "%.*s", (int)len, text);
}

static void print_value(struct json_object *o)
{
    switch (json_object_get_type(o)) {
    case json_type_null:
        fputs("null", out);
        break;
    case json_type_boolean:
        fputs(json_object_get_boolean(o) ? "true" : "false", out);
        break;
    case json_type_int:
    case json_type_double:
        print_number(json_object_to_json_string(o));
        break;
    case json_type_string:
        if (strlen(json_object_get_string(o)) != (size_t)json_object_get_string_len(o))
            jq_must();
        fputs(json_object_get_string(o), out);
        break;
    default:
        jq_must();
    }
}

static void print_length(struct json_object *o)
{
    if (json_object_is_type(o, json_type_array))
        fprintf(out, "%zu", json_object_array_length(o));
    else if (json_object_is_type(o, json_type_object))
        fprintf(out, "%d", json_object_object_length(o));
    else
        jq_must();
}

/* All that the list of paths p finds from one value on. */
static void print_all(const char *p, struct json_object *from, bool *first)
{
    static struct values found;

    for (bool more = true; more;) {
        p = blanks(p);
        bool length = strncmp(p, "length", 6) == 0;
        found.count = 0;
        add(&found, from);
        p = blanks(length ? p + 6 : path(p, &found));
        more = *p == ',';
        if (*p && !more)
            jq_must();
        p += more;
        for (size_t i = 0; i < found.count; i++) {
            if (!*first)
                fputc(' ', out);
            *first = false;
            if (length)
                print_length(found.of[i]);
            else
                print_value(found.of[i]);
        }
    }
}

/* The whole file as text, which the caller frees. */
static char *text_of(const char *name)
{
    FILE *f = fopen(name, "r");
    size_t cap = 1 << 16, len = 0;
    char *text = malloc(cap);

    if (!f || !text)
        jq_must();
    while (!feof(f) && !ferror(f)) {
        if (cap - len < 4096 && !(text = realloc(text, cap *= 2)))
            jq_must();
        len += fread(text + len, 1, cap - len - 1, f);
    }
    if (ferror(f) || memchr(text, '\0', len))
        jq_must();
    fclose(f);
    text[len] = '\0';
    return text;
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
    char *text = text_of(name);
    struct json_tokener *t = json_tokener_new();

    if (!t || !is_plain(text))
        jq_must();
    json_tokener_set_flags(t, JSON_TOKENER_STRICT);
    struct json_object *o = json_tokener_parse_ex(t, text, -1);
    if (json_tokener_get_error(t) != json_tokener_success)
        jq_must();
    if (text[strspn(text + json_tokener_get_parse_end(t), " \t\r\n") +
             json_tokener_get_parse_end(t)])
        jq_must();
    json_tokener_free(t);
    free(text);
    return o;
}

static bool is_text(struct json_object *o, const char *text)
{
    return json_object_is_type(o, json_type_string) &&
           (size_t)json_object_get_string_len(o) == strlen(text) &&
           strcmp(json_object_get_string(o), text) == 0;
}

/* A stage "select(.by.op == "text") |" at p, of the values of v. Returns what is behind it; NULL:
 * there is none. */
static const char *selected(const char *p, struct values *v)
{
    static struct values members;
    char text[NAME_MAX_BYTES];
    const char *begin = p + 7, *end;
    size_t kept = 0;

    if (strncmp(p, "select(.", 8) != 0)
        return NULL;
    for (size_t i = 0; i == 0 || i < v->count; i++) {
        members.count = 0;
        add(&members, v->count ? v->of[i] : NULL);
        end = blanks(path(begin, &members));
        if (members.count != 1 || strncmp(end, "==", 2) != 0)
            jq_must();
        end = quoted(blanks(end + 2), text);
        if (*end != ')' || *(end = blanks(end + 1)) != '|')
            jq_must();
        if (is_text(members.of[0], text)) /* null is none */
            v->of[kept++] = v->of[i];
    }
    v->count = kept;
    return end + 1;
}

/* The line of one filter. */
static void print_line(const char *filter, struct json_object *root)
{
    static struct values base;
    const char *bar = strchr(filter, '|'), *next;
    bool first = true;

    base.count = 0;
    add(&base, root);
    if (bar) {
        if (blanks(path(blanks(filter), &base)) != bar)
            jq_must();
        filter = bar + 1;
        while ((next = selected(blanks(filter), &base)))
            filter = next;
    }
    for (size_t i = 0; i < base.count; i++)
        print_all(filter, base.of[i], &first);
    fputc('\n', out);
}

int main(int argc, char **argv)
{
    char *lines = NULL;
    size_t len;

    out = open_memstream(&lines, &len);
    if (argc < 3 || !out)
        jq_must();
    struct json_object *root = value_of(argv[1]);
    for (int i = 2; i < argc; i++)
        print_line(argv[i], root);
    fclose(out);
    fputs(lines, stdout);
    free(lines);
    json_object_put(root);
    return 0;
}
