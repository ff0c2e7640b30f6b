/* users.h - synthetic users: think, ask, think again. */
#ifndef KVGEN_SOURCE_USERS_H
#define KVGEN_SOURCE_USERS_H

#include <stdbool.h>
#include <stdint.h>

#include "kvgen/source/population.h"
#include "kvgen/source/rag.h"
#include "kvgen/source/source.h"
#include "kvgen/workload.h"

enum source_users_arrival {
    SOURCE_USERS_OPEN,
    SOURCE_USERS_CLOSED,
    SOURCE_USERS_POISSON
};

struct source_users_opts {
    const struct workload *workload;
    const struct population *population; /* 1 to IDENT_MAX_USERS users */
    uint64_t seed;
    enum source_users_arrival arrival;
    double request_rate; /* requests a second, for POISSON */
    bool multi_turn;     /* else every request stands alone */
    uint32_t remembered; /* conversations whose turns source_ops.turns knows; 0: none */
    struct rag *rag;     /* documents that users ask about; NULL: none */
    int64_t input_tokens, output_tokens; /* of every request; 0: by its user */
};

/* What o points to stays the caller's and must outlive the source. 0 or -ENOMEM. */
int source_users_open(struct source **out, const struct source_users_opts *o, struct err *e);

#endif
