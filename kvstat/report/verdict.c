/* --profile: judges the figures of one report, and says the verdict in words. Criteria on
 * operations that a file does not hold do not apply. A value that the file does not carry leaves
 * the verdict open, since a check that could not be made was not passed. */
#include "kvstat/report/verdict.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "kvstat/report/cells.h"
#include "kvstat/report/run_table.h"
#include "lib/base/err.h"
#include "lib/base/units.h"

#define P95_PPM  950000u
#define SENTENCE 1024

static const char *const profiles[] = {[VERDICT_NO_PROFILE] = "none",
                                       [VERDICT_LATENCY] = "latency",
                                       [VERDICT_THROUGHPUT] = "throughput"};
static const char *const words[] = {
    [VERDICT_FAIL] = "FAIL", [VERDICT_PASS] = "PASS", [VERDICT_UNKNOWN] = "NOT KNOWN"};
static const char *const relations[] = {[VERDICT_BELOW] = "<", [VERDICT_ABOVE] = ">"};
static const char *const units[] = {
    [FIGURE_UNIT_MS] = "ms", [FIGURE_UNIT_SHARE] = "share", [FIGURE_UNIT_GIB_PER_S] = "GiB/s"};

/* ---- judging ---- */

static void judge(struct verdict *v, struct verdict_criterion c)
{
    bool passes = c.relation == VERDICT_BELOW ? c.actual < c.target : c.actual > c.target;
    c.outcome = isnan(c.actual) ? VERDICT_UNKNOWN : passes ? VERDICT_PASS : VERDICT_FAIL;
    v->criterion[v->count++] = c;
}

static bool holds(const struct figures *f, enum trace_tier tier, enum trace_op op)
{
    return figures_find(f, figure_id_direction(tier, op, FIGURE_OPS)) != NULL;
}

static double p95_ms(const struct hist *h)
{
    return h ? (double)hist_percentile(h, P95_PPM) / 1e6 : NAN;
}

static void judge_device(struct verdict *v, const struct figures *f, enum trace_op op,
                         const char *name, double limit_ms)
{
    const struct hist *device =
        figures_hist(f, figure_id_direction(TRACE_STORAGE, op, FIGURE_DEVICE));
    const struct hist *service =
        figures_hist(f, figure_id_direction(TRACE_STORAGE, op, FIGURE_SERVICE));
    if (holds(f, TRACE_STORAGE, op))
        judge(v, (struct verdict_criterion){.name = name,
                                            .unit = FIGURE_UNIT_MS,
                                            .relation = VERDICT_BELOW,
                                            .target = limit_ms,
                                            .actual = p95_ms(device),
                                            .samples = device ? hist_count(device) : 0,
                                            .service = p95_ms(service)});
}

/* The slower of the CPU tier's reads and writes, as the MLPerf benchmark judges it. */
static void judge_cpu(struct verdict *v, const struct figures *f, double limit_ms)
{
    const struct hist *read =
        figures_hist(f, figure_id_direction(TRACE_CPU, TRACE_READ, FIGURE_SERVICE));
    const struct hist *write =
        figures_hist(f, figure_id_direction(TRACE_CPU, TRACE_WRITE, FIGURE_SERVICE));
    double of_reads = p95_ms(read), of_writes = p95_ms(write), p95 = fmax(of_reads, of_writes);
    const struct hist *slower = of_reads >= of_writes || isnan(of_writes) ? read : write;
    if (holds(f, TRACE_CPU, TRACE_READ) || holds(f, TRACE_CPU, TRACE_WRITE))
        judge(v, (struct verdict_criterion){.name = "cpu_p95",
                                            .unit = FIGURE_UNIT_MS,
                                            .relation = VERDICT_BELOW,
                                            .target = limit_ms,
                                            .actual = p95,
                                            .samples = slower ? hist_count(slower) : 0,
                                            .service = p95});
}

static void judge_hit_rate(struct verdict *v, const struct figures *f, double limit)
{
    if (figures_count(f, figure_id(FIGURE_OF_LOOKUPS, FIGURE_LOOKUPS)) > 0)
        judge(v, (struct verdict_criterion){
                     .name = "hit_rate",
                     .unit = FIGURE_UNIT_SHARE,
                     .relation = VERDICT_ABOVE,
                     .target = limit,
                     .actual = figures_number(f, figure_id(FIGURE_OF_LOOKUPS, FIGURE_HIT_RATE)),
                     .service = NAN});
}

/* Operations that all failed moved nothing: that is 0, not unknown. What a trace asks for is not a
 * bandwidth. */
