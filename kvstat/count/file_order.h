/* file_order.h - what several threads made of runs of consecutive rows, put back in file order: for
 * the figures that depend on it (occupancy, requests). Any thread may call. */
#ifndef KVSTAT_COUNT_FILE_ORDER_H
#define KVSTAT_COUNT_FILE_ORDER_H

#include <stdint.h>

#include "kvstat/count/occupancy.h"
#include "kvstat/count/requests.h"
#include "lib/base/err.h"
#include "lib/trace/trace.h"

/* One thread's sums over the rows of one piece (trace_cursor_piece). */
struct order_run;
/* 0, -ENOMEM or -EOVERFLOW with *e. */
int order_run_add(struct order_run *run, const struct trace_row *rows, size_t n, struct err *e);

struct order;
/* For threads many threads; runs go to requests, which stays the caller's. NULL: no memory. */
struct order *order_create(unsigned threads, bool result, struct requests *requests);
void order_free(struct order *o);
/* As agg_leave_out, for requests. Before the first row. */
void order_leave_out(struct order *o, int64_t warmup_ns);

/* The run that the thread is to fill from now on, for piece; what it filled before (NULL: nothing)
 * is handed in. A thread's pieces grow. piece UINT64_MAX: the thread has ended, and NULL is
 * returned. Waits when far ahead of a slower thread. NULL before the end: no memory. */
struct order_run *order_next(struct order *o, unsigned thread, struct order_run *filled,
                             uint64_t piece);
/* After all threads have ended: 0, or the first error of appending, with *e. */
int order_finish(struct order *o, struct occupancy *occupancy, struct err *e);

#endif
