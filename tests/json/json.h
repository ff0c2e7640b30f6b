/* The filters of json: parse.c makes nodes of a text, json.c finds what they mean in a file.
 * Neither frees anything: the program ends in a moment. */
#ifndef TESTS_JSON_H
#define TESTS_JSON_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

enum kind {
    NODE_SELF,     /* . */
    NODE_ALL,      /* .. */
    NODE_VALUE,    /* a number, null, true, false */
    NODE_TEXT,     /* one with \(...) has parts */
    NODE_LIST,     /* [a] */
    NODE_NAME,     /* a.name or a[b] */
    NODE_EACH,     /* a[] */
    NODE_SLICE,    /* a[from:to] */
    NODE_PIPE,     /* a | b */
    NODE_COMMA,    /* a, b */
    NODE_AS,       /* a as $name | b */
    NODE_VARIABLE, /* $name */
    NODE_ELSE,     /* a // b */
    NODE_BINARY,
    NODE_IF, /* a, b, c */
    NODE_CALL
};

struct node {
    enum kind kind;
    const char *name; /* of a member, variable, function, or the operator */
    struct json_object *value;
    struct node *a, *b, *c;
    struct node *next; /* part of a text */
    bool may;          /* with "?" behind it: nothing in the place of an error */
    bool open_from, open_to;
    long from, to;
};

/* Ends the program: this is not known here. */
_Noreturn void jq_must(void);
/* Zeroed. */
void *room(size_t bytes);
/* A number as jq writes it. Those that it writes in other ways are its own task. */
struct json_object *number(double v);

/* The whole text. */
struct node *parse(const char *filter);

#endif
