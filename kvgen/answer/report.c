/* report.c - the figures of an answer: rates, shares and a day's worth, from what the simulations
 * counted. kvstat adds what a drive measured, and prints the screens. */
#include "kvgen/answer/report.h"

#include <math.h>

#include "kvgen/endurance.h"
#include "lib/base/units.h"
#include "lib/drive/drive_model.h"
#include "lib/json/jsonout.h"

enum {
    DAY_S = 86400,
    HOUR_S = 3600,
    PPM_P50 = 500000,
    PPM_P95 = 950000,
    WHY = 200
};

static double seconds(int64_t ns)
{
    return (double)ns / 1e9;
}

static const struct trial *figures(const struct answer_report *r, enum answer_variant v)
{
    return &r->answer->figures[v];
}

static void put_limited(struct jsonout *j, const char *key, uint64_t n)
{
    jsonout_u64_if(j, key, n != UINT64_MAX, n);
}

/* A load, in the unit of the answer. */
static double in_unit(const struct answer_report *r, uint64_t n)
{
    return r->load_requests_s > 0 ? (double)n * r->load_requests_s : (double)n;
}

static void put_load(struct jsonout *j, const char *key, const struct answer_report *r, uint64_t n)
{
    if (r->load_requests_s > 0)
        jsonout_f64(j, key, in_unit(r, n));
    else
        jsonout_u64(j, key, n);
}

/* "38 users", "1.25 requests/s". Returns buf. */
static const char *load_text(char *buf, size_t n, const struct answer_report *r, uint64_t load)
{
    if (r->load_requests_s > 0)
        snprintf(buf, n, "%.3g requests/s", in_unit(r, load));
    else
        snprintf(buf, n, "%llu user%s", (unsigned long long)load, units_plural(load));
    return buf;
}

static void put_times(struct jsonout *j, const char *key, const struct hist *h)
{
    if (!hist_count(h)) {
        jsonout_null(j, key);
        return;
    }
    jsonout_object(j, key);
    jsonout_f64(j, "p50", seconds(hist_percentile(h, PPM_P50)));
    jsonout_f64(j, "p95", seconds(hist_percentile(h, PPM_P95)));
    jsonout_end(j);
}

/* ---- what was asked ---- */

/* The measured points: kvstat finds the knee in them. */
static void put_points(struct jsonout *j, const struct drive_model *drive)
{
    const struct drive_model_point *p = drive_model_points(drive);
    jsonout_array(j, "points");
    for (unsigned i = 0; i < drive_model_facts(drive)->points; i++) {
        jsonout_object(j, NULL);
        jsonout_u64(j, "size_bytes", p[i].size);
        jsonout_u64(j, "in_flight", p[i].in_flight);
        jsonout_f64(j, "read_share", p[i].read_share);
        jsonout_u64(j, "bytes_per_s", p[i].bytes_per_s);
        jsonout_f64(j, "p95_us", p[i].p95_us);
        jsonout_end(j);
    }
    jsonout_end(j);
}

static void put_drive_facts(struct jsonout *j, const struct answer_report *r)
{
    const struct drive_model *drive = r->opts->engine.files->drive;
    const struct drive_model_facts *facts = drive ? drive_model_facts(drive) : NULL;
    char validity[512] = "";
    if (drive)
        drive_model_validity(drive, validity, sizeof(validity));
    jsonout_object(j, "drive");
    jsonout_text_known(j, "target", facts ? facts->target : NULL);
    jsonout_text_known(j, "device", facts ? facts->device : NULL);
    jsonout_text_known(j, "started", facts ? facts->started : NULL);
    jsonout_text_known(j, "file_system", facts ? facts->file_system : NULL);
    jsonout_text_known(j, "validity", validity);
    jsonout_text_known(j, "text", drive ? NULL : r->drive_text);
    if (drive)
        put_points(j, drive);
    jsonout_end(j);
}

