/* report.h - an answer as JSON, which kvstat reads, and as a few lines for people. */
#ifndef KVGEN_ANSWER_REPORT_H
#define KVGEN_ANSWER_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "kvgen/answer/answer.h"
#include "lib/base/err.h"

/* The subject of the answer, in words and numbers. Everything stays the caller's. Bytes are of all
 * ranks. */
struct answer_report {
    int argc;
    char *const *argv;
    int64_t started_wall_ns;
    const struct answer *answer;
    const struct answer_opts *opts;
    const char *model, *gpu;
    bool measured; /* the GPU's rate is */
    uint64_t tensor_parallel;
    const char *engine, *engine_version, *on_full;
    const char *population, *source; /* population: NULL: the source is an input */
    double load_requests_s;          /* of a load of 1, where loads are rates; 0: they are users */
    uint64_t capacity[TRACE_TIERS];  /* UINT64_MAX: no limit */
    const char *drive_text;          /* how the drive was described, if it is no file; else NULL */
    double tbw;                      /* terabytes that the drive is rated for; 0: not told */
    double gpu_price;                /* of an hour; 0: not told */
};

/* Writes it to path ("-": standard output). 0 or negative errno with *e. */
int answer_save(const struct answer_report *r, const char *path, struct err *e);
/* A few lines, for people. */
void answer_print(FILE *f, const struct answer_report *r);

#endif
