/* report.h - what a fill came to, for people and for machines. */
#ifndef KVTRACE_KVPRECOND_REPORT_H
#define KVTRACE_KVPRECOND_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "kvprecond/fill.h"
#include "kvprecond/options.h"
#include "lib/err.h"
#include "lib/hist.h"
#include "lib/jsonout.h"
#include "lib/target.h"

enum {
    REPORT_FALLBACKS_CAP = 512
};

struct report {
    const struct options *o;
    struct fill_result fill;
    const struct hist *service;
    const char *engine;                   /* name of the I/O engine */
    char fallbacks[REPORT_FALLBACKS_CAP]; /* "; " between, "" none */
    bool is_dir, direct;
    uint64_t files;
    int64_t sync_ns, cpu_ns, started_wall_ns;
    struct target_device device;
    uint64_t device_write_bytes; /* by the kernel's count; only with device.counted */
    const char *why_short;       /* "ENOSPC", "SIGINT", NULL: all was written */
    bool kept;
};

/* Text for a terminal; 0 or -errno of the stream, class ERR_OUTPUT. */
int report_text(const struct report *r, FILE *out, struct err *e);
/* JSON to path ("-": standard output). */
int report_json(const struct report *r, const char *path, int argc, char *const *argv,
                struct err *e);

#endif
