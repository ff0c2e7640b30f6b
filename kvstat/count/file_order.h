/* file_order.h - puts what several threads made of their pieces of rows back in file order, for the
 * figures that depend on it (occupancy, requests). Any thread may call. */
#ifndef KVSTAT_COUNT_FILE_ORDER_H
#define KVSTAT_COUNT_FILE_ORDER_H

#include <stdint.h>

#include "kvstat/count/occupancy.h"
#include "kvstat/count/requests.h"
#include "kvstat/count/sequences.h"
#include "lib/base/err.h"
#include "lib/trace/trace.h"

/* One thread's sums over the rows of one piece (trace_cursor_piece). */
struct file_order_piece;
/* 0, -ENOMEM or -EOVERFLOW with *e. */
int file_order_add(struct file_order_piece *piece, const struct trace_row *rows, size_t n,
                   struct err *e);

struct file_order;
/* For this many threads. result, warmup_ns: see request_piece_create. Pieces are appended to
 * requests and sequences (NULL: none), which stay the caller's. NULL: no memory. */
struct file_order *file_order_create(unsigned threads, bool result, int64_t warmup_ns,
                                     struct requests *requests, struct sequences *sequences);
void file_order_free(struct file_order *o);

/* Hands in the piece that the thread has filled (NULL: none) and returns the one to fill next, with
 * that number. The numbers of a thread's pieces grow. number UINT64_MAX: the thread has ended; the
 * result is then NULL. Otherwise NULL means no memory. Waits when this thread is far ahead of a
 * slower one. */
struct file_order_piece *file_order_next(struct file_order *o, unsigned thread,
                                         struct file_order_piece *filled, uint64_t number);
/* After all threads have ended: 0, or the first error of appending, with *e. */
int file_order_finish(struct file_order *o, struct occupancy *occupancy, struct err *e);

#endif
