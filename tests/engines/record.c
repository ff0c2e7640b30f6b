/* record.c - recorded steps as texts (decision_line.h), and their comparison. */
#include "tests/engines/record.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "lib/json/jsontree.h"

/* A name, or the names of a run: h5+2 is h5, h6, h7; h7-2 is h7, h6, h5. */
static void add_name(struct decision_line *r, enum decision_key key, const char *text)
{
    long long first, more;
    char way, end;
    if (sscanf(text, "h%lld%c%lld%c", &first, &way, &more, &end) != 3 ||
        (way != '+' && way != '-')) {
        decision_add(r, key, "\"%s\"", text);
        return;
    }
    for (long long i = 0; i <= more; i++) {
        decision_comma(r, key);
        decision_add(r, key, "\"h%lld\"", way == '+' ? first + i : first - i);
    }
}

static void add_value(struct decision_line *r, enum decision_key key, const struct jsonin_v *v)
{
    if (jsonin_is_array(v)) {
        decision_add(r, key, "[");
        for (size_t i = 0; i < jsonin_count(v); i++) {
            decision_comma(r, key);
            add_value(r, key, jsonin_at(v, i));
        }
        decision_add(r, key, "]");
    } else if (jsonin_text(v, NULL)) {
        add_name(r, key, jsonin_text(v, NULL));
    } else if (v->type == JSONTREE_F64) {
        /* 0.0 and 0 are the same target. */
        const size_t len = strlen(v->text);
        const bool whole = len > 2 && !strcmp(v->text + len - 2, ".0");
        decision_add(r, key, "%.*s", (int)(whole ? len - 2 : len), v->text);
    } else if (v->type == JSONTREE_BOOL) {
        decision_add(r, key, "%s", v->i64 ? "true" : "false");
    } else {
        decision_add(r, key, "%lld", (long long)v->i64);
    }
}

void record_read(struct decision_line *r, const struct jsonin_v *line)
{
    decision_line_clear(r);
    for (int k = 0; k < DECISION_KEYS; k++) {
        const struct jsonin_v *v = jsonin_get(line, decision_names[k]);
        if (!v)
            continue;
        if (!jsonin_is_array(v))
            add_value(r, (enum decision_key)k, v);
        for (size_t i = 0; i < jsonin_count(v); i++) {
            decision_comma(r, (enum decision_key)k);
            add_value(r, (enum decision_key)k, jsonin_at(v, i));
        }
    }
}

void record_compare(const struct decision_line *recorded, const struct decision_line *simulated,
                    long long t, struct scenario_outcome *o)
{
    for (int k = 0; k < DECISION_KEYS; k++) {
        const struct decision_text *a = &recorded->key[k], *b = &simulated->key[k];
        if (!a->len && !b->len)
            continue;
        if (a->len == b->len && !memcmp(a->text, b->text, a->len))
            scenario_equal(o);
        else
            scenario_differs(o, "step %lld, %s: recorded %.400s, simulated %.400s", t,
                             decision_names[k], a->len ? a->text : "nothing",
                             b->len ? b->text : "nothing");
    }
}
