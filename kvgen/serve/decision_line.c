/* decision_line.c - a step as texts. decisions.c fills them; who writes or compares them is another
 * matter. */
#include "kvgen/serve/decision_line.h"
#include "lib/base/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const decision_names[DECISION_KEYS] = {
    [DECISION_ARR] = "arr",
    [DECISION_SCH] = "sch",
    [DECISION_DEC] = "dec",
    [DECISION_ADM] = "adm",
    [DECISION_NOFIT] = "nofit",
    [DECISION_PRE] = "pre",
    [DECISION_XQ] = "xq",
    [DECISION_GEV] = "gev",
    [DECISION_GC] = "gc",
    [DECISION_FR] = "fr",
    [DECISION_ST] = "st",
    [DECISION_STSKIP] = "stskip",
    [DECISION_STFAIL] = "stfail",
    [DECISION_CEV] = "cev",
    [DECISION_LD] = "ld",
    [DECISION_FLUSH] = "flush",
    [DECISION_XD] = "xd",
    [DECISION_TS] = "ts",
    [DECISION_TL] = "tl",
    [DECISION_TD] = "td",
    [DECISION_TQ] = "tq",
    [DECISION_PROMO] = "promo",
    [DECISION_PROMOFAIL] = "promofail",
    [DECISION_FIRST] = "first",
    [DECISION_FIN] = "fin",
    [DECISION_RUN] = "run",
    [DECISION_WAIT] = "wait",
    [DECISION_HOLD] = "hold",
    [DECISION_FREE] = "free",
    [DECISION_FREE_END] = "free_end",
    [DECISION_CPU] = "cpu",
};

void decision_line_clear(struct decision_line *l)
{
    for (int k = 0; k < DECISION_KEYS; k++)
        l->key[k].len = 0;
}

void decision_line_free(struct decision_line *l)
{
    for (int k = 0; k < DECISION_KEYS; k++)
        free(l->key[k].text);
    free(l->whole.text);
    *l = (struct decision_line){0};
}

/* Room for len bytes more, and a NUL. false: no memory. */
static bool has_room(struct decision_line *l, struct decision_text *t, size_t len)
{
    if (t->cap - t->len > len)
        return true;
    const size_t cap = 2 * t->cap + len + 512;
    if (memory_resize(&t->text, cap, 1) < 0) {
        l->failed = true;
        return false;
    }
    t->cap = cap;
    return true;
}

void decision_add(struct decision_line *l, enum decision_key key, const char *fmt, ...)
{
    struct decision_text *t = &l->key[key];
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
        l->failed |= len < 0;
        if (len < 0 || !has_room(l, t, (size_t)len))
            return;
    }
}

void decision_comma(struct decision_line *l, enum decision_key key)
{
    const struct decision_text *t = &l->key[key];
    if (t->len && t->text[t->len - 1] != '[' && t->text[t->len - 1] != ',')
        decision_add(l, key, ",");
}

static void whole_add(struct decision_line *l, const char *text, size_t len)
{
    struct decision_text *t = &l->whole;
    if (!has_room(l, t, len))
        return;
    memcpy(t->text + t->len, text, len);
    t->len += len;
}

static void whole_say(struct decision_line *l, const char *text)
{
    whole_add(l, text, strlen(text));
}

const struct decision_text *decision_line_text(struct decision_line *l, int64_t t, uint64_t lone)
{
    char number[32];
    l->whole.len = 0;
    whole_say(l, "{\"t\":");
    snprintf(number, sizeof(number), "%lld", (long long)t);
    whole_say(l, number);
    for (int k = 0; k < DECISION_KEYS; k++) {
        const struct decision_text *v = &l->key[k];
        if (!v->len)
            continue;
        const bool bare = (lone >> k & 1) && !memchr(v->text, ',', v->len);
        whole_say(l, ",\"");
        whole_say(l, decision_names[k]);
        whole_say(l, bare ? "\":" : "\":[");
        whole_add(l, v->text, v->len);
        if (!bare)
            whole_say(l, "]");
    }
    whole_say(l, "}\n");
    return l->failed ? NULL : &l->whole;
}
