/* output.h - the rows of the simulation into the trace: filters, keys and names, the file. One
 * thread, but for the pool that formats. */
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
    const char *path; /* of a trace; "-": standard output; NULL: no trace is written */
    bool six_columns; /* only the core columns, and only Read and Write rows */
    bool no_deletes;  /* leave Delete rows out */
    unsigned tiers;   /* mask of (1 << tier): tiers whose rows are written; 0: all rows */
    unsigned ops;     /* mask of (1 << operation), likewise */
    uint64_t limit;   /* rows written, or that would be without path; 0: no limit */
    int64_t end_ns;   /* of the simulated time, for the progress; 0: not known */
    bool patient; /* the source ends by itself at the first signal; the second one ends the run */
    struct trace_write_opts trace;
    bool exported; /* rows go to the format of another tool: also, or (without path) only */
    enum export_format format;
    struct export_opts export;
};

struct output;

/* source names the users. It stays the caller's, as does progress (NULL: none is shown). 0 or
 * negative errno with *e. */
int output_open(struct output **out, const struct output_opts *o, const struct source *source,
                struct progress *progress, struct err *e);
/* A sim_sink; ctx is the output. Ends the run at the limit and at a signal. */
int output_row(void *ctx, const struct sim_row *row, struct err *e);
/* The same for a row of another trace. */
int output_record(struct output *out, const struct trace_row *row, struct err *e);
/* Whether rows go anywhere. If not, output_look takes the place of output_row. */
bool output_wants_rows(const struct output *out);
/* Shows how far a simulation is that keeps its rows to itself: its present, and its rows so far.
 * true: a signal wants the end. ctx is the output. */
bool output_look(void *ctx, int64_t virtual_ns, uint64_t rows);
/* Hands on the rows of a trace so far, so that they can be read: an export's stay until its end. */
void output_flush(struct output *out);
/* Completes the file. *totals is zero if nothing was to be written. */
int output_finish(struct output *out, struct trace_totals *totals, struct err *e);
/* Whether the filters (--only-tier, --ops) left no row to write. */
bool output_is_filtered_out(const struct output *out);
/* After output_finish: remark i about the rows, as export_remark. */
bool output_remark(const struct output *out, size_t i, char *buf, size_t n, bool *loss);
/* After output_finish: a notice, as export_notice. */
bool output_notice(const struct output *out, char *buf, size_t n);
/* Frees out, and removes a file that is not finished. NULL is fine. */
void output_free(struct output *out);

#endif
