/* figures.h - every number of a report, computed once, so that all forms of it carry the same. */
#ifndef KVSTAT_REPORT_FIGURES_H
#define KVSTAT_REPORT_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kvstat/count/provenance.h"
#include "kvstat/count/scan.h"
#include "lib/base/hist.h"

/* At least ten of so many samples lie above it: with fewer, the next run will show another number.
 */
bool figures_enough(uint64_t samples, uint32_t ppm);
bool figures_supported(const struct hist *h, uint32_t ppm);

enum figures_lookup {
    FIGURES_ALL,
    FIGURES_USER,
    FIGURES_MULTI_TURN,
    FIGURES_SYSTEM,
    FIGURES_RAG,
    FIGURES_BLOCK,
    FIGURES_LOOKUPS
};
extern const char *const figures_lookup_names[FIGURES_LOOKUPS];
extern const char *const figures_part_names[REQUEST_PARTS]; /* "queue", "gpu"... */

struct figures_targets {
    double ms[4]; /* p95, p99, p99.9, p99.99 of end-to-end latency */
};
/* Share of a class's requests that must lie within its p95 target. */
#define FIGURES_COMPLIANCE 0.95

struct assess;
struct reuse;

/* One report's numbers. NAN: not known. Lends what it points at. */
struct figures {
    const char *const *files;
    size_t file_count;
    const struct scan *scan;
    const struct agg_totals *totals;
    const struct requests_totals *requests;
    const struct run *run;
    const struct assess *assess; /* the verdict, set by the caller; NULL: not asked for */
    const struct reuse *reuse;   /* the same */
    struct figures_targets targets[TRACE_QOSES];
    bool result;         /* a replay's; else times are those of the simulation */
    bool requests_known; /* the file says which request a row is of */
    double elapsed_s;
    double generated_tokens, generated_tokens_per_s, bytes_per_s, ops_per_s;
    double storage_tokens_per_s, busy_s;
    double tier2_tokens_per_s;
    struct {
        uint64_t lookups, hits, misses;
        bool known;
        double hit_rate;
    } lookup[FIGURES_LOOKUPS];
    double read_write_ratio, read_amplification;
    double context_tokens_mean, generated_tokens_mean; /* of a request */
    struct {
        bool used;
        double capacity_bytes;
        uint64_t read_ops, read_bytes, write_ops, write_bytes, delete_ops;
        double final_bytes, final_objects;
    } tier[TRACE_TIERS];
    double part_share[REQUEST_PARTS]; /* of the requests' summed end-to-end time */
    int bottleneck;                    /* enum request_part, -1: unknown */
};

void figures_compute(struct figures *f, const char *const *files, size_t file_count,
                     const struct scan *scan, const struct run *run,
                     const struct figures_targets targets[TRACE_QOSES]);
/* GiB/s of a group: see kvstat(1). NAN when it moved nothing or has no length. */
double figures_gib_per_s(const struct figures *f, const struct group *g, unsigned by);

#endif
