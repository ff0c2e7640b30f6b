/* --blktrace: what blktrace recorded of a block device beside a run: the events that blkparse -d
 * writes, or the latencies that btt writes for each I/O. The same figures as kvreplay
 * --device-times has of the kernel's events. */
#ifndef KVSTAT_BLOCK_LOG_H
#define KVSTAT_BLOCK_LOG_H

#include <stdio.h>

#include "lib/base/err.h"
#include "lib/json/jsonout.h"

struct block_log;
/* Reads a file, "-" for standard input, to its end. 0; -EBADMSG with *e when it is cut (*out then
 * has what came before); -EINVAL when it is neither kind, or has a bad event or line; -EINTR after
 * a signal; other negative errno with *e. *out is NULL after a failure other than -EBADMSG. */
int block_log_read(struct block_log **out, const char *path, struct err *e);
void block_log_free(struct block_log *b);

/* The figures as text, and as an element of the array that is open. */
void block_log_text(FILE *out, const char *file, const struct block_log *b);
void block_log_json(struct jsonout *j, const char *file, const struct block_log *b);

#endif
