/* The figures as JSON: each under the name that figure.h gives it, in the order of the list. What
 * is not known is null, never 0. */
#include <stdio.h>
#include <string.h>

#include "kvstat/report/intervals.h"
#include "kvstat/report/report.h"

/* Every step of path has its object or array open. */
struct writer {
    struct jsonout *json;
    struct figure_path path;
};

/* An element of an array begins with the members that identify it. */
static void put_element(struct jsonout *j, const struct figure_id *id)
{
    const struct {
        unsigned bit;
        const char *member, *text;
    } by[] = {{GROUPS_TIER, "tier", trace_tier_text(id->tier)},
              {GROUPS_OP, "op", id->op < TRACE_OPS ? trace_op_text(id->op) : ""},
              {GROUPS_PHASE, "phase", trace_phase_text(id->phase)},
              {GROUPS_QOS, "qos", trace_qos_text(id->qos)},
              {GROUPS_CLASS, "class", trace_class_text(id->class)},
              {GROUPS_USER, "user", id->text[GROUP_USER]},
              {GROUPS_STATUS, "status",
               id->status == TRACE_NO_STATUS ? "" : trace_status_text(id->status)},
              {GROUPS_ENDPOINT, "endpoint", id->text[GROUP_ENDPOINT]},
              {GROUPS_THREAD, "thread", id->text[GROUP_THREAD]},
              {GROUPS_ENGINE, "engine", id->text[GROUP_ENGINE]}};
    jsonout_object(j, NULL);
    if (id->scope == FIGURE_OF_CRITERION) {
        jsonout_text_value(j, "name", id->label);
    } else if (id->scope == FIGURE_OF_APART) {
        jsonout_text_value(j, "op", id->label);
    } else if (id->scope == FIGURE_OF_VALIDITY_KIND) {
        char kind[32]; /* behind it, the label has the place, which has members of its own */
        snprintf(kind, sizeof(kind), "%.*s", (int)strcspn(id->label, "/"), id->label);
        jsonout_text_value(j, "figures", kind);
    } else if (id->scope == FIGURE_OF_PHASE) {
        jsonout_text_value(j, "phase", trace_phase_text(id->phase));
    } else if (id->scope != FIGURE_OF_GROUP) {
        jsonout_text_value(j, "tier", trace_tier_text(id->tier));
    } else {
        jsonout_object(j, "by");
        for (size_t i = 0; i < sizeof(by) / sizeof(by[0]); i++)
            if (id->by & by[i].bit)
                jsonout_text_value(j, by[i].member,
                                   by[i].text && by[i].text[0] ? by[i].text : NULL);
        jsonout_end(j);
    }
}

static void put_value(struct jsonout *j, const char *key, const struct figure *f)
{
    switch (f->form) {
    case FIGURE_FORM_NUMBER:
        jsonout_f64(j, key, f->number);
        break;
    case FIGURE_FORM_UNSIGNED:
        jsonout_u64(j, key, f->count);
        break;
    case FIGURE_FORM_SIGNED:
        jsonout_i64(j, key, f->level);
        break;
    case FIGURE_FORM_TRUTH:
        jsonout_bool(j, key, f->truth);
        break;
    case FIGURE_FORM_TEXT:
        jsonout_text_value(j, key, f->text);
        break;
    case FIGURE_FORM_WORD:
        jsonout_text_value(j, key, f->list.item[f->list.n]);
        break;
    case FIGURE_FORM_TEXTS:
        jsonout_array(j, key);
        for (size_t i = 0; i < f->list.n; i++)
            jsonout_text_value(j, NULL, f->list.item[i]);
        jsonout_end(j);
        break;
    case FIGURE_FORM_UNKNOWN:
    case FIGURE_FORM_DISTRIBUTION: /* has come as its statistics */
        jsonout_null(j, key);
        break;
    }
}

/* Closes the steps down to depth. */
static void close_steps(struct writer *w, size_t depth)
{
    for (; w->path.steps > depth; w->path.steps--)
        jsonout_end(w->json);
}

/* Leaves the objects and arrays that the figure is not in, opens those that it is in, and adds it.
 */
static int put_figure(void *arg, const struct figure *f)
{
    struct writer *w = arg;
    struct figure_path to;
    size_t same = 0;
    if (!figure_path(&to, &f->id))
        return 0;
    for (; same < w->path.steps && same + 1 < to.steps; same++) {
        const char *open = w->path.step[same].text, *next = to.step[same].text;
        /* An element is the same when it is of the same part, whose texts have one address. */
        if (to.step[same].element ? open != next : strcmp(open, next) != 0)
            break;
    }
    close_steps(w, same);
    for (size_t i = same; i + 1 < to.steps; i++) {
        if (to.step[i].element)
            put_element(w->json, &f->id);
        else if (to.step[i + 1].element)
            jsonout_array(w->json, to.step[i].text);
        else
            jsonout_object(w->json, to.step[i].text);
    }
    w->path = to;
    w->path.steps = to.steps - 1;
    put_value(w->json, to.step[to.steps - 1].text, f);
    return 0;
}

static void put_figures(struct jsonout *j, const struct figure *figure, size_t n)
{
    struct writer w = {.json = j};
    for (size_t i = 0; i < n; i++)
        figure_expand(&figure[i], put_figure, &w);
    close_steps(&w, 0);
}

void report_json(struct jsonout *j, const struct figures *f)
{
    const struct intervals *series = figures_intervals(f);
    size_t n;
    const struct figure *figure = figures_list(f, &n);
    put_figures(j, figure, n);
    if (!series || !intervals_asked_for(series)) {
        jsonout_null(j, "series");
        return;
    }
    jsonout_object(j, "series");
    jsonout_f64(j, "interval_s", intervals_length_s(series));
    jsonout_array(j, "intervals");
    for (size_t i = 0; i < intervals_count(series); i++) {
        const struct figure_part part = intervals_at(series, i);
        jsonout_object(j, NULL);
        put_figures(j, part.figure, part.count);
        jsonout_end(j);
    }
    jsonout_end(j);
    jsonout_end(j);
}
