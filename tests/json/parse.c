/* A filter of jq as nodes: the grammar, of which json.c knows what each means. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "tests/json/json.h"

enum {
    ARGUMENTS = 3
};

static char *text(const char *p, size_t len)
{
    char *copy = room(len + 1);

    memcpy(copy, p, len);
    return copy;
}

struct parser {
    const char *p;
};

static struct node *parse_pipe(struct parser *s);
static struct node *parse_text(struct parser *s);

static struct node *node(enum kind kind, struct node *a, struct node *b)
{
    struct node *n = room(sizeof(*n));

    n->kind = kind;
    n->a = a;
    n->b = b;
    return n;
}

static void blanks(struct parser *s)
{
    s->p += strspn(s->p, " \n\t");
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Takes a sign or a word, if it comes next. */
static bool take(struct parser *s, const char *what)
{
    size_t len = strlen(what);

    blanks(s);
    if (strncmp(s->p, what, len) != 0 || (is_word(*what) && is_word(s->p[len])))
        return false;
    s->p += len;
    return true;
}

static void want(struct parser *s, const char *what)
{
    if (!take(s, what))
        jq_must();
}

static const char *word(struct parser *s)
{
    const char *begin = s->p;

    while (is_word(*s->p))
        s->p++;
    if (s->p == begin || isdigit((unsigned char)*begin))
        jq_must();
    return text(begin, (size_t)(s->p - begin));
}

/* What stands in brackets behind a path. */
static struct node *parse_brackets(struct parser *s, struct node *of)
{
    struct node *n;

    if (take(s, "]"))
        return node(NODE_EACH, of, NULL);
    blanks(s);
    const char *colon = s->p + strspn(s->p, "-0123456789");
    if (*colon == ':') {
        char *end;
        n = node(NODE_SLICE, of, NULL);
        n->open_from = colon == s->p;
        n->from = strtol(s->p, NULL, 10);
        s->p = colon + 1;
        n->to = strtol(s->p, &end, 10);
        n->open_to = end == s->p;
        s->p = end;
    } else {
        n = node(NODE_NAME, of, parse_pipe(s));
    }
    want(s, "]");
    return n;
}

static struct node *name_node(struct node *of, const char *name)
{
    struct node *n = node(NODE_NAME, of, node(NODE_VALUE, NULL, NULL));

    n->b->value = json_object_new_string(name);
    return n;
}

/* What is behind a term: members, elements, "?". */
static struct node *parse_steps(struct parser *s, struct node *n)
{
    for (;;) {
        if (*s->p == '?') {
            s->p++;
            n->may = true;
        } else if (*s->p == '[') {
            s->p++;
            n = parse_brackets(s, n);
        } else if (s->p[0] == '.' && s->p[1] == '[') {
            s->p += 2;
            n = parse_brackets(s, n);
        } else if (s->p[0] == '.' && s->p[1] == '"') {
            s->p++;
            n = node(NODE_NAME, n, parse_text(s));
        } else if (s->p[0] == '.' && is_word(s->p[1])) {
            s->p++;
            n = name_node(n, word(s));
        } else {
            return n;
        }
    }
}

/* A text in quotes; escapes other than \( \" \\ \n are jq's. */
static struct node *parse_text(struct parser *s)
{
    struct node *whole = node(NODE_TEXT, NULL, NULL), **last = &whole->next;
    char *piece = room(strlen(s->p) + 1);
    size_t len = 0;

    for (s->p++; *s->p != '"'; s->p++) {
        if (*s->p == '\0')
            jq_must();
        if (*s->p != '\\') {
            piece[len++] = *s->p;
            continue;
        }
        s->p++;
        if (*s->p == '"' || *s->p == '\\') {
            piece[len++] = *s->p;
        } else if (*s->p == 'n') {
            piece[len++] = '\n';
        } else if (*s->p == '(') {
            *last = node(NODE_VALUE, NULL, NULL);
            (*last)->value = json_object_new_string_len(piece, (int)len);
            last = &(*last)->next;
            len = 0;
            s->p++;
            *last = node(NODE_PIPE, parse_pipe(s), NULL); /* within: an expression */
            last = &(*last)->next;
            blanks(s);
            if (*s->p != ')')
                jq_must();
        } else {
            jq_must();
        }
    }
    s->p++;
    *last = node(NODE_VALUE, NULL, NULL);
    (*last)->value = json_object_new_string_len(piece, (int)len);
    return whole;
}

static struct node *parse_if(struct parser *s)
{
    struct node *n = node(NODE_IF, parse_pipe(s), NULL);

