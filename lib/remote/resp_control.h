/* A connection to a RESP server for what is not on the path of an operation: marker, listing,
 * adoption, INFO. All calls are synchronous; they exclude each other, so any thread may call. */
#ifndef KVTRACE_REMOTE_RESP_CONTROL_H
#define KVTRACE_REMOTE_RESP_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/remote/remote.h"
#include "lib/remote/resp_text.h"
#include "lib/tier/tier.h"
#include "lib/tier/uri.h"

struct resp_control;

/* Connects, authenticates (REDISCLI_AUTH), selects the database and tries that the user may do what
 * a run needs. Until resp_control_begin, and while an object is adopted, a first signal ends a call
 * with -EINTR, later a second one. part_bytes: objects are stored in parts of so much. timeout_ns:
 * for each answer as a whole, and for a listing that names no new key. Class ERR_TARGET. */
int resp_control_open(struct resp_control **out, const struct uri *u, uint64_t part_bytes,
                      int64_t timeout_ns, struct err *e);
void resp_control_close(struct resp_control *c);
/* The store is taken: objects are stored from now on. */
void resp_control_begin(struct resp_control *c);
/* For remote_open; valid as long as c. */
const struct remote_control *resp_control_table(const struct resp_control *c);

/* Negative errno: the server does not tell. */
int resp_control_info(struct resp_control *c, struct resp_info *i);

#endif
