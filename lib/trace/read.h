/* Reads trace and result files: an input, shared by cursors, of which each thread has its own.
 * Notes are skipped: they are neither rows nor counted, but give provenance and summary. */
#ifndef KVTRACE_TRACE_READ_H
#define KVTRACE_TRACE_READ_H

#include "lib/trace/trace.h"

struct trace_read_opts {
    uint32_t want;      /* columns to parse (mask), 0: all that are there; core is always checked */
    bool want_line;     /* fill row->line */
    bool skip_bad_rows; /* count bad rows instead of failing */
    bool long_window;   /* as in frame.h */
    bool want_digest;   /* compute trace_digest; for one cursor only */
    bool patient;       /* as in frame.h */
};

struct frame_in;
struct trace_reader; /* the input; locks itself */
struct trace_cursor; /* one thread's place in it */

/*
 * Opens a trace or result file ("-": standard input), plain or zstd, and reads its header. o may be
 * NULL. Errors have class ERR_INPUT: an empty file; a header without the six core columns (the
 * first missing one is named); with want_line, result columns that are not together at the end.
 */
int trace_open(struct trace_reader **out, const char *path, const struct trace_read_opts *o,
               struct err *e);
/* As trace_open, for an input that was opened, looked at and given back to its begin
 * (frame_in_unread). The reader takes in, on failure too. o->long_window has no meaning. */
int trace_open_in(struct trace_reader **out, struct frame_in *in, const struct trace_read_opts *o,
                  struct err *e);
void trace_close(struct trace_reader *r);

/* The known columns that the file has (mask). */
uint32_t trace_columns(const struct trace_reader *r);
/* The header line verbatim, without newline and without the result columns at its end. */
struct trace_str trace_header(const struct trace_reader *r);
const char *trace_name(const struct trace_reader *r); /* the file's, for messages */
/* JSON or NULL: of the first frame, or of the Note that is the first row. A Note is known after the
 * opening, or (of a pipe that had only the header to read then) once it was read. */
const char *trace_provenance(const struct trace_reader *r);
/* JSON or NULL: of a frame (frame_in_summary), or of the Note that is the last row, once all rows
 * were read. */
const char *trace_summary(const struct trace_reader *r);
/* The Notes read so far. Of an input as a program of ours wrote it, the first row and, when all was
 * read, the last one are Notes, and no others are. */
struct trace_notes {
    uint64_t count;
    bool first, last; /* the first row is a Note, the last one read is */
};
struct trace_notes trace_notes(const struct trace_reader *r);
/* The reason of a cursor's -EBADMSG. */
enum trace_end {
    TRACE_END_CUT,        /* a compressed file ends in the middle */
    TRACE_END_IN_ROW,     /* the text of a result ends within a row */
    TRACE_END_UNFINISHED, /* one of our own ends at a row's end, and nobody finished it */
    TRACE_END_DAMAGED
};
enum trace_end trace_end(const struct trace_reader *r);
/* Returns whether the file is one of our own compressed ones. */
bool trace_is_own(const struct trace_reader *r);
/* XXH3-128 of the rows after the header (without Notes) as 32 hex digits, as the writer of the file
 * printed it. Needs want_digest; "" until every row was read. */
const char *trace_digest(const struct trace_reader *r);
/* Number of bad rows skipped so far; *first (may be NULL) describes the first one, lent. */
uint64_t trace_bad_rows(const struct trace_reader *r, const char **first);
/* Bytes of the file consumed so far, and its size (0: unknown). */
void trace_progress(const struct trace_reader *r, uint64_t *consumed, uint64_t *total);
bool trace_can_rewind(const struct trace_reader *r);
/* Goes back to the first row. Close all cursors first. */
int trace_rewind(struct trace_reader *r, struct err *e);

/* Opens a cursor for one thread. One cursor gets the rows in file order. Several share the input
 * and each gets runs of consecutive rows; open them all before the first one reads, because they
 * count lines together. At most 256. */
int trace_cursor_open(struct trace_cursor **out, struct trace_reader *r, struct err *e);
void trace_cursor_close(struct trace_cursor *c);
/*
 * Gets a batch of rows, lent until the next call on this cursor: 1 (*n >= 1), 0 at the end, or a
 * negative errno. A bad row is -EINVAL (-E2BIG if it is too long) with "FILE:LINE: what is wrong".
 * A cut or damaged file is -EBADMSG, after every whole row before that place; so is a result whose
 * last row has no newline and makes no sense, and one that begins with a Note but does not end with
 * one. After an error all cursors end.
 */
int trace_cursor_next(struct trace_cursor *c, const struct trace_row **rows, size_t *n,
                      struct err *e);
/* Returns which run of consecutive rows the last batch is from: one number for all rows of a run,
 * greater for later runs, whoever reads them. With it, results of several cursors can be put in
 * file order. Runs do not depend on the number of cursors: a run is a frame of our own files, a
 * block of others. */
uint64_t trace_cursor_piece(const struct trace_cursor *c);

#endif
