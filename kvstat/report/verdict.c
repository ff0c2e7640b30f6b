/* --profile and --slo: judge the figures of one report, and says the verdict in words. Criteria on
 * operations that a file does not hold do not apply. What samples do not decide, what the file does
 * not carry, and what cannot be believed leaves the verdict open. */
#include "kvstat/report/verdict.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "kvstat/count/statistics.h"
#include "kvstat/report/bounds.h"
#include "kvstat/report/cells.h"
#include "kvstat/report/run_table.h"
#include "lib/base/err.h"
#include "lib/base/units.h"
#include "lib/facts/judge.h"

#define P95_PPM  950000u
#define SENTENCE VERDICT_SENTENCE

/* By profile and by whether the targets of the classes are judged. */
static const char *const profiles[][2] = {[VERDICT_NO_PROFILE] = {"none", "slo"},
                                          [VERDICT_LATENCY] = {"latency", "latency+slo"},
                                          [VERDICT_THROUGHPUT] = {"throughput", "throughput+slo"},
                                          [VERDICT_MLPERF] = {"mlperf", "mlperf+slo"}};
static const char *const words[] = {
    [VERDICT_FAIL] = "FAIL", [VERDICT_PASS] = "PASS", [VERDICT_INCONCLUSIVE] = "INCONCLUSIVE"};
static const char *const relations[] = {[VERDICT_BELOW] = "<", [VERDICT_ABOVE] = ">"};
static const char *const units[] = {[FIGURE_UNIT_NONE] = "rows",
                                    [FIGURE_UNIT_MS] = "ms",
                                    [FIGURE_UNIT_SHARE] = "share",
                                    [FIGURE_UNIT_GIB_PER_S] = "GiB/s"};

bool verdict_is_asked(struct verdict_asked asked)
{
    return asked.slo || asked.profile != VERDICT_NO_PROFILE;
}

static const char *profile_word(struct verdict_asked asked)
{
    return profiles[asked.profile][asked.slo];
}

/* ---- judging ---- */

static const struct verdict_criterion none = {.target = NAN,
                                              .actual = NAN,
                                              .low = NAN,
                                              .high = NAN,
                                              .service = NAN,
                                              .device = NAN,
                                              .drive = NAN,
                                              .independent = NAN,
                                              .to_decide = NAN,
                                              .outcome = VERDICT_INCONCLUSIVE};

static void add_criterion(struct verdict *v, const struct verdict_criterion *c)
{
    v->criterion[v->count++] = *c;
}

/* A figure that may not be believed decides nothing, unless it passes although it was made worse.
 * place: of its tier and operation. */
static void doubt(struct verdict_criterion *c, const struct figures *f, enum validity_kind kind,
                  unsigned place)
{
    const struct validity_of of = validity_at(figures_validity(f), kind, place);
    if (of.state == VALIDITY_GOOD || (of.only_worse && c->outcome == VERDICT_PASS))
        return;
    c->outcome = VERDICT_INCONCLUSIVE;
    if (!c->doubt[0])
        snprintf(c->doubt, sizeof(c->doubt), "%s: %s", validity_state_word(of.state), of.why);
}

/* The profile latency judges the drive, and times with the page cache in them are not the drive's.
 */
static void doubt_cache(const struct verdict *v, struct verdict_criterion *c,
                        const struct figures *f)
{
    const char *cache = figures_text(f, figure_id_fact(FACT_PAGE_CACHE));
    if (v->asked.profile != VERDICT_LATENCY || !cache || !cache[0])
        return;
    c->outcome = VERDICT_INCONCLUSIVE;
    if (!c->doubt[0])
        snprintf(c->doubt, sizeof(c->doubt),
                 "not the drive's: page cache included, as the engine sees it");
}

/* Stores as an engine makes them come near to its system calls, but not to its own time. */
static void doubt_stores(struct verdict_criterion *c, const struct figures *f, enum trace_op op)
{
    const char *like = figures_text(f, figure_id_fact(FACT_LIKE));
    if (op != TRACE_WRITE || !like || !like[0])
        return;
    c->outcome = VERDICT_INCONCLUSIVE;
    if (!c->doubt[0])
        snprintf(c->doubt, sizeof(c->doubt),
                 "how near stores as %.20s come to the engine's own is not shown: LMCache's took 3 "
                 "times as long",
                 like);
}

