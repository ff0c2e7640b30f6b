/* export_format.h - private to export*.c: what a format is made of. */
#ifndef KVGEN_FORMAT_EXPORTER_H
#define KVGEN_FORMAT_EXPORTER_H

#include "kvgen/format/export.h"
#include "kvgen/format/output_file.h"

/* One row, as far as exports want to know it. */
struct export_op {
    int64_t time_ns;    /* issued, or in a result started; INT64_MAX: out of range */
    int64_t latency_ns; /* TRACE_NONE: unknown */
    uint64_t size, number;
    struct trace_str key; /* lent */
    int32_t status;       /* as in struct trace_row */
    uint8_t op, tier, phase;
};

/* As bytes and back; key points into src. */
enum {
    EXPORT_PACKED = 64 + (int)TRACE_MAX_KEY
};
size_t export_pack(const struct export_op *op, char *dst);
void export_unpack(struct export_op *op, const char *src);

/* What can be remarked about rows: the first two of every format, then its own. */
enum {
    EXPORT_FILTERED,
    EXPORT_NO_IO,
    EXPORT_OWN_RULES,
    EXPORT_MAX_RULES = 16
};
enum export_weight {
    EXPORT_REMARK,  /* as the format is meant to be */
    EXPORT_LOSS,    /* the other tool drops or misreads something */
    EXPORT_REFUSED, /* the row cannot be written at all */
};
struct export_rule {
    enum export_weight weight;
    const char *what; /* NULL ends a format's list */
};

struct export_ops {
    const char *name;
    const struct export_rule *rules; /* own ones, from EXPORT_OWN_RULES on */
    bool started;                    /* time_ns is Start where there is one */
    bool sorts;                      /* takes rows in any order of time */
    /* Does it write such a row? NULL: every one with I/O. Others it may have to follow. */
    bool (*writes)(uint8_t op, uint8_t phase, uint64_t size);
    int (*open)(struct export *x, struct err *e);
    int (*row)(struct export *x, const struct export_op *op, struct err *e);
    int (*finish)(struct export *x, struct err *e); /* before the file is closed */
    void (*free)(struct export *x);
};
extern const struct export_ops export_mlperf, export_sai3, export_warp, export_fio,
    export_libcachesim, export_oracle;

struct export_note {
    uint64_t rows, first; /* how many, and the number of the first; 0: the file as a whole */
    bool seen;
};

struct export
{
    const struct export_ops *ops;
    struct export_opts o;
    struct output_file *file; /* NULL: nothing is written */
    char *folder;             /* for temporary files */
    struct time_sort *order;  /* rows wait here when they do not come in order */
    char *packed;             /* EXPORT_PACKED bytes */
    uint64_t rows;            /* written; counted by the format */
    struct export_note note[EXPORT_MAX_RULES];
    void *state; /* the format's own */
};

/* Bytes kept in memory before a temporary file is used. */
#define EXPORT_SORT_MEMORY ((size_t)64 << 20)

void export_note(struct export *x, unsigned rule, uint64_t number);
/* A row that cannot be written: -EINVAL with *e; 0 when rows are only looked at. */
int export_refuse(struct export *x, unsigned rule, const struct export_op *op, struct err *e);
/* Bytes into the file, if there is one. */
int export_put(struct export *x, const void *p, size_t len, struct err *e);

#endif
