/* agentic.h - requests of recorded agentic sessions, with sub-agents. */
#ifndef KVGEN_SOURCE_AGENTIC_H
#define KVGEN_SOURCE_AGENTIC_H

#include <stdint.h>

#include "kvgen/source/arrival_times.h"
#include "kvgen/source/inputs.h"
#include "kvgen/source/source.h"
#include "lib/trace/trace.h"

struct source_agentic_opts {
    struct pace_opts pace; /* speedup divides think times */
    uint32_t users;        /* sessions under way at once */
    enum trace_qos qos;
};

/*
 * Takes in (closes it, also on failure) and reads the first sessions: one a file (session.h), or
 * those of a tar archive. A user begins a session and, when it has ended, the next; within it a
 * request is asked think time after the answer to the one before, and not before the sub-agents
 * between the two have ended, which begin with that answer.
 */
int source_agentic_open(struct source **out, struct inputs *in, const struct source_agentic_opts *o,
                        struct err *e);

#endif
