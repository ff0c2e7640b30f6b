/* verify.h - --verify-trace: checks that the rows of a trace can have happened. One pass in the
 * order of the rows, with a little state for every key. */
#ifndef KVSTAT_VERIFY_H
#define KVSTAT_VERIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "lib/base/err.h"
#include "lib/json/jsonout.h"
#include "lib/trace/trace.h"

enum verify_kind {
    VERIFY_HEADER,   /* the six core columns are not the first */
    VERIFY_ORDER,    /* a Timestamp before that of the previous row */
    VERIFY_ABSENT,   /* a Read or Delete of an object that was never written, or is gone */
    VERIFY_TIER,     /* of one that is in another tier */
    VERIFY_SIZE,     /* another size than the object was written with */
    VERIFY_CAPACITY, /* a tier holds more than it can */
    VERIFY_KINDS
};

enum {
    VERIFY_KEPT = 20 /* findings of each kind that are kept with their rows; all are counted */
};

struct verify_finding {
    enum verify_kind kind;
    uint64_t row; /* from 1; 0: the header */
    char what[256];
};

/* Plain values. */
struct verify {
    uint64_t rows, keys, bad_rows;
    uint64_t count[VERIFY_KINDS], findings; /* findings: their sum */
    struct verify_finding kept[VERIFY_KINDS * VERIFY_KEPT];
    size_t kept_count; /* in the order of the rows */
    struct {
        uint64_t bytes, peak_bytes, objects, peak_objects; /* bytes, objects: at the end */
        int64_t capacity_bytes;                            /* 0 or less: not known or unlimited */
    } tier[TRACE_TIERS];
    bool cut;
};

/* Checks a trace; summary: --run, NULL: none. 0; -EBADMSG with *e when it is cut (v then holds the
 * findings before the cut); -EINVAL for a result file; -EINTR after a signal; another negative
 * errno with *e. */
int verify_file(struct verify *v, const char *path, const char *summary, bool skip_bad_rows,
                struct err *e);

/* The findings in a file as text, and as an element of the array that is open. */
void verify_text(FILE *out, const char *file, const struct verify *v);
void verify_json(struct jsonout *j, const char *file, const struct verify *v);

#endif
