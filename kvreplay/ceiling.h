/* ceiling.h - what the client itself could do with a trace, as an earlier run with --null has
 * measured it. */
#ifndef KVREPLAY_CEILING_H
#define KVREPLAY_CEILING_H

#include <stdbool.h>

#include "lib/base/err.h"

/* Plain values. Zero it: there is none. */
struct ceiling {
    double rows_per_s; /* 0: none */
    char digest[40];   /* of the trace; "" not known */
    bool same_host;    /* by name and number of CPUs */
};

/* From the summary of a run with --null and --timing asap. Class ERR_INPUT when the file is no such
 * summary. */
int ceiling_load(struct ceiling *c, const char *path, struct err *e);

#endif
