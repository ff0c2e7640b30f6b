/* steps.h - recorded sessions as steps that wait for each other, and the player of them: a step
 * begins when all that it waits for was dispatched or answered and their delays are over.
 * agentic.c and graph.c fill the steps in. One thread. */
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

/* A request, or a pause. What is not named here is the player's. */
struct step {
    bool pause;      /* no request: it takes pause_ns */
    bool left_out;   /* it never begins */
    bool cut;        /* a time before it was cut (--config max_gap) */
    bool after_all;  /* wait_ns counts from the end of the last delay, not from the start of all */
    int64_t wait_ns; /* it begins no earlier */
    int64_t pause_ns;
    int64_t context, generated; /* tokens */
    size_t first_id;            /* blocks: steps.id[first_id..first_id + ids) */
    uint32_t ids, block_tokens, user;
    uint32_t waits_for, first_edge; /* edges that lead here; list of those that go out */
    uint32_t waiting;               /* of waits_for */
    int64_t ready_ns;               /* when the delays are over, as far as they are known */
};

/* The steps of one session, or of several that wait for each other. Zero before use but for files
 * and what; the arrays are kept for the next steps that are filled in. */
struct steps {
    struct file_source *files; /* which they are read from */
    const char *what;          /* they are called in messages */
    uint32_t scope;            /* of their blocks, as in a request */
    struct step *step;
    struct step_edge {
        int64_t delay_ns;
        uint32_t to, next;
        bool dispatch; /* from the dispatch of the step before, not from its answer */
    } * edge;
    uint64_t *id;
    size_t count, cap, edges, edges_cap, ids, ids_cap;
    size_t left;              /* that have not ended */
    int64_t began_ns, end_ns; /* the end of what ended last */
};

/* Adds *step behind the others; steps of one time begin in this order. 0 or negative errno. */
int steps_add(struct steps *s, const struct step *step, struct err *e);
/* The step to waits for that one: of *edge, delay_ns and dispatch count. */
int steps_join(struct steps *s, uint32_t from, const struct step_edge *edge, struct err *e);
/* Makes room for so many ids more. */
int steps_room(struct steps *s, size_t ids, struct err *e);
/* Gives the memory of many steps back, which have ended. */
void steps_forget(struct steps *s);

/* Plays several structs of steps at once. */
struct steps_player {
    struct file_source *files; /* has speed and limits, and counts cuts */
    struct steps *of;
    uint32_t count;
    struct heap ready; /* steps by time; tie: the number of their steps, and theirs */
    size_t left;       /* of all */
    int64_t last_ns;   /* the last arrival */
};

/* Releases the steps, too. */
void steps_player_free(struct steps_player *p);
/* Begins of[number] at a time. 0 or -ENOMEM. */
int steps_begin(struct steps_player *p, uint32_t number, int64_t now_ns);
/* Whether every step of of[number] begins at some time, for none waits for itself: 1, 0, or
 * -ENOMEM. Nothing else is being played. */
int steps_all_begin(struct steps_player *p, uint32_t number);
/* As peek, take and done of a source; requests have no number and no class. _take returns which
 * steps the request is of, and _done whether these have all ended. */
int steps_peek(struct steps_player *p, int64_t *arrival_ns, struct err *e);
uint32_t steps_take(struct steps_player *p, struct request *out);
bool steps_done(struct steps_player *p, uint32_t number, uint32_t step, int64_t now_ns);

#endif
