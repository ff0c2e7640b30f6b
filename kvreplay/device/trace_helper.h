/* Block events by kvtrace-trace, the small program beside this one that has the right to use
 * tracefs where it was installed so. It ends when this process does. */
#ifndef KVREPLAY_DEVICE_TRACE_HELPER_H
#define KVREPLAY_DEVICE_TRACE_HELPER_H

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/drive/block_events.h"

struct trace_helper;
/* Starts it, and waits until it is ready. Class ERR_TARGET: -EPERM, it is not there or lacks its
 * capability (*e says what to do); -EIO, it has ended (*e: what it said). */
int trace_helper_start(struct trace_helper **out, const uint32_t *device, unsigned n,
                       struct err *e);
/* It records from now on. 0; -EIO with *e: it has ended. */
int trace_helper_begin(struct trace_helper *h, struct err *e);
/* Gives events until the helper says up to when they are whole. 0: more come; 1: these were the
 * last; negative errno, also what take returned. Blocks; for one thread. */
int trace_helper_read(struct trace_helper *h,
                      int (*take)(void *ctx, const struct request_event *event), void *ctx,
                      int64_t *until_ns);
/* It records no more, and gives what it has. For any thread, once. */
void trace_helper_stop(struct trace_helper *h);
/* After the last reading. */
void trace_helper_count(const struct trace_helper *h, struct block_events_counts *c);
/* Ends it. h may be NULL. */
void trace_helper_close(struct trace_helper *h);

#endif
