/* load.h - the loads of an answer: the source that the options choose, with another number of users
 * and another seed, or at another speed. */
#ifndef KVGEN_ANSWER_LOAD_H
#define KVGEN_ANSWER_LOAD_H

#include "kvgen/answer/trial.h"
#include "kvgen/run_source.h"

enum {
    LOAD_SPEED = 1000,  /* loads of a trace are thousandths of its speed */
    LOAD_REQUESTS = 200 /* that a trace must have */
};

struct load_opts {
    const struct run_source_opts *source;
    enum inputs_kind kind; /* of the files of --input, as run_source_recognise told */
};
/* Everything that o names stays the caller's, and must live as long as the load. Users, or recorded
 * agents: so many sessions are under way. */
struct trial_load load_of_users(const struct load_opts *o);
/* A dataset of conversations; loads are thousandths of a request a second. */
struct trial_load load_of_rate(const struct load_opts *o);
/* Reads the requests of --input once: *requests_s is their rate at speed 1. 0 or negative errno
 * with *e. */
int load_of_trace(struct trial_load *load, double *requests_s, const struct load_opts *o,
                  struct err *e);

#endif
