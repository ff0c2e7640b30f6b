/* scan.h - reads one file with several threads and counts it. */
#ifndef KVSTAT_COUNT_SCAN_H
#define KVSTAT_COUNT_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#include "kvstat/count/agg.h"
#include "kvstat/count/occupancy.h"
#include "kvstat/count/requests.h"
#include "kvstat/count/sequences.h"
#include "kvstat/count/series.h"
#include "lib/base/err.h"
#include "lib/base/progress.h"
#include "lib/trace/read.h"

#define SCAN_NO_SERIES   INT64_C(0)
#define SCAN_SERIES_AUTO INT64_C(-1) /* the series chooses its interval */
#define SCAN_WARMUP_AUTO INT64_C(-1) /* as the summary in the file says */

struct scan_opts {
    unsigned by;        /* enum groups_by */
    size_t most_groups; /* where users make them; 0: any number */
    unsigned threads;   /* >= 1, the caller's included */
    bool skip_bad_rows;
    bool first_token;    /* requests_follow_first_token */
    bool direct;         /* direct operations and single requests, for --mlperf */
    bool part;           /* of a run of several files: scan_merge, then scan_end_run */
    bool follow;         /* result files in the order of time, for verdicts and comparisons */
    int64_t interval_ns; /* of the time series; or SCAN_NO_SERIES, SCAN_SERIES_AUTO */
    bool series_by_due;  /* as of series.h */
    int64_t target_ns[TRACE_QOSES]; /* of requests_create */
    int64_t warmup_ns;              /* of a result file, left out; or SCAN_WARMUP_AUTO */
    const char *run;                /* a summary (JSON) for files that carry none; NULL */
    struct progress *progress;      /* NULL: none */
};

/* The counts of one file, or of several that were pooled. Owns its members. */
struct scan {
    struct agg *agg;
    struct requests *requests;
    struct occupancy occupancy;
    struct series *series;       /* NULL: not asked for */
    struct sequences *sequences; /* NULL: not asked for, or a trace */
    uint32_t columns;            /* mask of those that the file has; of several: that all have */
    unsigned files;
    bool part;             /* scan_opts */
    int64_t warmup_ns;     /* left out at the start, 0: nothing */
    bool cut;              /* truncated or damaged: only the rows before that were counted */
    bool interrupted;      /* by a signal: only the rows before that were counted */
    uint64_t bad_rows;     /* skipped */
    char *first_bad;       /* what was wrong with the first; NULL: none */
    struct gaps *gaps;     /* of its summary; NULL: none */
    const char *odd_notes; /* what is wrong with the file's Notes; NULL: nothing, or no Notes */
    char *provenance, *summary; /* JSON from the file's frames; NULL: none */
};

/* 0; -EBADMSG with *e when the file is cut, or the run that wrote it was killed, and -EINTR when a
 * signal ended the reading after some rows (*out then holds the counts of the rows before); else a
 * negative errno with *e and *out untouched. A pipe is read on after the first signal
 * (stop_ends_reading). */
int scan_file(struct scan **out, const char *path, const struct scan_opts *o, struct err *e);
/* Opens a trace or result for an option that takes no log of another client. 0 or a negative errno
 * with *e. */
int scan_open_trace(struct trace_reader **out, const char *path, const struct trace_read_opts *read,
                    const char *option, struct err *e);
/* Whether path opens as a trace or result file, by its header. */
bool scan_is_readable(const char *path);
/* Whether it opens as a result file. */
bool scan_is_result(const char *path);
/* Adds the counts of from to into. -EINVAL: one is a trace and the other a result file. */
int scan_merge(struct scan *into, const struct scan *from, struct err *e);
/* After the parts of a run were merged: their times are those of one run, as if all rows lay in one
 * file. 0 or a negative errno with *e. */
int scan_end_run(struct scan *s, struct err *e);
void scan_free(struct scan *s);

#endif
