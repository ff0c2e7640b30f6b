/* An input as a header and pieces: runs of whole rows, numbered in file order. Private to the trace
 * reader. */
#ifndef KVTRACE_TRACE_PIECES_H
#define KVTRACE_TRACE_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/trace/frame.h"

/* Readable bytes behind the text of a piece. */
#define PIECE_TEXT_PAD 64

struct pieces;

/* Reads up to the end of the header. Takes in, on failure too. -EINVAL for an empty file, -E2BIG
 * for an endless first line, -EBADMSG for a file that is cut or damaged before its first row, or an
 * error of reading. */
int pieces_open(struct pieces **out, struct frame_in *in, struct err *e);
void pieces_close(struct pieces *ps);
/* Goes back to the first piece. No other call may be running. */
int pieces_rewind(struct pieces *ps, struct err *e);

const struct frame_in *pieces_input(const struct pieces *ps);
/* The header line verbatim without its newline, and the lines of the file up to its end. */
const char *pieces_header(const struct pieces *ps, size_t *len, uint64_t *lines);
/* The whole rows that were read with the header of an input without frames, before the first take;
 * *len 0: none. */
const char *pieces_first(const struct pieces *ps, size_t *len);
/* As frame_in_progress after the last take. Does not wait while a pipe is silent. */
void pieces_progress(const struct pieces *ps, uint64_t *consumed, uint64_t *total);

/* Where a thread puts its piece; reused for the next one. */
struct piece {
    struct frame_piece *frame; /* inputs with whole rows in frames */
    char *block;               /* other inputs */
    const char *text;          /* whole rows, PIECE_TEXT_PAD readable bytes behind them */
    size_t len;
    uint64_t number;
    uint64_t lines_before; /* newlines dropped before text; they count as lines of this piece */
    bool damaged;          /* an error -EBADMSG says that the file is damaged, not cut */
    bool unfinished;       /* it says that the file ends with a whole frame, unfinished */
};
/* Allocates what the input needs. 0 or -ENOMEM. */
int piece_open(struct piece *p, const struct pieces *ps, struct err *e);
void piece_close(struct piece *p);

/* Takes the next piece; any thread. 1; 0 at the end or behind the last piece wanted; negative errno
 * (p->number is set then too). */
int pieces_take(struct pieces *ps, struct piece *p, struct err *e);
/* No piece behind that number is wanted any more. Any thread. */
void pieces_stop_after(struct pieces *ps, uint64_t number);
/* The number of the last piece wanted. Any thread. */
uint64_t pieces_last(const struct pieces *ps);

#endif
