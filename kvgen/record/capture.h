/* capture.h - recordings as they were parsed, under the rule of names.h: JSON lines, one event
 * each, so that a recording can be kept, and read again. */
#ifndef KVGEN_RECORD_CAPTURE_H
#define KVGEN_RECORD_CAPTURE_H

#include "kvgen/record/batch.h"

#define CAPTURE_MAGIC "{\"kvtrace\":\"capture\","

struct capture;

/* Opens path, compressed if its name ends in .zst. It grows there: what was written stays, also
 * when it is not closed, or abandoned. 0 or negative errno with *e, class ERR_OUTPUT, as all errors
 * here but memory. */
int capture_create(struct capture **out, const char *path, const struct media *media,
                   struct err *e);
/* Writes a message of a reader: a line for each event, or one line for a message without events.
 * The head of the file, before the first one, has what the reader says of its recording. */
int capture_put(struct capture *c, const struct batch_reader *from, const struct batch *b,
                struct err *e);
/* Writes what has been put so far. */
int capture_flush(struct capture *c, struct err *e);
/* Completes the file, and frees c also on failure. */
int capture_close(struct capture *c, struct err *e);
void capture_abandon(struct capture *c); /* NULL is fine */

#endif