static void put_settings(struct jsonout *j, const struct answer_report *r)
{
    const struct criterion *c = &r->opts->criterion;
    jsonout_object(j, "settings");
    jsonout_text_value(j, "model", r->model);
    jsonout_text_value(j, "gpu", r->gpu);
    jsonout_text_value(j, "by", r->measured ? "measurement" : "calculation");
    jsonout_u64(j, "tensor_parallel", r->tensor_parallel);
    jsonout_text_value(j, "engine", r->engine);
    jsonout_text_value(j, "engine_version", r->engine_version);
    jsonout_text_known(j, "population", r->population);
    jsonout_text_value(j, "source", r->source);
    put_limited(j, "gpu_mem_bytes", r->capacity[TRACE_GPU]);
    put_limited(j, "cpu_mem_bytes", r->capacity[TRACE_CPU]);
    put_limited(j, "storage_capacity_bytes", r->capacity[TRACE_STORAGE]);
    jsonout_text_value(j, "on_full", r->on_full);
    jsonout_f64(j, "ttft_s", seconds(c->first_token_ns));
    jsonout_f64(j, "tpot_s", seconds(c->token_ns));
    jsonout_f64(j, "goodput", c->goodput);
    jsonout_u64(j, "seeds", r->opts->seeds);
    jsonout_text_value(j, "unit", r->load_requests_s > 0 ? "requests_s" : "users");
    put_drive_facts(j, r);
    jsonout_end(j);
}

/* ---- users ---- */

static void put_users(struct jsonout *j, const struct answer_report *r)
{
    const struct answer *a = r->answer;
    jsonout_object(j, "users");
    for (int v = 0; v < ANSWER_VARIANTS; v++) {
        jsonout_object(j, answer_variant_name((enum answer_variant)v));
        put_load(j, "value", r, a->users[v].value);
        put_load(j, "low", r, a->users[v].low);
        put_load(j, "high", r, a->users[v].high);
        jsonout_end(j);
    }
    jsonout_end(j);
}

/* A difference of loads, in the unit of the answer. */
static void put_more(struct jsonout *j, const char *key, const struct answer_report *r, int64_t n)
{
    if (r->load_requests_s > 0)
        jsonout_f64(j, key, (double)n * r->load_requests_s);
    else
        jsonout_i64(j, key, n);
}

static void put_gain(struct jsonout *j, const struct answer_report *r)
{
    const struct answer_gain *g = &r->answer->gain;
    jsonout_object(j, "gain");
    put_more(j, "value", r, g->value);
    put_more(j, "low", r, g->low);
    put_more(j, "high", r, g->high);
    jsonout_end(j);
}

/* NULL: nothing was asked. kvstat says why. */
static const char *verdict_text(const struct answer_report *r)
{
    static const char *const words[] = {
        [ANSWER_PASS] = "PASS", [ANSWER_FAIL] = "FAIL", [ANSWER_UNDECIDED] = "INCONCLUSIVE"};
    const uint64_t asked = r->opts->asked;
    return asked ? words[answer_verdict_of(&r->answer->users[ANSWER_THIS], asked)] : NULL;
}

/* Bytes of the cache of a prompt, of all ranks. */
static uint64_t prompt_bytes(const struct answer_report *r, uint64_t tokens)
{
    const struct engine_room *room = &r->opts->engine.room;
    uint64_t bytes;
    return room->block_bytes(room->model, tokens, &bytes) == 0 ? bytes * room->ranks : 0;
}

