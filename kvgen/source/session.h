/* session.h - one agentic session: its requests in threads, as they were recorded. The main thread
 * and each sub-agent are threads; a thread's entries are requests and sub-agents in order. */
#ifndef KVGEN_SOURCE_SESSION_H
#define KVGEN_SOURCE_SESSION_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

struct session_entry {
    uint32_t thread;  /* a sub-agent's; 0 (the main one): a request */
    int64_t think_ns; /* from the end of the request before */
    int64_t context_tokens, generated_tokens;
    size_t first_id; /* place in session.id */
    uint32_t ids;
};

struct session_thread {
    uint32_t parent;     /* of the main thread: itself */
    uint32_t first, end; /* entries */
};

/* Zero it before first use; the arrays are kept for the next session that is read into it. */
struct session {
    uint32_t block_tokens;
    uint64_t *id;
    size_t ids, ids_cap;
    struct session_entry *entry;
    size_t entries, entries_cap;
    struct session_thread *thread;
    size_t threads, threads_cap;
};

/*
 * Reads the JSON text of one session: block_size, requests: [{in, out, hash_ids, t, api_time,
 * think_time} or {type: "subagent", requests}]. Where think_time is missing, the time from the end
 * of the request before (t + api_time) to t stands for it. -EINVAL with *e: where, then the
 * request.
 */
int session_read(struct session *s, const char *text, size_t len, const char *where, struct err *e);
void session_free(struct session *s);

#endif
