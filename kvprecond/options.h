/* options.h - what the command line of kvprecond asks for. */
#ifndef KVTRACE_KVPRECOND_OPTIONS_H
#define KVTRACE_KVPRECOND_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/io/target_file.h"
#include "lib/model/model.h"
#include "lib/opt/opt.h"

struct options {
    const char *path;      /* the operand, lent from argv */
    enum target_kind kind; /* of path */
    int mode;              /* enum plan_mode */
    uint64_t size;         /* 0: twice the device */
    uint64_t block_bytes, file_bytes, iodepth, threads, seed;
    const char *model_id, *kv_dtype;
    struct model model;    /* of mode kv */
    uint64_t object_bytes; /* of mode kv: exact */
    double reserve_percent;
    int engine; /* enum io_engine */
    bool purge, until_steady;
    int64_t round_ns;
    int track;          /* enum rounds_track */
    const char *rounds; /* FILE of --rounds, NULL: none */
    int progress;       /* enum progress_mode */
    const char *summary;
    bool keep, destroy_data, json;
};

enum {
    OPTIONS_OBJECT_TOKENS = 2048 /* of the benchmark's preconditioning (MLPerf Storage, kv_cache) */
};

/* Parses argv into *o, looks at the kind of the target and puts in what depends on mode and kind.
 * 0 with *parser open (the caller closes it), 1 with it when it has the answer to --help or
 * --version, or negative errno with *e. */
int options_parse(struct options *o, struct opt_parser **parser, int argc, char **argv,
                  struct err *e);

#endif
