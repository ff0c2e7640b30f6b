/* users.h - requests of synthetic users, who think, ask, and think again. */
#ifndef KVGEN_SOURCE_USERS_H
#define KVGEN_SOURCE_USERS_H

#include <stdbool.h>
#include <stdint.h>

#include "kvgen/source/population.h"
#include "kvgen/source/rag.h"
#include "kvgen/source/source.h"
#include "kvgen/workload.h"

/* When users ask: --arrival, in the order of its choices. */
enum source_users_arrival {
    SOURCE_USERS_OPEN,    /* they think from one request to the next, answered or not */
    SOURCE_USERS_CLOSED,  /* they think from the answer on */
    SOURCE_USERS_POISSON, /* at request_rate, each request by a random user */
    SOURCE_USERS_GAMMA    /* the same, with intervals of another spread */
};

/* Whether requests come at a rate, whoever asks. */
static inline bool source_users_at_rate(enum source_users_arrival arrival)
{
    return arrival == SOURCE_USERS_POISSON || arrival == SOURCE_USERS_GAMMA;
}

struct source_users_opts {
    const struct workload *workload;
    const struct population *population; /* 1 to IDENT_MAX_USERS users */
    uint64_t seed;
    enum source_users_arrival arrival;
    double request_rate; /* requests a second where source_users_at_rate; above 0 */
    double arrival_cv;   /* of the intervals of SOURCE_USERS_GAMMA: deviation / mean */
    bool multi_turn;     /* users have conversations; else each request stands alone */
    uint32_t remembered; /* conversations whose turns source_ops.turns knows; 0: it knows r->turn */
    struct rag *rag;     /* documents that users also ask about; NULL: none */
    int64_t input_tokens, output_tokens; /* of every request; 0: drawn by its user */
};

/* Everything that o points to stays the caller's and must outlive the source. 0 or -ENOMEM. */
int source_users_open(struct source **out, const struct source_users_opts *o, struct err *e);

#endif