static bool holds(const struct figures *f, enum trace_tier tier, enum trace_op op)
{
    return figures_find(f, figure_id_direction(tier, op, FIGURE_OPS)) != NULL;
}

static double p95_ms(const struct hist *h)
{
    return h ? (double)hist_percentile(h, P95_PPM) / 1e6 : NAN;
}

/* Fills in what the percentile of the distribution is, against a limit in ms. */
static void measure(struct verdict_criterion *c, const struct figures *f, struct figure_id id,
                    uint32_t ppm, double limit_ms)
{
    static const enum verdict_outcome outcomes[] = {[BOUNDS_WITHIN] = VERDICT_PASS,
                                                    [BOUNDS_BEYOND] = VERDICT_FAIL,
                                                    [BOUNDS_UNDECIDED] = VERDICT_INCONCLUSIVE};
    const struct hist *h = figures_hist(f, id);
    c->unit = FIGURE_UNIT_MS;
    c->relation = VERDICT_BELOW;
    c->target = limit_ms;
    if (!h) {
        snprintf(c->doubt, sizeof(c->doubt), "unknown: the file does not carry it");
        return;
    }
    struct bounds b = bounds_of(h, figures_blocks(f, &id), ppm, (int64_t)llround(limit_ms * 1e6));
    c->actual = (double)hist_percentile(h, ppm) / 1e6;
    c->low = b.low / 1e6;
    c->high = b.high / 1e6;
    c->samples = hist_count(h);
    c->independent = floor(b.independent);
    c->to_decide = b.answer == BOUNDS_UNDECIDED ? b.samples_to_decide : NAN;
    c->outcome = outcomes[b.answer];
}

/* P95 of the drive's own time; NAN: not known of nearly all operations, as where a cache gave some.
 */
static double drive_p95_ms(const struct figures *f, enum trace_op op)
{
    const struct hist *drive =
        figures_hist(f, figure_id_direction(TRACE_STORAGE, op, FIGURE_AT_DRIVE));
    const struct hist *all =
        figures_hist(f, figure_id_direction(TRACE_STORAGE, op, FIGURE_SERVICE));
    bool nearly = drive && all && (double)hist_count(drive) >= 0.95 * (double)hist_count(all);
    return nearly ? p95_ms(drive) : NAN;
}

/* The P95 of service (device) times of Tier-2, with that of device (service) times beside it. */
static void judge_storage(struct verdict *v, const struct figures *f, enum trace_op op,
                          enum figure_what what, double limit_ms)
{
    static const char *const names[2][2] = {{"storage_read_p95", "storage_read_device_p95"},
                                            {"storage_write_p95", "storage_write_device_p95"}};
    bool device = what == FIGURE_DEVICE;
    struct figure_id other =
        figure_id_direction(TRACE_STORAGE, op, device ? FIGURE_SERVICE : FIGURE_DEVICE);
    struct verdict_criterion c = none;
    if (!holds(f, TRACE_STORAGE, op))
        return;
    c.name = names[op == TRACE_WRITE][device];
    measure(&c, f, figure_id_direction(TRACE_STORAGE, op, what), P95_PPM, limit_ms);
    *(device ? &c.service : &c.device) = p95_ms(figures_hist(f, other));
    if (v->asked.profile == VERDICT_LATENCY)
        c.drive = drive_p95_ms(f, op);
    doubt(&c, f, VALIDITY_STORAGE,
          VALIDITY_EVERYWHERE); /* decides, so it is the one that is told */
    doubt(&c, f, device ? VALIDITY_DEVICE : VALIDITY_SERVICE,
          validity_place(TRACE_STORAGE, (uint8_t)op));
    doubt_cache(v, &c, f);
    doubt_stores(&c, f, op);
    add_criterion(v, &c);
}

/* The slower of the CPU tier's reads and writes, as the MLPerf benchmark judges it. */
static void judge_cpu(struct verdict *v, const struct figures *f, double limit_ms)
{
    const struct figure_id read = figure_id_direction(TRACE_CPU, TRACE_READ, FIGURE_SERVICE);
    const struct figure_id write = figure_id_direction(TRACE_CPU, TRACE_WRITE, FIGURE_SERVICE);
    double of_reads = p95_ms(figures_hist(f, read)), of_writes = p95_ms(figures_hist(f, write));
    struct verdict_criterion c = none;
    if (!holds(f, TRACE_CPU, TRACE_READ) && !holds(f, TRACE_CPU, TRACE_WRITE))
        return;
    c.name = "cpu_p95";
    bool reads = of_reads >= of_writes || isnan(of_writes);
    measure(&c, f, reads ? read : write, P95_PPM, limit_ms);
    doubt(&c, f, VALIDITY_SERVICE, validity_place(TRACE_CPU, reads ? TRACE_READ : TRACE_WRITE));
    add_criterion(v, &c);
}

