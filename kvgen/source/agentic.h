/* agentic.h - requests of recorded agentic sessions, which may have sub-agents. */
#ifndef KVGEN_SOURCE_AGENTIC_H
#define KVGEN_SOURCE_AGENTIC_H

#include <stdint.h>

#include "kvgen/source/file_source.h"
#include "kvgen/source/inputs.h"
#include "kvgen/source/source.h"
#include "lib/trace/trace.h"

struct source_agentic_opts {
    struct file_source_opts files; /* speedup divides think times */
    uint32_t users;                /* sessions under way at once; at least 1 */
    enum trace_qos qos;            /* of every request */
};

/*
 * Takes in, also on failure, and reads the first sessions: one of each file, or those of tar
 * archives. A session is JSON: {block_size, requests: [...]}, where an element of requests is
 * {in, out, hash_ids, t, api_time, think_time} or {type: "subagent", requests}. If think_time is
 * missing, it is the time from the end of the request before (its t + api_time) to t.
 *
 * Each user begins a session, and the next one when that has ended. A request follows its think
 * time after the answer to the request before. Sub-agents begin with that answer; the request also
 * waits until those before it have ended. -EINVAL with *e for a bad session, or if there is none.
 */
int source_agentic_open(struct source **out, struct inputs *in, const struct source_agentic_opts *o,
                        struct err *e);

#endif
