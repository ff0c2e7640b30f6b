/* frozen_engine.h - an engine serves the requests of a run again: with another cache, or other
 * tiers. */
#ifndef KVGEN_WORTH_FROZEN_ENGINE_H
#define KVGEN_WORTH_FROZEN_ENGINE_H

#include "kvgen/serve/engine_run.h"
#include "kvgen/worth/frozen.h"

/* Until all requests are answered, or a signal comes (stop_signal); of o everything counts but the
 * source, limits, look and decisions. *run has what it found, and is the caller's to free; NULL:
 * it did not begin. 0 or negative errno with *e. */
int frozen_engine_run(struct engine_run **run, struct frozen *f, const struct engine_run_opts *o,
                      struct err *e);

#endif