/* A run is timed when its operations had a time at which they were due: nearly all of them, and not
 * only the first of each request. */
static bool is_timed(const struct figures *f, enum trace_op op)
{
    const struct hist *due =
        figures_hist(f, figure_id_direction(TRACE_STORAGE, op, FIGURE_RESPONSE));
    const struct hist *all =
        figures_hist(f, figure_id_direction(TRACE_STORAGE, op, FIGURE_SERVICE));
    return due && all && (double)hist_count(due) >= 0.9 * (double)hist_count(all);
}

static void judge_response(struct verdict *v, const struct figures *f, enum trace_op op,
                           double limit_ms)
{
    struct verdict_criterion c = none;
    if (!is_timed(f, op))
        return;
    c.name = op == TRACE_WRITE ? "storage_write_response_p95" : "storage_read_response_p95";
    measure(&c, f, figure_id_direction(TRACE_STORAGE, op, FIGURE_RESPONSE), P95_PPM, limit_ms);
    doubt(&c, f, VALIDITY_STORAGE, VALIDITY_EVERYWHERE);
    doubt(&c, f, VALIDITY_RESPONSE, validity_place(TRACE_STORAGE, (uint8_t)op));
    doubt_cache(v, &c, f);
    doubt_stores(&c, f, op);
    add_criterion(v, &c);
}

/* How much longer the line of waiting operations gets in a second of a timed run. */
static void judge_backlog(struct verdict *v, const struct figures *f)
{
    double elapsed_ns = 1e9 * figures_number(f, figure_id(FIGURE_OF_RUN, FIGURE_ELAPSED));
    struct verdict_criterion c = none;
    struct blocks_mean rise;
    if (!is_timed(f, TRACE_READ) && !is_timed(f, TRACE_WRITE))
        return;
    c.name = "backlog_growth";
    c.unit = FIGURE_UNIT_SHARE;
    c.relation = VERDICT_BELOW;
    c.target = JUDGE_BACKLOG;
    c.samples = blocks_count(figures_waits(f));
    if (elapsed_ns > 0 && blocks_rise(figures_waits(f), &rise)) {
        double half =
            statistics_t_quantile(2 * (1 - BOUNDS_CONFIDENCE), rise.freedom) * sqrt(rise.variance);
        c.actual = rise.mean / elapsed_ns;
        c.low = (rise.mean - half) / elapsed_ns;
        c.high = (rise.mean + half) / elapsed_ns;
        c.outcome = c.high < c.target   ? VERDICT_PASS
                    : c.low >= c.target ? VERDICT_FAIL
                                        : VERDICT_INCONCLUSIVE;
    }
    for (uint8_t tier = 0; tier < TRACE_TIERS; tier++)
        for (uint8_t op = TRACE_READ; op <= TRACE_WRITE; op++)
            doubt(&c, f, VALIDITY_RESPONSE, validity_place(tier, op)); /* waits of all of them */
    add_criterion(v, &c);
}

/* A value that has no samples: what is counted is what there was. */
static void judge_exact(struct verdict_criterion *c)
{
    bool passes = c->relation == VERDICT_BELOW ? c->actual < c->target : c->actual > c->target;
    c->outcome = isnan(c->actual) ? VERDICT_INCONCLUSIVE : passes ? VERDICT_PASS : VERDICT_FAIL;
    if (isnan(c->actual))
        snprintf(c->doubt, sizeof(c->doubt), "unknown: the file does not carry it");
}

static void judge_hit_rate(struct verdict *v, const struct figures *f, double limit)
{
    struct verdict_criterion c = none;
    if (figures_count(f, figure_id(FIGURE_OF_LOOKUPS, FIGURE_LOOKUPS)) == 0)
        return;
    c.name = "hit_rate";
    c.unit = FIGURE_UNIT_SHARE;
    c.relation = VERDICT_ABOVE;
    c.target = limit;
    c.actual = figures_number(f, figure_id(FIGURE_OF_LOOKUPS, FIGURE_HIT_RATE));
    judge_exact(&c);
    add_criterion(v, &c);
}

