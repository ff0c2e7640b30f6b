/* One whole replay, from a checked command line to an exit status. run.c does it. The main thread.
 */
#ifndef KVREPLAY_REPLAY_H
#define KVREPLAY_REPLAY_H

#include "kvreplay/options.h"
#include "lib/base/err.h"
#include "lib/base/hist.h"
#include "lib/json/jsonout.h"
#include "lib/ranks/ranks.h"
#include "lib/trace/trace.h"

/* The figures of a run that autoscale needs, over the time from --warmup to --duration, or to the
 * last completion when that came earlier. */
struct replay_figures {
    bool interrupted;       /* by a signal */
    bool stopped;           /* by a failed row, an absent object, or a reader that went away */
    double seconds;         /* measured; 0: the run did not get past --warmup */
    double least_s;         /* the same; of several ranks the shortest */
    uint64_t tokens, bytes; /* generated; moved by all tiers */
    uint64_t failed;        /* rows, with corrupt ones */
    uint64_t waiting;       /* requests in line when the time was over */
    /* 95th percentiles in ns; TRACE_NONE: nothing was there to measure */
    int64_t read_p95_ns, write_p95_ns;      /* service time of Tier-2 */
    int64_t queue_p95_ns;                   /* from arrival to admission */
    int64_t end_to_end_p95_ns[TRACE_QOSES]; /* of requests, by QoS */
};

/* The times behind the P95s of replay_figures. Lent; NULL: none. */
struct replay_times {
    const struct hist *read, *write, *queue, *end_to_end[TRACE_QOSES];
};

/* A replay that is one of several which MPI started. */
struct replay_rank {
    struct ranks *ranks;
    const char *spool; /* where result rows go; NULL: as the options say */
    /* Set by the replay. */
    bool started;               /* all ranks came to the start; before it all fail alike */
    bool refused;               /* by accept: there is nothing to collect */
    struct ranks_offset offset; /* of this clock from rank 0's, just before the start */
    int64_t started_ns;         /* on this clock */
    int64_t late_ns;            /* from the instant of the start until this rank woke */
    char *summary;              /* JSON, malloc'ed; NULL: the run failed */
};

struct replay_input {
    struct options *options;
    const struct opt_parser *parser;
    const char *trace; /* path or "-" */
    int argc;
    char *const *argv;
    bool silent; /* no result rows, no summary */
    void *ctx;
    /* No more rows will be read; at_end: all were. May be NULL. */
    void (*read)(void *ctx, bool at_end);
    /* Adds members to the summary, whose root object is open. May be NULL. */
    void (*more)(void *ctx, struct jsonout *j, const struct replay_figures *figures);
    /* Makes figures of this rank to figures of all, which is an exchange: all ranks come to it with
     * rc and *e of their run, and all return the same. May be NULL. */
    int (*pool)(void *ctx, int rc, const struct replay_times *times, struct err *e);
    /* May refuse a run that was executed: it is not reported, and a file of results is removed. May
     * be NULL. */
    bool (*accept)(void *ctx, const struct replay_figures *figures);
    uint64_t users;                 /* that a step of autoscale serves; 0: there is none */
    const char *results;            /* where result rows go; NULL: as the options say */
    struct replay_rank *rank;       /* NULL: there is one process */
    struct replay_figures *figures; /* filled when rows were executed; may be NULL */
    bool *stuck; /* set when operations were abandoned that tiers still work on, in memory that is
                    left to them: the process must end without freeing anything */
};

/* 0 and *status, the exit status that the outcome of the rows asks for; or negative errno with *e.
 * -EINTR (a signal came before the run) and -EPIPE (the reader of the results went away) need no
 * message. */
int replay_run(const struct replay_input *in, int *status, struct err *e);

#endif