/* Why not even one user is held. */
static void explain_nobody(char *why, size_t n, const struct answer_report *r)
{
    const struct trial *t = &r->answer->beyond;
    const struct criterion *c = &r->opts->criterion;
    const uint64_t bytes = prompt_bytes(r, t->longest_prompt);
    const uint64_t host = r->capacity[TRACE_CPU];
    const int64_t first_ns = hist_percentile(t->first_token_ns[TRACE_QOSES], PPM_P95);
    const int64_t token_ns = hist_percentile(t->token_ns, PPM_P95);
    char a[32], b[32];
    if (r->answer->limit == LIMIT_HOST_MEMORY && host < bytes)
        snprintf(why, n,
                 "host memory of %s is less than one prompt takes (%llu tokens: %s), so what lies "
                 "on the drive is never loaded",
                 units_format_bytes(a, sizeof(a), (double)host),
                 (unsigned long long)t->longest_prompt,
                 units_format_bytes(b, sizeof(b), (double)bytes));
    else if (r->answer->limit == LIMIT_HOST_MEMORY)
        snprintf(why, n, "with host memory of %s, requests push out of it what others wait for",
                 units_format_bytes(a, sizeof(a), (double)host));
    else if (t->too_long)
        snprintf(why, n, "GPU memory of %s is less than one prompt takes (%llu tokens: %s)",
                 units_format_bytes(a, sizeof(a), (double)r->capacity[TRACE_GPU]),
                 (unsigned long long)t->longest_prompt,
                 units_format_bytes(b, sizeof(b), (double)bytes));
    else if (token_ns > c->token_ns)
        snprintf(why, n, "on an idle engine a token takes %s (p95; limit %s)",
                 units_format_duration(a, sizeof(a), (double)token_ns),
                 units_format_duration(b, sizeof(b), (double)c->token_ns));
    else
        snprintf(why, n, "on an idle engine the first token takes %s (p95; limit %s)",
                 units_format_duration(a, sizeof(a), (double)first_ns),
                 units_format_duration(b, sizeof(b), (double)c->first_token_ns));
}

/* Why the number of users is none, or the most that is tried; "" for any other. */
static const char *explain(char *why, size_t n, const struct answer_report *r)
{
    const struct answer_users *u = &r->answer->users[ANSWER_THIS];
    char load[40];
    *why = '\0';
    if (u->value == 0 && r->answer->beyond.n)
        explain_nobody(why, n, r);
    else if (u->most)
        snprintf(why, n, "more than %s are not tried",
                 load_text(load, sizeof(load), r, ANSWER_USERS_MAX));
    return why;
}

static void put_verdict(struct jsonout *j, const struct answer_report *r)
{
    char why[WHY];
    jsonout_text_value(j, "verdict", verdict_text(r));
    jsonout_text_known(j, "why", explain(why, sizeof(why), r));
    put_load(j, "at", r, r->answer->at);
}

static uint64_t prefill_tokens(const struct trial *t)
{
    return t->origin[WARM_COMPUTED];
}

/* The GPUs' time in steps with tokens, of prompts and of answers. */
static double gpu_busy_s(const struct answer_report *r, const struct trial *t)
{
    return seconds(t->busy_ns) * (double)r->tensor_parallel;
}

/* Seconds of the GPUs that prefill took. They are busy with answers all the time, so that the
 * time in which they do nothing does not tell what is saved. */
static double prefill_gpu_s(const struct answer_report *r, const struct trial *t)
{
    return step_setup_prefill_ns(&r->opts->engine.steps, prefill_tokens(t)) / UNITS_NS_PER_S *
           (double)r->tensor_parallel;
}

static void put_classes(struct jsonout *j, const struct trial *t)
{
    jsonout_object(j, "classes");
    for (int q = 0; q < TRACE_QOSES; q++) {
        const uint64_t n = t->tally.requests[q];
        if (!n)
            continue;
        jsonout_object(j, trace_qos_text((enum trace_qos)q));
        jsonout_u64(j, "requests", n);
        jsonout_f64(j, "goodput", (double)t->tally.good[q] / (double)n);
        jsonout_f64(j, "first_token_p95_s",
                    seconds(hist_percentile(t->first_token_ns[q], PPM_P95)));
        jsonout_end(j);
    }
    jsonout_end(j);
}

static void put_variants(struct jsonout *j, const struct answer_report *r)
{
    jsonout_object(j, "variants");
    for (int v = 0; v < ANSWER_VARIANTS; v++) {
        const struct trial *t = figures(r, (enum answer_variant)v);
        jsonout_object(j, answer_variant_name((enum answer_variant)v));
        jsonout_u64(j, "requests", criterion_requests(&t->tally));
        jsonout_f64(j, "seconds", seconds(t->span_ns));
        jsonout_f64(j, "goodput", criterion_goodput(&t->tally));
        put_times(j, "first_token_s", t->first_token_ns[TRACE_QOSES]);
        put_times(j, "token_s", t->token_ns);
        jsonout_f64(j, "requests_s", trial_requests_s(t));
        jsonout_u64(j, "prefill_tokens", prefill_tokens(t));
        jsonout_f64(j, "prefill_gpu_s", prefill_gpu_s(r, t));
        jsonout_f64(j, "gpu_busy_s", gpu_busy_s(r, t));
        put_classes(j, t);
        jsonout_end(j);
    }
    jsonout_end(j);
}