/* Rows whose data was not moved, or was wrong. A read that found nothing is a miss. */
static void judge_failures(struct verdict *v, const struct figures *f)
{
    const struct figure_id corrupt = figure_id(FIGURE_OF_STATUS, FIGURE_CORRUPT);
    const struct figure_id failed = figure_id(FIGURE_OF_STATUS, FIGURE_FAILED);
    struct verdict_criterion c = none;
    c.name = "failed_rows";
    c.relation = VERDICT_BELOW;
    c.target = 1;
    if (figures_find(f, failed))
        c.actual = (double)figures_count(f, corrupt) + (double)figures_count(f, failed);
    judge_exact(&c);
    add_criterion(v, &c);
}

/* Operations that all failed moved nothing: that is 0, not unknown. */
static void judge_bandwidth(struct verdict *v, const struct figures *f, enum trace_op op,
                            const char *name)
{
    bool moved = figures_count(f, figure_id_direction(TRACE_STORAGE, op, FIGURE_MOVED)) > 0;
    struct verdict_criterion c = none;
    if (!holds(f, TRACE_STORAGE, op))
        return;
    c.name = name;
    c.unit = FIGURE_UNIT_GIB_PER_S;
    c.relation = VERDICT_ABOVE;
    c.target = 0;
    c.actual =
        moved ? figures_number(f, figure_id_direction(TRACE_STORAGE, op, FIGURE_GIB_PER_S)) : 0;
    judge_exact(&c);
    doubt(&c, f, VALIDITY_STORAGE, VALIDITY_EVERYWHERE);
    doubt_stores(&c, f, op);
    add_criterion(v, &c);
}

/* ---- the targets of the classes ---- */

/* Requests that were still in line at the end have no time, and it would be a long one. */
static void doubt_line(struct verdict_criterion *c, const struct figures *f, uint8_t qos,
                       uint32_t ppm)
{
    const struct figure_id id = {
        .scope = FIGURE_OF_QOS, .by = GROUPS_QOS, .qos = qos, .what = FIGURE_WAITING};
    uint64_t waiting = figures_count(f, id);
    double beyond = (double)(c->samples + waiting) * (1000000.0 - ppm) / 1e6;
    if (c->outcome == VERDICT_FAIL || (double)waiting <= beyond)
        return;
    c->outcome = VERDICT_INCONCLUSIVE;
    if (!c->doubt[0])
        snprintf(c->doubt, sizeof(c->doubt), "unknown: %llu requests were still in line at the end",
                 (unsigned long long)waiting);
}

/* Times of requests that hold generation or pauses are not the trace's own when these were divided;
 * the load was another one, too, so nothing is known of the direction. */
static void doubt_speed(struct verdict_criterion *c, const struct figures *f)
{
    if (!figures_is_scaled(f))
        return;
    c->outcome = VERDICT_INCONCLUSIVE;
    if (!c->doubt[0])
        snprintf(c->doubt, sizeof(c->doubt),
                 "unknown: --speed %g divided generation and pauses; judge a run at --speed 1",
                 figures_number(f, figure_id(FIGURE_OF_PROVENANCE, FIGURE_SPEED)));
}

/* One class against its four targets: end to end, or what storage decides of the time to the first
 * token. */
static void judge_class(struct verdict *v, struct figures *f, uint8_t qos, bool first_token)
{
    static const uint32_t ppm[FIGURES_TARGETS] = {950000, 990000, 999000, 999900};
    static const char *const percentiles[FIGURES_TARGETS] = {"p95", "p99", "p999", "p9999"};
    const struct figure_id time = {.scope = FIGURE_OF_QOS,
                                   .by = GROUPS_QOS,
                                   .qos = qos,
                                   .what = first_token ? FIGURE_FIRST_TOKEN : FIGURE_END_TO_END};
    struct figure_id target = {.scope = FIGURE_OF_TARGETS, .by = GROUPS_QOS, .qos = qos};
    for (unsigned i = 0; i < FIGURES_TARGETS; i++) {
        struct verdict_criterion c = none;
        char name[64];
        target.what = (uint8_t)(FIGURE_TARGET_P95 + i);
        double limit_ms = figures_number(f, target);
        snprintf(name, sizeof(name), "%s_%s_%s", trace_qos_text(qos),
                 first_token ? "first_token" : "end_to_end", percentiles[i]);
        c.name = figures_keep(f, name);
        c.unit = FIGURE_UNIT_MS;
        if (isnan(limit_ms))
            snprintf(c.doubt, sizeof(c.doubt),
                     "unknown: the file does not tell when all requests "
                     "arrived");
        else
            measure(&c, f, time, ppm[i], limit_ms);
        doubt(&c, f, first_token ? VALIDITY_FIRST_TOKEN : VALIDITY_END_TO_END, VALIDITY_EVERYWHERE);
        doubt(&c, f, VALIDITY_STORAGE, VALIDITY_EVERYWHERE);
        doubt_line(&c, f, qos, ppm[i]);
        doubt_speed(&c, f);
        add_criterion(v, &c);
    }
}

