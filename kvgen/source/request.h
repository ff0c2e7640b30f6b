/* request.h - one inference request, on its way from a source through the queue to a worker. */
#ifndef KVGEN_SOURCE_REQUEST_H
#define KVGEN_SOURCE_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "kvgen/meaning/block_size.h"
#include "kvgen/source/ident.h"

/* A plain value, but for blocks, which the source lends until source_ops.release. Tokens are from 0
 * to REQUEST_MAX_TOKENS. A request names one object, or blocks, or a document. */
struct request {
    uint64_t number;    /* from 1, in order of submission */
    int64_t arrival_ns; /* when it was submitted */
    uint32_t user;      /* number of the user in its source */
    uint8_t qos;        /* enum trace_qos */
    bool ingest;        /* a document is written: no query */
    int32_t prompt;     /* shared system prompt that it starts with, from 0; -1: none */
    uint32_t turn;      /* of its conversation, from 1; 0: no conversation */
    int64_t context_tokens, generated_tokens;
    struct ident object;    /* of sources with one object a request; of a query: its document */
    const uint64_t *blocks; /* of block sources: identifiers in order; else NULL */
    uint32_t block_count, block_tokens;
    uint32_t block_scope; /* equal identifiers mean one block within a scope only; 0: everywhere */
    uint32_t slot;        /* for the source's own use */
    uint32_t document;    /* of a query or ingest: 1 + the document that it is about; else 0 */
    uint64_t picks;       /* of a query: seed that picks the chunks */
    /* 1 + number of the text that its conversation begins with, as others do; 0: none. Then it has
     * no prompt. */
    uint32_t shared;
    uint32_t shared_tokens; /* of that text */
    int64_t priority;       /* that its row gives it, if it is ranked: lower first */
    bool ranked;
};

#endif
