/* The order of work of --answer: read what kvgen found, measure both replays of the confirmation as
 * any result is measured, conclude, and put it out. The JSON is kvgen's own with what is known now
 * in it. */
#include "kvstat/answer/answer_report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kvstat/answer/answer.h"
#include "kvstat/answer/answer_knee.h"
#include "kvstat/answer/answer_page.h"
#include "kvstat/answer/conclusion.h"
#include "kvstat/answer/confirm.h"
#include "kvstat/answer/confirm_read.h"
#include "kvstat/answer/view.h"

/* One answer or both, owned. */
struct pair {
    struct answer *answer[2];
    struct confirm *confirm[2]; /* NULL: nothing ran on the drive */
    struct conclusion conclusion[2];
    size_t count;
};

/* ---- confirmation ---- */

static int take_side(struct reporter *r, const char *file, struct confirm_side *side,
                     const struct confirm_side *model, struct err *e)
{
    const char *const files[] = {file};
    struct figures *f = NULL;
    int rc = reporter_add(r, files, 1, &f, e);
    if (rc < 0)
        return rc;
    if (figures_is_result(f))
        confirm_take(side, f, model);
    else
        rc =
            err_set(e, -EINVAL, ERR_INPUT, file, "is a trace: a confirmation is a replay's result");
    figures_free(f);
    return rc;
}

static int confirm_answer(struct reporter *r, struct pair *p, size_t i, struct err *e)
{
    const struct options *o = &r->options;
    const struct answer *a = p->answer[i];
    if (a->concluded)
        return err_set(e, -EINVAL, ERR_INPUT, a->file,
                       "is concluded already; --confirm takes what kvgen --answer wrote");
    struct confirm *c = calloc(1, sizeof(*c));
    p->confirm[i] = c;
    if (!c)
        return err_nomem(e, "confirmation");
    int rc = take_side(r, o->confirm_model.item[i], &c->model, NULL, e);
    if (rc == 0)
        rc = take_side(r, o->confirm.item[i], &c->drive, &c->model, e);
    struct drive_model *later = NULL;
    struct confirm_again again[CONFIRM_AGAINS];
    if (rc == 0 && o->measured_again)
        rc = drive_model_load(&later, o->measured_again, e);
    /* One that was disturbed shows nothing. */
    const bool shows = rc == 0 && later && drive_model_facts(later)->valid != 0;
    if (shows)
        confirm_measured_again(again, a, later);
    const struct confirm_model model = {a->settings.validity, a->settings.started,
                                        a->settings.file_system};
    if (rc == 0)
        confirm_judge(c, &model, shows ? again : NULL);
    drive_model_free(later);
    return rc;
}

/* Takes from a concluded answer what it says of the run on the drive, if there was one. */
static int recall(struct pair *p, size_t i, struct err *e)
{
    const struct answer *a = p->answer[i];
    if (!jsonin_get(jsonin_root(a->document), "confirmed"))
        return 0;
    p->confirm[i] = calloc(1, sizeof(*p->confirm[i]));
    return p->confirm[i] ? confirm_read(p->confirm[i], a, e) : err_nomem(e, "confirmation");
}

static int read_pair(struct reporter *r, struct pair *p, const char *second, struct err *e)
{
    const struct options *o = &r->options;
    const char *const file[] = {o->answer, second};
    int rc = 0;
    r->hidden = true;
    r->scan.interval_ns = CONFIRM_BIN_NS;
    r->scan.series_by_due = true; /* the same rows in a piece of both */
    r->scan.follow = true;
    p->count = second ? 2 : 1;
    for (size_t i = 0; i < p->count && rc == 0; i++) {
        rc = answer_read(&p->answer[i], file[i], e);
        if (rc == 0)
            rc = options_confirms(o, i) ? confirm_answer(r, p, i, e) : recall(p, i, e);
        if (rc == 0)
            conclude(&p->conclusion[i], p->answer[i], p->confirm[i]);
    }
    const char *differs = rc == 0 && second ? conclusion_differs(p->answer[0], p->answer[1]) : NULL;
    if (differs)
        rc = err_set(e, -EINVAL, ERR_INPUT, second,
                     "is an answer on another load than %s: settings.%s differs", o->answer,
                     differs);
    return rc;
}

