/* A connection to a RESP server for what is not on the path of an operation: marker, listing,
 * adoption, INFO. All calls are synchronous; they exclude each other, so any thread may call. */
#ifndef KVTRACE_REMOTE_RESP_CONTROL_H
#define KVTRACE_REMOTE_RESP_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/remote/remote.h"
#include "lib/tier/tier.h"
#include "lib/tier/uri.h"

enum {
    RESP_NAME_CAP = 80,       /* "kvtrace:STEM", ".PART" */
    RESP_LINE_MAX = 16 * 1024 /* bytes of a line that a server may send: a status, an error */
};
/* The name of a part of an object of that epoch; 0: "kvtrace:STEM" (lib/owner/stem.h). */
void resp_name(char name[RESP_NAME_CAP], struct hash128 object, uint32_t epoch, uint64_t part);
/* "RESP:WORD" from the text of an error reply. */
void resp_code(char code[TIER_CODE_CAP], const char *text);
/* Whether a value of an answer may go on, of which text[0..len) has come behind its type, and not
 * all: a string of up to most bytes, or a line. False before memory is taken for what a server says
 * that it will send. */
bool resp_may_grow(const char *text, size_t len, uint64_t most);

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

/* The server's INFO; negative: not known. */
struct resp_info {
    char server[64]; /* "redis 7.0.15" */
    char policy[32]; /* maxmemory-policy */
    int64_t max_bytes, used_bytes, evicted;
};
int resp_control_info(struct resp_control *c, struct resp_info *i);

#endif
