/* rag.h - the documents of retrieval-augmented generation: how long each is, into which chunks it
 * is cut, and which of them a retrieval reads. When they are written and read is the simulator's
 * business. */
#ifndef KVGEN_SOURCE_RAG_H
#define KVGEN_SOURCE_RAG_H

#include <stdbool.h>
#include <stdint.h>

#include "kvgen/rng.h"
#include "kvgen/workload.h"
#include "lib/base/err.h"
#include "lib/model/model.h"

struct rag;

/*
 * Draws documents (1 to IDENT_MAX_USERS - 1) of a length that suits the model, document i from a
 * stream of the seed of its own. -ENOMEM; -EINVAL when one would have more than 2^20 chunks.
 */
int rag_create(struct rag **out, const struct workload_rag *w, const struct model *model,
               uint64_t documents, uint64_t seed, struct err *e);
void rag_free(struct rag *r);

uint32_t rag_documents(const struct rag *r);
/* Documents from here on are kept, older ones were dropped (max_documents). */
uint32_t rag_oldest(const struct rag *r);
/* Documents kept at once; at least 1. */
uint32_t rag_kept(const struct rag *r);
uint32_t rag_chunks(const struct rag *r, uint32_t document);
int64_t rag_chunk_tokens(const struct rag *r, uint32_t document, uint32_t chunk);

/* Is a document asked about this time (request_probability)? */
bool rag_chance(const struct rag *r, struct rng *rng);
/* One of the documents kept, each with equal probability. */
uint32_t rag_document(const struct rag *r, struct rng *rng);
/*
 * The chunks of a document that a retrieval reads: top_k of them, or all when it has fewer, drawn
 * one by one from those left with weights 1/rank, rank being the place in the document from 1
 * (zipfian), or with equal ones; the same seed picks the same. Returns how many; *chunk is lent
 * until the next call.
 */
uint32_t rag_pick(struct rag *r, uint32_t document, uint64_t seed, const uint32_t **chunk);
/* Tokens of the chunks that rag_pick gives. */
int64_t rag_pick_tokens(struct rag *r, uint32_t document, uint64_t seed);

#endif
