/* The end of a replay, written down: as JSON (--summary, and in the results) and as text for
 * people. */
#ifndef KVREPLAY_SUMMARY_H
#define KVREPLAY_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "kvreplay/evidence.h"
#include "kvreplay/prepare/populate.h"
#include "kvreplay/prepare/tiers.h"
#include "kvreplay/validity.h"
#include "kvreplay/wait/threads.h"
#include "lib/json/jsonout.h"
#include "lib/ranks/part.h"
#include "lib/ranks/start.h"

#define SUMMARY_NOT_KNOWN UINT64_MAX

/* When the clock of the rows started. */
struct summary_start {
    int64_t wall_ns; /* its zero, by the wall clock, since 1970; 0: it did not start */
    int64_t late_ns; /* with --start-at: when the process woke, after that instant */
    struct start_clock clock;
};

/* Plain values and borrowed pointers. */
struct summary {
    int argc;
    char *const *argv;
    int64_t started_wall_ns;
    const char *input; /* name of the trace */
    const struct opt_parser *options;
    const struct evidence *evidence;
    const struct validity *validity;
    const struct tiers *tiers;
    struct populated populated;
    uint64_t skipped, bad_rows;
    int64_t cpu_ns;     /* of the whole process, during the timed part */
    int64_t spun_ns;    /* of cpu_ns, spent spinning until a row was due */
    uint64_t data_seed; /* of the contents of objects */
    int64_t sync_ns;    /* of --sync end, after the run; negative: none */
    bool by_duration;
    const struct part *part;  /* NULL: there are no parts */
    const char *run_id;       /* of the parts */
    bool by_keys;             /* they have a share of the keys each */
    int64_t start_at_wall_ns; /* --start-at; 0: not given */
    struct summary_start start;
    uint64_t workers;            /* 0: not served */
    bool by_class;               /* served by QoS class */
    struct threads_opts threads; /* of each engine of the trace; 0: it has no limit */
    /* By QoS: requests that had arrived at the end, and lay behind the rows that were held; or
     * SUMMARY_NOT_KNOWN. */
    uint64_t unread[TRACE_QOSES + 1];
};

/* The document; NULL: no memory. The caller frees it. */
struct jsonout *summary_json(const struct summary *s);
/* Five lines of 80 columns at most: rows, what moved where, times, and whether to believe them. */
void summary_text(const struct summary *s, FILE *out);
/* All of it. */
void summary_text_full(const struct summary *s, FILE *out);

#endif
