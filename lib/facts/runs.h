/* runs.h - the ranks or the parts of one run: makes one result of their documents, and names the
 * rank that a remark is about. */
#ifndef KVTRACE_FACTS_RUNS_H
#define KVTRACE_FACTS_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/facts/facts.h"
#include "lib/facts/judge.h"

/* One of them. All is lent. */
struct runs_one {
    int64_t rank;
    const char *host;           /* "": not known */
    bool missing;               /* what it did does not count, or not all of it */
    const char *text;           /* its document; NULL: it has none */
    const struct jsonin_v *doc; /* the same */
};

enum {
    RUNS_NAME = 96
};
/* "rank 2 on node-c". Returns buf. */
const char *runs_name(char buf[RUNS_NAME], int64_t rank, const char *host);
/* On how many hosts n runs are. host returns the host of run i. */
size_t runs_hosts(const void *ctx, size_t n, const char *(*host)(const void *ctx, size_t i));

/* How many rows a run counted in its result, without the rows that were left out. */
uint64_t runs_rows(const struct facts *f);

/* Merges the facts of all runs into *all by the table. Release it. 0 or -ENOMEM. */
int runs_merge(struct facts *all, const struct runs_one *run, unsigned n);
/* A state of a figure; runs_next_state goes through those of all runs. Zero it before the first. */
struct runs_state {
    unsigned run;
    size_t next;
    const char *figures, *tier, *op, *word, *why; /* lent; NULL: not told */
    enum validity_state state;
};
/* Adds the state as an object to the open array. */
void runs_put_state(struct jsonout *j, const struct runs_state *s);
bool runs_next_state(struct runs_state *s, const struct runs_one *run, unsigned n);
/* The worst of them; a word that is no state counts as none. */
enum validity_state runs_worst(const struct runs_one *run, unsigned n);
/* The members valid, why_invalid, validity and notes: what one says, with its name before it. */
void runs_validity(struct jsonout *j, const struct facts *all, const struct runs_one *run,
                   unsigned n);

/* The one that is slowest: of the least value, or of the greatest. NAN: not known. */
struct runs_slowest {
    int at;              /* -1: fewer than two are known */
    double times_median; /* between its value and the median; NAN: one of them is 0 */
};
struct runs_slowest runs_slowest(const double *value, unsigned n, bool least);

/* The members of a list of runs: missing, the numbers of some; list, an object for each, with its
 * rank and host, what more adds (may be NULL) and its summary. */
void runs_missing(struct jsonout *j, const struct runs_one *run, unsigned n);
void runs_list(struct jsonout *j, const struct runs_one *run, unsigned n,
               void (*more)(const void *ctx, struct jsonout *j, unsigned i), const void *ctx);

#endif
