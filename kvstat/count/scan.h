/* scan.h - reads one file with several threads and counts it. */
#ifndef KVSTAT_COUNT_SCAN_H
#define KVSTAT_COUNT_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#include "kvstat/count/agg.h"
#include "kvstat/count/occupancy.h"
#include "kvstat/count/requests.h"
#include "kvstat/count/series.h"
#include "lib/base/err.h"
#include "lib/base/progress.h"

struct scan_opts {
    unsigned by;      /* enum groups_by */
    unsigned threads; /* >= 1, the caller's included */
    bool skip_bad_rows;
    int64_t interval_ns;            /* of the time series, 0: none, -1: a series that chooses it */
    int64_t target_ns[TRACE_QOSES]; /* of requests_create */
    int64_t warmup_ns;              /* of a result, left out; -1: what the file's summary tells */
    struct progress *progress;      /* NULL: none */
};

/* What is known of one file, or of several that were pooled. Owns its members. */
struct scan {
    struct agg *agg;
    struct requests *requests;
    struct occupancy occupancy;
    struct series *series; /* NULL: not asked for */
    uint32_t columns;      /* mask of those that the file has */
    unsigned files;
    int64_t warmup_ns;          /* that was left out, 0: none */
    bool cut;                   /* truncated or damaged: counted up to there */
    uint64_t bad_rows;          /* skipped */
    char *first_bad;            /* what was wrong with the first; NULL: none */
    char *provenance, *summary; /* JSON from the file's frames; NULL: none */
};

/* 0; -EBADMSG with *e when the file is cut (*out then holds what was counted before the cut);
 * -EINTR after a signal (stop.h); else a negative errno with *e and *out untouched. */
int scan_file(struct scan **out, const char *path, const struct scan_opts *o, struct err *e);
/* Whether path can be opened as a trace or result file: its header is one. */
bool scan_is_readable(const char *path);
/* Pools from into into. -EINVAL: one is a trace and the other a result file. */
int scan_merge(struct scan *into, const struct scan *from, struct err *e);
void scan_free(struct scan *s);

#endif
