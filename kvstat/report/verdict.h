/* verdict.h - the verdict on a run: PASS or FAIL by the criteria of a profile, each with its target
 * and its value. */
#ifndef KVSTAT_REPORT_VERDICT_H
#define KVSTAT_REPORT_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kvstat/report/figures.h"

/* In the order of the choices of --profile. */
enum assess_profile {
    ASSESS_NONE,
    ASSESS_LATENCY,
    ASSESS_THROUGHPUT
};
extern const char *const assess_profile_names[]; /* "none", "latency", "throughput" */

/* From the configuration's storage_health: P95s below which, and the hit rate above which a run
 * passes. */
struct assess_limits {
    double write_device_p95_ms, read_device_p95_ms, cpu_p95_ms, hit_rate;
};

enum assess_verdict {
    ASSESS_FAIL,
    ASSESS_PASS,
    ASSESS_UNKNOWN /* the file does not carry what the criterion judges */
};

struct assess_criterion {
    const char *name, *unit; /* "storage_read_device_p95", "ms" */
    const char *relation;    /* "<" or ">": actual RELATION target passes */
    double target, actual;   /* actual NAN: unknown */
    double service;          /* the same percentile of service time, NAN: none */
    uint64_t samples;        /* that the percentile is of; 0: it is none */
    enum assess_verdict verdict;
};

enum {
    ASSESS_CRITERIA = 4
};

/* Plain values. */
struct assess {
    enum assess_profile profile;
    enum assess_verdict verdict; /* of all: FAIL if one fails, PASS if every one passes */
    struct assess_criterion criterion[ASSESS_CRITERIA];
    size_t count;           /* criteria that apply: those whose operations are in the file */
    bool valid;             /* the run is not known to be invalid */
    double figure_of_merit; /* throughput: generated tokens a second of wall clock; else NAN */
};

/* What --check asks: every criterion is met, and by a run that is valid. */
bool assess_passed(const struct assess *a);

void assess_figures(struct assess *a, enum assess_profile profile,
                    const struct assess_limits *limits, const struct figures *f);

#endif