static void put_tried(struct jsonout *j, const struct answer_report *r)
{
    const struct answer *a = r->answer;
    jsonout_array(j, "tried");
    for (unsigned i = 0; i < a->tries; i++) {
        const struct answer_tried *t = &a->tried[i];
        jsonout_object(j, NULL);
        jsonout_text_value(j, "variant", answer_variant_name(t->variant));
        put_load(j, "users", r, t->n);
        jsonout_u64(j, "held", t->held);
        jsonout_u64(j, "of", r->opts->seeds);
        const bool counted = t->requests_s > 0; /* else it was given up before it was warm */
        jsonout_f64(j, "goodput", counted ? t->goodput : NAN);
        jsonout_f64(j, "first_token_p95_s", counted ? seconds(t->first_token_p95_ns) : NAN);
        jsonout_f64(j, "requests_s", counted ? t->requests_s : NAN);
        jsonout_text_known(j, "limit", t->limit == LIMIT_NONE ? NULL : limit_text(t->limit));
        jsonout_end(j);
    }
    jsonout_end(j);
}

/* ---- the drive ---- */

/* Bytes a second that passed it: [0] reads, [1] writes. */
static double asked_rate(const struct trial *t, int write)
{
    return t->span_ns > 0 ? (double)t->moved[write] / seconds(t->span_ns) : 0;
}

/* The mean number of objects that it had at once. */
static double mean_in_flight(const struct trial *t)
{
    return t->span_ns > 0
               ? (double)(t->files.in_flight_ns[0] + t->files.in_flight_ns[1]) / (double)t->span_ns
               : NAN;
}

/* The rate that it can move in that direction with this mix, size and mean depth; NAN: no limit, or
 * nothing was moved. */
static double can_rate(const struct answer_report *r, const struct trial *t, int write)
{
    const struct tier_model *files = r->opts->engine.files;
    const uint64_t objects = t->files.objects[0] + t->files.objects[1];
    const uint64_t bytes = t->files.bytes[0] + t->files.bytes[1];
    const uint64_t limit = write ? files->write.bytes_per_s : files->read.bytes_per_s;
    if (!files->drive)
        return files->given && limit ? (double)limit : NAN;
    if (!objects || !t->files.objects[write] || t->span_ns <= 0)
        return NAN;
    const double depth = mean_in_flight(t);
    const uint64_t n = depth > 1 ? (uint64_t)(depth + 0.5) : 1, size = bytes / objects;
    const double share = (double)t->files.bytes[write] / (double)bytes;
    const uint64_t read =
        (uint64_t)((double)(n * size) * ((double)t->files.bytes[0] / (double)bytes));
    return share * (double)drive_model_rate(files->drive, n, n * size, read);
}

static void put_direction(struct jsonout *j, const struct answer_report *r, const char *key,
                          int write)
{
    const struct trial *t = figures(r, ANSWER_THIS);
    jsonout_object(j, key);
    jsonout_f64(j, "asked_bytes_s", asked_rate(t, write));
    jsonout_f64(j, "can_bytes_s", can_rate(r, t, write));
    jsonout_end(j);
}

/* Time to compute what a mean hit brings back: its tokens alone, on an idle engine. */
static double computing_s(const struct answer_report *r, const struct trial *t)
{
    if (!t->hits)
        return NAN;
    const uint64_t tokens = t->origin[WARM_STORAGE] / t->hits;
    return seconds(step_setup_first_token_ns(&r->opts->engine.steps, tokens ? tokens : 1));
}

