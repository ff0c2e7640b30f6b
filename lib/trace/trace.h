/* THE record of the trace format, and its words: operations, tiers, phases, classes, statuses, names
 * of columns. read.h reads it, write.h writes it. man/kvtrace.5 specifies the format. */
#ifndef KVTRACE_TRACE_TRACE_H
#define KVTRACE_TRACE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

#define TRACE_FORMAT_VERSION 1
#define TRACE_MAX_KEY        65536u /* bytes */

enum trace_op {
    TRACE_READ,
    TRACE_WRITE,
    TRACE_DELETE,
    TRACE_GENERATE,
    TRACE_MISS,
    TRACE_OPS
};
enum trace_tier {
    TRACE_GPU,
    TRACE_CPU,
    TRACE_STORAGE,
    TRACE_NO_TIER,
    TRACE_TIERS = TRACE_NO_TIER
};
enum trace_phase {
    TRACE_PREFILL,
    TRACE_DECODE,
    TRACE_EVICT,
    TRACE_BOTH,
    TRACE_NO_PHASE,
    TRACE_PHASES = TRACE_NO_PHASE
};
enum trace_qos {
    TRACE_INTERACTIVE,
    TRACE_RESPONSIVE,
    TRACE_BATCH,
    TRACE_NO_QOS,
    TRACE_QOSES = TRACE_NO_QOS
};
enum trace_class {
    TRACE_USER,
    TRACE_MULTI_TURN,
    TRACE_SYSTEM,
    TRACE_COMMON,
    TRACE_RAG,
    TRACE_BLOCK,
    TRACE_INGEST,
    TRACE_PREPOP,
    TRACE_CLASS_EVICT,
    TRACE_PROMOTE,
    TRACE_NO_CLASS,
    TRACE_CLASSES = TRACE_NO_CLASS
};

/* Status: 0 is ok; a positive errno below TRACE_ABSENT; or one of these. */
enum {
    TRACE_OK = 0,
    TRACE_ABSENT = 4096,  /* the object was not there */
    TRACE_CORRUPT = 4097, /* its contents were not what was written */
    TRACE_NO_STATUS = -1
};

/* The text of a word, and its length for code that writes millions of them. */
struct trace_word {
    char text[15]; /* NUL-terminated, NULs behind it */
    uint8_t len;
};
/* The words "Read", "Tier-0", "Prefill", "interactive", "user"... The TRACE_NO_... values have "".
 * The words of an enum lie in memory one behind the other. */
const struct trace_word *trace_op_word(enum trace_op v);
const struct trace_word *trace_tier_word(enum trace_tier v);
const struct trace_word *trace_phase_word(enum trace_phase v);
const struct trace_word *trace_qos_word(enum trace_qos v);
const struct trace_word *trace_class_word(enum trace_class v);
const char *trace_op_text(enum trace_op v);
const char *trace_tier_text(enum trace_tier v);
const char *trace_phase_text(enum trace_phase v);
const char *trace_qos_text(enum trace_qos v);
const char *trace_class_text(enum trace_class v);
const char *trace_status_text(int status);
/* Parses the text of a status: ok, absent, corrupt, an errno name, or "" (TRACE_NO_STATUS). 0, or
 * -EINVAL: unknown. */
int trace_status_parse(const char *p, size_t len, int *status);

/* Columns as bits of a mask, in the order in which they are written. */
enum trace_column {
    TRACE_COL_TIMESTAMP,
    TRACE_COL_OPERATION,
    TRACE_COL_SIZE,
    TRACE_COL_TIER,
    TRACE_COL_KEY,
    TRACE_COL_PHASE,
    TRACE_COL_REQUEST,
    TRACE_COL_USER,
    TRACE_COL_QOS,
    TRACE_COL_CLASS,
    TRACE_COL_TOKENS,
    TRACE_COL_ARRIVAL,
    TRACE_COL_DURATION,
    TRACE_COL_DUE,
    TRACE_COL_ELIGIBLE,
    TRACE_COL_START,
    TRACE_COL_LATENCY,
    TRACE_COL_DEVICE,
    TRACE_COL_STATUS,
    TRACE_COLUMNS
};
#define TRACE_BIT(column) (1u << (column))
#define TRACE_CORE        0x3fu    /* the first six */
#define TRACE_EXTENDED    0x1fc0u  /* Request to Duration_us */
#define TRACE_RESULT      0x7e000u /* Due to Status */
const char *trace_column_name(enum trace_column c);

#define TRACE_NONE INT64_MIN /* an empty number or time */

struct trace_str {
    const char *p; /* not NUL-terminated; NULL with len 0 when empty */
    uint32_t len;
};

/* One row. Times in ns, sizes in bytes. Empty fields: TRACE_NONE, TRACE_NO_..., len 0. */
struct trace_row {
    int64_t time_ns; /* Timestamp */
    uint64_t size;
    struct trace_str key, user;
    uint8_t op, tier, phase, qos, class; /* enums above */
    int32_t status;
    int64_t request, tokens;
    int64_t arrival_ns, duration_ns;
    int64_t due_ns, eligible_ns, start_ns, latency_ns, device_ns;
    struct trace_str line; /* from a reader: the row verbatim, without newline and without the result
                              columns at its end */
};

/* Makes every field empty. */
void trace_row_clear(struct trace_row *row);

#endif