/* ---- JSON ---- */

static void put_value(struct jsonout *j, const char *key, const struct jsonin_v *v);

static void put_members(struct jsonout *j, const struct jsonin_v *object, const char *const *but)
{
    for (size_t i = 0;; i++) {
        const char *key = NULL;
        const struct jsonin_v *v = jsonin_member(object, i, &key);
        if (!key)
            return;
        bool left_out = false;
        for (size_t k = 0; but && but[k]; k++)
            left_out |= strcmp(key, but[k]) == 0;
        if (!left_out)
            put_value(j, key, v);
    }
}

/* Copies a value as it was read. */
static void put_value(struct jsonout *j, const char *key, const struct jsonin_v *v)
{
    const char *text = jsonin_text(v, NULL);
    int64_t whole;
    uint64_t large;
    double number;
    bool truth;
    if (!v) {
        jsonout_null(j, key);
    } else if (text) {
        jsonout_text_value(j, key, text);
    } else if (jsonin_bool(v, &truth) == 0) {
        jsonout_bool(j, key, truth);
    } else if (jsonin_i64(v, &whole) == 0) {
        jsonout_i64(j, key, whole);
    } else if (jsonin_u64(v, &large) == 0) {
        jsonout_u64(j, key, large);
    } else if (jsonin_f64(v, &number) == 0) {
        jsonout_f64(j, key, number);
    } else if (jsonin_is_array(v)) {
        jsonout_array(j, key);
        for (size_t i = 0; i < jsonin_count(v); i++)
            put_value(j, NULL, jsonin_at(v, i));
        jsonout_end(j);
    } else {
        jsonout_object(j, key);
        put_members(j, v, NULL);
        jsonout_end(j);
    }
}

static void put_side(struct jsonout *j, const char *key, const struct confirm_side *side)
{
    const struct confirm_op *read = &side->op[CONFIRM_READS], *write = &side->op[CONFIRM_WRITES];
    jsonout_object(j, key);
    jsonout_u64(j, "reads", read->samples);
    jsonout_f64(j, "read_p50_s", read->s[CONFIRM_P50]);
    jsonout_f64(j, "read_p95_s", read->s[CONFIRM_P95]);
    jsonout_f64(j, "read_rate_bytes_s", confirm_op_rate(side, CONFIRM_READS));
    jsonout_u64(j, "writes", write->samples);
    jsonout_f64(j, "write_p50_s", write->s[CONFIRM_P50]);
    jsonout_f64(j, "write_p95_s", write->s[CONFIRM_P95]);
    jsonout_f64(j, "write_rate_bytes_s", confirm_op_rate(side, CONFIRM_WRITES));
    jsonout_f64(j, "rate_bytes_s", confirm_rate(side));
    jsonout_f64(j, "seconds", side->elapsed_s);
    jsonout_end(j);
}

static void put_confirmed(struct jsonout *j, const struct confirm *c)
{
    if (!c) {
        jsonout_null(j, "confirmed");
        return;
    }
    jsonout_object(j, "confirmed");
    put_side(j, "model", &c->model);
    put_side(j, "measured", &c->drive);
    jsonout_f64(j, "within", JUDGE_CONFIRMS);
    jsonout_bool_if(j, "agrees", c->answer != CONFIRM_UNDECIDED, c->answer == CONFIRM_AGREES);
    jsonout_text_value(j, "cause", confirm_cause_word(c->cause));
    jsonout_text_known(j, "why", c->why);
    jsonout_end(j);
}

/* there NULL: it is not decided. */
static void put_gain(struct jsonout *j, const char *key, const struct answer_gain *g,
                     const bool *there)
{
    jsonout_object(j, key);
    jsonout_f64(j, "value", g->value);
    jsonout_f64(j, "low", g->low);
    jsonout_f64(j, "high", g->high);
    jsonout_bool_if(j, "is_there", there, there && *there);
    jsonout_end(j);
}

