/* documents.h - whole documents from files: each file is one, or a tar archive of many. */
#ifndef KVGEN_SOURCE_DOCUMENTS_H
#define KVGEN_SOURCE_DOCUMENTS_H

#include <stddef.h>

#include "kvgen/source/inputs.h"

#define DOCUMENT_MAX ((size_t)256 << 20) /* bytes of one */

struct documents;

/* Reads in, which stays the caller's and may be rewound between documents. NULL: no memory. */
struct documents *documents_create(struct inputs *in);
void documents_free(struct documents *d);
/*
 * The next one: 1, its text and name ("FILE", or "FILE(MEMBER)"), lent until the next call; 0 after
 * the last; negative errno with *e (damaged, over DOCUMENT_MAX). Of an archive: regular files whose
 * names end in .json. Memory: the largest document.
 */
int documents_next(struct documents *d, const char **text, size_t *len, const char **name,
                   struct err *e);

#endif
