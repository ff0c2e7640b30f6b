/* graph.h - recorded steps of agents that begin when others have: SATF documents, and agentic
 * Mooncake rows of versions 1 and 2. */
#ifndef KVGEN_RECORD_GRAPH_H
#define KVGEN_RECORD_GRAPH_H

#include "kvgen/source/file_source.h"
#include "kvgen/source/inputs.h"
#include "kvgen/source/source.h"
#include "lib/trace/trace.h"

struct source_graph_opts {
    enum inputs_kind kind; /* INPUTS_SATF or INPUTS_AGENTIC_ROWS */
    struct file_source_opts files;
    enum trace_qos qos; /* of every request */
};

/*
 * Takes in, also on failure, and reads all of it: a step may depend on a later one. A step begins
 * when all that it depends on was dispatched or answered and their delays are over, and not before
 * its own time. Blocks are known by their file alone. Tool calls are pauses. Names are not kept. 0,
 * or negative errno with *e: a bad file, steps that wait for each other, no request.
 */
int source_graph_open(struct source **out, struct inputs *in, const struct source_graph_opts *o,
                      struct err *e);

#endif
