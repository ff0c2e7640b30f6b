/* figures.h - the figures of one run. Each is computed once, here, and every form of the report is
 * derived from this list. */
#ifndef KVSTAT_REPORT_FIGURES_H
#define KVSTAT_REPORT_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kvstat/count/blocks.h"
#include "kvstat/count/requests.h"
#include "kvstat/count/validity.h"
#include "kvstat/mlperf/direct.h"
#include "kvstat/report/figure.h"
#include "lib/base/err.h"
#include "lib/base/hist.h"
#include "lib/facts/origin.h"

struct scan;
struct provenance;
struct reuse;
struct intervals;

enum {
    FIGURES_TARGETS = 4
};
struct figures_targets {
    double ms[FIGURES_TARGETS]; /* p95, p99, p99.9, p99.99 of end-to-end latency */
};
/* A class meets its target when this share of its requests lies within the p95 target. */
#define FIGURES_COMPLIANCE 0.95

struct figures_source {
    const char *const *files; /* lent for as long as the figures */
    size_t file_count;
    bool parts;                            /* the files are the parts of one run */
    struct scan *scan;                     /* taken over, also on failure */
    struct reuse *reuse;                   /* the same; NULL: not asked for */
    const struct provenance *provenance;   /* of pooled files: what is true of all */
    const struct figures_targets *targets; /* by QoS */
};

struct figures;
/* 0 or -ENOMEM with *e. */
int figures_create(struct figures **out, const struct figures_source *s, struct err *e);
void figures_free(struct figures *f);

/* Adds a figure to the end, for what is derived from others (the verdict). Its texts must live as
 * long as f, as those of figures_keep do. Failures of memory are kept for figures_failed. */
void figures_put(struct figures *f, const struct figure *figure);
const char *figures_keep(struct figures *f, const char *text);
bool figures_failed(const struct figures *f);

/* A replay's result file; else a trace, whose times are simulated. */
bool figures_is_result(const struct figures *f);
const char *const *figures_files(const struct figures *f, size_t *n);
/* The tier's engine did nothing: kvreplay --null. */
bool figures_is_empty(const struct figures *f, unsigned tier);
/* Where the bytes of Tier-2 came from (FACTS_OF_READS) or went (FACTS_OF_WRITES), in words; "": not
 * known. Returns buf. */
const char *figures_origin(char buf[ORIGIN_TEXT], const struct figures *f, enum fact_scope scope);
/* The share of the bytes of hits in all tiers that never touched the device, likewise. */
const char *figures_hits(char buf[ORIGIN_TEXT], const struct figures *f);
/* A warning that the tier was not the real one: "SIMULATED", "NOT EXECUTED"; "": it was. */
const char *figures_stand_in(const struct figures *f, unsigned tier);
/* A run whose requests took time to generate. */
bool figures_generates(const struct figures *f);
/* ... and that time was divided (kvreplay --speed): times of requests are not the trace's own. */
bool figures_is_scaled(const struct figures *f);
/* No row is left to report on: all started in the warm-up. */
bool figures_in_warmup(const struct figures *f);
/* They are the parts of one run. */
bool figures_of_parts(const struct figures *f);

/* All figures, in the order of the JSON. */
const struct figure *figures_list(const struct figures *f, size_t *n);

/* The first part of the scope for a zeroed *part, else the next. False: there is none. */
bool figures_next(const struct figures *f, enum figure_scope scope, struct figure_part *part);
/* By identity: the figure (for a statistic, its distribution); NULL: there is none. */
const struct figure *figures_find(const struct figures *f, struct figure_id id);
/* Its value, or its statistic; NAN when there is none or it is unknown. */
double figures_number(const struct figures *f, struct figure_id id);
/* An unsigned value, 0 when there is none or it is unknown. */
uint64_t figures_count(const struct figures *f, struct figure_id id);
/* A text or word; "" when there is none or it is unknown. */
const char *figures_text(const struct figures *f, struct figure_id id);
/* The same of a figure that needs no key. */
double figures_number_of(const struct figures *f, enum figure_scope scope, enum figure_what what);
uint64_t figures_count_of(const struct figures *f, enum figure_scope scope, enum figure_what what);
/* The number of rows with that status; a file that is no replay's has it among its rows. */
uint64_t figures_status_count(const struct figures *f, enum figure_what status);
const char *figures_text_of(const struct figures *f, enum figure_scope scope,
                            enum figure_what what);
/* A truth that is known and true; one that is known and false. */
bool figures_is(const struct figures *f, struct figure_id id);
bool figures_is_not(const struct figures *f, struct figure_id id);
/* A distribution in ns, bytes or objects, never empty; NULL: there is none. */
const struct hist *figures_hist(const struct figures *f, struct figure_id id);

/* The values of a distribution (or the lookups of a hit rate) in the order of time; NULL: they were
 * not followed. */
const struct blocks *figures_blocks(const struct figures *f, const struct figure_id *id);
/* The waits of all reads and writes in the order of time; NULL: they were not followed. */
const struct blocks *figures_waits(const struct figures *f);
/* Operations without demotions, and the times of single requests; NULL: they were not asked for. */
const struct direct *figures_direct(const struct figures *f);
const struct requests_list *figures_request_list(const struct figures *f);
/* The reasons why the run is not valid. Lent. */
const char *const *figures_why_invalid(const struct figures *f, size_t *n);
/* Which figures may be believed. */
const struct validity *figures_validity(const struct figures *f);

/* The time series; NULL: there is none. */
const struct intervals *figures_intervals(const struct figures *f);

#endif
