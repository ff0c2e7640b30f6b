/* facts.h - a set of facts: the values of the table's rows for one run, or for several. */
#ifndef KVTRACE_FACTS_FACTS_H
#define KVTRACE_FACTS_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/hist.h"
#include "lib/facts/fact.h"
#include "lib/json/jsonin.h"
#include "lib/json/jsonout.h"

enum {
    FACT_TEXT_CAP = 1152, /* of a text, with its NUL: 64 network interfaces; a longer one is cut */
    FACT_COUNTS_MAX = 24  /* of an object; more are left out */
};

/* Plain values. Zero it: nothing is known, which is never 0. */
struct facts {
    bool there[FACT_SCOPES]; /* the summary has the scope, though maybe none of its facts */
    bool failed;             /* a distribution had no memory */
    struct fact_value {
        bool known;
        union {
            uint64_t count;
            double number; /* in the fact's unit */
            bool yes;
            char text[FACT_TEXT_CAP];
            double statistic[HIST_STATISTICS]; /* in the fact's unit */
            struct hist *hist;                 /* owned: facts_release */
            struct fact_counts {
                unsigned n;
                struct {
                    char name[24];
                    uint64_t count;
                } of[FACT_COUNTS_MAX];
            } counts;
        };
    } of[FACTS];
};

/* Put a value of the fact's kind, and with it its scope. _number: NAN or less than 0 is not known.
 * _text: copied; NULL or "" is not known. _yes: less than 0 is not known. _times: values of h are
 * divided by unit; NULL or empty is not known. */
void facts_put_count(struct facts *f, enum fact_id id, bool known, uint64_t count);
void facts_put_number(struct facts *f, enum fact_id id, double number);
void facts_put_text(struct facts *f, enum fact_id id, const char *text);
void facts_put_yes(struct facts *f, enum fact_id id, int yes);
void facts_put_times(struct facts *f, enum fact_id id, const struct hist *h, double unit);
/* A copy of h; NULL: nothing was there to measure. */
void facts_put_hist(struct facts *f, enum fact_id id, const struct hist *h);
/* Adds a count of that name to a fact of kind FACT_COUNTS. */
void facts_put_counted(struct facts *f, enum fact_id id, const char *name, uint64_t count);
/* Frees the distributions. */
void facts_release(struct facts *f);
/* A count or a number; NAN: not known, or neither. */
double facts_number(const struct facts *f, enum fact_id id);
/* A text; "": not known. Lent by f. */
const char *facts_text(const struct facts *f, enum fact_id id);

/* The count of that name in a fact of kind FACT_COUNTS; 0: it is not known. */
uint64_t facts_counted(const struct facts *f, enum fact_id id, const char *name);

/* Merges from into *into by the rules of the table. from NULL: a run that left no facts. */
void facts_merge(struct facts *into, const struct facts *from);

/* Adds the object of a scope, with the scopes inside it, to the open object: every fact by its
 * name, null when it is not known. A scope that is not there is null. */
void facts_write(struct jsonout *j, const struct facts *f, enum fact_scope scope);
/* Adds one fact, by the last part of its name: "digest". */
void facts_write_one(struct jsonout *j, const struct facts *f, enum fact_id id);
/* Reads from a summary the scopes that f does not have yet. A value of another kind counts as not
 * known; control characters of texts become '?' (err.h). _value reads one fact from v, wherever it
 * stands. _step reads FACTS_OF_STEP, which no summary has. */
void facts_read(struct facts *f, const struct jsonin_v *summary);
void facts_read_value(struct facts *f, enum fact_id id, const struct jsonin_v *v);
void facts_read_step(struct facts *f, const struct jsonin_v *document);

#endif
