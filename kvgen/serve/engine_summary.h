/* engine_summary.h - what an engine and its cache did in a run, as lines and as JSON. */
#ifndef KVGEN_SERVE_ENGINE_SUMMARY_H
#define KVGEN_SERVE_ENGINE_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kvgen/serve/engine_run.h"
#include "lib/json/jsonout.h"

/* Everything stays the caller's. */
struct engine_summary {
    const struct engine_choice *choice;
    const struct engine_run *run;
    const struct step_setup *steps;
    const uint64_t *capacity; /* of each tier of an engine, as in hierarchy_opts */
    const int64_t *target_ns; /* of each class, for its first token; 0: none */
};

enum {
    ENGINE_SUMMARY_LINES = 10, /* at most */
    ENGINE_SUMMARY_TEXT = 400
};

/* Capacity of the tier of all engines, as in hierarchy_opts. */
uint64_t engine_summary_capacity(const struct engine_summary *s, enum trace_tier tier);
/* Writes line i, from 0, without its end, to buf of ENGINE_SUMMARY_TEXT bytes: where tokens came
 * from, what was stored, what copies lack, what a full drive did, steps, how several engines
 * differ, where the time went, what came in its target, and, if the engine holds fewer prompts than
 * came, why nothing hits. false: there is no such line. */
bool engine_summary_line(const struct engine_summary *s, size_t i, char *buf);
/* Adds the members "cache" and "serving". */
void engine_summary_put(struct jsonout *j, const struct engine_summary *s);

#endif
