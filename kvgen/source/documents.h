/* documents.h - whole documents from files: a file is one, or a tar archive of many. */
#ifndef KVGEN_SOURCE_DOCUMENTS_H
#define KVGEN_SOURCE_DOCUMENTS_H

#include <stddef.h>

#include "kvgen/source/inputs.h"
#include "lib/json/jsonin.h"

#define DOCUMENT_MAX ((size_t)256 << 20) /* bytes of one document */

struct documents;

/* Reads the files of in, which stays the caller's. NULL: no memory. */
struct documents *documents_create(struct inputs *in);
void documents_free(struct documents *d); /* NULL is fine */
/*
 * 1, the next document, which jsonin_free releases, and its name ("FILE", or "FILE(MEMBER)"), lent
 * until the next call; 0 after the last; negative errno with *e (a damaged archive, a document over
 * DOCUMENT_MAX, no JSON within the limit). Documents of
 * an archive are the regular files whose names end in .json. Memory: the largest document.
 */
int documents_next(struct documents *d, const struct jsonin_limit *limit, struct jsonin **out,
                   const char **name, struct err *e);

#endif