static void put_knee(struct jsonout *j, const struct answer *a)
{
    struct answer_knee k;
    if (!answer_knee_find(&k, a)) {
        jsonout_null(j, "knee");
        return;
    }
    jsonout_object(j, "knee");
    jsonout_bool(j, "found", k.found);
    jsonout_f64(j, "in_flight", k.in_flight);
    jsonout_f64(j, "bytes_per_s", k.bytes_s);
    jsonout_f64(j, "p95_s", k.p95_s);
    jsonout_f64(j, "size_bytes", k.size_bytes);
    jsonout_f64(j, "read_share", k.read_share);
    jsonout_end(j);
}

/* Adds the members of the answer to the open object. */
static void put_answer(struct jsonout *j, const struct conclusion *c)
{
    static const char *const ours[] = {"verdict", "why",  "confirmed", "validity",
                                       "gain",    "knee", NULL};
    const struct answer *a = c->answer;
    const enum gain gain = gain_of(a);
    const bool there = gain == GAIN_IS_THERE;
    put_members(j, jsonin_root(a->document), a->concluded ? NULL : ours);
    if (a->concluded)
        return;
    jsonout_text_value(j, "verdict", c->judged ? conclusion_word(c->verdict) : NULL);
    jsonout_text_known(j, "why", c->why);
    put_gain(j, "gain", &a->gain, gain == GAIN_OPEN ? NULL : &there);
    put_knee(j, a);
    put_confirmed(j, c->confirm);
    jsonout_text_value(j, "validity",
                       c->confirm && c->confirm->drive.line[0] ? c->confirm->drive.line : NULL);
}

static void put_pair(struct reporter *r, const struct pair *p)
{
    static const char *const words[] = {
        [BETTER_UNKNOWN] = NULL, [BETTER_FIRST] = "first", [BETTER_SECOND] = "second"};
    const struct answer_gain g = difference_of(p->answer[0], p->answer[1]);
    const enum better better = better_of(p->conclusion);
    const bool there = better != BETTER_UNKNOWN;
    jsonout_array(r->json, "answers");
    for (size_t i = 0; i < 2; i++) {
        jsonout_object(r->json, NULL);
        put_answer(r->json, &p->conclusion[i]);
        jsonout_end(r->json);
    }
    jsonout_end(r->json);
    put_gain(r->json, "difference", &g, &there);
    jsonout_text_value(r->json, "better", words[better]);
}

/* ---- all together ---- */

/* The outcome that the view asks for: the gain of worth, whether the second of two drives holds
 * fewer, else the verdict. */
static enum verdict_outcome outcome_of(const struct reporter *r, const struct pair *p)
{
    static const enum verdict_outcome worth[] = {[GAIN_NONE] = VERDICT_FAIL,
                                                 [GAIN_OPEN] = VERDICT_INCONCLUSIVE,
                                                 [GAIN_IS_THERE] = VERDICT_PASS};
    const struct conclusion *c = p->conclusion;
    if (c[0].unconfirmed || (p->count > 1 && c[1].unconfirmed))
        return VERDICT_INCONCLUSIVE;
    if (p->count > 1)
        return better_of(c) == BETTER_FIRST ? VERDICT_FAIL : VERDICT_PASS;
    if (r->options.view == VIEW_WORTH)
        return worth[gain_of(c->answer)];
    return c->judged ? c->verdict : VERDICT_PASS;
}

int answer_report(struct reporter *r, const char *const *more, size_t n, struct err *e)
{
    struct pair *p = calloc(1, sizeof(*p));
    if (!p)
        return err_nomem(e, "answer");
    int rc = read_pair(r, p, n > 0 ? more[0] : NULL, e);
    if (rc < 0)
        goto out;
    reporter_judged(r, outcome_of(r, p));
    const struct answer_page page = {&p->conclusion[0], r->options.view, r->argc, r->argv};
    if (r->options.html)
        rc = answer_page_save(r->options.html, &page, e);
    if (rc < 0)
        goto out;
    if (!r->json)
        view_put(output_stream(r->text), r->options.view, p->conclusion);
    else if (p->count == 1)
        put_answer(r->json, &p->conclusion[0]);
    else
        put_pair(r, p);
out:
    for (size_t i = 0; i < 2; i++) {
        answer_free(p->answer[i]);
        free(p->confirm[i]);
    }
    free(p);
    return rc;
}
