/* Beside facts.c, which merges sets of facts: merges documents of several runs. Their lists are put
 * one behind the other, and each text gets the name of its run. */
#include "lib/facts/runs.h"
#include "lib/sort/ascending.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *runs_name(char buf[RUNS_NAME], int64_t rank, const char *host)
{
    snprintf(buf, RUNS_NAME, "rank %lld%s%s", (long long)rank, host[0] ? " on " : "", host);
    return buf;
}

size_t runs_hosts(const void *ctx, size_t n, const char *(*host)(const void *ctx, size_t i))
{
    size_t hosts = 0;

    for (size_t i = 0; i < n; i++) {
        size_t k = 0;
        while (k < i && strcmp(host(ctx, k), host(ctx, i)) != 0)
            k++;
        hosts += k == i;
    }
    return hosts;
}

uint64_t runs_rows(const struct facts *f)
{
    uint64_t total = facts_counted(f, FACT_ROWS, "total");
    uint64_t left_out = facts_counted(f, FACT_ROWS, "skipped");

    return total - (left_out <= total ? left_out : 0);
}

int runs_merge(struct facts *all, const struct runs_one *run, unsigned n)
{
    bool any = false, silent = false;

    *all = (struct facts){0};
    for (unsigned i = 0; i < n; i++) {
        struct facts one = {0};
        silent |= !run[i].doc;
        if (!run[i].doc)
            continue;
        facts_read(any ? &one : all, run[i].doc);
        facts_read_step(any ? &one : all, run[i].doc);
        if (any)
            facts_merge(all, &one);
        all->failed |= one.failed;
        facts_release(&one);
        any = true;
    }
    if (silent)
        facts_merge(all, NULL);
    return all->failed ? -ENOMEM : 0;
}

/* ---- lists ---- */

bool runs_next_state(struct runs_state *s, const struct runs_one *run, unsigned n)
{
    const struct jsonin_v *v = NULL;

    while (s->run < n && !(v = jsonin_at(jsonin_get(run[s->run].doc, "validity"), s->next++)))
        *s = (struct runs_state){.run = s->run + 1};
    if (!v)
        return false;
    s->figures = jsonin_text(jsonin_get(v, "figures"), NULL);
    s->tier = jsonin_text(jsonin_get(v, "tier"), NULL);
    s->op = jsonin_text(jsonin_get(v, "op"), NULL);
    s->word = jsonin_text(jsonin_get(v, "state"), NULL);
    s->why = jsonin_text(jsonin_get(v, "why"), NULL);
    s->state = validity_state_of(s->word);
    return true;
}

void runs_put_state(struct jsonout *j, const struct runs_state *s)
{
    jsonout_object(j, NULL);
    jsonout_text_value(j, "figures", s->figures);
    jsonout_text_value(j, "tier", s->tier);
    jsonout_text_value(j, "op", s->op);
    jsonout_text_value(j, "state", s->word);
    jsonout_text_value(j, "why", s->why);
    jsonout_end(j);
}

enum validity_state runs_worst(const struct runs_one *run, unsigned n)
{
    enum validity_state worst = VALIDITY_GOOD;
    struct runs_state s = {0};

    while (runs_next_state(&s, run, n))
        if (s.state != VALIDITY_STATES && s.state > worst)
            worst = s.state;
    return worst;
}

enum {
    NAMED = 512
};

/* "rank 2 on node-c: text". Returns buf. */
static const char *named(char buf[NAMED], const struct runs_one *run, const char *text)
{
    char name[RUNS_NAME];

    snprintf(buf, NAMED, "%s: %.360s", runs_name(name, run->rank, run->host), text ? text : "");
    return buf;
}

static void put_texts(struct jsonout *j, const char *key, const struct runs_one *run, unsigned n)
{
    char text[NAMED];

    jsonout_array(j, key);
    for (unsigned i = 0; i < n; i++) {
        const struct jsonin_v *list = jsonin_get(run[i].doc, key);
        for (size_t k = 0; k < jsonin_count(list); k++)
            jsonout_text_value(j, NULL,
                               named(text, &run[i], jsonin_text(jsonin_at(list, k), NULL)));
    }
    jsonout_end(j);
}

void runs_validity(struct jsonout *j, const struct facts *all, const struct runs_one *run,
                   unsigned n)
{
    struct runs_state s = {0};
    char why[NAMED];

    facts_write_one(j, all, FACT_VALID);
    put_texts(j, "why_invalid", run, n);
    jsonout_array(j, "validity");
    while (runs_next_state(&s, run, n)) {
        if (s.state == VALIDITY_GOOD && s.run > 0) /* one of them says what was judged */
            continue;
        s.why = s.state == VALIDITY_GOOD ? "" : named(why, &run[s.run], s.why);
        runs_put_state(j, &s);
    }
    jsonout_end(j);
    put_texts(j, "notes", run, n);
}

/* ---- which of them ---- */

struct runs_slowest runs_slowest(const double *value, unsigned n, bool least)
{
    struct runs_slowest s = {.at = -1, .times_median = NAN};
    double *known = malloc(n * sizeof(*known));
    unsigned count = 0;

    for (unsigned i = 0; known && i < n; i++) {
        if (isnan(value[i]))
            continue;
        known[count++] = value[i];
        if (s.at < 0 || (least ? value[i] < value[s.at] : value[i] > value[s.at]))
            s.at = (int)i;
    }
    if (count < 2) {
        s.at = -1;
    } else {
        qsort(known, count, sizeof(*known), ascending_f64);
        double median = (known[(count - 1) / 2] + known[count / 2]) / 2;
        double part = least ? median : value[s.at], of = least ? value[s.at] : median;
        s.times_median = of > 0 ? part / of : NAN;
    }
    free(known);
    return s;
}

void runs_missing(struct jsonout *j, const struct runs_one *run, unsigned n)
{
    jsonout_array(j, "missing");
    for (unsigned i = 0; i < n; i++)
        if (run[i].missing)
            jsonout_i64(j, NULL, run[i].rank);
    jsonout_end(j);
}

void runs_list(struct jsonout *j, const struct runs_one *run, unsigned n,
               void (*more)(const void *ctx, struct jsonout *j, unsigned i), const void *ctx)
{
    jsonout_array(j, "list");
    for (unsigned i = 0; i < n; i++) {
        jsonout_object(j, NULL);
        jsonout_i64(j, "rank", run[i].rank);
        jsonout_text_value(j, "host", run[i].host);
        if (more)
            more(ctx, j, i);
        if (run[i].text)
            jsonout_raw(j, "summary", run[i].text, strlen(run[i].text));
        else
            jsonout_null(j, "summary");
        jsonout_end(j);
    }
    jsonout_end(j);
}
