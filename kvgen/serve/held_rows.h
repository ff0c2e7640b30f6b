/* held_rows.h - rows on their way from an engine to the emitter. A Generate row begins long before
 * its duration is known; it, and what comes after it, is held until then, so that rows leave in the
 * order of time. */
#ifndef KVGEN_SERVE_HELD_ROWS_H
#define KVGEN_SERVE_HELD_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "kvgen/sim/emitter.h"
#include "kvgen/sim/row.h"

/* A request that rows name: it stays until none does. */
struct held_request {
    struct request r;
    uint64_t rows;                       /* that name it and are held */
    void (*free)(struct held_request *); /* called when rows falls to 0 and it is done */
    bool done;                           /* its owner names it no more */
};

struct held_rows;

/* The emitter stays the caller's. NULL: no memory. */
struct held_rows *held_rows_create(struct emitter *emitter);
/* Rows that are still held are dropped. Takes NULL. */
void held_rows_free(struct held_rows *h);
/* Takes a row of the present time, which is not before the rows so far. q may be NULL: nobody's.
 * Returns the row's number, for held_rows_close. */
uint64_t held_rows_add(struct held_rows *h, int64_t now_ns, const struct hierarchy_op *what,
                       struct held_request *q);
/* The same for a Generate row whose duration comes later. */
uint64_t held_rows_open(struct held_rows *h, int64_t now_ns, const struct hierarchy_op *what,
                        struct held_request *q);
/* The same for a row that begins at begin_ns, later than now. The next call after that time sets
 * *number, which must stay where it is until then. */
void held_rows_open_later(struct held_rows *h, int64_t begin_ns, const struct hierarchy_op *what,
                          struct held_request *q, uint64_t *number);
/* Gives numbers to the rows that begin by now_ns, the present time. */
void held_rows_pass(struct held_rows *h, int64_t now_ns);
/* Its duration is known: it ends at end_ns. */
void held_rows_close(struct held_rows *h, uint64_t number, int64_t end_ns);
/* The owner of the request names it no more. */
void held_rows_leave(struct held_request *q);
/* The run ends at now_ns: what is open ends there, and all rows leave. */
void held_rows_end(struct held_rows *h, int64_t now_ns);
bool held_rows_failed(const struct held_rows *h);   /* no memory */
uint64_t held_rows_most(const struct held_rows *h); /* rows held at one time */

#endif
