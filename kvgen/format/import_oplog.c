/* Op-logs and benchdata as an import: lib/log/oplog reads them. */
#include <stdlib.h>

#include "kvgen/format/import.h"
#include "lib/log/oplog.h"

struct log {
    struct import base; /* first */
    struct oplog_reader *reader;
};

static struct oplog_reader *reader_of(const struct import *base)
{
    return ((const struct log *)base)->reader;
}

static int next(struct import *base, const struct trace_row **row, struct err *e)
{
    return oplog_reader_next(reader_of(base), row, e);
}

static const struct skips *skips(const struct import *base)
{
    return oplog_reader_skips(reader_of(base));
}

static uint32_t columns(const struct import *base)
{
    return oplog_reader_columns(reader_of(base));
}

static const char *client(const struct import *base)
{
    return columns(base) & TRACE_BIT(TRACE_COL_START) ? oplog_reader_client(reader_of(base)) : NULL;
}

static void close_log(struct import *base)
{
    oplog_reader_close(reader_of(base));
    free(base);
}

int import_oplog_open(struct import **out, struct frame_in *file, struct err *e)
{
    static const struct import_ops ops = {.format = "an op-log",
                                          .time_unit = "date",
                                          .next = next,
                                          .skips = skips,
                                          .columns = columns,
                                          .client = client,
                                          .close = close_log};
    struct log *l = calloc(1, sizeof(*l));
    if (!l) {
        frame_in_close(file);
        return err_nomem(e, "import");
    }
    l->base.ops = &ops;
    int rc = oplog_reader_open(&l->reader, file, e);
    if (rc < 0) {
        free(l);
        return rc;
    }
    *out = &l->base;
    return 0;
}
