/* parts.h - the parts of one run (kvreplay --part): whether all are there and belong together, and
 * what each did. */
#ifndef KVSTAT_PARTS_H
#define KVSTAT_PARTS_H

#include <stdbool.h>
#include <stdio.h>

#include "kvstat/count/provenance.h"
#include "kvstat/count/scan.h"
#include "lib/base/err.h"
#include "lib/json/jsonout.h"

struct parts;
struct parts *parts_create(void); /* NULL: no memory */
void parts_free(struct parts *r);

/* Takes one part: the counts of its file, not yet ended, and what came with the rows; or the one
 * result that kvreplay-mpi made of all of them, with what it says of each. A part that
 * was killed tells its number by its rows alone. Doubts in *p are given the part's name, so that
 * they can be pooled. 0; 1: it holds nothing, and is left out; -EINVAL with *e: it is no part, of
 * another run, or a part that is there already. */
int parts_take(struct parts *r, const char *path, const struct scan *s, struct provenance *p,
               struct err *e);
/* All parts were taken and pooled in *all: puts them in order, adds to the notes of *all what is
 * worth telling of them, and says on standard error what is missing. */
void parts_settle(struct parts *r, struct provenance *all);
/* After parts_settle: parts are missing. */
bool parts_missing(const struct parts *r);

/* After parts_settle: the member ranks of the document, and a table. */
void parts_json(struct jsonout *j, const struct parts *r);
void parts_text(FILE *out, const struct parts *r);

#endif
