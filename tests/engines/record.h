/* record.h - a recorded step as a line of decisions, held against one of ours. */
#ifndef TESTS_ENGINES_RECORD_H
#define TESTS_ENGINES_RECORD_H

#include "kvgen/serve/decision_line.h"
#include "lib/json/jsonin.h"
#include "tests/engines/scenario.h"

/* Fills it with a recorded line. Runs of names (h5+2) become names. */
void record_read(struct decision_line *l, const struct jsonin_v *line);

/* Compares all keys of step t. */
void record_compare(const struct decision_line *recorded, const struct decision_line *simulated,
                    long long t, struct scenario_outcome *o);

#endif
