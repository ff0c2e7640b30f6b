/* Loops over the table: they write sets of facts as JSON, read them, and merge several into one. */
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

    for (unsigned i = 0; v->known && i < HIST_STATISTICS; i++)
        v->statistic[i] = hist_statistic(h, i) / (i == HIST_COUNT ? 1 : unit);
}

void facts_put_hist(struct facts *f, enum fact_id id, const struct hist *h)
{
    struct hist *copy = hist_create();
    bool whole = copy && (!h || hist_merge(copy, h) == 0);

    value_of(f, id, whole)->hist = copy;
    f->failed |= !whole;
}

void facts_put_counted(struct facts *f, enum fact_id id, const char *name, uint64_t count)
{
    struct fact_value *v = f->of[id].known ? &f->of[id] : value_of(f, id, true);
    unsigned n = v->counts.n;

    if (n == FACT_COUNTS_MAX)
        return;
    snprintf(v->counts.of[n].name, sizeof(v->counts.of[n].name), "%s", name);
    v->counts.of[n].count = count;
    v->counts.n++;
}

void facts_release(struct facts *f)
{
    for (unsigned i = 0; i < FACTS; i++)
        if (fact_of(i)->kind == FACT_HIST)
            hist_free(f->of[i].hist);
}

uint64_t facts_counted(const struct facts *f, enum fact_id id, const char *name)
{
    const struct fact_counts *c = &f->of[id].counts;

    for (unsigned i = 0; f->of[id].known && i < c->n; i++)
        if (strcmp(c->of[i].name, name) == 0)
            return c->of[i].count;
    return 0;
}

double facts_number(const struct facts *f, enum fact_id id)
{
    const struct fact_value *v = &f->of[id];
    enum fact_kind kind = fact_of(id)->kind;

    if (!v->known || (kind != FACT_COUNT && kind != FACT_NUMBER))
        return NAN;
    return kind == FACT_COUNT ? (double)v->count : v->number;
}

