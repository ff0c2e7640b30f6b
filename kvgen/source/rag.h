/* rag.h - the documents of retrieval-augmented generation: their lengths, the chunks they are cut
 * into, and the chunks that a retrieval reads. One thread. */
#ifndef KVGEN_SOURCE_RAG_H
#define KVGEN_SOURCE_RAG_H

#include <stdbool.h>
#include <stdint.h>

#include "kvgen/rng.h"
#include "kvgen/workload.h"
#include "lib/base/err.h"
#include "lib/model/model.h"

struct rag;

/* Everything that it points to must outlive the documents. */
struct rag_opts {
    const struct workload_rag *workload;
    const struct model *model; /* decides the lengths */
    uint64_t documents;        /* 1 to IDENT_MAX_USERS - 1 */
    uint64_t seed;
};

/* Draws the documents. Document i depends on the seed and i alone. -ENOMEM, or -EINVAL with *e if a
 * document would have more than 2^20 chunks. */
int rag_create(struct rag **out, const struct rag_opts *o, struct err *e);
void rag_free(struct rag *r); /* NULL is fine */

/* Documents are numbered from 0. The oldest are dropped (max_documents): those from rag_oldest on
 * are kept, at least one. */
uint32_t rag_documents(const struct rag *r);
uint32_t rag_oldest(const struct rag *r);
uint32_t rag_kept(const struct rag *r);
uint32_t rag_chunks(const struct rag *r, uint32_t document); /* of a document; at least 1 */
int64_t rag_tokens(const struct rag *r, uint32_t document);  /* of all its chunks */
int64_t rag_chunk_tokens(const struct rag *r, uint32_t document, uint32_t chunk);

/* Draws whether a document is asked about this time (request_probability). */
bool rag_chance(const struct rag *r, struct rng *rng);
/* Draws one of the documents kept, all with the same probability. */
uint32_t rag_document(const struct rag *r, struct rng *rng);
/*
 * The chunks of a document that a retrieval reads: top_k of them, or all if there are fewer. They
 * are drawn one by one from those left, with weights 1/rank (zipfian; rank is the place in the
 * document, from 1) or equal ones. The same seed picks the same chunks. Returns how many; *chunk is
 * lent until the next call.
 */
uint32_t rag_pick(struct rag *r, uint32_t document, uint64_t seed, const uint32_t **chunk);
/* Tokens of the chunks that rag_pick returns. */
int64_t rag_pick_tokens(struct rag *r, uint32_t document, uint64_t seed);

#endif