    want(s, "then");
    n->b = parse_pipe(s);
    want(s, "else");
    n->c = parse_pipe(s);
    want(s, "end");
    return n;
}

static struct node *parse_call(struct parser *s)
{
    struct node *n = node(NODE_CALL, NULL, NULL), **argument[ARGUMENTS] = {&n->a, &n->b, &n->c};
    unsigned count = 0;

    n->name = word(s);
    if (*s->p != '(')
        return n;
    s->p++;
    do {
        if (count == ARGUMENTS)
            jq_must();
        *argument[count++] = parse_pipe(s);
    } while (take(s, ";"));
    want(s, ")");
    return n;
}

static struct node *parse_term(struct parser *s)
{
    struct node *n;

    blanks(s);
    if (*s->p == '"') {
        n = parse_text(s);
    } else if (isdigit((unsigned char)*s->p)) {
        char *end;
        n = node(NODE_VALUE, NULL, NULL);
        n->value = number(strtod(s->p, &end));
        s->p = end;
    } else if (take(s, "[")) {
        n = node(NODE_LIST, NULL, NULL);
        if (!take(s, "]")) {
            n->a = parse_pipe(s);
            want(s, "]");
        }
    } else if (take(s, "(")) {
        n = node(NODE_PIPE, parse_pipe(s), NULL);
        want(s, ")");
    } else if (take(s, "if")) {
        n = parse_if(s);
    } else if (take(s, "null") || take(s, "true") || take(s, "false")) {
        n = node(NODE_VALUE, NULL, NULL);
        if (s->p[-1] == 'e')
            n->value = json_object_new_boolean(s->p[-2] == 'u');
    } else if (*s->p == '$') {
        s->p++;
        n = node(NODE_VARIABLE, NULL, NULL);
        n->name = word(s);
    } else if (s->p[0] == '.' && s->p[1] == '.') {
        s->p += 2;
        n = node(NODE_ALL, NULL, NULL);
    } else if (*s->p == '.') {
        n = node(NODE_SELF, NULL, NULL);
        if (s->p[1] == '"') {
            s->p++;
            n = node(NODE_NAME, n, parse_text(s));
        } else if (s->p[1] == '[') {
            s->p++;
        } else if (is_word(s->p[1])) {
            s->p++;
            n = name_node(n, word(s));
        } else {
            s->p++;
        }
    } else {
        n = parse_call(s);
    }
    return parse_steps(s, n);
}

/* The operators that bind as strongly as each other, the weakest first. */
static const char *const LEVELS[][7] = {
    {"or"}, {"and"}, {"==", "!=", "<=", ">=", "<", ">"}, {"+", "-"}, {"*", "/"}};
enum {
    LEVEL_COUNT = sizeof(LEVELS) / sizeof(LEVELS[0])
};

static const char *operator_of(struct parser *s, unsigned level)
{
    for (const char *const *name = LEVELS[level]; *name; name++) {
        blanks(s);
        if (strncmp(s->p, "//", 2) == 0 || s->p[0] == '|')
            return NULL;
        if (take(s, *name)) {
            if (*s->p == '=') /* an assignment */
                jq_must();
            return *name;
        }
    }
    return NULL;
}

static struct node *parse_level(struct parser *s, unsigned level)
{
    const char *name;

    if (level == LEVEL_COUNT) {
        if (!take(s, "-"))
            return parse_term(s);
        struct node *zero = node(NODE_VALUE, NULL, NULL),
                    *n = node(NODE_BINARY, zero, parse_term(s));
        zero->value = number(0);
        n->name = "-";
        return n;
    }
    struct node *n = parse_level(s, level + 1);
    while ((name = operator_of(s, level))) {
        n = node(NODE_BINARY, n, parse_level(s, level + 1));
        n->name = name;
    }
    return n;
}

static struct node *parse_else(struct parser *s)
{
    struct node *n = parse_level(s, 0);

    return take(s, "//") ? node(NODE_ELSE, n, parse_else(s)) : n;
}

static struct node *parse_pipe(struct parser *s)
{
    struct node *n = parse_else(s);

    if (take(s, "as")) {
        want(s, "$");
        struct node *as = node(NODE_AS, n, NULL);
        as->name = word(s);
        want(s, "|");
        as->b = parse_pipe(s);
        return as;
    }
    while (take(s, ","))
        n = node(NODE_COMMA, n, parse_else(s));
    return take(s, "|") ? node(NODE_PIPE, n, parse_pipe(s)) : n;
}

struct node *parse(const char *filter)
{
    struct parser s = {filter};
    struct node *n = parse_pipe(&s);

    blanks(&s);
    if (*s.p)
        jq_must();
    return n;
}