const char *facts_text(const struct facts *f, enum fact_id id)
{
    return f->of[id].known ? f->of[id].text : "";
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

/* A name that only b has comes behind those of a. */
static void add_counts(struct fact_counts *a, const struct fact_counts *b)
{
    for (unsigned i = 0; i < b->n; i++) {
        unsigned at = 0;
        while (at < a->n && strcmp(a->of[at].name, b->of[i].name) != 0)
            at++;
        if (at < a->n)
            a->of[at].count += b->of[i].count;
        else if (a->n < FACT_COUNTS_MAX)
            a->of[a->n++] = b->of[i];
    }
}

static void add(struct facts *into, const struct facts *from, const struct fact *fact)
{
    struct fact_value *a = &into->of[fact->id];
    const struct fact_value *b = &from->of[fact->id];

    if (fact->kind == FACT_COUNT)
        a->count += b->count;
    else if (fact->kind == FACT_NUMBER)
        a->number += b->number;
    else if (fact->kind == FACT_HIST)
        into->failed |= hist_merge(a->hist, b->hist) < 0;
    else if (fact->kind == FACT_COUNTS)
        add_counts(&a->counts, &b->counts);
}

/* The greater or the lesser of two; an answer that decides needs no other. */
static void choose(struct fact_value *a, const struct fact_value *b, const struct fact *fact)
{
    bool most = fact->merge == FACT_MAX, both = a->known && b->known;

    if (fact->kind == FACT_YES) {
        bool decided = (a->known && a->yes == most) || (b->known && b->yes == most);
        a->yes = decided == most;
        a->known = decided || both;
        return;
    }
    if (both && (fact->kind == FACT_COUNT ? (b->count > a->count) == most
                                          : (b->number > a->number) == most))
        *a = *b;
    a->known = both;
}

static void merge(struct facts *into, const struct facts *from, const struct fact *fact)
{
    struct fact_value *a = &into->of[fact->id];
    const struct fact_value *b = &from->of[fact->id];

    switch (fact->merge) {
    case FACT_SUM:
        a->known &= b->known;
        if (a->known)
            add(into, from, fact);
        break;
    case FACT_MAX:
    case FACT_MIN:
        choose(a, b, fact);
        break;
    case FACT_EQUAL:
        a->known = same(fact->kind, a, b);
        break;
    case FACT_FIRST:
        if (!a->known)
            *a = *b;
        break;
    case FACT_LAST:
        if (b->known)
            *a = *b;
        break;
    case FACT_RATIO: /* the two facts are merged already */
        if (a->known && b->known)
            facts_put_number(into, fact->id,
                             facts_number(into, fact->id - 1) / facts_number(into, fact->id - 2));
        else
            a->known = false;
        break;
    case FACT_ALONE:
        a->known = false;
        break;
    }
}

void facts_merge(struct facts *into, const struct facts *from)
{
    static const struct facts nothing;

    for (unsigned scope = 0; from && scope < FACT_SCOPES; scope++)
        into->there[scope] &= from->there[scope];
    for (unsigned i = 0; i < FACTS; i++) {
        const struct fact *fact = fact_of(i);
        if (from || fact->merge == FACT_EQUAL || fact->kind == FACT_YES)
            merge(into, from ? from : &nothing, fact);
    }
}

/* ---- documents ---- */

static void write_counts(struct jsonout *j, const char *name, const struct fact_value *v)
{
    jsonout_object(j, name);
    for (unsigned i = 0; v->known && i < v->counts.n; i++)
        jsonout_u64(j, v->counts.of[i].name, v->counts.of[i].count);
    jsonout_end(j);
}

static void write_pair(struct jsonout *j, int64_t value, uint64_t count)
{
    jsonout_i64(j, NULL, value);
    jsonout_u64(j, NULL, count);
}

/* A histogram keeps its least and greatest value exactly, which bound its percentiles: they are
 * told apart from the others of their buckets. */
static void write_hist(struct jsonout *j, const char *name, const struct hist *h)
{
    int64_t ends[2] = {hist_min(h), hist_max(h)}, lowest, highest;
    unsigned left = hist_count(h) > 1 ? 2 : (unsigned)hist_count(h);
    uint64_t count;
    size_t pos = 0;

    jsonout_array(j, name);
    for (unsigned i = 0; i < left; i++)
        write_pair(j, ends[i], 1);
    while (hist_next(h, &pos, &lowest, &highest, &count)) {
        for (unsigned i = 0; i < left; i++)
            count -= lowest <= ends[i] && ends[i] <= highest;
        if (count > 0)
            write_pair(j, lowest, count);
    }
    jsonout_end(j);
}

static void write_value(struct jsonout *j, const struct fact *fact, const struct fact_value *v)
{
    const char *dot = strrchr(fact->member, '.'), *name = dot ? dot + 1 : fact->member;

    if (!v->known && fact->kind != FACT_COUNTS) {
        jsonout_null(j, name);
        return;
    }
    switch (fact->kind) {
    case FACT_COUNT:
        jsonout_u64(j, name, v->count);
        break;
    case FACT_NUMBER:
        jsonout_f64(j, name, v->number);
        break;
    case FACT_TEXT:
        jsonout_text_value(j, name, v->text);
        break;
    case FACT_YES:
        jsonout_bool(j, name, v->yes);
        break;
    case FACT_TIMES:
        jsonout_object(j, name);
        jsonout_u64(j, hist_statistic_name(0), (uint64_t)v->statistic[0]);
        for (unsigned i = 1; i < HIST_STATISTICS; i++)
            jsonout_f64(j, hist_statistic_name(i), v->statistic[i]);
        jsonout_end(j);
        break;
    case FACT_HIST:
        write_hist(j, name, v->hist);
        break;
    case FACT_COUNTS:
        write_counts(j, name, v);
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

void facts_write_one(struct jsonout *j, const struct facts *f, enum fact_id id)
{
    write_value(j, fact_of(id), &f->of[id]);
}

/* The fact, unless it has moved, behind those that have moved before it. */
static void write_in_place(struct jsonout *j, const struct facts *f, enum fact_id id)
{
    bool moved = false;

    for (unsigned i = 0; i < FACTS_MOVED; i++) {
        moved |= fact_moved[i].id == id;
        if (fact_moved[i].before == id)
            facts_write_one(j, f, fact_moved[i].id);
    }
    if (!moved)
        facts_write_one(j, f, id);
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
        if (fact_of(i)->scope == scope)
            write_in_place(j, f, i);
    for (unsigned s = 0; s < FACT_SCOPES; s++)
        if (inside(s, scope))
            write_scope(j, f, s, inside(s, scope));
    jsonout_end(j);
}

void facts_write(struct jsonout *j, const struct facts *f, enum fact_scope scope)
{
    write_scope(j, f, scope, fact_scope_path(scope));
}

static void read_counts(struct facts *f, enum fact_id id, const struct jsonin_v *v)
{
    struct fact_value *to = &f->of[id];
    const char *name;
    uint64_t count;

    to->known = jsonin_members(v) > 0;
    for (size_t i = 0; i < FACT_COUNTS_MAX && jsonin_member(v, i, &name); i++)
        if (jsonin_u64(jsonin_member(v, i, &name), &count) == 0)
            facts_put_counted(f, id, name, count);
}

static void read_hist(struct facts *f, struct fact_value *to, const struct jsonin_v *v)
{
    int64_t value;
    uint64_t count;

    if (!v)
        return;
    to->hist = hist_create();
    to->known = to->hist != NULL;
    for (size_t i = 0; to->known && i + 1 < jsonin_count(v); i += 2)
        to->known = jsonin_i64(jsonin_at(v, i), &value) == 0 &&
                    jsonin_u64(jsonin_at(v, i + 1), &count) == 0 &&
                    hist_record_n(to->hist, value, count) == 0;
    f->failed |= !to->known;
}

void facts_read_value(struct facts *f, enum fact_id id, const struct jsonin_v *v)
{
    struct fact_value *to = value_of(f, id, false);
    const char *text = jsonin_text(v, NULL);
    double number;

    switch (fact_of(id)->kind) {
    case FACT_COUNT:
        to->known = jsonin_u64(v, &to->count) == 0;
        break;
    case FACT_NUMBER:
        if (jsonin_f64(v, &number) == 0)
            facts_put_number(f, id, number);
        break;
    case FACT_TEXT:
        facts_put_text(f, id, text);
        err_make_harmless(to->text);
        break;
    case FACT_YES:
        to->known = jsonin_bool(v, &to->yes) == 0;
        break;
    case FACT_TIMES:
        to->known = v != NULL;
        for (unsigned i = 0; i < HIST_STATISTICS; i++)
            to->known &= jsonin_f64(jsonin_get(v, hist_statistic_name(i)), &to->statistic[i]) == 0;
        break;
    case FACT_HIST:
        read_hist(f, to, v);
        break;
    case FACT_COUNTS:
        read_counts(f, id, v);
        break;
    }
}

static void read_scope(struct facts *f, const struct jsonin_v *document, enum fact_scope scope)
{
    const char *path = fact_scope_path(scope);
    const struct jsonin_v *from = path[0] ? jsonin_get(document, path) : document;

    if (f->there[scope])
        return;
    for (unsigned i = 0; from && i < FACTS; i++)
        if (fact_of(i)->scope == scope)
            facts_read_value(f, i, jsonin_get(from, fact_of(i)->member));
}

void facts_read(struct facts *f, const struct jsonin_v *summary)
{
    for (unsigned s = FACTS_OF_KERNEL; s < FACTS_OF_STEP; s++)
        read_scope(f, summary, s);
}

void facts_read_step(struct facts *f, const struct jsonin_v *document)
{
    read_scope(f, document, FACTS_OF_STEP);
}
