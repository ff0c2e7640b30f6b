/* The command line of kvprecond as plain values. */
#ifndef KVTRACE_KVPRECOND_OPTIONS_H
#define KVTRACE_KVPRECOND_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "kvprecond/fill.h"
#include "kvprecond/plan.h"
#include "kvprecond/rounds.h"
#include "lib/base/err.h"
#include "lib/base/hash.h"
#include "lib/base/notes.h"
#include "lib/base/progress.h"
#include "lib/base/units.h"
#include "lib/io/io.h"
#include "lib/io/target_file.h"
#include "lib/model/hf.h"
#include "lib/opt/opt.h"
#include "lib/ranks/part.h"
#include "lib/tier/uri.h"

enum {
    OPTIONS_TARGETS_MAX = 64
};
#define OPTIONS_SIZE_MAX (UNITS_GIB << 30) /* 1 EiB: sums of offsets stay far from overflow */

struct options_target {
    char path[URI_PATH_CAP]; /* or the text of a URI */
    enum target_kind kind;
};

struct options {
    struct opt_list target; /* of --target; empty: the operand says it */
    struct options_target targets[OPTIONS_TARGETS_MAX];
    unsigned target_count;
    enum target_kind kind; /* of all targets; a mixture of them counts as directories */
    bool remote; /* the only target is the store behind a network at uri; its objects are as
                    files of a directory */
    struct uri uri;
    bool small_pages;   /* of the buffers */
    int64_t timeout_ns; /* of a remote store, as the next */
    uint64_t retries;
    enum plan_mode mode;
    uint64_t size; /* 0: twice the device */
    uint64_t block_bytes, file_bytes, iodepth, threads, seed;
    uint64_t buffers, chunk_bytes; /* of --mode stream, whose block_bytes are a chunk's */
    bool buffered;
    enum fill_advice advice;
    const char *model_id, *kv_dtype;
    struct opt_list config; /* files and settings */
    bool force_model;
    struct model_reading reading; /* of the model's file */
    struct model model;           /* of --mode kv */
    uint64_t object_bytes;        /* of --mode kv, exact */
    const char *reserve;
    double reserve_share; /* or TARGET_RESERVE_AUTO */
    enum io_engine engine;
    bool purge, until_steady;
    int64_t round_ns;
    enum rounds_track track;
    const char *rounds; /* FILE of --rounds, NULL: none */
    enum progress_mode progress;
    const char *summary;
    bool keep, destroy_data, json;
    struct part part;                        /* the rank of MPI that this process is */
    struct hash128 fingerprint;              /* of what must be the same for all ranks */
    char *expanded[2 + OPTIONS_TARGETS_MAX]; /* names without {rank} in them, owned */
    unsigned expanded_count;
};

enum {
    /* Tokens of an object of --mode kv, as in the preconditioning of the MLPerf Storage KV-cache
     * benchmark. */
    OPTIONS_OBJECT_TOKENS = 2048
};

/* The name of this program: kvprecond, or kvprecond-mpi. */
const char *options_program(void);
/* Parses argv into *o, whose part may be set, looks at the kind of the target and sets the defaults
 * that depend on mode and kind. Returns 0 with *parser open (the caller closes it); 1 likewise,
 * when it has the answer to --help or --version; or a negative errno with *e. */
int options_parse(struct options *o, struct opt_parser **parser, int argc, char **argv,
                  struct err *e);
/* After the last use of *o. */
void options_release(struct options *o);

#endif
