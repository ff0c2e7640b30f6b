/* run_source.h - the source of requests that the options choose, with the input files, users and
 * documents that it needs. One thread. */
#ifndef KVGEN_RUN_SOURCE_H
#define KVGEN_RUN_SOURCE_H

#include <stdbool.h>

#include "kvgen/format/trace_input.h"
#include "kvgen/format/trace_requests.h"
#include "kvgen/options/options.h"
#include "kvgen/record/names.h"
#include "kvgen/source/inputs.h"
#include "kvgen/source/population.h"
#include "kvgen/source/rag.h"
#include "kvgen/source/source.h"
#include "kvgen/workload.h"
#include "lib/model/model.h"

/* Zero it first. All pointers are owned, unless it says otherwise. */
struct run_source {
    struct inputs *inputs; /* files, until the source takes them */
    /* Files of further --input, likewise. */
    struct inputs *others[OPT_LIST_MAX - 1];
    size_t other_count;
    enum inputs_kind kind;         /* of the files, if run_source_recognise looked */
    struct population *population; /* NULL without synthetic users */
    struct rag *rag;               /* NULL without --enable-rag */
    struct source *source;
    struct names names; /* key of what was recorded */
    /* The input can be read once only, as it comes from engines or a pipe and is no request: errors
     * end nothing that can go on, and what was written stays. */
    bool passing;
    struct trace_input *trace; /* source, if it is an existing trace (not owned); else NULL */
    /* source, if it is the requests of an existing trace (not owned); else NULL */
    struct trace_requests *redone;
};

/* All of it stays the caller's and in place until run_source_close. */
struct run_source_opts {
    const struct options *options;
    const struct opt_parser *parser;
    const struct workload *workload;
    const struct model *model;
    bool midway; /* people are in the midst of their sessions (people.h) */
};

/* Opens the files of --input. Unless --source names the source, tells it by their content and sets
 * it in o. 0 or negative errno with *e. */
int run_source_recognise(struct run_source *r, struct options *o, const struct opt_parser *p,
                         struct err *e);
/* Whether the files can be read again; so without files. */
bool run_source_repeatable(const struct run_source *r);
/* Opens the files again, for a further reading; kind as run_source_recognise found it. 0 or
 * negative errno with *e. */
int run_source_reopen(struct run_source *r, const struct options *o, enum inputs_kind kind,
                      struct err *e);
/* Opens the source; the options were checked. 0 or negative errno with *e. */
int run_source_open(struct run_source *r, const struct run_source_opts *q, struct err *e);
void run_source_close(struct run_source *r);

#endif
