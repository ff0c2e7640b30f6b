/* provenance.h - the provenance that a .zst trace begins with: what made its rows, as JSON. */
#ifndef KVGEN_PROVENANCE_H
#define KVGEN_PROVENANCE_H

#include <stdint.h>

#include "kvgen/serve/engine_caches.h"
#include "kvgen/serve/step_setup.h"
#include "kvgen/source/source.h"
#include "kvgen/speed/gpu_profile.h"
#include "kvgen/speed/tier_model.h"
#include "lib/json/jsonout.h"
#include "lib/model/model.h"
#include "lib/opt/opt.h"
#include "lib/trace/trace.h"

/* Everything stays the caller's. */
struct provenance {
    const struct opt_parser *parser;
    const struct conf *conf;
    uint64_t seed;
    const struct model *model;      /* NULL: the rows were not made here; seed has no meaning */
    const uint64_t *capacity;       /* bytes of each of TRACE_TIERS tiers, as in hierarchy_opts */
    const struct tier_model *speed; /* of each of TRACE_TIERS tiers */
    const struct gpu_profile *gpu;
    const struct prefill_model *compute; /* NULL: nothing was computed */
    const struct engine_choice *engine;  /* NULL: no engine's cache */
    const struct step_setup *steps;      /* of that engine */
    const struct source *source;         /* of the rows; NULL: none */
    const char *input;                   /* JSON: the provenance of the input; NULL: it has none */
};

/* Program, version, format, seed, model, options, tiers and input. malloc'ed; NULL: no memory. */
char *provenance_of_run(const struct provenance *p);

/* The provenance of a trace whose rows were copied from another, whose own (JSON, or NULL) is
 * input: input with a member "converted" (version and options) added. If it has that member
 * already, or is no JSON object with members, a new one that has it as member "input", and client
 * (NULL: none), which made the measurements in the rows. malloc'ed; NULL: no memory. */
char *provenance_of_copy(const struct opt_parser *parser, const char *input, const char *client);

/* The provenance of rows made from events of an engine: sizes by model, the options, and what the
 * recording has not. source is a recording. malloc'ed; NULL: no memory. */
char *provenance_of_recording(const struct opt_parser *parser, const struct source *source,
                              const struct model *model);

/* Adds the member "step_time": the numbers from which a step's time is calculated. */
void provenance_put_steps(struct jsonout *j, const struct step_setup *s);
/* Adds the member "configuration": the keys of the shared sections that have another value than
 * their default; nothing if there is none. */
struct conf;
void provenance_put_configuration(struct jsonout *j, const struct conf *conf);
/* Adds the members "seed" and "model" to the object that is open; null for both without a model. */
void provenance_put_origin(struct jsonout *j, uint64_t seed, const struct model *model);
/* Adds the member "compute": what computed. */
void provenance_put_compute(struct jsonout *j, const struct prefill_model *p,
                            const struct gpu_profile *gpu);
/* Adds the member "capacity_bytes", null for a tier without limit. */
void provenance_put_capacity(struct jsonout *j, uint64_t capacity);
/* Adds the member "model": the measurement of the drive that a tier was simulated from. */
struct drive_model;
void provenance_put_drive(struct jsonout *j, const struct drive_model *drive);

#endif
