/* setup.h - the state of one run of kvgen, and the steps that set it from the options before
 * anything is opened. */
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
    struct model_reading reading; /* how the model's file was read */
    uint64_t capacity[TRACE_TIERS];
    struct tier_model speed[TRACE_TIERS];
    struct gpu_profile gpu;
    struct prefill_model compute; /* engines 0: nothing is computed */
    int64_t granularity;          /* tokens of a block; 0: whole requests */
    struct run_source source;
    struct curve *curve; /* NULL: not asked for, or engine_curve is used */
    struct engine_curve engine_curve;
    struct progress *progress;
    char *provenance;
    struct output *output;
    struct sim_opts sim_opts;
    struct sim *sim;
    struct engine_run_opts engine_opts;
    struct engine_run *engine;     /* in place of sim, where an engine computes */
    struct output_file *decisions; /* NULL: they are not written */
    struct kv_files files;         /* the files of --files-from */
    struct step_setup steps;
    struct layer_groups groups; /* of the engine's cache */
    struct frozen *frozen;      /* NULL without --worth */
    struct worth_opts worth_opts;
    struct worth worth;
    struct convert *convert; /* in place of sim, if the source is a trace */
    bool lossy; /* --lint found a loss in another tool's format, or parts of a recording could
                   not become rows */
};

/* Prints a remark about a file. No control character of a name reaches the terminal. */
void setup_say(const char *where, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Reads the files and settings of --config. Like the functions below, 0 or negative errno with *e.
 */
int setup_read(struct run *r, struct err *e);
/* Applies them: sets the numbers of the workload, and the model. */
int setup_apply(struct run *r, struct err *e);
/* Refuses an output that would destroy an input or another output, or that has no place. */
int setup_check_files(const struct run *r, struct err *e);
/* Checks the options against the model, and sets the numbers of tiers, GPU and engine. */
int setup_simulation(struct run *r, struct err *e);
/* The room that an engine has. */
struct engine_room setup_room(const struct run *r);
/* The format of the other tool that the output is for. */
enum export_format setup_export_format(const struct options *o);

#endif
