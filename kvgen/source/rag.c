/* Draws the documents for retrieval once, before any request. The source of users asks here what
 * its queries are about, the simulator which chunks to read; when that happens is theirs to decide.
 */
#include "kvgen/source/rag.h"

#include <errno.h>
#include <stdlib.h>

#include "kvgen/source/ident.h"

/* Document i takes stream 5 x 2^32 + i of the seed. */
#define DOCUMENT_STREAM ((uint64_t)5 << 32)

enum {
    MAX_CHUNKS = 1 << 20,
    LARGE_HIDDEN = 8192,
    LARGE_LAYERS = 64
};

struct rag {
    const struct workload_rag *w;
    int64_t chunk_tokens; /* of every chunk but the last of a document */
    uint32_t documents, kept;
    int64_t *tokens;  /* by document */
    uint32_t *left;   /* chunks not picked yet, in order */
    uint32_t *picked; /* in the order of picking */
};

int rag_create(struct rag **out, const struct rag_opts *o, struct err *e)
{
    const struct workload_rag *w = o->workload;
    const struct model *m = o->model;
    int rc = 0;
    *out = NULL;
    struct rag *r = calloc(1, sizeof(*r));
    if (!r)
        return err_nomem(e, "documents");
    r->w = w;
    r->documents = (uint32_t)o->documents;
    r->kept =
        w->max_documents > 0 && w->max_documents < r->documents ? w->max_documents : r->documents;
    r->tokens = calloc(r->documents, sizeof(*r->tokens));
    if (!r->tokens) {
        rc = err_nomem(e, "documents");
        goto out;
    }

    /* A chunk is as long as both limits allow, but at least one token. */
    uint64_t token_bytes = model_bytes_per_token(m);
    r->chunk_tokens = w->chunk_tokens;
    if (token_bytes > 0 && w->max_chunk_bytes / (int64_t)token_bytes < r->chunk_tokens)
        r->chunk_tokens = w->max_chunk_bytes / (int64_t)token_bytes;
    if (r->chunk_tokens < 1)
        r->chunk_tokens = 1;

    bool large = m->hidden >= LARGE_HIDDEN || m->layers >= LARGE_LAYERS;
    const int64_t *range = large ? w->large_model_tokens : w->small_model_tokens;
    uint32_t most = 0; /* chunks of the longest document */
    for (uint32_t i = 0; i < r->documents; i++) {
        struct rng rng;
        rng_seed(&rng, o->seed, DOCUMENT_STREAM + i);
        r->tokens[i] = rng_range(&rng, range[0], range[1]);
        most = rag_chunks(r, i) > most ? rag_chunks(r, i) : most;
    }
    if (most > MAX_CHUNKS) {
        rc = err_set(e, -EINVAL, ERR_INPUT, "--enable-rag",
                     "a document would have %lld chunks of %lld tokens; 1,048,576 are the most",
                     (long long)most, (long long)r->chunk_tokens);
        goto out;
    }
    r->left = calloc(most, sizeof(*r->left));
    r->picked = calloc(most, sizeof(*r->picked));
    if (!r->left || !r->picked)
        rc = err_nomem(e, "documents");
out:
    if (rc < 0)
        rag_free(r);
    else
        *out = r;
    return rc;
}

void rag_free(struct rag *r)
{
    if (!r)
        return;
    free(r->tokens);
    free(r->left);
    free(r->picked);
    free(r);
}

uint32_t rag_documents(const struct rag *r)
{
    return r->documents;
}

uint32_t rag_oldest(const struct rag *r)
{
    return r->documents - r->kept;
}

uint32_t rag_kept(const struct rag *r)
{
    return r->kept;
}

uint32_t rag_chunks(const struct rag *r, uint32_t document)
{
    return (uint32_t)((r->tokens[document] + r->chunk_tokens - 1) / r->chunk_tokens);
}

int64_t rag_tokens(const struct rag *r, uint32_t document)
{
    return r->tokens[document];
}

int64_t rag_chunk_tokens(const struct rag *r, uint32_t document, uint32_t chunk)
{
    int64_t left = r->tokens[document] - (int64_t)chunk * r->chunk_tokens;
    return left < r->chunk_tokens ? left : r->chunk_tokens;
}

bool rag_chance(const struct rag *r, struct rng *rng)
{
    return rng_chance(rng, r->w->chance);
}

uint32_t rag_document(const struct rag *r, struct rng *rng)
{
    return rag_oldest(r) + (uint32_t)rng_below(rng, r->kept);
}

/* Draws one of the chunks left, with weights 1/rank: its place among them. */
static uint32_t draw_zipf(const struct rag *r, uint32_t left, struct rng *rng)
{
    double sum = 0;
    for (uint32_t i = 0; i < left; i++)
        sum += 1.0 / (double)(r->left[i] + 1);
    double at = rng_unit(rng) * sum;
    for (uint32_t i = 0; i + 1 < left; i++) {
        at -= 1.0 / (double)(r->left[i] + 1);
        if (at < 0)
            return i;
    }
    return left - 1;
}

uint32_t rag_pick(struct rag *r, uint32_t document, uint64_t seed, const uint32_t **chunk)
{
    uint32_t left = rag_chunks(r, document);
    uint32_t count = r->w->top_k < left ? r->w->top_k : left;
    struct rng rng;
    rng_seed(&rng, seed, document);
    for (uint32_t i = 0; i < left; i++)
        r->left[i] = i;
    for (uint32_t n = 0; n < count; n++) {
        uint32_t at = r->w->zipfian ? draw_zipf(r, left, &rng) : (uint32_t)rng_below(&rng, left);
        r->picked[n] = r->left[at];
        left--;
        for (uint32_t i = at; i < left; i++)
            r->left[i] = r->left[i + 1];
    }
    *chunk = r->picked;
    return count;
}

int64_t rag_pick_tokens(struct rag *r, uint32_t document, uint64_t seed)
{
    const uint32_t *chunk;
    uint32_t count = rag_pick(r, document, seed, &chunk);
    int64_t tokens = 0;
    for (uint32_t i = 0; i < count; i++)
        tokens += rag_chunk_tokens(r, document, chunk[i]);
    return tokens;
}