static void put_drive(struct jsonout *j, const struct answer_report *r)
{
    const struct trial *t = figures(r, ANSWER_THIS);
    const double written_day = asked_rate(t, 1) * DAY_S;
    const uint64_t capacity = r->capacity[TRACE_STORAGE];
    const double full_after_s =
        capacity != UINT64_MAX && written_day > 0 ? (double)capacity / written_day * DAY_S : NAN;
    jsonout_object(j, "drive");
    put_direction(j, r, "read", 0);
    put_direction(j, r, "write", 1);
    jsonout_f64(j, "in_flight", mean_in_flight(t));
    jsonout_f64(j, "written_bytes_day", written_day);
    jsonout_f64(j, "full_after_s", full_after_s);
    jsonout_f64(j, "filled", isnan(full_after_s) ? NAN : fmin(1, DAY_S / full_after_s));
    put_times(j, "hit_s", t->files_ns);
    jsonout_f64(j, "computing_s", computing_s(r, t));
    jsonout_bool(j, "reached", t->moved[0] + t->moved[1] > 0);
    jsonout_u64(j, "host_bytes_used", t->peak_bytes[TRACE_CPU] * r->opts->engine.room.ranks);
    jsonout_end(j);
}

static void put_origin(struct jsonout *j, const struct trial *t)
{
    static const char *const names[WARM_ORIGINS] = {"gpu", "host", "storage", "computed"};
    uint64_t all = 0;
    for (int o = 0; o < WARM_ORIGINS; o++)
        all += t->origin[o];
    jsonout_object(j, "origin");
    for (int o = 0; o < WARM_ORIGINS; o++)
        jsonout_f64(j, names[o], all ? (double)t->origin[o] / (double)all : NAN);
    jsonout_end(j);
}

static void put_limit(struct jsonout *j, const struct answer_report *r)
{
    const struct answer *a = r->answer;
    const uint64_t this = a->users[ANSWER_THIS].value, ideal = a->users[ANSWER_IDEAL].value;
    const uint64_t more = ideal > this ? ideal - this : 0;
    char text[WHY + 80], why[WHY], load[40];
    if (*explain(why, sizeof(why), r))
        snprintf(text, sizeof(text), "%s: %s", limit_text(a->limit), why);
    else if (more > 0)
        snprintf(text, sizeof(text), "%s: a faster drive adds at most %s", limit_text(a->limit),
                 load_text(load, sizeof(load), r, more));
    else
        snprintf(text, sizeof(text), "%s: even an ideal drive holds no more", limit_text(a->limit));
    jsonout_object(j, "limit");
    jsonout_text_value(j, "kind", limit_name(a->limit));
    jsonout_text_value(j, "text", text);
    jsonout_end(j);
}

static void put_holds_while(struct jsonout *j, const struct answer *a)
{
    if (!(a->holds_low > 0)) {
        jsonout_null(j, "holds_while");
        return;
    }
    jsonout_object(j, "holds_while");
    jsonout_object(j, "prefill");
    jsonout_f64(j, "low", a->holds_low);
    jsonout_f64(j, "high", a->holds_high);
    jsonout_end(j);
    jsonout_end(j);
}

static void put_wear(struct jsonout *j, const struct answer_report *r)
{
    const uint64_t capacity = r->capacity[TRACE_STORAGE];
    const struct endurance e = endurance_of(asked_rate(figures(r, ANSWER_THIS), 1) * DAY_S,
                                            capacity != UINT64_MAX ? (double)capacity : 0, r->tbw);
    jsonout_object(j, "wear");
    jsonout_f64(j, "drive_writes_day", e.drive_writes_per_day);
    jsonout_f64(j, "years", e.years);
    jsonout_end(j);
}

/* The drive's saving in a day: that of each request, times the requests of a day with it. */
static double saved_day(const struct answer_report *r, double with, double without)
{
    const struct trial *this = figures(r, ANSWER_THIS), *none = figures(r, ANSWER_NONE);
    const double a = (double)trial_done(this);
    const double b = (double)trial_done(none);
    return a > 0 && b > 0 ? (without / b - with / a) * trial_requests_s(this) * DAY_S : NAN;
}

