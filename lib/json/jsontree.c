/* Parses JSON without an allocation for each value. A closed array or object has its elements moved
 * from a stack of values that are not yet in one, which costs each value one copy. */
#include "lib/json/jsontree.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json/jsoncut.h"

static const char too_early[] = "ends too early";

/* ---- room ---- */

enum {
    FEW_BYTES = 64 << 10
};

/* No text has more values and names than this: each but the first follows one of these bytes. */
static size_t count_values(const char *text, size_t len)
{
    size_t n = 1;
    const char *end = text + len;

    while (text < end) {
        char c = *text++;
        if (c != '"') {
            n += c == ',' || c == ':' || c == '[' || c == '{';
            continue;
        }
        while (text < end && *text != '"')
            text += *text == '\\' && end - text > 1 ? 2 : 1;
        text += text < end;
    }
    return n;
}

static size_t bytes_of(const struct jsontree *t, size_t values, size_t len)
{
    return values * (sizeof(*t->node) + sizeof(*t->stack)) + len;
}

static int make_room(struct jsontree *t, size_t values, size_t len)
{
    if (values > t->nodes_cap) {
        free(t->node);
        free(t->stack);
        t->nodes_cap = 0;
        t->node = malloc(values * sizeof(*t->node));
        t->stack = malloc(values * sizeof(*t->stack));
        if (!t->node || !t->stack)
            return -ENOMEM;
        t->nodes_cap = values;
    }
    if (len >= t->chars_cap) {
        free(t->chars);
        t->chars_cap = 0;
        t->chars = malloc(len + 1);
        if (!t->chars)
            return -ENOMEM;
        t->chars_cap = len + 1;
    }
    return 0;
}

void jsontree_release(struct jsontree *t)
{
    free(t->node);
    free(t->stack);
    free(t->chars);
    *t = (struct jsontree){0};
}

/* ---- scalars ---- */

static int fail(struct jsontree *t, const char *why)
{
    t->why = why;
    return -EINVAL;
}

static void skip_space(struct jsontree *t)
{
    if (t->at < t->end && *t->at <= ' ')
        t->at += jsoncut_space(t->at, (size_t)(t->end - t->at));
}

static bool is_digit(const struct jsontree *t)
{
    return t->at < t->end && *t->at >= '0' && *t->at <= '9';
}

/* At least one digit. */
static int skip_digits(struct jsontree *t)
{
    if (!is_digit(t))
        return fail(t, t->at == t->end ? too_early : "number without a digit");
    while (is_digit(t))
        t->at++;
    return 0;
}

/* The whole number in [at, end), which begins with a digit. False: it does not fit. */
static bool parse_whole(const char *at, const char *end, bool negative, struct jsonin_v *v)
{
    uint64_t n = 0;

    for (; at < end; at++) {
        if (__builtin_mul_overflow(n, UINT64_C(10), &n) ||
            __builtin_add_overflow(n, (uint64_t)(*at - '0'), &n))
            return false;
    }
    v->type = JSONTREE_I64;
    if (negative && n > (uint64_t)INT64_MAX + 1)
        return false;
    if (negative)
        v->i64 = n > INT64_MAX ? INT64_MIN : -(int64_t)n;
    else
        v->u64 = n;
    if (!negative && n > INT64_MAX)
        v->type = JSONTREE_U64;
    return true;
}

/* Its text, from begin on: most are never asked for, and strtod takes long. What is kept is not
 * longer than what was read of the text, as it is of strings. */
static int keep_fraction(struct jsontree *t, const char *begin, struct jsonin_v *v)
{
    size_t len = (size_t)(t->at - begin);
    *v = (struct jsonin_v){.type = JSONTREE_F64, .text = t->put};
    memcpy(t->put, begin, len);
    t->put += len;
    *t->put++ = '\0';
    return 0;
}

double jsontree_f64(const struct jsonin_v *v)
{
    return strtod(v->text, NULL);
}

static int parse_number(struct jsontree *t, struct jsonin_v *v)
{
    const char *begin = t->at;
    bool negative = *begin == '-', whole = true;

    t->at += negative;
    const char *digits = t->at;
    if (skip_digits(t) < 0)
        return -EINVAL;
    if (*digits == '0' && t->at - digits > 1)
        return fail(t, "number with a leading zero");
    if (t->at < t->end && *t->at == '.') {
        whole = false;
        t->at++;
        if (skip_digits(t) < 0)
            return -EINVAL;
    }
    if (t->at < t->end && (*t->at == 'e' || *t->at == 'E')) {
        whole = false;
        t->at++;
        t->at += t->at < t->end && (*t->at == '+' || *t->at == '-');
        if (skip_digits(t) < 0)
            return -EINVAL;
    }
    if (whole && parse_whole(digits, t->at, negative, v))
        return 0;
    return keep_fraction(t, begin, v);
}

static int parse_word(struct jsontree *t, const char *word)
{
    for (; *word; word++, t->at++) {
        if (t->at == t->end)
            return fail(t, too_early);
        if (*t->at != *word)
            return fail(t, "not a JSON value");
    }
    return 0;
}

