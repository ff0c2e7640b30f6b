/* drivers.h - one driver for each engine whose cache was recorded without a scheduler. */
#ifndef TESTS_ENGINES_DRIVERS_H
#define TESTS_ENGINES_DRIVERS_H

#include "tests/engines/scenario.h"

int drive_lmcache(const struct scenario *s, struct scenario_outcome *o, struct err *e);
int drive_sglang(const struct scenario *s, struct scenario_outcome *o, struct err *e);

#endif
