/* verdict.h - judges a run by the criteria of a profile: PASS, FAIL or INCONCLUSIVE, each criterion
 * with its target, its value and the bounds that its samples give it. */
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
    VERDICT_THROUGHPUT,
    VERDICT_MLPERF
};

/* The criteria that a run is judged by. */
struct verdict_asked {
    enum verdict_profile profile;
    bool slo; /* the targets of the QoS classes too */
};
bool verdict_is_asked(struct verdict_asked asked);

/* The configuration's storage_health: a run passes with P95s below and a hit rate above these. */
struct verdict_limits {
    double write_p95_ms, read_p95_ms, cpu_p95_ms, hit_rate;
};

enum verdict_outcome {
    VERDICT_FAIL,
    VERDICT_PASS,
    VERDICT_INCONCLUSIVE /* too few samples, or a value that is unknown or cannot be believed */
};

enum verdict_relation {
    VERDICT_BELOW, /* a value below the target passes */
    VERDICT_ABOVE
};

/* NAN: unknown, or there is none. */
struct verdict_criterion {
    const char *name; /* "storage_read_p95" */
    enum figure_unit unit;
    enum verdict_relation relation;
    double target, actual;
    double low, high;       /* one-sided 95 % bounds of the value; high INFINITY: none */
    double service, device; /* the same percentile of the other of these times */
    double drive;           /* and of the drive's own, of profile latency (--device-times) */
    uint64_t samples;       /* behind the percentile; 0: the value is none */
    double independent;     /* samples that do not depend on each other */
    double to_decide;       /* samples that would decide, if more would do */
    enum verdict_outcome outcome;
    char doubt[VALIDITY_WHY + 32]; /* why the value is not judged by; "": it is */
};

enum {
    VERDICT_CRITERIA = 8 + TRACE_QOSES * FIGURES_TARGETS
};

/* Why a criterion is not decided, and what would decide it: "10 samples, about 59 would decide"; ""
 * of one that is. Returns buf. */
enum {
    VERDICT_REASON = VALIDITY_WHY + 128
};
const char *verdict_reason(char buf[VERDICT_REASON], const struct verdict_criterion *c);

/* Plain values. */
struct verdict {
    struct verdict_asked asked;
    enum verdict_outcome outcome; /* one FAIL makes it that, else one INCONCLUSIVE */
    struct verdict_criterion criterion[VERDICT_CRITERIA];
    size_t count;           /* criteria that apply: those whose operations are in the file */
    bool in_warmup;         /* no row is left to judge */
    double speed;           /* by which the trace's times were divided; NAN: by nothing */
    const char *slo_of;     /* the member that classes' targets were held against; NULL: not */
    double figure_of_merit; /* throughput: generated tokens per second of wall clock; else NAN */
};

/* Judges f and adds the verdict to its figures. When nothing is asked for, nothing is judged. */
void verdict_judge(struct verdict *v, struct verdict_asked asked,
                   const struct verdict_limits *limits, struct figures *f);
/* The verdict of a run in a table, which also has runs that were judged before; INCONCLUSIVE where
 * it was not judged by the same. */
enum verdict_outcome verdict_of_run(const struct run_table *t, size_t run,
                                    struct verdict_asked asked);

/* The beginning of a verdict on a run at another speed than the trace's: " (trace at 10 times its
 * speed)"; "" of others. speed: NAN: not known. Returns buf. */
enum {
    VERDICT_SPEED = 64
};
const char *verdict_speed(char buf[VERDICT_SPEED], double speed);

/* The section of the text, and its last lines in words. */
void verdict_text(FILE *out, const struct verdict *v);
void verdict_last_words(FILE *out, const struct verdict *v);
/* Several runs in a sentence: the worst verdict, how many pass, and which do not. Returns buf. */
enum {
    VERDICT_SENTENCE = 8192
};
const char *verdict_sentence_of_runs(char buf[VERDICT_SENTENCE], const struct run_table *t,
                                     struct verdict_asked asked);
/* That as the last lines of a text. */
void verdict_last_words_of_runs(FILE *out, const struct run_table *t, struct verdict_asked asked);

#endif