/* ---- texts ---- */

static char *put_code_point(char *p, uint32_t c)
{
    if (c < 0x80) {
        *p++ = (char)c;
    } else if (c < 0x800) {
        *p++ = (char)(0xC0 | c >> 6);
        *p++ = (char)(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
        *p++ = (char)(0xE0 | c >> 12);
        *p++ = (char)(0x80 | (c >> 6 & 0x3F));
        *p++ = (char)(0x80 | (c & 0x3F));
    } else {
        *p++ = (char)(0xF0 | c >> 18);
        *p++ = (char)(0x80 | (c >> 12 & 0x3F));
        *p++ = (char)(0x80 | (c >> 6 & 0x3F));
        *p++ = (char)(0x80 | (c & 0x3F));
    }
    return p;
}

/* Four hexadecimal digits. */
static int parse_hex(struct jsontree *t, uint32_t *out)
{
    *out = 0;
    for (int i = 0; i < 4; i++, t->at++) {
        if (t->at == t->end)
            return fail(t, too_early);
        char c = *t->at;
        uint32_t digit = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
                         : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
                         : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
                                                : 16;
        if (digit == 16)
            return fail(t, "\\u is not followed by four hexadecimal digits");
        *out = *out << 4 | digit;
    }
    return 0;
}

/* Behind "\u". Half of a surrogate pair alone becomes the replacement character. */
static int parse_unicode(struct jsontree *t)
{
    uint32_t c, low;

    if (parse_hex(t, &c) < 0)
        return -EINVAL;
    if (c >= 0xD800 && c < 0xDC00 && t->end - t->at >= 6 && t->at[0] == '\\' && t->at[1] == 'u') {
        const char *behind = t->at;
        t->at += 2;
        if (parse_hex(t, &low) < 0)
            return -EINVAL;
        if (low >= 0xDC00 && low < 0xE000)
            c = 0x10000 + ((c - 0xD800) << 10 | (low - 0xDC00));
        else
            t->at = behind;
    }
    t->put = put_code_point(t->put, c >= 0xD800 && c < 0xE000 ? 0xFFFD : c);
    return 0;
}

static int parse_escape(struct jsontree *t)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";

    if (t->at == t->end)
        return fail(t, too_early);
    char c = *t->at++;
    if (c == 'u')
        return parse_unicode(t);
    const char *found = c ? strchr(from, c) : NULL;
    if (!found)
        return fail(t, "\\ is followed by a character that has no such form");
    *t->put++ = to[found - from];
    return 0;
}

/* A character of more than one byte. Only its form is checked. */
static int parse_utf8(struct jsontree *t)
{
    unsigned char c = (unsigned char)*t->at;
    int more = (c & 0xE0) == 0xC0 ? 1 : (c & 0xF0) == 0xE0 ? 2 : (c & 0xF8) == 0xF0 ? 3 : 0;

    if (more == 0)
        return fail(t, "not valid UTF-8");
    *t->put++ = *t->at++;
    for (; more > 0; more--) {
        if (t->at == t->end || ((unsigned char)*t->at & 0xC0) != 0x80)
            return fail(t, "not valid UTF-8");
        *t->put++ = *t->at++;
    }
    return 0;
}

/* At the quote that begins it. No text becomes longer than it was, its quotes included. */
/* Takes eight bytes at once, as long as all of them stand for themselves. */
static void take_plain(struct jsontree *t)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7;
    while (t->end - t->at >= 8) {
        uint64_t x;
        memcpy(&x, t->at, sizeof(x));
        uint64_t quote = x ^ ones * '"', escape = x ^ ones * '\\';
        /* The top bit of a byte is set if it is beyond ASCII, below a blank, a quote or a
         * backslash. A borrow may set one bit too many, which only costs time. */
        if ((x | (x - ones * ' ') | (quote - ones) | (escape - ones)) & tops)
            return;
        memcpy(t->put, &x, sizeof(x));
        t->put += 8;
        t->at += 8;
    }
}

static int parse_string(struct jsontree *t, struct jsonin_v *v)
{
    char *begin = t->put;

    t->at++;
    for (;;) {
        take_plain(t);
        const char *from = t->at;
        while (t->at < t->end && *t->at != '"' && *t->at != '\\' && (unsigned char)*t->at >= 0x20 &&
               (unsigned char)*t->at < 0x80)
            t->at++;
        memcpy(t->put, from, (size_t)(t->at - from));
        t->put += t->at - from;
        if (t->at == t->end)
            return fail(t, too_early);
        if (*t->at == '"')
            break;
        if ((unsigned char)*t->at < 0x20)
            return fail(t, "string holds a control character");
        int rc = 0;
        if (*t->at == '\\') {
            t->at++;
            rc = parse_escape(t);
        } else {
            rc = parse_utf8(t);
        }
        if (rc < 0)
            return rc;
    }
    t->at++;
    if (t->put - begin > INT32_MAX)
        return fail(t, "string longer than 2 GiB");
    *v = (struct jsonin_v){
        .type = JSONTREE_TEXT, .count = (uint32_t)(t->put - begin), .text = begin};
    *t->put++ = '\0';
    return 0;
}

