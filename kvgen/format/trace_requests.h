/* trace_requests.h - the requests whose look-ups are the rows of a trace, for caches that are asked
 * anew. A request is the chain of the blocks that it looked up. One thread. */
#ifndef KVGEN_FORMAT_TRACE_REQUESTS_H
#define KVGEN_FORMAT_TRACE_REQUESTS_H

#include "kvgen/source/inputs.h"
#include "kvgen/source/source.h"

struct trace_requests;

/*
 * Takes in, also on failure, and reads the header. kind is what inputs_recognise told of it. The
 * first peek reads all rows; requests are sorted by number, in memory of 16 MiB and beyond that in
 * a temporary file. -EINVAL with *e, whose text says what to do instead:
 *  - not a trace of ours, a result, or one without the columns Request, Class and Tokens;
 *  - (peek) a row that looks up something else than a block of a chain (class block, or a key of an
 *    engine's cache), or without a request; blocks of several sizes in one request; no request;
 *    requests whose numbers are not in the order of their arrivals.
 * Requests without a Generate row are left out and counted, as they had not ended. A request has
 * its number, arrival, class and user; of the prompt what fills no block is known only by a Prefill
 * row. Times that are dates count from the first request.
 */
int trace_requests_open(struct trace_requests **out, struct inputs *in, enum inputs_kind kind,
                        struct err *e);
/* Lent: to close it is to close r. */
struct source *trace_requests_source(struct trace_requests *r);
const char *trace_requests_provenance(const struct trace_requests *r); /* JSON, lent; NULL: none */
/* After the last request: -EBADMSG with *e if the trace is cut, so that only its whole rows were
 * read; else 0. */
int trace_requests_end(const struct trace_requests *r, struct err *e);

#endif
