/* row.h - a row of the trace on its way through the replay: filled by the reader's thread, then the
 * scheduler's until it is finished, then the reader's again. Rows are recycled, never allocated on
 * the way. */
#ifndef KVREPLAY_SCHED_ROW_H
#define KVREPLAY_SCHED_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kvreplay/sched/room.h"
#include "lib/base/hash.h"
#include "lib/trace/trace.h"

struct chain;   /* order.c */
struct request; /* admission.c */

enum row_wait {
    ROW_WAIT_KEY = 1,
    ROW_WAIT_REQUEST = 2,
    ROW_WAIT_ROOM = 4,
    ROW_WAIT_WORKER = 8,
    ROW_WAIT_USER = 16
};

/* What is being done for the row. */
enum row_stage {
    ROW_CREATE, /* writing an object that the trace reads before it writes it (from a pipe) */
    ROW_MAIN,   /* the row's own operation */
    ROW_CLEAN   /* removing what a failed operation may have left */
};

enum {
    ROW_TEXT_INLINE = 192
};

/* First what the reader writes, then what only the scheduler does: so that no more than the first
 * goes from core to core. */
struct row {
    struct trace_row t;  /* the result columns are filled here; line and key point into text */
    struct hash128 key;  /* hash of the key */
    struct hash128 copy; /* the same, of one copy of those that a mapped tier may hold */
    struct hash128 name; /* hash of (tier, copy) */
    uint64_t number;     /* in the trace, from 0 */
    struct hash128 user; /* --timing closed */
    bool has_user;
    char *text; /* inline_text, or allocated when the row is longer */
    size_t text_bytes;
    char inline_text[ROW_TEXT_INLINE];

    /* order.c: one chain by key, one by request */
    _Alignas(64) struct chain *chain[2];
    struct row *chain_next[2];
    struct row *woken;      /* list that order_leave returns */
    uint64_t writes_before; /* of this key, entered before this row */

    struct request *served; /* its request, with --timing served; else NULL */

    struct row *user_next; /* --timing closed: pace.c */
    int64_t pause_ns;

    struct plan plan;
    uint64_t generation; /* of what this row writes */
    struct row *next;    /* in the room, ready or free list */
    int64_t wake_ns;     /* in the timers: due, or the end of a Generate row */
    uint8_t waits;       /* enum row_wait */
    uint8_t stage;       /* enum row_stage */
    bool head;           /* runs before the clock starts */
    bool held;           /* a Generate row that holds its request until wake_ns */
};

/* Always inlined: gcc takes a call of a function that does no more than this for one of no use. */
#define ROW_INLINE static inline __attribute__((always_inline))

ROW_INLINE void row_prefetch_part(const struct row *r, size_t from, size_t to)
{
    for (size_t at = from & ~(size_t)63; at < to; at += 64)
        __builtin_prefetch((const char *)r + at, 1);
}

/* The reader will fill the row soon; text: bytes of it. */
ROW_INLINE void row_prefetch_read(const struct row *r, size_t text)
{
    row_prefetch_part(r, 0, offsetof(struct row, inline_text) + text);
}

/* The scheduler will get it soon, with a line of the usual length. */
ROW_INLINE void row_prefetch(const struct row *r)
{
    row_prefetch_part(r, 0, offsetof(struct row, inline_text) + 128);
    row_prefetch_part(r, offsetof(struct row, chain), sizeof(*r));
}

/* A Read that the cache makes to move or remove the object: the copy is gone when it completes. */
static inline bool row_drops(const struct trace_row *t)
{
    return t->op == TRACE_READ && t->phase == TRACE_EVICT;
}

/* Such rows before all others run before the clock starts. */
static inline bool row_in_head(const struct trace_row *t)
{
    return t->class == TRACE_PREPOP || t->class == TRACE_INGEST;
}

#endif
