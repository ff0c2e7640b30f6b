/* people.h - requests of users who behave as people and their agents do: --population. */
#ifndef KVGEN_PEOPLE_PEOPLE_H
#define KVGEN_PEOPLE_PEOPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "kvgen/people/mix.h"
#include "kvgen/source/source.h"

struct people_opts {
    struct people_mix mix; /* of people */
    uint32_t users;        /* 1 to IDENT_MAX_USERS */
    uint64_t seed;
    bool midway; /* sessions are under way when time begins; below */
};

/*
 * Each user has one session after the other: a conversation, a run of an agent, questions about a
 * document. What user i asks, and how long after each answer, depends on the seed, the mix and i
 * alone. The first requests are spread over a time like that between two sessions.
 *
 * midway: each user has done the same for half an hour. Its first request is its session so far,
 * with an answer of one token, so that caches have it; those asked least recently come first. When
 * all are answered, users go on with what is left of their pauses. 0 or -ENOMEM.
 */
int source_people_open(struct source **out, const struct people_opts *o, struct err *e);

#endif
