/* Sets of facts, to JSON and back, and several to one: loops over the table. */
#include "lib/facts/facts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/err.h"

/* ---- putting and getting ---- */

static struct fact_value *value_of(struct facts *f, enum fact_id id, bool known)
{
    f->there[fact_of(id)->scope] = true;
    f->of[id] = (struct fact_value){.known = known};
    return &f->of[id];
}

void facts_put_count(struct facts *f, enum fact_id id, bool known, uint64_t count)
{
    value_of(f, id, known)->count = known ? count : 0;
}

void facts_put_number(struct facts *f, enum fact_id id, double number)
{
    value_of(f, id, number >= 0)->number = number;
}

void facts_put_text(struct facts *f, enum fact_id id, const char *text)
{
    struct fact_value *v = value_of(f, id, text && text[0]);

    snprintf(v->text, sizeof(v->text), "%s", text ? text : "");
}

void facts_put_yes(struct facts *f, enum fact_id id, int yes)
{
    value_of(f, id, yes >= 0)->yes = yes > 0;
}

void facts_put_times(struct facts *f, enum fact_id id, const struct hist *h, double unit)
{
    struct fact_value *v = value_of(f, id, h && hist_count(h) > 0);
    double *s = v->statistic;

    if (!v->known)
        return;
    *s++ = (double)hist_count(h);
    *s++ = hist_mean(h) / unit;
    *s++ = (double)hist_min(h) / unit;
    for (unsigned i = 0; i < HIST_PERCENTILES; i++)
        *s++ = (double)hist_percentile(h, hist_percentiles[i].ppm) / unit;
    *s = (double)hist_max(h) / unit;
}

double facts_number(const struct facts *f, enum fact_id id)
{
    const struct fact_value *v = &f->of[id];
    enum fact_kind kind = fact_of(id)->kind;

    if (!v->known || (kind != FACT_COUNT && kind != FACT_NUMBER))
        return NAN;
    return kind == FACT_COUNT ? (double)v->count : v->number;
}

/* ---- several to one ---- */

static bool same(enum fact_kind kind, const struct fact_value *a, const struct fact_value *b)
{
    if (!a->known || !b->known)
        return false;
    return kind == FACT_TEXT    ? strcmp(a->text, b->text) == 0
           : kind == FACT_YES   ? a->yes == b->yes
           : kind == FACT_COUNT ? a->count == b->count
                                : a->number == b->number;
}

static void merge(struct fact_value *a, const struct fact_value *b, const struct fact *fact)
{
    bool both = a->known && b->known;

    switch (fact->merge) {
    case FACT_SUM:
        a->known = both;
        if (both && fact->kind == FACT_COUNT)
            a->count += b->count;
        else if (both)
            a->number += b->number;
        break;
    case FACT_MAX:
        a->known = both;
        if (both && (fact->kind == FACT_COUNT ? b->count > a->count : b->number > a->number))
            *a = *b;
        break;
    case FACT_EQUAL:
        a->known = same(fact->kind, a, b);
        break;
    case FACT_LAST:
        if (b->known)
            *a = *b;
        break;
    case FACT_ALONE:
        a->known = false;
        break;
    }
}

void facts_merge(struct facts *into, const struct facts *from)
{
    for (unsigned scope = 0; scope < FACT_SCOPES; scope++)
        into->there[scope] &= from->there[scope];
    for (unsigned i = 0; i < FACTS; i++)
        merge(&into->of[fact_at(i)->id], &from->of[fact_at(i)->id], fact_at(i));
}

/* ---- documents ---- */

static const char *statistic_name(unsigned i)
{
    static const char *const first[] = {"count", "mean", "min"};

    return i < 3 ? first[i] : i + 1 < FACT_STATISTICS ? hist_percentiles[i - 3].name : "max";
}

static void write_value(struct jsonout *j, const struct fact *fact, const struct fact_value *v)
{
    if (!v->known) {
        jsonout_null(j, fact->member);
        return;
    }
    switch (fact->kind) {
    case FACT_COUNT:
        jsonout_u64(j, fact->member, v->count);
        break;
    case FACT_NUMBER:
        jsonout_f64(j, fact->member, v->number);
        break;
    case FACT_TEXT:
        jsonout_text_value(j, fact->member, v->text);
        break;
    case FACT_YES:
        jsonout_bool(j, fact->member, v->yes);
        break;
    case FACT_TIMES:
        jsonout_object(j, fact->member);
        jsonout_u64(j, statistic_name(0), (uint64_t)v->statistic[0]);
        for (unsigned i = 1; i < FACT_STATISTICS; i++)
            jsonout_f64(j, statistic_name(i), v->statistic[i]);
        jsonout_end(j);
        break;
    }
}

/* The name of scope inside outer; NULL: it is not inside. */
static const char *inside(enum fact_scope scope, enum fact_scope outer)
{
    const char *path = fact_scope_path(scope), *in = fact_scope_path(outer);
    size_t len = strlen(in);

    return strncmp(path, in, len) == 0 && path[len] == '.' ? path + len + 1 : NULL;
}

static void write_scope(struct jsonout *j, const struct facts *f, enum fact_scope scope,
                        const char *name)
{
    if (!f->there[scope]) {
        jsonout_null(j, name);
        return;
    }
    jsonout_object(j, name);
    for (unsigned i = 0; i < FACTS; i++)
        if (fact_at(i)->scope == scope)
            write_value(j, fact_at(i), &f->of[fact_at(i)->id]);
    for (unsigned s = 0; s < FACT_SCOPES; s++)
        if (inside(s, scope))
            write_scope(j, f, s, inside(s, scope));
    jsonout_end(j);
}

void facts_write(struct jsonout *j, const struct facts *f, enum fact_scope scope)
{
    write_scope(j, f, scope, fact_scope_path(scope));
}

static void read_value(struct facts *f, const struct fact *fact, const struct jsonin_v *v)
{
    struct fact_value *to = value_of(f, fact->id, false);
    const char *text = jsonin_text(v, NULL);
    double number;

    switch (fact->kind) {
    case FACT_COUNT:
        to->known = jsonin_u64(v, &to->count) == 0;
        break;
    case FACT_NUMBER:
        if (jsonin_f64(v, &number) == 0)
            facts_put_number(f, fact->id, number);
        break;
    case FACT_TEXT:
        facts_put_text(f, fact->id, text);
        err_make_harmless(to->text);
        break;
    case FACT_YES:
        to->known = jsonin_bool(v, &to->yes) == 0;
        break;
    case FACT_TIMES:
        to->known = v != NULL;
        for (unsigned i = 0; i < FACT_STATISTICS; i++)
            to->known &= jsonin_f64(jsonin_get(v, statistic_name(i)), &to->statistic[i]) == 0;
        break;
    }
}

void facts_read(struct facts *f, const struct jsonin_v *summary)
{
    const struct jsonin_v *from[FACT_SCOPES];

    for (unsigned s = 0; s < FACT_SCOPES; s++)
        from[s] = f->there[s] ? NULL : jsonin_get(summary, fact_scope_path(s));
    for (unsigned i = 0; i < FACTS; i++)
        if (from[fact_at(i)->scope])
            read_value(f, fact_at(i), jsonin_get(from[fact_at(i)->scope], fact_at(i)->member));
}
