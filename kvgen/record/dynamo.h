/* dynamo.h - requests of NVIDIA Dynamo's request trace (schema dynamo.request.trace.v1): JSON
 * lines, wrapped as in its files or bare. */
#ifndef KVGEN_RECORD_DYNAMO_H
#define KVGEN_RECORD_DYNAMO_H

#include "kvgen/record/names.h"
#include "kvgen/source/file_source.h"
#include "kvgen/source/inputs.h"
#include "kvgen/source/source.h"
#include "lib/trace/trace.h"

struct source_dynamo_opts {
    struct file_source_opts files;
    const struct names *names; /* key of sessions and blocks; copied */
    enum trace_qos qos;        /* of every request */
    bool after_wait;           /* a request comes when its prefill begins, not when it arrives */
};

/*
 * Takes in, also on failure, and reads all of it: lines come in the order of the ends of requests,
 * and requests are wanted in the order of their arrivals. They are sorted in memory, and beyond
 * 64 MiB in a temporary file.
 *
 * A request has the lengths, hashes and arrival of its record; hashes and session become keyed
 * ones. What has no hashes is skipped and counted, as are other events. Payloads are skipped
 * unread. 0, or negative errno with *e: a bad line, no request.
 */
int source_dynamo_open(struct source **out, struct inputs *in, const struct source_dynamo_opts *o,
                       struct err *e);
/* The time since 1970 of arrival 0. */
int64_t source_dynamo_start_ns(const struct source *s);
/* The cached_tokens of the request that peek announced last. */
uint64_t source_dynamo_cached(const struct source *s);

#endif
