/* serve_rag.c - the part of the request path around what was written before the first request: the
 * documents of retrieval and the objects of a decode node. Who they are is drawn in rag.c. */
#include "kvgen/sim/serve.h"

/* Of a request's draws: what it retrieves. */
#define RETRIEVAL_STREAM UINT64_C(0x726574726965)

/* ---- before the first request ---- */

static void drop_document(struct sim *s, uint32_t document)
{
    uint32_t chunks = rag_chunks(s->o.rag, document);
    for (uint32_t i = 0; i < chunks && s->status == 0; i++)
        serve_drop(s, ident_chunk(document, i), rag_chunk_tokens(s->o.rag, document, i),
                   TRACE_INGEST);
}

/* The oldest one makes room first, so that no more are there than are kept. */
static void ingest(struct sim *s)
{
    const struct rag *rag = s->o.rag;
    for (uint32_t d = 0; d < rag_documents(rag) && s->status == 0; d++) {
        if (d >= rag_kept(rag))
            drop_document(s, d - rag_kept(rag));
        uint32_t chunks = rag_chunks(rag, d);
        for (uint32_t i = 0; i < chunks && s->status == 0; i++)
            serve_write(s, ident_chunk(d, i), rag_chunk_tokens(rag, d, i), TRACE_INGEST);
    }
}

void serve_populate(struct sim *s)
{
    if (s->o.rag != NULL)
        ingest(s);
    for (uint64_t i = 0; s->o.node == SIM_NODE_DECODE && i < s->o.prepopulated; i++)
        if (s->status == 0)
            serve_write(s, ident_prepop(i), SIM_PREPOP_TOKENS, TRACE_PREPOP);
}

/* ---- steps ---- */

/* Goes through the chunks that seed picks, passes times. What is not there is written in the first
 * pass, if that is wanted. */
static enum serve_progress read_chunks(struct sim *s, struct job *j, uint32_t document,
                                       uint64_t seed, uint64_t passes, bool fetch)
{
    const uint32_t *chunk;
    uint32_t count = rag_pick(s->o.rag, document, seed, &chunk);
    for (; j->round < count * passes && !j->dropped; j->round++) {
        uint32_t i = chunk[j->round % count];
        struct ident id = ident_chunk(document, i);
        int64_t tokens = rag_chunk_tokens(s->o.rag, document, i);
        enum serve_progress p = fetch && j->round < count ? serve_fetch(s, j, id, tokens, TRACE_RAG)
                                                          : serve_read(s, j, id, tokens, TRACE_RAG);
        if (p == SERVE_AGAIN)
            return SERVE_AGAIN;
    }
    return SERVE_ON;
}

enum serve_progress serve_step_retrieve(struct sim *s, struct job *j)
{
    struct rng rng;
    if (s->o.rag == NULL)
        return SERVE_ON;
    serve_stream(s, &j->r, RETRIEVAL_STREAM, &rng);
    if (!rag_chance(s->o.rag, &rng))
        return SERVE_ON;
    uint32_t document = rag_document(s->o.rag, &rng);
    return read_chunks(s, j, document, rng_u64(&rng), 1, false);
}

enum serve_progress serve_step_query(struct sim *s, struct job *j)
{
    return read_chunks(s, j, j->r.document - 1, j->r.picks, serve_decode_reads(s, &j->r),
                       s->o.node == SIM_NODE_BOTH);
}