static void judge_slo(struct verdict *v, struct figures *f)
{
    bool first_token = figures_generates(f); /* end-to-end times are not storage's */
    for (uint8_t q = 0; q < TRACE_QOSES; q++) {
        const struct figure_id requests = {
            .scope = FIGURE_OF_QOS, .by = GROUPS_QOS, .qos = q, .what = FIGURE_REQUESTS};
        if (figures_count(f, requests) > 0)
            judge_class(v, f, q, first_token);
    }
    v->slo_of = figure_member(first_token ? FIGURE_FIRST_TOKEN : FIGURE_END_TO_END);
}

static size_t count_of(const struct verdict *v, enum verdict_outcome outcome)
{
    size_t n = 0;
    for (size_t i = 0; i < v->count; i++)
        n += v->criterion[i].outcome == outcome;
    return n;
}

enum verdict_outcome verdict_of_run(const struct run_table *t, size_t run,
                                    struct verdict_asked asked)
{
    const char *judged = run_table_text(t, run, figure_id(FIGURE_OF_VERDICT, FIGURE_PROFILE));
    const char *word = run_table_text(t, run, figure_id(FIGURE_OF_VERDICT, FIGURE_VERDICT));
    if (strcmp(judged, profile_word(asked)) != 0)
        return VERDICT_INCONCLUSIVE;
    if (strcmp(word, words[VERDICT_FAIL]) == 0)
        return VERDICT_FAIL;
    /* Earlier versions judged runs that were not valid. */
    bool passed = strcmp(word, words[VERDICT_PASS]) == 0 &&
                  !run_table_is_not(t, run, figure_id(FIGURE_OF_PROVENANCE, FIGURE_VALID));
    return passed ? VERDICT_PASS : VERDICT_INCONCLUSIVE;
}

/* ---- in words ---- */

static const char *value(char *buf, const struct verdict_criterion *c, double v)
{
    char number[CELL];
    if (isnan(v))
        snprintf(buf, CELL, "-");
    else if (isinf(v))
        snprintf(buf, CELL, "no bound");
    else if (c->unit == FIGURE_UNIT_SHARE)
        cell_share(buf, v);
    else
        snprintf(buf, CELL, "%s %s", cell_number(number, v), units[c->unit]);
    return buf;
}

