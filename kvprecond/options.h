/* options.h - what the command line of kvprecond asks for. */
#ifndef KVTRACE_KVPRECOND_OPTIONS_H
#define KVTRACE_KVPRECOND_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/opt.h"

struct options {
    const char *path; /* the operand, lent from argv */
    uint64_t size, block_bytes, file_bytes, iodepth, seed;
    double reserve_percent;
    int engine;   /* enum io_engine */
    int progress; /* enum progress_mode */
    const char *summary;
    bool keep, destroy_data, json;
};

/* Parses argv into *o. 0 with *parser open (the caller closes it), 1 with *answer (what --help or
 * --version asks for, lent until the parser is closed), or -EINVAL with *e. */
int options_parse(struct options *o, struct opt_parser **parser, const char **answer, int argc,
                  char **argv, struct err *e);

#endif