static void put_worth(struct jsonout *j, const struct answer_report *r)
{
    const struct trial *this = figures(r, ANSWER_THIS), *none = figures(r, ANSWER_NONE);
    const double gpu_day = saved_day(r, prefill_gpu_s(r, this), prefill_gpu_s(r, none));
    jsonout_object(j, "worth");
    jsonout_f64(j, "prefill_tokens_day",
                saved_day(r, (double)prefill_tokens(this), (double)prefill_tokens(none)));
    jsonout_f64(j, "gpu_s_day", gpu_day);
    jsonout_f64(j, "money_day", r->gpu_price > 0 ? gpu_day / HOUR_S * r->gpu_price : NAN);
    jsonout_null(j, "currency");
    jsonout_end(j);
}

static void put_warm(struct jsonout *j, const struct trial *t)
{
    jsonout_object(j, "warm");
    jsonout_f64(j, "after_s", seconds(t->warm_ns));
    jsonout_bool(j, "settled", t->settled);
    jsonout_end(j);
}

static void put_window(struct jsonout *j, const struct answer_window *w)
{
    if (!w->written) {
        jsonout_null(j, "window");
        return;
    }
    jsonout_object(j, "window");
    jsonout_f64(j, "seconds", seconds(w->length_ns));
    jsonout_u64(j, "rows", w->stats.rows);
    jsonout_u64(j, "read_bytes", w->stats.read_bytes);
    jsonout_u64(j, "written_bytes", w->stats.written_bytes);
    jsonout_u64(j, "pool_objects", w->stats.pool_objects);
    jsonout_u64(j, "pool_bytes", w->stats.pool_bytes);
    jsonout_f64(j, "from_s", seconds(w->from_ns));
    jsonout_end(j);
}

/* ---- all of it ---- */

int answer_save(const struct answer_report *r, const char *path, struct err *e)
{
    struct jsonout *j = jsonout_create();
    if (!j)
        return err_nomem(e, "JSON");
    jsonout_identity(j, "kvgen", r->argc, r->argv, r->started_wall_ns);
    jsonout_u64(j, "answer", 1);
    put_settings(j, r);
    if (r->opts->asked)
        put_load(j, "asked", r, r->opts->asked);
    else
        jsonout_null(j, "asked");
    put_users(j, r);
    put_gain(j, r);
    put_verdict(j, r);
    put_variants(j, r);
    put_tried(j, r);
    put_drive(j, r);
    put_origin(j, figures(r, ANSWER_THIS));
    put_limit(j, r);
    put_holds_while(j, r->answer);
    put_wear(j, r);
    put_warm(j, figures(r, ANSWER_THIS));
    put_worth(j, r);
    put_window(j, &r->answer->window);
    const int rc = jsonout_save(j, path, e);
    jsonout_free(j);
    return rc;
}

void answer_print(FILE *f, const struct answer_report *r)
{
    const struct answer_users *u = r->answer->users;
    const struct trial *t = figures(r, ANSWER_THIS);
    char p95[32], without[32], why[WHY], a[40], b[40], c[40], d[40];
    const char *verdict = verdict_text(r);
    if (verdict)
        fprintf(f, "%-10s %s\n", verdict, load_text(a, sizeof(a), r, r->opts->asked));
    fprintf(f, "held       with the drive %s (%.4g-%.4g), without %s, with an ideal one %s\n",
            load_text(a, sizeof(a), r, u[ANSWER_THIS].value), in_unit(r, u[ANSWER_THIS].low),
            in_unit(r, u[ANSWER_THIS].high), load_text(b, sizeof(b), r, u[ANSWER_NONE].value),
            load_text(c, sizeof(c), r, u[ANSWER_IDEAL].value));
    fprintf(
        f, "at %s: first token p95 %s with the drive, %s without\n",
        load_text(d, sizeof(d), r, r->answer->at),
        units_format_duration(p95, sizeof(p95),
                              (double)hist_percentile(t->first_token_ns[TRACE_QOSES], PPM_P95)),
        units_format_duration(without, sizeof(without),
                              (double)hist_percentile(
                                  figures(r, ANSWER_NONE)->first_token_ns[TRACE_QOSES], PPM_P95)));
    if (*explain(why, sizeof(why), r))
        fprintf(f, "why        %s\n", why);
}
