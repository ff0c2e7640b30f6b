/* A row of the trace on its way through the replay, and lists of rows. The reader's thread fills a
 * row, the scheduler owns it until it is finished, then the reader fills it again. Rows are
 * recycled; none is allocated during the run. */
#ifndef KVREPLAY_WAIT_ROW_H
#define KVREPLAY_WAIT_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kvreplay/wait/room.h"
#include "lib/base/hash.h"
#include "lib/tier/tier.h"
#include "lib/trace/trace.h"

struct chain;   /* order.c */
struct request; /* admission.c */

/* Reasons for which a row waits before it may run, apart from its time and a slot. */
enum row_wait {
    ROW_WAIT_KEY = 1,     /* earlier rows of its key */
    ROW_WAIT_REQUEST = 2, /* the row before it of its request */
    ROW_WAIT_ROOM = 4,
    ROW_WAIT_WORKER = 8, /* --timing served */
    ROW_WAIT_USER = 16   /* --timing closed: the row before it of its user */
};

/* The step that is under way for the row. */
enum row_stage {
    ROW_CREATE, /* writing an object that the trace reads before it writes it (from a pipe) */
    ROW_LOOKUP, /* looking whether the object is there, before a read; all that a Miss row does */
    ROW_MAIN,   /* the row's own operation */
    ROW_CLEAN   /* removing what a failed operation may have left */
};

enum {
    ROW_TEXT_INLINE = 192
};

/* The reader's fields come first, and the scheduler's follow on their own cache lines, so
 * that only the first part moves between the two cores. */
struct row {
    struct trace_row t;  /* result columns are filled in here; line and key point into text */
    struct hash128 key;  /* hash of the key */
    struct hash128 copy; /* names the copy within its tier; key, unless tiers are mapped */
    struct hash128 name; /* hash of (tier, copy) */
    uint64_t number;     /* in the trace, from 0 */
    struct hash128 user; /* hash of the user; of Prefill rows, and with --timing closed of all */
    bool has_user;
    char *text; /* inline_text, or allocated when the row is longer */
    size_t text_bytes;
    char inline_text[ROW_TEXT_INLINE];

    /* order.c: a chain by key and one by request */
    _Alignas(64) struct chain *chain[2];
    struct row *chain_next[2];
    struct row *woken;      /* next in the list that order_leave returns */
    uint64_t writes_before; /* writes of this key that entered before this row */

    /* order.c, with order_keep_links: the rows inside before and behind it in the chain of its key;
     * the last row before it there that runs alone, valid while it waits for its key */
    struct row *key_before, *key_behind, *key_alone;

    struct request *request;    /* admission.c; NULL: not served */
    struct row *request_behind; /* admission.c: the next row inside of its request */

    struct row *user_next; /* pace.c: --timing closed */
    int64_t pause_ns;

    struct room_effect effect;
    uint64_t generation;            /* of what this row writes */
    struct tier_parts part;         /* of the main stage's operation */
    int64_t first_byte_ns;          /* as of struct tier_op, as the next */
    const struct disk_where *where; /* of the main stage's operation, where it is wanted; NULL */
    uint8_t door;                   /* as of struct tier_op */
    int64_t away_ns;    /* of its latency, in which the processors were away (gap_list.h) */
    int64_t stopped_ns; /* of its response, in stops of the process, beside its lateness */
    bool in_burst;      /* due before the end of a stop of the process, and started after it */
    struct row *next;   /* in a row_list */
    /* When the simulation had it, for a request of an engine that serves steps; else INT64_MIN. */
    int64_t not_before_ns;
    int64_t wake_ns; /* in the timers: due time, or end of a Generate row */
    uint8_t waits;   /* mask of enum row_wait */
    uint8_t stage;   /* enum row_stage */
    /* cleaner.c: the stage of a write that found the store full, which it goes on with when there
     * is room, + 1; 0: it did not */
    uint8_t retry;
    bool found_full; /* it did so once, or more often */
    bool again;      /* it has started before */
    bool of_cleaner; /* no row of the trace: it removes an object */
    uint64_t claim;  /* bytes that its write, which is in flight, may add to what is stored */
    uint64_t round;  /* cleanings of its target that had ended when its write was sent */
    bool head;       /* runs before the clock starts */
    bool held;       /* a Generate row that holds its request until wake_ns */
    bool has_thread; /* of its engine, for the operation in flight (threads.h) */
    bool looks_up;   /* it has the stage ROW_LOOKUP */
    /* counts.c: it writes to Tier-2 and has started; such a row was there when it started, and how
     * many had started by then */
    bool is_store, beside_store;
    uint64_t stores_before;
};

/* How late the tool itself was with a row that does I/O; 0 for others, which nobody waits for. */
static inline int64_t row_late_ns(const struct row *r)
{
    const struct trace_row *t = &r->t;

    if (t->tier == TRACE_NO_TIER || t->start_ns == TRACE_NONE)
        return 0;
    return t->start_ns - (t->due_ns > t->eligible_ns ? t->due_ns : t->eligible_ns);
}

/* Has a cleaner removed the object that the row found absent? */
static inline bool row_was_removed(const struct row *r)
{
    return r->t.status == TRACE_ABSENT && r->effect.object && r->effect.object->removed;
}

/* Rows in line, first in first out. A row is in one list at most. Zero it first. */
struct row_list {
    struct row *head, *tail;
    size_t count;
};

static inline void row_list_append(struct row_list *l, struct row *r)
{
    r->next = NULL;
    if (l->tail)
        l->tail->next = r;
    else
        l->head = r;
    l->tail = r;
    l->count++;
}

/* r goes before all others. */
static inline void row_list_prepend(struct row_list *l, struct row *r)
{
    r->next = l->head;
    l->head = r;
    if (!l->tail)
        l->tail = r;
    l->count++;
}

/* The list must not be empty. */
static inline struct row *row_list_pop(struct row_list *l)
{
    struct row *r = l->head;
    l->head = r->next;
    if (!l->head)
        l->tail = NULL;
    l->count--;
    return r;
}

/* Always inlined: gcc removes calls of a function that does nothing but prefetch. */
#define ROW_INLINE static inline __attribute__((always_inline))

ROW_INLINE void row_prefetch_part(const struct row *r, size_t from, size_t to)
{
    for (size_t at = from & ~(size_t)63; at < to; at += 64)
        __builtin_prefetch((const char *)r + at, 1);
}

/* For the reader, which is about to fill the row with text_bytes of text. */
ROW_INLINE void row_prefetch_read(const struct row *r, size_t text_bytes)
{
    row_prefetch_part(r, 0, offsetof(struct row, inline_text) + text_bytes);
}

/* For the scheduler, which is about to admit the row; its line has the usual length. */
ROW_INLINE void row_prefetch(const struct row *r)
{
    row_prefetch_part(r, 0, offsetof(struct row, inline_text) + 128);
    row_prefetch_part(r, offsetof(struct row, chain), sizeof(*r));
}

/* Rows of these classes at the head of a trace run before the clock starts. A document that is
 * ingested in the run is a request. */
static inline bool row_in_head(const struct trace_row *t)
{
    return (t->class == TRACE_PREPOP || t->class == TRACE_INGEST) && t->request == TRACE_NONE;
}

#endif
