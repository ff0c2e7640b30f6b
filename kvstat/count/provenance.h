/* run.h - what was run: the figures that a file's frames, or the summary given with --run, tell
 * about the program and options that made it. */
#ifndef KVSTAT_COUNT_PROVENANCE_H
#define KVSTAT_COUNT_PROVENANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/trace/trace.h"

/* What kvreplay --autoscale found. */
struct run_autoscaling {
    bool known;
    char mode[16], reason[160];
    int64_t users;       /* -1: none found */
    double tokens_per_s; /* NAN: not known */
};

/* Plain values. Numbers are -1 and texts empty where nothing is known. */
struct run {
    bool known; /* anything at all */
    char model[96], generation_mode[32];
    char digest[64];       /* of the trace that was replayed */
    char why_invalid[256]; /* the reasons, separated by "; " */
    uint64_t seed;
    bool seed_known; /* any number is a seed */
    int64_t users, tensor_parallel, num_gpus, bytes_per_token;
    int64_t capacity_bytes[TRACE_TIERS];           /* 0: unlimited storage or no such tier */
    int valid;                                     /* 1, 0, -1: not a replay */
    int simulated[TRACE_TIERS];                    /* 1, 0, -1 */
    int64_t device_read_bytes, device_write_bytes; /* counted by the kernel during the replay */
    int64_t warmup_ns;                             /* of kvreplay --warmup */
    double page_cache_share; /* of the objects' bytes, at the end; NAN: not known */
    struct run_autoscaling autoscaling;
};

/* Reads summary_path (NULL: none; a summary that kvreplay or kvgen wrote), then the JSON of the
 * frames (NULL: none): what is found first counts. 0, or -EINVAL... with *e. */
int run_read(struct run *r, const char *summary_path, const char *summary, const char *provenance,
             struct err *e);
/* What a summary (JSON; NULL: none) tells of kvreplay --warmup; 0: none. */
int64_t provenance_warmup_ns(const char *summary);

#endif