static void add(char *buf, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void add(char *buf, const char *fmt, ...)
{
    size_t len = strlen(buf);
    va_list args;
    va_start(args, fmt);
    vsnprintf(buf + len, SENTENCE - len, fmt, args);
    va_end(args);
}

/* "storage_read_p95 is 300 ms, not < 200 ms (95 % bounds 280 ms to 320 ms)". */
static void add_missed(char *buf, const struct verdict_criterion *c)
{
    char a[CELL], b[CELL];
    add(buf, "%s is %s", c->name, value(a, c, c->actual));
    add(buf, ", not %s %s", relations[c->relation], value(b, c, c->target));
    if (!isnan(c->low))
        add(buf, " (95 %% bounds %s to %s)", value(a, c, c->low), value(b, c, c->high));
    if (!isnan(c->drive))
        add(buf, ", the drive's own P95 is %s", value(a, c, c->drive));
}

const char *verdict_reason(char buf[VERDICT_REASON], const struct verdict_criterion *c)
{
    char number[CELL];
    size_t len;
    buf[0] = '\0';
    if (c->outcome != VERDICT_INCONCLUSIVE)
        return buf;
    if (c->doubt[0]) {
        snprintf(buf, VERDICT_REASON, "%s", c->doubt);
        return buf;
    }
    len = (size_t)snprintf(buf, VERDICT_REASON, "%s sample%s", cell_count(number, c->samples),
                           units_plural(c->samples));
    if (c->independent < (double)c->samples)
        len += (size_t)snprintf(buf + len, VERDICT_REASON - len, " worth %s independent one%s",
                                cell_count(number, (uint64_t)c->independent),
                                units_plural((uint64_t)c->independent));
    if (c->to_decide < 1e12)
        snprintf(buf + len, VERDICT_REASON - len, ", about %s would decide",
                 cell_count(number, (uint64_t)c->to_decide));
    else
        snprintf(buf + len, VERDICT_REASON - len, " do not decide");
    return buf;
}

const char *verdict_speed(char buf[VERDICT_SPEED], double speed)
{
    buf[0] = '\0';
    if (isfinite(speed) && speed != 1)
        snprintf(buf, VERDICT_SPEED, " (trace at %g times its speed)", speed);
    return buf;
}

static void add_open(char *buf, const struct verdict_criterion *c)
{
    char a[CELL], b[CELL], reason[VERDICT_REASON];
    if (c->doubt[0]) {
        add(buf, "%s is %s", c->name, c->doubt);
        return;
    }
    add(buf, "%s is %s", c->name, value(a, c, c->actual));
    if (!isnan(c->low))
        add(buf, ", by its bounds %s to %s", value(a, c, c->low), value(b, c, c->high));
    add(buf, ", against %s, on %s", value(a, c, c->target), verdict_reason(reason, c));
}

static void add_criteria(char *buf, const struct verdict *v, enum verdict_outcome outcome)
{
    const char *separator = "";
    for (size_t i = 0; i < v->count; i++) {
        if (v->criterion[i].outcome != outcome)
            continue;
        add(buf, "%s", separator);
        if (outcome == VERDICT_FAIL)
            add_missed(buf, &v->criterion[i]);
        else
            add_open(buf, &v->criterion[i]);
        separator = "; ";
    }
}

/* The answer in a sentence, SENTENCE bytes. */
static const char *sentence(char *buf, const struct verdict *v)
{
    const char *profile = profile_word(v->asked);
    const char *criteria = v->count == 1 ? "on" : "a";
    char speed[VERDICT_SPEED];
    buf[0] = '\0';
    add(buf, "%s%s: ", words[v->outcome], verdict_speed(speed, v->speed));
    if (v->in_warmup) {
        add(buf, "all rows started in the warm-up: profile %s has none to judge", profile);
    } else if (v->outcome == VERDICT_PASS) {
        add(buf, "the run meets all %zu criteri%s of profile %s", v->count, criteria, profile);
    } else if (v->outcome == VERDICT_FAIL) {
        add(buf, "the run misses %zu of %zu criteri%s of profile %s: ", count_of(v, VERDICT_FAIL),
            v->count, criteria, profile);
        add_criteria(buf, v, VERDICT_FAIL);
    } else if (count_of(v, VERDICT_INCONCLUSIVE) == 0) {
        add(buf, "the file holds nothing that profile %s judges", profile);
    } else {
        size_t open = count_of(v, VERDICT_INCONCLUSIVE);
        add(buf, "%zu of %zu criteri%s of profile %s %s not decided: ", open, v->count, criteria,
            profile, open == 1 ? "is" : "are");
        add_criteria(buf, v, VERDICT_INCONCLUSIVE);
    }
    add(buf, ".");
    return buf;
}

void verdict_text(FILE *out, const struct verdict *v)
{
    char target[CELL], actual[CELL], low[CELL], high[CELL], beside[CELL], rate[CELL];
    bool device = v->asked.profile == VERDICT_MLPERF;
    char reason[VERDICT_REASON], speed[VERDICT_SPEED];
    fprintf(out, "\nProfile %s: %s%s\n", profile_word(v->asked), words[v->outcome],
            verdict_speed(speed, v->speed));
    if (v->in_warmup)
        fprintf(out, "  all rows started in the warm-up: none is left to judge\n");
    else if (v->count == 0)
        fprintf(out, "  nothing in the file that it judges\n");
    if (v->count > 0)
        fprintf(out, "  %-29s %11s %11s %9s %9s %9s  %s\n", "criterion", "target", "value",
                "95 % low", "high", device ? "service" : "device", "verdict");
    for (size_t i = 0; i < v->count; i++) {
        const struct verdict_criterion *c = &v->criterion[i];
        fprintf(out, "  %-29s %1s %9s %11s %9s %9s %9s  %s\n", c->name, relations[c->relation],
                value(target, c, c->target), value(actual, c, c->actual), value(low, c, c->low),
                value(high, c, c->high), value(beside, c, device ? c->service : c->device),
                words[c->outcome]);
        if (c->outcome == VERDICT_INCONCLUSIVE)
            cell_paragraph(out, "", verdict_reason(reason, c));
        if (!isnan(c->drive))
            fprintf(out, "    at the drive itself (--device-times): %s\n",
                    value(actual, c, c->drive));
    }
    if (v->slo_of)
        fprintf(out, "  targets of the classes: %s\n",
                v->slo_of == figure_member(FIGURE_END_TO_END)
                    ? "end to end; generation took no time"
                    : "what storage decides of the time to the first token; generation took time");
    if (!isnan(v->figure_of_merit))
        fprintf(out, "  figure of merit: %s generated tokens/s of wall clock\n",
                cell_number(rate, v->figure_of_merit));
}

void verdict_last_words(FILE *out, const struct verdict *v)
{
    char text[SENTENCE];
    cell_verdict(out, sentence(text, v));
}

const char *verdict_sentence_of_runs(char text[VERDICT_SENTENCE], const struct run_table *t,
                                     struct verdict_asked asked)
{
    char names[SENTENCE] = "", speed[VERDICT_SPEED] = "";
    enum verdict_outcome worst = VERDICT_PASS;
    size_t passed = 0, all = run_table_runs(t);
    text[0] = '\0';
    for (size_t run = 0; run < all; run++) {
        enum verdict_outcome outcome = verdict_of_run(t, run, asked);
        passed += outcome == VERDICT_PASS;
        if (outcome != VERDICT_PASS)
            add(names, "%s%s", names[0] ? "; " : "", run_table_label(t, run));
        if (outcome == VERDICT_FAIL || (outcome == VERDICT_INCONCLUSIVE && worst == VERDICT_PASS))
            worst = outcome;
        if (!speed[0])
            verdict_speed(speed,
                          run_table_number(t, run, figure_id(FIGURE_OF_PROVENANCE, FIGURE_SPEED)));
    }
    err_make_harmless(names);
    add(text, "%s%s: %zu of %zu run%s pass%s profile %s", words[worst], speed, passed, all,
        units_plural(all), passed == 1 ? "es" : "", profile_word(asked));
    if (passed < all)
        add(text, "; these do not: %s", names);
    add(text, ".");
    return text;
}

void verdict_last_words_of_runs(FILE *out, const struct run_table *t, struct verdict_asked asked)
{
    char text[SENTENCE];
    cell_verdict(out, verdict_sentence_of_runs(text, t, asked));
}

/* ---- as figures ---- */

static struct figure text_figure(struct figure_id id, const char *text)
{
    return (struct figure){.id = id, .form = FIGURE_FORM_TEXT, .text = text};
}

static struct figure number_figure(struct figure_id id, double v)
{
    return (struct figure){.id = id, .form = FIGURE_FORM_NUMBER, .number = v};
}

static void put_criterion(struct figures *f, const struct verdict_criterion *c)
{
    struct figure_id id = figure_id(FIGURE_OF_CRITERION, FIGURE_ITSELF);
    id.label = c->name;
    const double number[] = {c->target, c->actual, c->low, c->high, c->service, c->device};
    struct figure text = text_figure(id, relations[c->relation]);
    char reason[VERDICT_REASON];
    text.id.what = FIGURE_RELATION;
    figures_put(f, &text);
    for (size_t i = 0; i < sizeof(number) / sizeof(number[0]); i++) {
        id.what = (uint8_t)(FIGURE_TARGET + i);
        struct figure figure = number_figure(id, isinf(number[i]) ? NAN : number[i]);
        figures_put(f, &figure);
    }
    struct figure rest[] = {
        text_figure(id, units[c->unit]),
        {.id = id,
         .form = c->samples > 0 ? FIGURE_FORM_UNSIGNED : FIGURE_FORM_UNKNOWN,
         .count = c->samples},
        number_figure(id, c->independent),
        number_figure(id, isinf(c->to_decide) ? NAN : c->to_decide),
        text_figure(id, figures_keep(f, c->doubt)),
        text_figure(id, figures_keep(f, verdict_reason(reason, c))),
        {.id = id,
         .form = c->outcome == VERDICT_INCONCLUSIVE ? FIGURE_FORM_UNKNOWN : FIGURE_FORM_TRUTH,
         .truth = c->outcome == VERDICT_PASS}};
    for (size_t i = 0; i < sizeof(rest) / sizeof(rest[0]); i++) {
        rest[i].id.what = (uint8_t)(FIGURE_UNIT + i);
        if (rest[i].form == FIGURE_FORM_TEXT && !rest[i].text[0])
            rest[i].form = FIGURE_FORM_UNKNOWN;
        figures_put(f, &rest[i]);
    }
    if (isnan(c->drive))
        return;
    id.what = FIGURE_SAME_OF_DRIVE;
    struct figure drive = number_figure(id, c->drive);
    figures_put(f, &drive);
}

static void judge_profile(struct verdict *v, const struct verdict_limits *limits,
                          const struct figures *f)
{
    switch (v->asked.profile) {
    case VERDICT_LATENCY:
        judge_storage(v, f, TRACE_WRITE, FIGURE_SERVICE, limits->write_p95_ms);
        judge_storage(v, f, TRACE_READ, FIGURE_SERVICE, limits->read_p95_ms);
        judge_cpu(v, f, limits->cpu_p95_ms);
        judge_response(v, f, TRACE_WRITE, limits->write_p95_ms);
        judge_response(v, f, TRACE_READ, limits->read_p95_ms);
        judge_backlog(v, f);
        break;
    case VERDICT_THROUGHPUT:
        judge_bandwidth(v, f, TRACE_READ, "storage_read_bandwidth");
        judge_bandwidth(v, f, TRACE_WRITE, "storage_write_bandwidth");
        judge_backlog(v, f);
        v->figure_of_merit =
            figures_number(f, figure_id(FIGURE_OF_WALL, FIGURE_GENERATED_TOKENS_PER_S));
        break;
    case VERDICT_MLPERF:
        judge_storage(v, f, TRACE_WRITE, FIGURE_DEVICE, limits->write_p95_ms);
        judge_storage(v, f, TRACE_READ, FIGURE_DEVICE, limits->read_p95_ms);
        judge_cpu(v, f, limits->cpu_p95_ms);
        judge_hit_rate(v, f, limits->hit_rate);
        break;
    case VERDICT_NO_PROFILE:
        break;
    }
}

void verdict_judge(struct verdict *v, struct verdict_asked asked,
                   const struct verdict_limits *limits, struct figures *f)
{
    const enum figure_scope scope = FIGURE_OF_VERDICT;
    char text[SENTENCE];
    *v = (struct verdict){.asked = asked,
                          .in_warmup = figures_in_warmup(f),
                          .speed = figures_number(f, figure_id(FIGURE_OF_PROVENANCE, FIGURE_SPEED)),
                          .figure_of_merit = NAN};
    if (!verdict_is_asked(asked)) {
        figures_put(f, &(struct figure){.id = figure_id(scope, FIGURE_ITSELF)});
        return;
    }
    /* In a trace nothing ran: there is nothing to judge. */
    if (figures_is_result(f))
        judge_profile(v, limits, f);
    if (figures_is_result(f) && asked.slo)
        judge_slo(v, f);
    bool any = v->count > 0;
    if (figures_is_result(f))
        judge_failures(v, f);
    v->outcome = count_of(v, VERDICT_FAIL) > 0                   ? VERDICT_FAIL
                 : !any || count_of(v, VERDICT_INCONCLUSIVE) > 0 ? VERDICT_INCONCLUSIVE
                                                                 : VERDICT_PASS;

    const struct figure figure[] = {
        text_figure(figure_id(scope, FIGURE_PROFILE), profile_word(asked)),
        {.id = figure_id(scope, FIGURE_VERDICT),
         .form = FIGURE_FORM_WORD,
         .list = {words, v->outcome}},
        text_figure(figure_id(scope, FIGURE_SENTENCE), figures_keep(f, sentence(text, v))),
        number_figure(figure_id(scope, FIGURE_GENERATED_TOKENS_PER_S), v->figure_of_merit),
        text_figure(figure_id(scope, FIGURE_SLO_OF), v->slo_of)};
    size_t n = sizeof(figure) / sizeof(figure[0]);
    for (size_t i = 0; i < (v->slo_of ? n : n - 1); i++)
        figures_put(f, &figure[i]);
    for (size_t i = 0; i < v->count; i++)
        put_criterion(f, &v->criterion[i]);
    if (v->count == 0)
        figures_put(f, &(struct figure){.id = figure_id(FIGURE_OF_CRITERION, FIGURE_ITSELF),
                                        .form = FIGURE_FORM_TEXTS});
}
