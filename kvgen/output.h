/* output.h - the simulator's rows into the trace: filters, keys and names, the file. */
#ifndef KVGEN_OUTPUT_H
#define KVGEN_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "kvgen/format/export.h"
#include "kvgen/sim/sim.h"
#include "kvgen/source/source.h"
#include "lib/base/err.h"
#include "lib/base/progress.h"
#include "lib/trace/write.h"

struct output_opts {
    const char *path; /* "-": standard output; NULL: nothing is written */
    bool six_columns; /* core columns, Read and Write rows only */
    bool no_deletes;  /* Delete rows are left out */
    unsigned tiers;   /* mask of (1 << tier) whose rows are written; 0: all rows */
    unsigned ops;     /* mask of (1 << operation) likewise */
    uint64_t limit;   /* rows written; 0: no limit */
    struct trace_write_opts trace;
    bool
        exported; /* rows go to a format of another tool too, or (unless written as a trace) only */
    enum export_format format;
    struct export_opts export;
};

struct output;

/* source names the users and stays the caller's, as does progress (may be NULL). */
int output_open(struct output **out, const struct output_opts *o, const struct source *source,
                struct progress *progress, struct err *e);
/* A sim_sink; ctx is the output. Ends the run at the limit and when a signal came. */
int output_row(void *ctx, const struct sim_row *row, struct err *e);
/* The same for a record that is whole. */
int output_record(struct output *out, const struct trace_row *row, struct err *e);
/* Completes the file. *totals is zero when nothing was to be written. */
int output_finish(struct output *out, struct trace_totals *totals, struct err *e);
/* Was no row written because the filters (--only-tier, --ops) wanted none? */
bool output_is_filtered_out(const struct output *out);
/* After output_finish: what is to be said about the rows, as export_remark. */
bool output_remark(const struct output *out, size_t i, char *buf, size_t n, bool *loss);
/* Frees out; a file that is not finished is removed. NULL is fine. */
void output_free(struct output *out);

#endif
