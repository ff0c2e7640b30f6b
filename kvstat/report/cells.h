/* cells.h - one figure as text for a column of the text report. Each fills and returns buf
 * (CELL or LABEL bytes); NAN is "-". */
#ifndef KVSTAT_REPORT_CELLS_H
#define KVSTAT_REPORT_CELLS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "kvstat/count/groups.h"

enum {
    CELL = 40,
    LABEL = 160,
    CELL_COLUMNS = 110 /* of a report */
};

const char *cell_count(char *buf, uint64_t count); /* "1,234,567" */
const char *cell_rows(char *buf, uint64_t count);  /* "1 row", "1,234 rows" */
const char *cell_number(char *buf, double v);      /* three or more digits: "0.123", "1,234" */
const char *cell_bytes(char *buf, double bytes);   /* "1.50 GiB" */
const char *cell_seconds(char *buf, double s);     /* "12.3 s" */
/* At most 8 characters: "12.3 us"; marked with * when too few samples support it. */
const char *cell_time(char *buf, double ns, bool supported);
/* The same of a percentile; "-" when its rank is the last one: that is the maximum, not more. */
const char *cell_percentile(char *buf, const struct hist *h, uint32_t ppm);
/* "Tier-2 Read Decode": the texts of the columns in by; "-" for an empty one. */
const char *cell_label(char *buf, const struct group_key *key, unsigned by);

/* The user's name as far as it fits into size bytes, cut between characters. */
const char *cell_user(char *buf, size_t size, const struct trace_str *user);

/* Columns of a terminal that UTF-8 text takes: wide characters two, combining ones none. */
int cell_columns(const char *text);
/* The width for printf, which counts bytes, that makes text fill so many columns. */
int cell_pad(const char *text, int columns);

/* The last lines of a report: "Verdict: ...", the sentence in lines of at most 110 bytes. */
void cell_verdict(FILE *out, const char *sentence);

#endif
