/* provenance.h - what the JSON that comes with the rows says about how they were made: the frames
 * of the file, or the summary given with --run. */
#ifndef KVSTAT_COUNT_PROVENANCE_H
#define KVSTAT_COUNT_PROVENANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kvstat/count/validity.h"
#include "lib/base/err.h"
#include "lib/base/notes.h"
#include "lib/facts/facts.h"
#include "lib/trace/trace.h"

enum provenance_answer {
    PROVENANCE_UNKNOWN,
    PROVENANCE_NO,
    PROVENANCE_YES
};

/* The line of one class of kvreplay --timing served, with the requests that were in it at the end.
 */
struct provenance_queue {
    bool known;
    int64_t count, waiting; /* requests; of these, in line at the end */
    double mean_ms;         /* wait; NAN: nobody arrived */
    struct provenance_since {
        int64_t second; /* of the run: they arrived in it */
        int64_t requests;
    } * since; /* of those in line at the end; owned */
    size_t since_count;
};

/* Operations of another client's log that are no rows. */
enum {
    PROVENANCE_APART = 12
};
struct provenance_apart {
    char op[32]; /* "LIST", "failed GET" */
    int64_t ops;
    double mean_us, max_us; /* of their latencies; NAN: not known */
};

/* Numbers are -1 and texts empty where nothing is known. */
struct provenance {
    bool known;                    /* there was any JSON */
    struct facts facts;            /* what made the rows, and what kvreplay saw of its own run */
    char device[64], target[256];  /* of Tier-2 */
    struct notes notes;            /* what kvreplay found worth telling */
    struct notes flags, fallbacks; /* of Tier-2 */
    double rank_share;             /* of a rank in a sequence's bytes; NAN: 1 / tensor_parallel */
    int64_t capacity_bytes[TRACE_TIERS]; /* 0: unlimited storage, or no such tier */
    enum provenance_answer valid;        /* unknown: not a replay */
    char **why_invalid;                  /* the reasons; owned */
    size_t why_count;
    struct validity validity; /* of a replay; unknown where nobody says */
    bool states_known;        /* the replay gave the state of each kind of figure */
    enum provenance_answer simulated[TRACE_TIERS]; /* empty engines too */
    bool empty[TRACE_TIERS];    /* the tier had an engine that does nothing: kvreplay --null */
    int64_t warmup_ns;          /* of kvreplay --warmup */
    double storage_parts_ns[3]; /* sums of meta, I/O and flush times of Tier-2; NAN: not known */
    bool by_keys;               /* parts of the run had a share of the keys each */
    struct provenance_apart apart[PROVENANCE_APART];
    size_t apart_count;
    bool pooled; /* with provenance_pool */
    struct provenance_queue queue[TRACE_QOSES];
};

/* Reads summary_path (NULL: none; a summary that kvreplay or kvgen wrote), then the JSON of the
 * frames (NULL: none). The first value found for a field counts. 0, or a negative errno with *e;
 * free *p in both cases. */
int provenance_read(struct provenance *p, const char *summary_path, const char *summary,
                    const char *provenance, struct err *e);
/* The same of a summary that is part of another document: that of a rank, in a merged result. */
struct jsonin_v;
int provenance_read_value(struct provenance *p, const struct jsonin_v *summary, struct err *e);
/* After provenance_read, of a result: without a summary, the provenance may name the client whose
 * log the trace was made of. slots: the rows have Slot_us, which kvreplay alone writes, so they are
 * its own. Else a log of another client is said to carry no evidence. */
void provenance_of_result(struct provenance *p, bool slots);
/* Makes of into what is true of both runs, whose rows are pooled: the worse state of each kind of
 * figures, the tiers that either simulated, and their trace. -EINVAL: they are of different traces.
 * path: of from, for messages. */
int provenance_pool(struct provenance *into, const struct provenance *from, const char *path,
                    struct err *e);
/* A fact of kind FACT_YES. */
enum provenance_answer provenance_answer(const struct facts *f, enum fact_id id);
/* Nothing is known. */
void provenance_clear(struct provenance *p);
void provenance_free(struct provenance *p);

/* The length of kvreplay --warmup according to a summary (JSON; NULL: none); 0: no warm-up. */
int64_t provenance_warmup_ns(const char *summary);

#endif
