/* sim.h - a simulation: requests of a source, served by workers on a virtual clock, and every row
 * told to a sink. It knows neither files nor formats, and is one thread's. */
#ifndef KVGEN_SIM_SIM_H
#define KVGEN_SIM_SIM_H

#include <stdint.h>

#include "kvgen/sim/hierarchy.h"
#include "kvgen/sim/opts.h"
#include "kvgen/sim/row.h"
#include "kvgen/sim/row_counts.h"
#include "kvgen/sim/serve.h"
#include "kvgen/sim/tier_servers.h"
#include "lib/base/err.h"
#include "lib/base/hist.h"
#include "lib/trace/trace.h"

/* The parts of a request's time. */
enum sim_time {
    SIM_QUEUE,      /* from its arrival until a worker takes it */
    SIM_STORAGE,    /* until its operations on the tiers are over */
    SIM_GENERATION, /* until it is answered */
    SIM_END_TO_END, /* all of that */
    SIM_INGEST,     /* the same of documents ingested in the run, which are no requests here */
    SIM_TIMES
};

/* Figures of the prefills of a run, where they are computed (kvgen/serve). */
struct prefill_stats {
    struct hist
        *first_token_ns[TRACE_QOSES]; /* from arrival to the end of the prefill; NULL: none */
    uint64_t requests, cached_tokens, fresh_tokens;
    int64_t busy_ns; /* of all engines */
};

struct sim_stats {
    struct row_counts rows; /* that the sink was told, before any filter */
    uint64_t issued, served, completed, completed_by_qos[TRACE_QOSES];
    uint64_t context_tokens;         /* of requests served */
    uint64_t generated_tokens;       /* of requests completed */
    uint64_t hit_tokens;             /* of requests completed: context whose blocks hit */
    uint64_t in_progress;            /* requests taken by a worker, not complete at the end */
    uint64_t waiting;                /* requests in the queue at the end */
    uint64_t waiting_documents;      /* that were to be ingested, in the same queue */
    struct hist *time_ns[SIM_TIMES]; /* of requests completed; NULL where nothing is served */
    /* By QoS, of all that arrived, where tiers take time; else NULL. The requests waiting at the
     * end, of which there are waiting_by_qos, count with their wait so far. */
    struct hist *queued_ns[TRACE_QOSES];
    uint64_t waiting_by_qos[TRACE_QOSES];
    struct prefill_stats prefill;
    int64_t now_ns; /* virtual time reached */
};

struct sim;

/* 0, or -ENOMEM with *e. *o is copied; what it and ctx point to stays the caller's. */
int sim_create(struct sim **out, const struct sim_opts *o, sim_sink sink, void *ctx, struct err *e);
void sim_free(struct sim *s);
/* Runs to the end: of the source, by a limit, or by the sink. 0, or the error of the source or the
 * sink, -ENOMEM, or -EOVERFLOW when a size or the virtual time does not fit, with *e. Call it once.
 */
int sim_run(struct sim *s, struct err *e);
/* Lent, complete after sim_run. */
const struct sim_stats *sim_stats(const struct sim *s);
const struct hierarchy *sim_hierarchy(const struct sim *s);
/* NULL: operations take no time. */
const struct tier_servers *sim_tier_servers(const struct sim *s);

#endif