static void judge_bandwidth(struct verdict *v, const struct figures *f, enum trace_op op,
                            const char *name)
{
    bool moved = figures_count(f, figure_id_direction(TRACE_STORAGE, op, FIGURE_MOVED)) > 0;
    double rate = NAN;
    if (!holds(f, TRACE_STORAGE, op))
        return;
    if (figures_is_result(f))
        rate =
            moved ? figures_number(f, figure_id_direction(TRACE_STORAGE, op, FIGURE_GIB_PER_S)) : 0;
    judge(v, (struct verdict_criterion){.name = name,
                                        .unit = FIGURE_UNIT_GIB_PER_S,
                                        .relation = VERDICT_ABOVE,
                                        .target = 0,
                                        .actual = rate,
                                        .service = NAN});
}

static size_t count_of(const struct verdict *v, enum verdict_outcome outcome)
{
    size_t n = 0;
    for (size_t i = 0; i < v->count; i++)
        n += v->criterion[i].outcome == outcome;
    return n;
}

bool verdict_passed(const struct verdict *v)
{
    return v->outcome == VERDICT_PASS && v->valid;
}

bool verdict_passed_run(const struct run_table *t, size_t run, enum verdict_profile profile)
{
    const char *judged = run_table_text(t, run, figure_id(FIGURE_OF_VERDICT, FIGURE_PROFILE));
    const char *word = run_table_text(t, run, figure_id(FIGURE_OF_VERDICT, FIGURE_VERDICT));
    return strcmp(judged, profiles[profile]) == 0 && strcmp(word, words[VERDICT_PASS]) == 0 &&
           !run_table_is_not(t, run, figure_id(FIGURE_OF_PROVENANCE, FIGURE_VALID));
}

/* ---- in words ---- */

static const char *value(char *buf, const struct verdict_criterion *c, double v)
{
    char number[CELL];
    if (isnan(v))
        snprintf(buf, CELL, "-");
    else if (c->unit == FIGURE_UNIT_SHARE)
        cell_share(buf, v);
    else
        snprintf(buf, CELL, "%s %s", cell_number(number, v), units[c->unit]);
    return buf;
}

