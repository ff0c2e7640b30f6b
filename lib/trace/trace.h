/* trace.h - THE record of the trace format and both halves of it: reader and writer.
 * The format itself is specified in man/kvtrace.5. */
#ifndef KVTRACE_TRACE_TRACE_H
#define KVTRACE_TRACE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

#define TRACE_FORMAT_VERSION 1
#define TRACE_MAX_KEY        65536u

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

/* Status: 0 ok, a positive errno, or one of these. */
enum {
    TRACE_OK = 0,
    TRACE_ABSENT = 4096,
    TRACE_CORRUPT = 4097,
    TRACE_NO_STATUS = -1
};

/* Column texts, in the order of the enums: "Read", "Tier-0", "Prefill", "interactive", "user"...
 * The TRACE_NO_... values give "". A word has its length too, for what writes millions of them. */
struct trace_word {
    char text[15]; /* NUL-terminated, NULs behind it */
    uint8_t len;
};
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
/* Status from its text: an errno name, ok, absent, corrupt; TRACE_NO_STATUS for "". -EINVAL:
 * unknown. */
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
    struct trace_str
        line; /* reader: the row verbatim, without newline and without trailing result columns */
};

/* A row with every field empty, to be filled in. */
void trace_row_clear(struct trace_row *row);

/* ---- reader ---- */

struct trace_read_opts {
    uint32_t want;      /* columns to parse (mask), 0: all that are there; core is always checked */
    bool want_line;     /* fill row->line */
    bool skip_bad_rows; /* count bad rows instead of failing */
    bool long_window;   /* frame.h */
    bool want_digest;   /* keep trace_digest; one cursor only */
};

struct frame_in;
struct trace_reader; /* the input; shared by its cursors, locks itself */
struct trace_cursor; /* one thread's place in it */

/*
 * Opens a trace or result file ("-": standard input), plain or zstd, and reads its header. Errors:
 * class ERR_INPUT; a header without the six core columns names the first missing one; an empty
 * file; with want_line, result columns that do not stand together at the end.
 */
int trace_open(struct trace_reader **out, const char *path, const struct trace_read_opts *o,
               struct err *e);
/* The same of an input that was opened, looked at and given back to its start (frame_in_unread),
 * which the reader takes, also on failure. o->long_window means nothing here. */
int trace_open_in(struct trace_reader **out, struct frame_in *in, const struct trace_read_opts *o,
                  struct err *e);
void trace_close(struct trace_reader *r);
uint32_t trace_columns(const struct trace_reader *r); /* mask of the known columns present */
/* Header line verbatim, without newline and without trailing result columns. */
struct trace_str trace_header(const struct trace_reader *r);
const char *trace_name(const struct trace_reader *r);
const char *trace_provenance(const struct trace_reader *r); /* JSON or NULL */
const char *trace_summary(const struct trace_reader *r);    /* JSON or NULL; see frame_in_summary */
bool trace_can_rewind(const struct trace_reader *r);
/* Back to the first row; no cursor may be in use (close them first). */
int trace_rewind(struct trace_reader *r, struct err *e);
void trace_progress(const struct trace_reader *r, uint64_t *consumed, uint64_t *total);
/* Bad rows skipped so far; *first (may be NULL) describes the first, lent. */
uint64_t trace_bad_rows(const struct trace_reader *r, const char **first);
/* XXH3-128 of the rows after the header as 32 hex digits, the same that the writer of the file
 * printed: kept only with want_digest, and known when every row was read; "" before. */
const char *trace_digest(const struct trace_reader *r);

/* A cursor for one thread. With one cursor rows come in file order; several share the input and
 * each gets runs of consecutive rows: open them all before the first one reads (line numbers are
 * counted together). At most 256. */
int trace_cursor_open(struct trace_cursor **out, struct trace_reader *r, struct err *e);
void trace_cursor_close(struct trace_cursor *c);
/*
 * A batch of rows, lent until the next call on this cursor: 1 (*n >= 1), 0 at the end, negative
 * errno. Bad row: -EINVAL, "FILE:LINE: what is wrong". Cut or damaged file: -EBADMSG after
 * every whole row before the cut was given. After an error all cursors end.
 */
int trace_cursor_next(struct trace_cursor *c, const struct trace_row **rows, size_t *n,
                      struct err *e);
/* Number (from 0) of the first row of the batch last given, if known: with several cursors rows of
 * earlier pieces may still be uncounted, then UINT64_MAX. */
uint64_t trace_cursor_row_number(const struct trace_cursor *c);
/* Which run of consecutive rows the batch last given is from: the same number for all of one run,
 * greater for later rows, whoever reads them; so what cursors made of their rows can be put in file
 * order again. Where runs begin and end does not depend on the number of cursors (a frame of our
 * own files, a block of others). */
uint64_t trace_cursor_piece(const struct trace_cursor *c);

/* ---- writer ---- */

struct trace_write_opts {
    uint32_t columns;   /* mask of what is written; core is always written */
    const char *header; /* NULL, or an input's header line: rows then carry .line verbatim, and only
                           the columns of TRACE_RESULT are formatted behind it */
    size_t header_len;
    int zstd;               /* 1 yes, 0 no, -1: when path ends in ".zst" */
    int level;              /* 1..19, 0: 3 */
    bool one_frame;         /* a single ordinary frame, no provenance, no seek table */
    unsigned threads;       /* in all, the caller's included; 0: 1 */
    int64_t epoch_ns;       /* added to Timestamp and Arrival */
    const char *provenance; /* JSON text; NULL: "{}", which marks the file as ours; zstd only */
};

struct trace_writer;

/* Opens path ("-": standard output) for writing; an existing file is replaced. Class ERR_OUTPUT. */
int trace_create(struct trace_writer **out, const char *path, const struct trace_write_opts *o,
                 struct err *e);
/* Queues one row; its strings are copied. One thread. May format and compress itself when the pool
 * is busy. Errors of earlier rows surface here or in finish. -EPIPE: the reader went away. */
int trace_write(struct trace_writer *w, const struct trace_row *row, struct err *e);
/* Hands rows queued so far to the output soon (for pipes; not for .zst frames). */
int trace_flush(struct trace_writer *w, struct err *e);
/* XXH3-128 of the CSV rows after the header, formatted so far, and their number: after finish. */
struct trace_totals {
    uint64_t rows, csv_bytes, file_bytes;
    char digest[33];
};
/* Drains, writes summary (JSON or NULL, zstd only) and the seek table, closes. Frees w also on
 * failure; a partial regular file is then removed. *totals may be NULL. */
int trace_finish(struct trace_writer *w, const char *summary, struct trace_totals *totals,
                 struct err *e);
/* For the summary of a file that will contain the digest: drains all rows and fills *totals. */
int trace_drain(struct trace_writer *w, struct trace_totals *totals, struct err *e);
/* Gives up: closes, removes what was written if it is a regular file. */
void trace_abandon(struct trace_writer *w);

#endif
