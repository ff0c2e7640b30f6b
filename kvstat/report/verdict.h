/* verdict.h - judges a run by the criteria of a profile: PASS or FAIL, each criterion with its
 * target and its value. */
#ifndef KVSTAT_REPORT_VERDICT_H
#define KVSTAT_REPORT_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "kvstat/report/figures.h"

struct run_table;

/* In the order of the choices of --profile. */
enum verdict_profile {
    VERDICT_NO_PROFILE,
    VERDICT_LATENCY,
    VERDICT_THROUGHPUT
};

/* The configuration's storage_health: a run passes with P95s below and a hit rate above these. */
struct verdict_limits {
    double write_device_p95_ms, read_device_p95_ms, cpu_p95_ms, hit_rate;
};

enum verdict_outcome {
    VERDICT_FAIL,
    VERDICT_PASS,
    VERDICT_UNKNOWN /* the file does not carry the value that is judged */
};

enum verdict_relation {
    VERDICT_BELOW, /* a value below the target passes */
    VERDICT_ABOVE
};

struct verdict_criterion {
    const char *name; /* "storage_read_device_p95" */
    enum figure_unit unit;
    enum verdict_relation relation;
    double target, actual; /* actual NAN: unknown */
    double service;        /* the same percentile of service time; NAN: none */
    uint64_t samples;      /* behind the percentile; 0: the value is none */
    enum verdict_outcome outcome;
};

enum {
    VERDICT_CRITERIA = 4
};

/* Plain values. */
struct verdict {
    enum verdict_profile profile;
    enum verdict_outcome outcome; /* FAIL if one criterion fails, PASS if all pass */
    struct verdict_criterion criterion[VERDICT_CRITERIA];
    size_t count;           /* criteria that apply: those whose operations are in the file */
    bool valid;             /* the run is not known to be invalid */
    double figure_of_merit; /* throughput: generated tokens per second of wall clock; else NAN */
};

/* Judges f and adds the verdict to its figures. With VERDICT_NO_PROFILE the verdict is unknown. */
void verdict_judge(struct verdict *v, enum verdict_profile profile,
                   const struct verdict_limits *limits, struct figures *f);
/* What --check asks: every criterion is met, and by a run that is valid. */
bool verdict_passed(const struct verdict *v);
/* The same of a run in a table, which also has runs that were judged before. */
bool verdict_passed_run(const struct run_table *t, size_t run, enum verdict_profile profile);

/* The section of the text, and its last lines in words. */
void verdict_text(FILE *out, const struct verdict *v);
void verdict_last_words(FILE *out, const struct verdict *v);
/* The last line on several runs: how many pass, and which do not. */
void verdict_last_words_of_runs(FILE *out, const struct run_table *t, enum verdict_profile profile);

#endif
