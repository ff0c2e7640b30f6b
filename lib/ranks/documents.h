/* documents.h - what the ranks of a run tell rank 0 at its end: each the document that a part would
 * write to its file, with a head of what only ranks know. */
#ifndef KVTRACE_RANKS_DOCUMENTS_H
#define KVTRACE_RANKS_DOCUMENTS_H

#include "lib/facts/runs.h"
#include "lib/ranks/ranks.h"

/* Plain values; of ranks but rank 0 there are none. */
struct documents {
    unsigned count;
    struct runs_one *run; /* missing: the rank was lost */
    struct jsonin **doc;
    char *all; /* as ranks_gather gives them */
    size_t *len;
};

/* All. heads: n bytes for each rank, of which this one has filled its own; rank 0 gets those of
 * others that are there. text: JSON of this rank; NULL: it has none. 0 or a negative errno with *e;
 * free *d in both cases. */
int documents_gather(struct documents *d, struct ranks *r, void *heads, size_t n, const char *text,
                     struct err *e);
void documents_free(struct documents *d);

#endif
