/* The verdict as a section of the text report and as the member `assessment` of the JSON. */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "kvstat/report/cells.h"
#include "kvstat/report/report.h"
#include "kvstat/report/run_table.h"
#include "kvstat/report/verdict.h"
#include "lib/base/units.h"

#define SENTENCE 1024

static const char *word(enum assess_verdict v)
{
    return v == ASSESS_PASS ? "PASS" : v == ASSESS_FAIL ? "FAIL" : "NOT KNOWN";
}

static const char *value(char *buf, const struct assess_criterion *c, double v)
{
    char number[CELL];
    if (isnan(v))
        snprintf(buf, CELL, "-");
    else if (c->unit[0] == 's') /* share */
        snprintf(buf, CELL, "%.2f %%", 100 * v);
    else
        snprintf(buf, CELL, "%s %s", cell_number(number, v), c->unit);
    return buf;
}

/* Of a criterion that is a P95; the others have no samples. */
static bool few_samples(const struct assess_criterion *c)
{
    return c->samples > 0 && !figures_enough(c->samples, 950000);
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

/* "storage_read_device_p95 300 ms, not < 200 ms": those with that verdict. */
static void add_criteria(char *buf, const struct assess *a, enum assess_verdict verdict)
{
    const char *separator = "";
    char actual[CELL], target[CELL];
    for (size_t i = 0; i < a->count; i++) {
        const struct assess_criterion *c = &a->criterion[i];
        if (c->verdict != verdict)
            continue;
        add(buf, "%s%s", separator, c->name);
        if (verdict == ASSESS_FAIL)
            add(buf, " is %s, not %s %s", value(actual, c, c->actual), c->relation,
                value(target, c, c->target));
        separator = "; ";
    }
}

static size_t count_of(const struct assess *a, enum assess_verdict verdict)
{
    size_t n = 0;
    for (size_t i = 0; i < a->count; i++)
        n += a->criterion[i].verdict == verdict;
    return n;
}

/* What the verdict rests on, as far as that is weak. */
static void add_doubts(char *buf, const struct assess *a)
{
    for (size_t i = 0; i < a->count; i++)
        if (few_samples(&a->criterion[i]))
            add(buf, " %s rests on %llu sample%s.", a->criterion[i].name,
                (unsigned long long)a->criterion[i].samples, units_plural(a->criterion[i].samples));
    if (!a->valid)
        add(buf, " The run is NOT VALID: the verdict does not count.");
}

/* The answer in a sentence, SENTENCE bytes. */
static void sentence(char *buf, const struct assess *a)
{
    const char *profile = assess_profile_names[a->profile];
    size_t failed = count_of(a, ASSESS_FAIL);
    buf[0] = '\0';
    add(buf, "%s: ", word(a->verdict));
    if (a->count == 0) {
        add(buf, "the file holds nothing that profile %s judges", profile);
    } else if (a->verdict == ASSESS_PASS) {
        if (a->count == 1)
            add(buf, "the run meets the one criterion of profile %s", profile);
        else
            add(buf, "the run meets all %zu criteria of profile %s", a->count, profile);
    } else if (a->verdict == ASSESS_FAIL) {
        add(buf, "the run misses %zu of %zu criteri%s of profile %s: ", failed, a->count,
            a->count == 1 ? "on" : "a", profile);
        add_criteria(buf, a, ASSESS_FAIL);
    } else {
        add(buf, "the file does not carry what profile %s judges by: ", profile);
        add_criteria(buf, a, ASSESS_UNKNOWN);
    }
    add(buf, ".");
    add_doubts(buf, a);
}

void report_assess_verdict(FILE *out, const struct assess *a)
{
    char text[SENTENCE];
    sentence(text, a);
    cell_verdict(out, text);
}

void report_assess_runs(FILE *out, const struct runs *r, const char *profile)
{
    char text[SENTENCE] = "", names[SENTENCE] = "";
    size_t passed = 0, all = runs_count(r);
    for (size_t run = 0; run < all; run++) {
        if (runs_passed(r, run, profile))
            passed++;
        else
            add(names, "%s%s", names[0] ? "; " : "", runs_label(r, run));
    }
    err_make_harmless(names);
    add(text, "%zu of %zu run%s pass%s profile %s", passed, all, units_plural(all),
        passed == 1 ? "es" : "", profile);
    if (passed < all)
        add(text, "; not so %s", names);
    add(text, ".");
    cell_verdict(out, text);
}

void report_assess_text(FILE *out, const struct assess *a)
{
    char target[CELL], actual[CELL], service[CELL], rate[CELL];
    fprintf(out, "\nProfile %s: %s%s\n", assess_profile_names[a->profile], word(a->verdict),
            a->valid ? "" : " - of a run that is NOT VALID");
    if (a->count == 0)
        fprintf(out, "  nothing in the file that it judges\n");
    else
        fprintf(out, "  %-26s %14s %16s %16s  %s\n", "criterion", "target", "value", "service time",
                "verdict");
    for (size_t i = 0; i < a->count; i++) {
        const struct assess_criterion *c = &a->criterion[i];
        fprintf(out, "  %-26s %1s %12s %16s %16s  %s%s\n", c->name, c->relation,
                value(target, c, c->target), value(actual, c, c->actual),
                value(service, c, c->service), word(c->verdict), few_samples(c) ? " *" : "");
    }
    if (!isnan(a->figure_of_merit))
        fprintf(out, "  figure of merit: %s generated tokens/s of wall clock\n",
                cell_number(rate, a->figure_of_merit));
}

static void put_verdict(struct jsonout *j, const char *key, enum assess_verdict v)
{
    if (v == ASSESS_UNKNOWN)
        jsonout_null(j, key);
    else
        jsonout_bool(j, key, v == ASSESS_PASS);
}

static void put_criterion(struct jsonout *j, const struct assess_criterion *c)
{
    jsonout_object(j, NULL);
    jsonout_text_value(j, "name", c->name);
    jsonout_text_value(j, "relation", c->relation);
    jsonout_f64(j, "target", c->target);
    jsonout_f64(j, "actual", c->actual);
    jsonout_f64(j, "service", c->service);
    jsonout_text_value(j, "unit", c->unit);
    if (c->samples > 0)
        jsonout_u64(j, "samples", c->samples);
    else
        jsonout_null(j, "samples");
    put_verdict(j, "passed", c->verdict);
    jsonout_end(j);
}

void report_assess_json(struct jsonout *j, const struct assess *a)
{
    jsonout_object(j, "assessment");
    jsonout_text_value(j, "profile", assess_profile_names[a->profile]);
    jsonout_text_value(j, "status", a->verdict == ASSESS_UNKNOWN ? NULL : word(a->verdict));
    char text[SENTENCE];
    sentence(text, a);
    jsonout_text_value(j, "sentence", text);
    jsonout_f64(j, "generated_tokens_per_s", a->figure_of_merit);
    jsonout_array(j, "criteria");
    for (size_t i = 0; i < a->count; i++)
        put_criterion(j, &a->criterion[i]);
    jsonout_end(j);
    jsonout_end(j);
}
