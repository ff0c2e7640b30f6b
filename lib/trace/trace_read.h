/* trace_read.h - private to trace_read.c (the input: header, pieces in order) and trace_cursor.c (a
 * thread's way through its pieces). A piece is a run of whole rows; pieces are numbered in file
 * order. */
#ifndef KVTRACE_TRACE_TRACE_READ_H
#define KVTRACE_TRACE_TRACE_READ_H

#include <pthread.h>

#include "lib/base/hash.h"
#include "lib/trace/csv.h"
#include "lib/trace/frame.h"
#include "lib/trace/trace.h"
#include "lib/trace/trace_parse.h"

#define TRACE_MAX_CURSORS 256u
#define TRACE_READ_BYTES  ((size_t)256 << 10)
/* The begin of a row that did not end yet, and the block read behind it. */
#define TRACE_CARRY_CAP (CSV_MAX_ROW + TRACE_READ_BYTES)
#define TRACE_BLOCK_CAP (TRACE_CARRY_CAP + TRACE_READ_BYTES + TRACE_TEXT_PAD)

/* Sums over pieces that finish in any order: what stands before a piece is known once all earlier
 * ones are in. */
struct trace_tally {
    uint64_t value[TRACE_MAX_CURSORS];
    bool in[TRACE_MAX_CURSORS];
    uint64_t next; /* first piece not yet summed */
    uint64_t sum;
    bool lost; /* a piece came too early to be kept: sums are unknown from here on */
};

struct trace_reader {
    struct frame_in *in;
    struct trace_read_opts opts;
    struct trace_layout layout;
    char *header;
    uint32_t header_len;
    uint64_t header_lines; /* lines up to the end of the header */

    /* As frame_in_progress after the last take: read without the lock of the input, which is held
     * while a pipe is silent. */
    _Atomic uint64_t consumed, total;

    pthread_mutex_t input;     /* held while reading, so for long: in and the next ones */
    struct frame_piece *first; /* whole-row inputs: holds the header, rows begin at first_at */
    size_t first_at;
    bool first_waits; /* first, or carry, holds whole rows that nobody took yet */
    char *carry;
    size_t carry_len;
    bool drop_line; /* an endless row was given up: its rest is skipped */
    uint64_t next_piece;
    bool ended;

    pthread_mutex_t lock; /* all below; never taken before input */
    pthread_cond_t told;  /* a tally or stop_piece changed */
    _Atomic uint64_t
        stop_piece; /* pieces after it are not parsed any more; read without the lock */
    struct trace_tally lines, rows;
    struct trace_cursor *cursors;
    unsigned cursor_count;
    uint64_t bad_rows, first_bad_line;
    char first_bad[640];
    struct hash_stream *digest;
    char digest_hex[HASH_HEX_LEN + 1];
};

/* Where a cursor puts a piece. */
struct trace_piece {
    struct frame_piece *frame; /* whole-row inputs */
    char *block;               /* others: TRACE_BLOCK_CAP bytes */
    const char *text;          /* whole rows, TRACE_TEXT_PAD readable bytes behind them */
    size_t len;
    uint64_t number;
    uint64_t lines_before; /* newlines dropped before text, part of this piece's count */
};

/* The next piece: 1, 0 at the end, negative errno (p->number is set then too). */
int trace_take(struct trace_reader *r, struct trace_piece *p, struct err *e);
/* Counts a piece; under r->lock. */
void trace_tally_add(struct trace_tally *t, uint64_t piece, uint64_t value);

#endif
