/* Puts the documents of retrieval among the requests of another source, so that they compete with
 * them for workers and tiers. What ingesting a document does to the cache is the simulator's
 * business; everything else is asked of the other source. */
#include "kvgen/ingest.h"

#include <stdlib.h>

#include "lib/trace/trace.h"

#define NOBODY UINT32_MAX /* the user of a document: it has none */

struct ingest {
    struct source base;    /* first */
    struct source_ops ops; /* those that the other source has */
    struct source *other;
    const struct rag *rag;
    int64_t duration_ns;
    uint64_t issued;
    uint32_t document; /* the next one */
    bool document_next;
};

static struct source *other_of(const struct source *base)
{
    return ((const struct ingest *)base)->other;
}

/* The next document's. Documents are below 2^32, so the product of two fits 128 bits. */
static int64_t document_arrival(const struct ingest *s)
{
    unsigned __int128 at = (unsigned __int128)(uint64_t)s->duration_ns * s->document;
    return (int64_t)(at / rag_documents(s->rag));
}

static int ingest_peek(struct source *base, int64_t *arrival_ns, struct err *e)
{
    struct ingest *s = (struct ingest *)base;
    int rc = s->other->ops->peek(s->other, arrival_ns, e);
    s->document_next = false;
    if (rc < 0 || s->document == rag_documents(s->rag))
        return rc;
    int64_t document_ns = document_arrival(s);
    if (rc > 0 && *arrival_ns < document_ns)
        return rc;
    s->document_next = true;
    *arrival_ns = document_ns;
    return 1;
}

static void ingest_take(struct source *base, struct request *out)
{
    struct ingest *s = (struct ingest *)base;
    if (s->document_next) {
        *out = (struct request){.arrival_ns = document_arrival(s),
                                .user = NOBODY,
                                .qos = TRACE_BATCH,
                                .prompt = -1,
                                .context_tokens = rag_tokens(s->rag, s->document),
                                .object = ident_document(s->document),
                                .document = s->document + 1,
                                .ingest = true};
        s->document++;
    } else {
        s->other->ops->take(s->other, out);
    }
    out->number = ++s->issued;
}

static void ingest_done(struct source *base, const struct request *r, int64_t now_ns)
{
    if (!r->ingest)
        other_of(base)->ops->done(other_of(base), r, now_ns);
}

static void ingest_release(struct source *base, const struct request *r)
{
    if (!r->ingest)
        other_of(base)->ops->release(other_of(base), r);
}

static size_t ingest_user_name(const struct source *base, uint32_t user, char *buf)
{
    return user == NOBODY ? 0 : other_of(base)->ops->user_name(other_of(base), user, buf);
}

static uint32_t ingest_turns(const struct source *base, const struct request *r)
{
    return other_of(base)->ops->turns(other_of(base), r);
}

static void ingest_conversations(const struct source *base, uint64_t *count, uint64_t *turns)
{
    other_of(base)->ops->conversations(other_of(base), count, turns);
}

static const struct skips *ingest_skips(const struct source *base)
{
    return other_of(base)->ops->skips(other_of(base));
}

static bool ingest_estimated(const struct source *base)
{
    return other_of(base)->ops->estimated(other_of(base));
}

static void ingest_reading(const struct source *base, struct source_reading *r)
{
    other_of(base)->ops->reading(other_of(base), r);
}

static void ingest_close(struct source *base)
{
    other_of(base)->ops->close(other_of(base));
    free(base);
}

int source_ingest_open(struct source **source, const struct rag *rag, int64_t duration_ns,
                       struct err *e)
{
    const struct source_ops *has = (*source)->ops;
    struct ingest *s = calloc(1, sizeof(*s));
    if (!s) {
        has->close(*source);
        *source = NULL;
        return err_nomem(e, "documents");
    }
    s->ops = (struct source_ops){.name = has->name,
                                 .peek = ingest_peek,
                                 .take = ingest_take,
                                 .done = has->done ? ingest_done : NULL,
                                 .release = has->release ? ingest_release : NULL,
                                 .user_name = ingest_user_name,
                                 .turns = has->turns ? ingest_turns : NULL,
                                 .conversations = ingest_conversations,
                                 .skips = has->skips ? ingest_skips : NULL,
                                 .estimated = has->estimated ? ingest_estimated : NULL,
                                 .reading = has->reading ? ingest_reading : NULL,
                                 .close = ingest_close};
    s->base.ops = &s->ops;
    s->other = *source;
    s->rag = rag;
    s->duration_ns = duration_ns;
    *source = &s->base;
    return 0;
}
