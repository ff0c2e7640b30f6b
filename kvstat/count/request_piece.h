/* request_piece.h - the requests in a piece of consecutive rows (trace_cursor_piece), each with the
 * sums over its rows. One thread fills a piece; requests.h puts the pieces of a file together. */
#ifndef KVSTAT_COUNT_REQUEST_PIECE_H
#define KVSTAT_COUNT_REQUEST_PIECE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/trace/trace.h"

/* The parts of a request's end-to-end time, of which they are all. Those from GPU to TOOL are the
 * service time of its operations. */
enum request_part {
    REQUEST_PART_QUEUE, /* before its first operation */
    REQUEST_PART_GENERATION,
    REQUEST_PART_GPU, /* service time of Tier-0 and Tier-1 */
    REQUEST_PART_CPU,
    REQUEST_PART_SLOT, /* Tier-2: waits for an I/O slot or a buffer, device time, the rest, and */
    REQUEST_PART_DEVICE,
    REQUEST_PART_HOST,
    REQUEST_PART_STORAGE, /* service time whose parts the file does not tell */
    REQUEST_PART_TOOL,    /* of the service time of any tier, in which the process stood still */
    REQUEST_PART_ROWS,    /* between its operations: what is left */
    REQUEST_PARTS
};

/* Sums over rows of one request, which are added in the order of the file: it tells what came
 * before the first Generate row. */
struct request_sums {
    int64_t id;
    int64_t arrival_ns;          /* the least; TRACE_NONE: unknown */
    int64_t first_ns, last_ns;   /* first start, last end; INT64_MAX, INT64_MIN: none */
    int64_t due_ns, due_time_ns; /* least Due and the Timestamp of its row; TRACE_NONE: none */
    int64_t client_ns;           /* the tool's own delays */
    /* Before the first Generate row: the end of the last read (INT64_MIN: none), and the tool's own
     * delays. */
    int64_t read_end_ns, read_client_ns;
    /* The ends of its two Generate rows: the prefill's, with the first token, and the decode's,
     * with the last of so many; TRACE_NONE: it has none, or no time. */
    int64_t token_ns, last_token_ns, tokens;
    int64_t part_ns[REQUEST_PARTS]; /* of the queue and of waits 0: requests.c sets them */
    uint32_t last_row;              /* place of its last row in the piece */
    uint8_t qos;
    bool generated, served; /* has a Generate row; has an operation with a latency */
    bool warm;              /* a row started during the warm-up */
    bool ingest;            /* no user's: it writes a document for retrieval */
    bool failed;            /* a row is corrupt or has an errno */
    /* With request_piece_take_direct: service times of demotions and promotions; of direct writes;
     * of direct reads but of earlier turns. */
    bool wrote, read; /* has direct writes; such reads */
    int64_t evict_ns, prefill_ns, decode_ns;
};
/* Adds the sums over later rows of the same request. */
void request_sums_merge(struct request_sums *into, const struct request_sums *from);

/* The rows that tell how the trace's clock maps to the replay's (its speed): those with the least
 * and the greatest Due, and the one that is least behind its Timestamp (the last of several).
 * TRACE_NONE: no row has a Due. */
struct request_clock {
    int64_t low_due_ns, low_time_ns, high_due_ns, high_time_ns;
    int64_t ahead_due_ns, ahead_time_ns;
    bool served; /* rows of requests ran without a Due: only the first row of a request has one,
                    which is its arrival (kvreplay --timing served) */
};
#define REQUEST_CLOCK_NONE                                                                         \
    ((struct request_clock){TRACE_NONE, TRACE_NONE, TRACE_NONE, TRACE_NONE, TRACE_NONE,            \
                            TRACE_NONE, false})
void request_clock_merge(struct request_clock *into, const struct request_clock *from);

struct gaps;
struct request_piece;
/* result: agg_is_result of the file. A request with a row that started before warmup_ns on the
 * replay's clock becomes warm; 0: none does. NULL: no memory. */
struct request_piece *request_piece_create(bool result, int64_t warmup_ns);
/* The times in which the process stood still; NULL: none are known. Lent. */
void request_piece_take_stops(struct request_piece *p, const struct gaps *stops);
/* Sums the direct operations too. */
void request_piece_take_direct(struct request_piece *p);
void request_piece_free(struct request_piece *p);
void request_piece_clear(struct request_piece *p);
/* 0 or -ENOMEM. */
int request_piece_add(struct request_piece *p, const struct trace_row *rows, size_t n);
/* The n requests in the order of their first rows. Lent. */
const struct request_sums *request_piece_items(const struct request_piece *p, size_t *n);
const struct request_clock *request_piece_clock(const struct request_piece *p);

#endif
