/* The six columns of the MLPerf Storage KV-cache benchmark. They are written as any trace is
 * (lib/trace/trace.h); here are only remarks about what is lost on the way. */
#include "kvgen/format/export.h"
#include "kvgen/format/exporter.h"

enum {
    MLPERF_DELETE = EXPORT_OWN_RULES,
    MLPERF_FRAMES
};
static const struct export_rule mlperf_rules[] = {
    {EXPORT_LOSS, "of Delete, left out: nobody learns that the space is free"},
    {EXPORT_LOSS, "several zstd frames: a reader that stops after the first one loses the rest "
                  "(see --config frames=one)"},
    {EXPORT_REMARK, NULL}};

static int mlperf_row(struct export *x, const struct export_op *op, struct err *e)
{
    (void)e;
    if (op->op == TRACE_DELETE)
        export_note(x, MLPERF_DELETE, op->number);
    else
        x->rows++;
    return 0;
}

static int mlperf_finish(struct export *x, struct err *e)
{
    (void)e;
    if (x->o->zstd && !x->o->one_frame)
        export_note(x, MLPERF_FRAMES, 0);
    return 0;
}

const struct exporter export_mlperf = {
    .name = "mlperf", .rules = mlperf_rules, .row = mlperf_row, .finish = mlperf_finish};
