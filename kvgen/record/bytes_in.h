/* bytes_in.h - the bytes of a file in pieces of known lengths, read in large steps. One thread. */
#ifndef KVGEN_RECORD_BYTES_IN_H
#define KVGEN_RECORD_BYTES_IN_H

#include <stddef.h>
#include <stdint.h>

#include "lib/trace/frame.h"

struct bytes_in;

/* file stays the caller's. NULL: no memory. */
struct bytes_in *bytes_in_create(struct frame_in *file);
void bytes_in_free(struct bytes_in *b); /* NULL is fine */
/* The next len bytes, lent until the next call: 1; 0: the file ends before the first of them;
 * -EBADMSG with *e (where empty): it ends within them, or is damaged; other negative errno. */
int bytes_in_take(struct bytes_in *b, size_t len, const unsigned char **p, struct err *e);
/* The same where the file must not end: 0 is -EBADMSG too. */
int bytes_in_need(struct bytes_in *b, size_t len, const unsigned char **p, struct err *e);

/* n bytes, at most 8, as a number, big endian. */
uint64_t bytes_in_number(const unsigned char *p, unsigned n);

#endif
