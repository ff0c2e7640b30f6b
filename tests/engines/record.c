/* record.c - steps as texts. A list is "a,b,c" without its outer brackets, so that a missing key
 * and an empty list are both the empty text. */
#include "tests/engines/record.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json/jsontree.h"

static const char *const names[RECORD_KEYS] = {
    [RECORD_ARR] = "arr",
    [RECORD_SCH] = "sch",
    [RECORD_DEC] = "dec",
    [RECORD_ADM] = "adm",
    [RECORD_NOFIT] = "nofit",
    [RECORD_PRE] = "pre",
    [RECORD_XQ] = "xq",
    [RECORD_GEV] = "gev",
    [RECORD_GC] = "gc",
    [RECORD_FR] = "fr",
    [RECORD_ST] = "st",
    [RECORD_STSKIP] = "stskip",
    [RECORD_STFAIL] = "stfail",
    [RECORD_CEV] = "cev",
    [RECORD_LD] = "ld",
    [RECORD_FLUSH] = "flush",
    [RECORD_XD] = "xd",
    [RECORD_TS] = "ts",
    [RECORD_TL] = "tl",
    [RECORD_TD] = "td",
    [RECORD_TQ] = "tq",
    [RECORD_PROMO] = "promo",
    [RECORD_PROMOFAIL] = "promofail",
    [RECORD_FIRST] = "first",
    [RECORD_FIN] = "fin",
    [RECORD_RUN] = "run",
    [RECORD_WAIT] = "wait",
    [RECORD_HOLD] = "hold",
    [RECORD_FREE] = "free",
    [RECORD_FREE_END] = "free_end",
    [RECORD_CPU] = "cpu",
};

void record_clear(struct record *r)
{
    for (int k = 0; k < RECORD_KEYS; k++)
        r->key[k].len = 0;
}

void record_release(struct record *r)
{
    for (int k = 0; k < RECORD_KEYS; k++)
        free(r->key[k].text);
    *r = (struct record){0};
}

void record_add(struct record *r, enum record_key key, const char *fmt, ...)
{
    struct record_text *t = &r->key[key];
    va_list args;
    for (;;) {
        const size_t room = t->cap - t->len;
        va_start(args, fmt);
        const int len = vsnprintf(t->text ? t->text + t->len : NULL, room, fmt, args);
        va_end(args);
        if (len >= 0 && (size_t)len < room) {
            t->len += (size_t)len;
            return;
        }
        const size_t cap = 2 * t->cap + (size_t)(len < 0 ? 0 : len) + 512;
        char *grown = realloc(t->text, cap);
        if (!grown) {
            r->failed = true;
            return;
        }
        t->text = grown;
        t->cap = cap;
    }
}

void record_comma(struct record *r, enum record_key key)
{
    const struct record_text *t = &r->key[key];
    if (t->len && t->text[t->len - 1] != '[' && t->text[t->len - 1] != ',')
        record_add(r, key, ",");
}

/* A name, or the names of a run: h5+2 is h5, h6, h7; h7-2 is h7, h6, h5. */
static void add_name(struct record *r, enum record_key key, const char *text)
{
    long long first, more;
    char way, end;
    if (sscanf(text, "h%lld%c%lld%c", &first, &way, &more, &end) != 3 ||
        (way != '+' && way != '-')) {
        record_add(r, key, "\"%s\"", text);
        return;
    }
    for (long long i = 0; i <= more; i++) {
        record_comma(r, key);
        record_add(r, key, "\"h%lld\"", way == '+' ? first + i : first - i);
    }
}

static void add_value(struct record *r, enum record_key key, const struct jsonin_v *v)
{
    if (jsonin_is_array(v)) {
        record_add(r, key, "[");
        for (size_t i = 0; i < jsonin_count(v); i++) {
            record_comma(r, key);
            add_value(r, key, jsonin_at(v, i));
        }
        record_add(r, key, "]");
    } else if (jsonin_text(v, NULL)) {
        add_name(r, key, jsonin_text(v, NULL));
    } else if (v->type == JSONTREE_F64) {
        /* 0.0 and 0 are the same target. */
        const size_t len = strlen(v->text);
        const bool whole = len > 2 && !strcmp(v->text + len - 2, ".0");
        record_add(r, key, "%.*s", (int)(whole ? len - 2 : len), v->text);
    } else if (v->type == JSONTREE_BOOL) {
        record_add(r, key, "%s", v->i64 ? "true" : "false");
    } else {
        record_add(r, key, "%lld", (long long)v->i64);
    }
}

void record_read(struct record *r, const struct jsonin_v *line)
{
    record_clear(r);
    for (int k = 0; k < RECORD_KEYS; k++) {
        const struct jsonin_v *v = jsonin_get(line, names[k]);
        if (!v)
            continue;
        if (!jsonin_is_array(v))
            add_value(r, (enum record_key)k, v);
        for (size_t i = 0; i < jsonin_count(v); i++) {
            record_comma(r, (enum record_key)k);
            add_value(r, (enum record_key)k, jsonin_at(v, i));
        }
    }
}

void record_compare(const struct record *recorded, const struct record *simulated, long long t,
                    struct scenario_outcome *o)
{
    for (int k = 0; k < RECORD_KEYS; k++) {
        const struct record_text *a = &recorded->key[k], *b = &simulated->key[k];
        if (!a->len && !b->len)
            continue;
        if (a->len == b->len && !memcmp(a->text, b->text, a->len))
            scenario_equal(o);
        else
            scenario_differs(o, "step %lld, %s: recorded %.400s, simulated %.400s", t, names[k],
                             a->len ? a->text : "nothing", b->len ? b->text : "nothing");
    }
}
