/* The command line of kvstat as plain values. */
#ifndef KVSTAT_OPTIONS_H
#define KVSTAT_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "kvstat/answer/view.h"
#include "kvstat/report/verdict.h"
#include "lib/base/err.h"
#include "lib/base/progress.h"
#include "lib/opt/opt.h"

/* Texts point into argv. */
struct options {
    bool full, json, csv, merge, ranks, reuse, verify_trace, blktrace, knee, check, skip_bad_rows;
    const char *by_text, *output, *xlsx, *hgrm, *plot, *html, *fio_job, *mlperf, *reference, *run;
    struct opt_list config; /* files and settings */
    struct conf *conf;      /* what they say; of the caller of options_parse */
    uint64_t threads, max_groups;
    int64_t interval_ns, warmup_ns; /* warmup_ns -1: not given */
    const char *answer;             /* NULL: none is asked for */
    struct opt_list confirm, confirm_model;
    const char *measured_again;
    enum view view;
    struct opt_list compare;
    double min_change; /* 0..1 */
    enum progress_mode progress;
    struct verdict_asked asked;
    unsigned by; /* enum groups_by, from by_text */
};

/* Marks of options that have no meaning in a mode (opt_check_modes). */
enum options_marks {
    OPTIONS_NOT_VERIFY = 1 << 0,   /* --verify-trace */
    OPTIONS_NOT_COMPARE = 1 << 1,  /* --compare */
    OPTIONS_NOT_DRAWING = 1 << 2,  /* --plot of a curve or of rounds */
    OPTIONS_NOT_TABLE = 1 << 3,    /* folders and JSON documents as input */
    OPTIONS_COMPARE_ONLY = 1 << 4, /* all but --compare */
    OPTIONS_NOT_ANSWER = 1 << 5,   /* --answer */
    OPTIONS_ANSWER_ONLY = 1 << 6,  /* all but --answer */
    /* --blktrace and --knee, which have no meaning for OPTIONS_NOT_VERIFY either */
    OPTIONS_NOT_BLKTRACE = 1 << 7,
    OPTIONS_NOT_KNEE = 1 << 8, /* --knee */
    OPTIONS_NO_CSV = 1 << 9    /* --verify-trace and --blktrace */
};

/* A parser that fills *o; NULL: no memory. */
struct opt_parser *options_open(struct options *o);
/* opt_parse, and the checks of options against each other; returns as opt_parse does. Afterwards
 * threads is at least 1. */
int options_parse(struct opt_parser *p, struct options *o, int argc, char **argv, struct err *e);

/* Whether answer i was confirmed: --confirm is there for it, and not none. */
bool options_confirms(const struct options *o, size_t i);
/* Returns whether the report or another output will be written to path. */
bool options_is_output(const struct options *o, const char *path);
/* FILE.csv for FILE.xlsx: a build without libxlsxwriter writes CSV, which must not be called .xlsx.
 * The caller frees it; NULL: no memory. */
char *options_csv_path(const char *xlsx);

#endif
