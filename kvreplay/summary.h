/* summary.h - what a replay has to say at its end: as JSON (--summary) and as text for people. */
#ifndef KVREPLAY_SUMMARY_H
#define KVREPLAY_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "kvreplay/ceiling.h"
#include "kvreplay/populate.h"
#include "kvreplay/sched/counts.h"
#include "kvreplay/sched/sched.h"
#include "kvreplay/tiers.h"
#include "lib/io/target.h"
#include "lib/json/jsonout.h"

enum {
    SUMMARY_WHY = 6,
    SUMMARY_BUDGET_NS = 1000000
};

/* All that a summary is made of; plain values and borrowed pointers. */
struct summary {
    int argc;
    char *const *argv;
    int64_t started_wall_ns;
    const char *input;  /* name of the trace */
    const char *digest; /* "" not known */
    const struct opt_parser *options;
    const struct stats *stats;
    const struct tiers *tiers;
    struct populated populated;
    uint64_t skipped, bad_rows;
    int64_t zero_ns, elapsed_ns, warmup_ns, cpu_ns;
    int64_t spun_ns;  /* of cpu_ns, spent spinning until a row was due */
    int64_t sync_ns;  /* of --sync end, behind elapsed_ns; negative: none */
    uint64_t workers; /* 0: not served */
    bool timed, interrupted, by_duration, lagged;
    int64_t lateness_budget_ns; /* OPTIONS_AUTO_NS: see summary_budget_ns */
    int64_t lag_limit_ns;
    bool counted; /* the kernel counted for the device under the target */
    struct target_counters before, after;
    double resident_share;     /* negative: not known */
    uint64_t link_bytes_per_s; /* of the device under the target; 0: not known */
    struct ceiling ceiling;
    /* set by summary_judge */
    bool valid;
    unsigned whys;
    char why[SUMMARY_WHY][160]; /* why invalid */
    unsigned notes;
    double dedup_ratio;          /* of Tier-2 contents */
    char note[SUMMARY_WHY][200]; /* figures that look impossible, and what checks could not see */
};

/* Decides validity and what looks impossible. */
void summary_judge(struct summary *s);
/* Rows in a second by the ceiling's; negative: there is none, or it is of another trace or host. */
double summary_of_ceiling(const struct summary *s);
/* What the P99 of client lateness may be: as given, else 1 ms, or 1 % of the mean service time. */
int64_t summary_budget_ns(const struct summary *s);
/* CPU seconds, without those spun, per GiB moved by all tiers; negative: nothing was moved. */
double summary_cpu_per_gib(const struct summary *s);
/* Rows in a second from the end of the warm-up to the last completion; negative: no time went by.
 */
double summary_rows_per_s(const struct summary *s);
/* The document; NULL: no memory. The caller frees it. */
struct jsonout *summary_json(const struct summary *s);
void summary_text(const struct summary *s, FILE *out);

#endif
