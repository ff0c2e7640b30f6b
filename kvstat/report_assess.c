/* The verdict as a section of the text report and as the member `assessment` of the JSON. */
#include <math.h>

#include "kvstat/assess.h"
#include "kvstat/report.h"
#include "kvstat/report_cells.h"

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

void report_assess_text(FILE *out, const struct assess *a, bool valid)
{
    char target[CELL], actual[CELL], service[CELL], rate[CELL];
    fprintf(out, "\nProfile %s: %s%s\n", assess_profile_names[a->profile], word(a->verdict),
            valid ? "" : " - of a run that is NOT VALID");
    if (a->count == 0)
        fprintf(out, "  nothing in the file that it judges\n");
    else
        fprintf(out, "  %-26s %14s %16s %16s  %s\n", "criterion", "target", "value", "service time",
                "verdict");
    for (size_t i = 0; i < a->count; i++) {
        const struct assess_criterion *c = &a->criterion[i];
        fprintf(out, "  %-26s %1s %12s %16s %16s  %s\n", c->name, c->relation,
                value(target, c, c->target), value(actual, c, c->actual),
                value(service, c, c->service), word(c->verdict));
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
    put_verdict(j, "passed", c->verdict);
    jsonout_end(j);
}

void report_assess_json(struct jsonout *j, const struct assess *a)
{
    jsonout_object(j, "assessment");
    jsonout_text_value(j, "profile", assess_profile_names[a->profile]);
    jsonout_text_value(j, "status", a->verdict == ASSESS_UNKNOWN ? NULL : word(a->verdict));
    jsonout_f64(j, "generated_tokens_per_s", a->figure_of_merit);
    jsonout_array(j, "criteria");
    for (size_t i = 0; i < a->count; i++)
        put_criterion(j, &a->criterion[i]);
    jsonout_end(j);
    jsonout_end(j);
}
