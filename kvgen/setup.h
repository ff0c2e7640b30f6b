/* setup.h - one run of kvgen, and what is made of its options before anything is opened. */
#ifndef KVGEN_SETUP_H
#define KVGEN_SETUP_H

#include <stdbool.h>
#include <stdint.h>

#include "kvgen/convert.h"
#include "kvgen/curve/engine_curve.h"
#include "kvgen/format/export.h"
#include "kvgen/format/left_files.h"
#include "kvgen/format/output_file.h"
#include "kvgen/options/options.h"
#include "kvgen/output.h"
#include "kvgen/run_source.h"
#include "kvgen/serve/engine_run.h"
#include "kvgen/serve/layer_groups.h"
#include "kvgen/sim/sim.h"
#include "kvgen/speed/gpu_profile.h"
#include "kvgen/workload.h"
#include "kvgen/worth/worth.h"
#include "lib/base/err.h"
#include "lib/base/progress.h"
#include "lib/conf/conf.h"
#include "lib/model/find.h"
#include "lib/model/model.h"
#include "lib/opt/opt.h"

/* One run; it owns all pointers but argv. */
struct run {
    int argc;
    char **argv;
    int64_t started_wall_ns, started_ns;
    struct options o;
    struct opt_parser *parser;
    struct conf *conf;
    struct workload workload;
    struct model model;
    struct model_reading reading; /* of its file */
    uint64_t capacity[TRACE_TIERS];
    struct tier_model speed[TRACE_TIERS];
    struct gpu_profile gpu;
    struct prefill_model compute; /* engines 0: nothing is computed */
    int64_t granularity;          /* tokens, or 0 */
    struct run_source source;
    struct curve *curve; /* NULL: none is asked for, or an engine's */
    struct engine_curve engine_curve;
    struct progress *progress;
    char *provenance;
    struct output *output;
    struct sim_opts sim_opts;
    struct sim *sim;
    struct engine_run_opts engine_opts;
    struct engine_run *engine;     /* in place of sim, where an engine computes */
    struct output_file *decisions; /* NULL: they are not written */
    struct kv_files files;         /* that --files-from left */
    struct step_setup steps;
    struct layer_groups groups; /* of that engine's cache */
    struct frozen *frozen;      /* NULL without --worth */
    struct worth_opts worth_opts;
    struct worth worth;
    struct convert *convert; /* in place of sim, if the source is a trace */
    bool lossy; /* --lint found what another tool would lose, or a recording has what could
                   not become rows */
};

/* A remark about a file, in a line. No control character of a name reaches the terminal. */
void setup_say(const char *where, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Files and settings of --config. 0 or negative errno with *e, as what follows. */
int setup_read(struct run *r, struct err *e);
/* What they say: the numbers of the workload, and the model. */
int setup_apply(struct run *r, struct err *e);
/* No output destroys an input or another output, and all have a place. */
int setup_check_files(const struct run *r, struct err *e);
/* The options are checked against the model; tiers, GPU and engine get their numbers. */
int setup_simulation(struct run *r, struct err *e);
/* The room of an engine. */
struct engine_room setup_room(const struct run *r);
/* The format of another tool's file. */
enum export_format setup_export_format(const struct options *o);

#endif
