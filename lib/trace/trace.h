/* THE record of the trace format, and its words: operations, tiers, phases, classes, statuses,
 * names of columns. read.h reads it, write.h writes it. man/kvtrace.5 specifies the format. */
#ifndef KVTRACE_TRACE_TRACE_H
#define KVTRACE_TRACE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

#define TRACE_FORMAT_VERSION 1
#define TRACE_MAX_KEY        65536u                    /* bytes */
#define TRACE_MAX_NOTE       (1u << 20)                /* bytes of the JSON text of a Note */
#define TRACE_MAX_NOTE_ROW   (((size_t)2 << 20) + 256) /* bytes of its row: every quote doubled */

enum trace_op {
    TRACE_READ,
    TRACE_WRITE,
    TRACE_DELETE,
    TRACE_GENERATE,
    TRACE_MISS,
    TRACE_OPS,
    /* A row about the file, not an operation: its Key holds a JSON text, all else is empty. Readers
     * skip Notes; neither digests nor counts of rows include them. */
    TRACE_NOTE
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
    TRACE_STORE, /* a copy goes down and stays above, ... */
    TRACE_LOAD,  /* ... or comes up to the GPU and stays below */
    TRACE_NO_CLASS,
    TRACE_CLASSES = TRACE_NO_CLASS
};

/* Status: 0 is ok; an errno (below TRACE_ERRNOS); or one of these. */
enum {
    TRACE_OK = 0,
    TRACE_ERRNOS = 160,
    TRACE_ABSENT = 4096,  /* the object was not there */
    TRACE_CORRUPT = 4097, /* its contents were not what was written */
    TRACE_LOST = 4098,    /* this run wrote or adopted it, and it is gone */
    TRACE_STALE = 4099,   /* its contents are those of another write of it */
    TRACE_WRONG = 4100,   /* its contents are those of another object */
    TRACE_FOREIGN = 8192, /* and up: what another kind of target answered, as "S3:SlowDown" */
    TRACE_FOREIGNS = 96,  /* room for so many of them */
    TRACE_NO_STATUS = -1,
    TRACE_STATUSES = 7 + TRACE_ERRNOS + TRACE_FOREIGNS /* values of trace_status_index */
};

/* Was the object there, and not as it was written? */
static inline bool trace_status_corrupt(int status)
{
    return status == TRACE_CORRUPT || status == TRACE_STALE || status == TRACE_WRONG;
}

/* A dense number for a status, for tables: none, ok, absent, corrupt, errnos, lost, stale, wrong,
 * foreign ones. */
static inline unsigned trace_status_index(int status)
{
    unsigned s = (unsigned)status;

    if (status == TRACE_NO_STATUS)
        return 0;
    if (s < TRACE_ERRNOS)
        return s == TRACE_OK ? 1 : 3 + s;
    if (s - TRACE_FOREIGN < TRACE_FOREIGNS)
        return 6 + TRACE_ERRNOS + s - TRACE_FOREIGN;
    return status == TRACE_ABSENT    ? 2
           : status == TRACE_CORRUPT ? 3
           : status == TRACE_LOST    ? 3 + TRACE_ERRNOS
           : status == TRACE_STALE   ? 4 + TRACE_ERRNOS
           : status == TRACE_WRONG   ? 5 + TRACE_ERRNOS
                                     : 2 + TRACE_ERRNOS;
}

/* The text of a word, and its length for code that writes millions of them. */
struct trace_word {
    char text[15]; /* NUL-terminated, NULs behind it */
    uint8_t len;
};
/* The words "Read", "Tier-0", "Prefill", "interactive", "user"... The TRACE_NO_... values have "".
 * The words of an enum follow each other in memory. */
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
/* Parses the text of a status: ok, absent, corrupt, lost, stale, wrong, an errno name,
 * S3:CODE or RESP:CODE, or "" (TRACE_NO_STATUS). A CODE that is not in the table becomes S3:Other
 * or RESP:Other. 0, or -EINVAL: unknown. */
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
    TRACE_COL_ENGINE,
    TRACE_COL_DUE,
    TRACE_COL_ELIGIBLE,
    TRACE_COL_START,
    TRACE_COL_LATENCY,
    TRACE_COL_DEVICE,
    TRACE_COL_SLOT,
    TRACE_COL_STATUS,
    TRACE_COL_FIRST_BYTE,
    TRACE_COL_RANK,
    TRACE_COL_ENDPOINT,
    TRACE_COL_THREAD,
    TRACE_COL_QUEUE,
    TRACE_COL_DRIVE,
    TRACE_COLUMNS
};
#define TRACE_BIT(column) (1u << (column))
#define TRACE_CORE        0x3fu      /* the first six */
#define TRACE_EXTENDED    0x1fc0u    /* Request to Duration_us */
#define TRACE_SERVED      0x2000u    /* Engine: of several engines */
#define TRACE_RESULT      0x17c000u  /* Due to Status, which every result has */
#define TRACE_EXTRA       0x7e80000u /* Slot_us, First_byte_us to Drive_us: struct trace_extra */
const char *trace_column_name(enum trace_column c);

#define TRACE_NONE INT64_MIN /* an empty number or time */

struct trace_str {
    const char *p; /* not NUL-terminated; NULL with len 0 when empty */
    uint32_t len;
};

/* Columns of some results only. Lengths of time in ns; empty fields as in struct trace_row. */
struct trace_extra {
    int64_t slot_ns, first_byte_ns, queue_ns, drive_ns;
    int64_t rank;
    struct trace_str endpoint, thread;
};

/* One row. Times in ns, sizes in bytes. Empty fields: TRACE_NONE, TRACE_NO_..., len 0. */
struct trace_row {
    int64_t time_ns; /* Timestamp */
    uint64_t size;
    struct trace_str key, user;
    uint8_t op, tier, phase, qos, class; /* enums above */
    int32_t status;
    int32_t engine; /* -1: empty */
    int64_t request, tokens;
    int64_t arrival_ns, duration_ns;
    int64_t due_ns, eligible_ns, start_ns, latency_ns, device_ns;
    struct trace_extra *extra; /* NULL: all empty, as of files without these columns */
    /* From a reader: the row verbatim, without newline and without the result columns at its end.
     */
    struct trace_str line;
};

/* Makes every field empty. */
void trace_extra_clear(struct trace_extra *extra);
void trace_row_clear(struct trace_row *row);

#endif