/* ---- arrays and objects ---- */

/* Moves what was opened since `from` to its place, side by side. */
static void close_container(struct jsontree *t, size_t from, struct jsonin_v *v)
{
    size_t n = t->open - from;

    v->in = t->node + t->nodes;
    v->count = (uint32_t)(v->type == JSONTREE_OBJECT ? n / 2 : n);
    memcpy(t->node + t->nodes, t->stack + from, n * sizeof(*t->stack));
    t->nodes += n;
    t->open = from;
}

static int parse_value(struct jsontree *t, unsigned depth, struct jsonin_v *v);

/* A name and the colon behind it. */
static int parse_name(struct jsontree *t)
{
    struct jsonin_v name;

    if (t->at == t->end)
        return fail(t, too_early);
    if (*t->at != '"')
        return fail(t, "missing member name");
    if (parse_string(t, &name) < 0)
        return -EINVAL;
    t->stack[t->open++] = name;
    skip_space(t);
    if (t->at == t->end)
        return fail(t, too_early);
    if (*t->at != ':')
        return fail(t, "missing colon after a member name");
    t->at++;
    return 0;
}

/* At the bracket that begins it. Recursion is as deep as JSONTREE_DEPTH. */
static int parse_container(struct jsontree *t, unsigned depth, struct jsonin_v *v)
{
    bool object = *t->at == '{';
    char close = object ? '}' : ']';
    size_t from = t->open;

    if (depth == JSONTREE_DEPTH)
        return fail(t, "nested too deeply");
    t->at++;
    *v = (struct jsonin_v){.type = object ? JSONTREE_OBJECT : JSONTREE_ARRAY};
    skip_space(t);
    if (t->at < t->end && *t->at == close) {
        t->at++;
        return 0;
    }
    for (;;) {
        struct jsonin_v element;
        skip_space(t);
        if (object && parse_name(t) < 0)
            return -EINVAL;
        if (parse_value(t, depth + 1, &element) < 0)
            return -EINVAL;
        t->stack[t->open++] = element;
        skip_space(t);
        if (t->at == t->end)
            return fail(t, too_early);
        char c = *t->at;
        if (c != ',' && c != close)
            return fail(t, "missing comma or closing bracket");
        t->at++;
        if (c == close)
            break;
    }
    close_container(t, from, v);
    return 0;
}

static int parse_value(struct jsontree *t, unsigned depth, struct jsonin_v *v)
{
    skip_space(t);
    if (t->at == t->end)
        return fail(t, too_early);
    *v = (struct jsonin_v){.type = JSONTREE_NULL};
    switch (*t->at) {
    case '{':
    case '[':
        return parse_container(t, depth, v);
    case '"':
        return parse_string(t, v);
    case 'n':
        return parse_word(t, "null");
    case 't':
    case 'f':
        *v = (struct jsonin_v){.type = JSONTREE_BOOL, .i64 = *t->at == 't'};
        return parse_word(t, v->i64 ? "true" : "false");
    case 'N':
        *v = (struct jsonin_v){.type = JSONTREE_F64, .text = "NaN"};
        return parse_word(t, "NaN");
    case 'I':
        *v = (struct jsonin_v){.type = JSONTREE_F64, .text = "Infinity"};
        return parse_word(t, "Infinity");
    case '-':
        if (t->end - t->at > 1 && t->at[1] == 'I') {
            *v = (struct jsonin_v){.type = JSONTREE_F64, .text = "-Infinity"};
            return parse_word(t, "-Infinity");
        }
        return parse_number(t, v);
    default:
        return *t->at >= '0' && *t->at <= '9' ? parse_number(t, v) : fail(t, "not a JSON value");
    }
}

int jsontree_parse(struct jsontree *t, const char *text, size_t len, size_t max_bytes,
                   const struct jsonin_v **v)
{
    /* A short text is not counted: a value and what parts it from the next are two bytes. */
    size_t values = len / 2 + 1;
    if (len > FEW_BYTES || bytes_of(t, values, len) > max_bytes)
        values = count_values(text, len);
    if (values > UINT32_MAX || bytes_of(t, values, len) > max_bytes)
        return -EFBIG;
    int rc = make_room(t, values, len);
    if (rc < 0)
        return rc;
    t->nodes = t->open = 0;
    t->put = t->chars;
    t->at = text;
    t->end = text + len;
    /* The root is the last to be complete, and there is one place for it. */
    struct jsonin_v root;
    if (parse_value(t, 0, &root) < 0)
        return -EINVAL;
    skip_space(t);
    if (t->at < t->end)
        return fail(t, "unexpected text after its end");
    t->node[t->nodes] = root;
    *v = t->node + t->nodes;
    return 0;
}
