/* skips.h - what of a log could not be taken as it is. */
#ifndef KVTRACE_LOG_SKIPS_H
#define KVTRACE_LOG_SKIPS_H

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/notes.h"

/* Rows of an input that were skipped, or lack something. Zero before use. */
struct skips {
    struct notes remarks; /* what was left out, by kind, and what was joined; at the end */
    uint64_t rows;
    struct err first; /* why the first one was skipped */
    /* Deletions that became rows of size 0, because their objects' sizes are not known. */
    uint64_t unsized;
};

#endif