/* Of a criterion that is a P95; the others have no samples. */
static bool few_samples(const struct verdict_criterion *c)
{
    return c->samples > 0 && !figure_enough(c->samples, P95_PPM);
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

/* "storage_read_device_p95 is 300 ms, not < 200 ms": those with that outcome. */
static void add_criteria(char *buf, const struct verdict *v, enum verdict_outcome outcome)
{
    const char *separator = "";
    char actual[CELL], target[CELL];
    for (size_t i = 0; i < v->count; i++) {
        const struct verdict_criterion *c = &v->criterion[i];
        if (c->outcome != outcome)
            continue;
        add(buf, "%s%s", separator, c->name);
        if (outcome == VERDICT_FAIL)
            add(buf, " is %s, not %s %s", value(actual, c, c->actual), relations[c->relation],
                value(target, c, c->target));
        separator = "; ";
    }
}

/* The answer in a sentence, SENTENCE bytes, and what makes it weak. */
static const char *sentence(char *buf, const struct verdict *v)
{
    const char *profile = profiles[v->profile];
    buf[0] = '\0';
    add(buf, "%s: ", words[v->outcome]);
    if (v->count == 0) {
        add(buf, "the file holds nothing that profile %s judges", profile);
    } else if (v->outcome == VERDICT_PASS) {
        if (v->count == 1)
            add(buf, "the run meets the one criterion of profile %s", profile);
        else
            add(buf, "the run meets all %zu criteria of profile %s", v->count, profile);
    } else if (v->outcome == VERDICT_FAIL) {
        add(buf, "the run misses %zu of %zu criteri%s of profile %s: ", count_of(v, VERDICT_FAIL),
            v->count, v->count == 1 ? "on" : "a", profile);
        add_criteria(buf, v, VERDICT_FAIL);
    } else {
        add(buf, "the file does not carry what profile %s judges by: ", profile);
        add_criteria(buf, v, VERDICT_UNKNOWN);
    }
    add(buf, ".");
    for (size_t i = 0; i < v->count; i++)
        if (few_samples(&v->criterion[i]))
            add(buf, " %s rests on %llu sample%s.", v->criterion[i].name,
                (unsigned long long)v->criterion[i].samples, units_plural(v->criterion[i].samples));
    if (!v->valid)
        add(buf, " The run is NOT VALID: the verdict does not count.");
    return buf;
}

void verdict_text(FILE *out, const struct verdict *v)
{
    char target[CELL], actual[CELL], service[CELL], rate[CELL];
    fprintf(out, "\nProfile %s: %s%s\n", profiles[v->profile], words[v->outcome],
            v->valid ? "" : " - of a run that is NOT VALID");
    if (v->count == 0)
        fprintf(out, "  nothing in the file that it judges\n");
    else
        fprintf(out, "  %-26s %14s %16s %16s  %s\n", "criterion", "target", "value", "service time",
                "verdict");
    for (size_t i = 0; i < v->count; i++) {
        const struct verdict_criterion *c = &v->criterion[i];
        fprintf(out, "  %-26s %1s %12s %16s %16s  %s%s\n", c->name, relations[c->relation],
                value(target, c, c->target), value(actual, c, c->actual),
                value(service, c, c->service), words[c->outcome], few_samples(c) ? " *" : "");
    }
    if (!isnan(v->figure_of_merit))
        fprintf(out, "  figure of merit: %s generated tokens/s of wall clock\n",
                cell_number(rate, v->figure_of_merit));
}

void verdict_last_words(FILE *out, const struct verdict *v)
{
    char text[SENTENCE];
    cell_verdict(out, sentence(text, v));
}

void verdict_last_words_of_runs(FILE *out, const struct run_table *t, enum verdict_profile profile)
{
    char text[SENTENCE] = "", names[SENTENCE] = "";
    size_t passed = 0, all = run_table_runs(t);
    for (size_t run = 0; run < all; run++) {
        if (verdict_passed_run(t, run, profile))
            passed++;
        else
            add(names, "%s%s", names[0] ? "; " : "", run_table_label(t, run));
    }
    err_make_harmless(names);
    add(text, "%zu of %zu run%s pass%s profile %s", passed, all, units_plural(all),
        passed == 1 ? "es" : "", profiles[profile]);
    if (passed < all)
        add(text, "; not so %s", names);
    add(text, ".");
    cell_verdict(out, text);
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
    struct figure figure[] = {
        [0] = text_figure(id, relations[c->relation]),
        [1] = number_figure(id, c->target),
        [2] = number_figure(id, c->actual),
        [3] = number_figure(id, c->service),
        [4] = text_figure(id, units[c->unit]),
        [5] = {.id = id,
               .form = c->samples > 0 ? FIGURE_FORM_UNSIGNED : FIGURE_FORM_UNKNOWN,
               .count = c->samples},
        [6] = {.id = id,
               .form = c->outcome == VERDICT_UNKNOWN ? FIGURE_FORM_UNKNOWN : FIGURE_FORM_TRUTH,
               .truth = c->outcome == VERDICT_PASS}};
    for (size_t i = 0; i < sizeof(figure) / sizeof(figure[0]); i++) {
        figure[i].id.what = (uint8_t)(FIGURE_RELATION + i);
        figures_put(f, &figure[i]);
    }
}

void verdict_judge(struct verdict *v, enum verdict_profile profile,
                   const struct verdict_limits *limits, struct figures *f)
{
    const enum figure_scope scope = FIGURE_OF_VERDICT;
    char text[SENTENCE];
    *v = (struct verdict){.profile = profile, .figure_of_merit = NAN};
    if (profile == VERDICT_NO_PROFILE) {
        figures_put(f, &(struct figure){.id = figure_id(scope, FIGURE_ITSELF)});
        return;
    }
    v->valid = !figures_is_not(f, figure_id(FIGURE_OF_PROVENANCE, FIGURE_VALID));
    if (profile == VERDICT_LATENCY) {
        judge_device(v, f, TRACE_WRITE, "storage_write_device_p95", limits->write_device_p95_ms);
        judge_device(v, f, TRACE_READ, "storage_read_device_p95", limits->read_device_p95_ms);
        judge_cpu(v, f, limits->cpu_p95_ms);
        judge_hit_rate(v, f, limits->hit_rate);
    } else {
        judge_bandwidth(v, f, TRACE_READ, "storage_read_bandwidth");
        judge_bandwidth(v, f, TRACE_WRITE, "storage_write_bandwidth");
        if (figures_is_result(f))
            v->figure_of_merit =
                figures_number(f, figure_id(FIGURE_OF_WALL, FIGURE_GENERATED_TOKENS_PER_S));
    }
    v->outcome = count_of(v, VERDICT_FAIL) > 0                       ? VERDICT_FAIL
                 : v->count == 0 || count_of(v, VERDICT_UNKNOWN) > 0 ? VERDICT_UNKNOWN
                                                                     : VERDICT_PASS;

    const struct figure figure[] = {
        text_figure(figure_id(scope, FIGURE_PROFILE), profiles[profile]),
        {.id = figure_id(scope, FIGURE_VERDICT),
         .form = v->outcome == VERDICT_UNKNOWN ? FIGURE_FORM_UNKNOWN : FIGURE_FORM_WORD,
         .list = {words, v->outcome}},
        text_figure(figure_id(scope, FIGURE_SENTENCE), figures_keep(f, sentence(text, v))),
        number_figure(figure_id(scope, FIGURE_GENERATED_TOKENS_PER_S), v->figure_of_merit)};
    for (size_t i = 0; i < sizeof(figure) / sizeof(figure[0]); i++)
        figures_put(f, &figure[i]);
    for (size_t i = 0; i < v->count; i++)
        put_criterion(f, &v->criterion[i]);
    if (v->count == 0)
        figures_put(f, &(struct figure){.id = figure_id(FIGURE_OF_CRITERION, FIGURE_ITSELF),
                                        .form = FIGURE_FORM_TEXTS});
}
