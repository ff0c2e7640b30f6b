/* steps.h - recorded sessions as steps that wait for each other, and the player of these steps. An
 * edge leads from a step to one that waits for its dispatch or its answer, and for a delay after
 * that. A step begins when all its edges are over. agentic.c and graph.c fill steps in. One thread.
 */
#ifndef KVGEN_SOURCE_STEPS_H
#define KVGEN_SOURCE_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kvgen/source/file_source.h"
#include "kvgen/source/request.h"
#include "lib/base/err.h"
#include "lib/sort/heap.h"

#define STEPS_NONE UINT32_MAX

/* A request, or a pause. The first members, up to user, are for those who fill steps in. */
struct step {
    bool pause;    /* no request: it only takes pause_ns */
    bool left_out; /* it never begins */
    bool cut;      /* the time before it was shortened (--config max_gap) */
    bool
        after_all; /* wait_ns counts from the end of the last delay, not from the session's begin */
    int64_t wait_ns; /* it begins no earlier than after this time */
    int64_t pause_ns;
    int64_t context, generated; /* tokens */
    size_t first_id;            /* blocks: steps.id[first_id..first_id + ids) */
    uint32_t ids, block_tokens, user;
    uint32_t waits_for,
        first_edge;   /* count of edges that lead here; list of those that lead away */
    uint32_t waiting; /* edges of waits_for that are not over */
    int64_t ready_ns; /* when the delays that are known so far are over */
};

/* The steps of one session, or of several that wait for each other. Set files and what, zero the
 * rest. The arrays are kept and used again for the next session. */
struct steps {
    struct file_source *files; /* where the steps come from */
    const char *what;          /* their name in messages */
    uint32_t scope;            /* of their blocks, as in a request */
    struct step *step;
    struct step_edge {
        int64_t delay_ns;
        uint32_t to, next;
        bool dispatch; /* it waits for the dispatch of the step before, not for its answer */
    } * edge;
    uint64_t *id;
    size_t count, cap, edges, edges_cap, ids, ids_cap;
    size_t left;              /* steps that have not ended */
    int64_t began_ns, end_ns; /* end_ns: when the last step so far ended */
};

/* Appends *step. Steps of the same time begin in the order of their adding. 0 or negative errno. */
int steps_add(struct steps *s, const struct step *step, struct err *e);
/* Makes step edge->to wait for step from. edge->next is set here. 0 or negative errno. */
int steps_join(struct steps *s, uint32_t from, const struct step_edge *edge, struct err *e);
/* Makes room for that many more ids. */
int steps_room(struct steps *s, size_t ids, struct err *e);
/* Call it when all steps have ended: frees the arrays if they are large. */
void steps_forget(struct steps *s);

/* Plays several structs of steps at the same time. */
struct steps_player {
    struct file_source *files; /* has speed and limits, and counts cuts */
    struct steps *of;
    uint32_t count;
    struct heap ready; /* steps by time; tie: the index in of, and the step's */
    size_t left;       /* steps of all that have not ended */
    int64_t last_ns;   /* the last arrival */
};

/* Frees the steps, too. */
void steps_player_free(struct steps_player *p);
/* Begins of[number] at now_ns. 0 or -ENOMEM. */
int steps_begin(struct steps_player *p, uint32_t number, int64_t now_ns);
/* Whether every step of of[number] begins at some time: 1; 0, if steps wait for each other in a
 * circle; or -ENOMEM. Call it while nothing is played. */
int steps_all_begin(struct steps_player *p, uint32_t number);
/* Like peek, take and done of a source, but the request has no number and no class. _take returns
 * the index of its steps; _done returns whether all of these have ended. */
int steps_peek(struct steps_player *p, int64_t *arrival_ns, struct err *e);
uint32_t steps_take(struct steps_player *p, struct request *out);
bool steps_done(struct steps_player *p, uint32_t number, uint32_t step, int64_t now_ns);

#endif
