/* options.h - the command line of kvstat. */
#ifndef KVSTAT_OPTIONS_H
#define KVSTAT_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/opt/opt.h"

/* Plain values; texts point into argv. */
struct options {
    bool json, csv, merge, reuse, verify_trace, check, skip_bad_rows;
    const char *by_text, *output, *xlsx, *hgrm, *plot, *fio_job, *mlperf, *reference, *config, *run;
    uint64_t threads;
    int64_t interval_ns, warmup_ns; /* warmup_ns -1: not given */
    struct opt_list compare;
    int progress; /* enum progress_mode */
    int profile;  /* enum verdict_profile */
    unsigned by;  /* enum groups_by, from by_text */
};

/* A parser that fills o; opt.h. NULL: no memory. */
struct opt_parser *options_open(struct options *o);
/* opt_parse, and what options mean together: the same return codes. Threads are then at least 1. */
int options_parse(struct opt_parser *p, struct options *o, int argc, char **argv, struct err *e);

/* Is path a file that the report, the spreadsheet, the picture... will be written to? */
bool options_is_output(const struct options *o, const char *path);
/* What a build without libxlsxwriter writes instead of FILE.xlsx, which would not open in anything:
 * FILE.csv. The caller's to free; NULL: no memory. */
char *options_csv_path(const char *xlsx);

#endif
