/* A fill by several ranks, each with targets of its own: what each came to goes to rank 0, which
 * makes one report of all. */
#ifndef KVPRECOND_MANY_H
#define KVPRECOND_MANY_H

#include "kvprecond/report.h"
#include "lib/base/err.h"
#include "lib/ranks/ranks.h"

/* All ranks, each with its report and exit status. Rank 0 prints what --json and --summary ask for.
 * *status: on rank 0 the greatest of all; 1, when a rank was lost. 0 or a negative errno with *e.
 */
int many_report(struct ranks *ranks, const struct report *own, int argc, char *const *argv,
                int *status, struct err *e);

#endif
