/* ingest.h - documents that are ingested while requests are served: requests of their own among
 * those of another source. One thread. */
#ifndef KVGEN_INGEST_H
#define KVGEN_INGEST_H

#include <stdint.h>

#include "kvgen/source/rag.h"
#include "kvgen/source/source.h"

/*
 * Document i of n arrives at i/n of duration_ns (above 0), as a request of class batch whose ingest
 * is set. Requests are numbered anew, in order of submission. Takes *source in any case and puts
 * the new source in its place; rag is lent and must outlive it. 0, or -ENOMEM with *e.
 */
int source_ingest_open(struct source **source, const struct rag *rag, int64_t duration_ns,
                       struct err *e);

#endif
