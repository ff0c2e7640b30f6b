/* load.h - the loads of an answer: the source that the options choose, with another number of users
 * and another seed. */
#ifndef KVGEN_ANSWER_LOAD_H
#define KVGEN_ANSWER_LOAD_H

#include "kvgen/answer/trial.h"
#include "kvgen/run_source.h"

/* What source names stays the caller's, and must live as long as the load. */
struct trial_load load_of_users(const struct run_source_opts *source);

#endif
