/* exporter.h - for the files of the formats only: what a format provides to export.c, and what it
 * may use. The functions here are in export.c. */
#ifndef KVGEN_FORMAT_EXPORTER_H
#define KVGEN_FORMAT_EXPORTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/trace/trace.h"

struct export;
struct export_opts;
struct time_sort;

/* A row, as exports see it. */
struct export_op {
    int64_t time_ns;       /* when it was issued; of a result, if the format wants that, when it
                              started. INT64_MAX: out of range */
    int64_t latency_ns;    /* TRACE_NONE: not known */
    int64_t first_byte_ns; /* of a result: from its start; TRACE_NONE: not known */
    uint64_t size, number;
    struct trace_str key; /* lent */
    int32_t status;       /* as in struct trace_row */
    uint8_t op, tier, phase;
    uint32_t leave; /* an op-log's own: a DELETE that settle_leaves decides on; else 0 */
};

/* ---- what a format provides ---- */

/* Remarks about rows are counted by rule. The first rules are those of all formats. */
enum {
    EXPORT_FILTERED,
    EXPORT_NO_IO,
    EXPORT_OWN_RULES, /* index of a format's first own rule */
    EXPORT_MAX_RULES = 24
};
enum export_weight {
    EXPORT_REMARK, /* nothing is lost */
    EXPORT_LOSS,   /* the other tool drops or misreads something */
    EXPORT_REFUSED /* the row cannot be written at all */
};
struct export_rule {
    enum export_weight weight;
    const char *what; /* NULL ends the list of a format */
};

struct exporter {
    const char *name;
    const struct export_rule *rules;        /* own ones, from EXPORT_OWN_RULES on */
    bool started;                           /* wants the start of a result, where it is known */
    bool sorts;                             /* takes rows in any order of time */
    char *(*second_file)(const char *path); /* as export_second_file; NULL: none */
    /* Whether it writes such a row. NULL: every row with I/O. It is given the other rows too. */
    bool (*writes)(uint8_t op, uint8_t phase, uint64_t size);
    int (*open)(struct export *x, struct err *e); /* NULL: nothing to do */
    int (*row)(struct export *x, const struct export_op *op, struct err *e);
    int (*finish)(struct export *x, struct err *e); /* called before the file is closed */
    /* Writes what a user should know in any case to buf, as one line; false: nothing. After finish.
     * NULL: nothing. */
    bool (*notice)(const struct export *x, char *buf, size_t n);
    void (*free)(struct export *x); /* also after a failed open; NULL: nothing to do */
};
extern const struct exporter export_mlperf, export_sai3, export_warp, export_fio,
    export_libcachesim, export_oracle;

/* ---- what a format may use ---- */

/* The part of an export that formats see. */
struct export
{
    const struct exporter *format;
    const struct export_opts *o;
    const char *folder; /* for temporary files */
    uint64_t rows;      /* written; the format counts them */
    void *state;        /* the format's own */
};

/* Bytes that an export keeps in memory before it uses a temporary file. */
#define EXPORT_SORT_MEMORY ((size_t)64 << 20)

/* Counts a row (number 0: the file as a whole) under a rule. */
void export_note(struct export *x, unsigned rule, uint64_t number);
/* Counts a row that cannot be written. -EINVAL with *e; 0 if rows are only looked at. */
int export_refuse(struct export *x, unsigned rule, const struct export_op *op, struct err *e);
/* Appends bytes to the file, if there is one. */
int export_put(struct export *x, const void *p, size_t len, struct err *e);

/* Adds op to sort, at a time that may differ from its own. */
int export_keep(struct export *x, struct time_sort *sort, int64_t time_ns,
                const struct export_op *op, struct err *e);
/* The next op out of sort, and that time: 1; 0: no more; negative errno. Its key is lent until the
 * next call. */
int export_take(struct time_sort *sort, int64_t *time_ns, struct export_op *op, struct err *e);

/* Copies text to p and returns the place behind it. */
char *export_put_text(char *p, const char *text, size_t len);

#endif
